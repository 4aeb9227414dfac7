"""The dated data file ``known.toml``, read once: record types, words, windows. Told to nobody but this adapter."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path

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

    seen: date
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
    data = tomllib.loads(Path(__file__).with_name("known.toml").read_text(encoding="utf-8"))
    return Known(
        seen=data["seen"],
        newest_version=version(data["newest_version"]),
        queued_attachments_since=version(data["queued_attachments_since"]),
        records=_kinds(data["records"]),
        chain_fields=frozenset(data["chain"]["fields"].split()),
        system=_kinds(data["system"]),
        attachments=_kinds(data["attachments"]),
        not_typed=tuple(data["words"]["not_typed"]),
        rendering=data["rendering"],
        output_reserve_tokens=data["compaction"]["output_reserve"],
        margin_tokens=data["compaction"]["margin"],
        large_window_suffix=data["large_window"]["suffix"],
        large_window_tokens=data["large_window"]["tokens"],
        models=tuple(KnownModel(**model) for model in data["models"]),
    )


def version(text: str) -> tuple[int, ...]:
    """``2.1.97`` as numbers that compare; an empty tuple, older than all, for what is no version."""
    parts = text.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) < 10 for part in parts) else ()


def _kinds(table: Mapping[str, str]) -> Mapping[str, RecordKind]:
    return {name: RecordKind(kind) for name, kind in table.items()}
