"""The dated data file ``known_data``, taken in once: record types, words, windows. Told to nobody but this adapter."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from leftoff.agents.claude import known_data
from leftoff.model.records import RecordKind
from leftoff.model.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """What a family of models holds and says at the most."""

    begins: str
    window_tokens: int
    max_output_tokens: int
    system_messages: bool = False  # whether it is sent messages of the system between the others


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was seen of Claude Code up to the day ``seen``."""

    seen: str
    newest_version: tuple[int, ...]
    queued_attachments_since: tuple[int, ...]
    records: Mapping[str, RecordKind]
    chain_fields: frozenset[str]
    system: Mapping[str, RecordKind]
    attachments: Mapping[str, RecordKind]
    not_typed: tuple[str, ...]
    rendering: Mapping[str, str]
    output_reserve_tokens: int
    margin_tokens: int
    large_window_suffix: str
    large_window_tokens: int
    models: tuple[KnownModel, ...]

    def model(self, name: str) -> KnownModel | None:
        """The first family that the name belongs to; None for a model nobody had seen."""
        bare = name[max(0, name.find("claude-")) :]  # without a provider's prefix: us.anthropic.claude-…
        return next((model for model in self.models if bare.startswith(model.begins)), None)


@cache
def known() -> Known:
    """The data file."""
    return Known(
        seen=known_data.SEEN,
        newest_version=version(known_data.NEWEST_VERSION),
        queued_attachments_since=version(known_data.QUEUED_ATTACHMENTS_SINCE),
        records=_kinds(known_data.RECORDS),
        chain_fields=frozenset(known_data.CHAIN_FIELDS.split()),
        system=_kinds(known_data.SYSTEM),
        attachments=_kinds(known_data.ATTACHMENTS),
        not_typed=known_data.NOT_TYPED,
        rendering=known_data.RENDERING,
        output_reserve_tokens=known_data.OUTPUT_RESERVE_TOKENS,
        margin_tokens=known_data.MARGIN_TOKENS,
        large_window_suffix=known_data.LARGE_WINDOW_SUFFIX,
        large_window_tokens=known_data.LARGE_WINDOW_TOKENS,
        models=tuple(
            KnownModel(begins=begins, window_tokens=window, max_output_tokens=output, system_messages=system)
            for begins, window, output, system in known_data.MODELS
        ),
    )


def version(text: str) -> tuple[int, ...]:
    """``2.1.97`` as numbers that compare; an empty tuple, older than all, for what is no version."""
    parts = text.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) < 10 for part in parts) else ()


def _kinds(table: Mapping[str, str]) -> Mapping[str, RecordKind]:
    return {name: RecordKind(kind) for name, kind in table.items()}
