"""The dated data file ``known_data``, taken in once: record types, words, windows. Told to nobody but this adapter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from leftoff.agents.codex import known_data
from leftoff.model.records import RecordKind
from leftoff.model.values import dataclass

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """The raw window of a family of models."""

    begins: str
    window_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was seen of Codex up to the day ``seen``."""

    seen: str
    newest_version: Version
    usage_before_reply_until: Version
    records: Mapping[str, RecordKind]
    items: Mapping[str, RecordKind]
    events: frozenset[str]
    not_typed: tuple[str, ...]
    told_anew: tuple[str, ...]
    summary_prefix: str
    no_summary: str
    failed: tuple[str, ...]
    refused: tuple[str, ...]
    unanswered: str
    prompts_kept_tokens: int
    compacts_at_percent: int
    reported_percent: int
    sizes: tuple[int, ...]
    models: tuple[KnownModel, ...]

    def raw_window(self, model: str) -> int:
        """What the model holds; the table ends with the family of all names."""
        return next(family.window_tokens for family in self.models if model.startswith(family.begins))


@cache
def known() -> Known:
    """The data file."""
    return Known(
        seen=known_data.SEEN,
        newest_version=version(known_data.NEWEST_VERSION),
        usage_before_reply_until=version(known_data.USAGE_BEFORE_REPLY_UNTIL),
        records=_kinds(known_data.RECORDS),
        items=_kinds(known_data.ITEMS),
        events=frozenset(known_data.EVENTS),
        not_typed=known_data.NOT_TYPED,
        told_anew=known_data.TOLD_ANEW,
        summary_prefix=known_data.SUMMARY_PREFIX,
        no_summary=known_data.NO_SUMMARY,
        failed=known_data.FAILED,
        refused=known_data.REFUSED,
        unanswered=known_data.UNANSWERED,
        prompts_kept_tokens=known_data.PROMPTS_KEPT_TOKENS,
        compacts_at_percent=known_data.COMPACTS_AT_PERCENT,
        reported_percent=known_data.REPORTED_PERCENT,
        sizes=known_data.SIZES,
        models=tuple(KnownModel(begins=begins, window_tokens=window) for begins, window in known_data.MODELS),
    )


def version(text: str) -> Version:
    """``0.166.0`` as two numbers that compare: the third never changed the format. Empty, older than all, if it is none."""
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else ()


def _kinds(table: Mapping[str, str]) -> Mapping[str, RecordKind]:
    return {name: RecordKind(kind) for name, kind in table.items()}
