"""The dated data file ``known.toml``, read once: record types, words, windows. Told to nobody but this adapter."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path

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

    seen: date
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
    data = tomllib.loads(Path(__file__).with_name("known.toml").read_text(encoding="utf-8"))
    words, compaction = data["words"], data["compaction"]
    return Known(
        seen=data["seen"],
        newest_version=version(data["newest_version"]),
        usage_before_reply_until=version(data["usage_before_reply_until"]),
        records=_kinds(data["records"]),
        items=_kinds(data["items"]),
        events=frozenset(data["events"]["side"]),
        not_typed=tuple(words["not_typed"]),
        told_anew=tuple(words["told_anew"]),
        summary_prefix=words["summary_prefix"],
        no_summary=words["no_summary"],
        failed=tuple(words["failed"]),
        refused=tuple(words["refused"]),
        unanswered=words["unanswered"],
        prompts_kept_tokens=compaction["prompts_kept_tokens"],
        compacts_at_percent=compaction["at_percent_of_raw"],
        reported_percent=compaction["reported_percent_of_raw"],
        sizes=tuple(data["windows"]["sizes"]),
        models=tuple(KnownModel(**model) for model in data["models"]),
    )


def version(text: str) -> Version:
    """``0.166.0`` as two numbers that compare: the third never changed the format. Empty, older than all, if it is none."""
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else ()


def _kinds(table: Mapping[str, str]) -> Mapping[str, RecordKind]:
    return {name: RecordKind(kind) for name, kind in table.items()}
