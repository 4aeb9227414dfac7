"""Loads ``versions.json``: what is known about the transcripts and models of Claude Code, by version.

Reading a transcript does not depend on the table: a record type that it does not list comes out as a record of kind "unknown"
and is passed through. Change ``seen`` in the file with every other change to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from orjson import loads

from leftoff.core.records import RecordKind

Version = tuple[int, ...]


class KnownModel(NamedTuple):
    """The limits of a family of models, whose names begin with ``begins``."""

    begins: str
    window_tokens: int
    max_output_tokens: int
    system_messages: bool  # whether it accepts system messages between the others


class Known(NamedTuple):
    """What was known about Claude Code on the day ``seen``."""

    seen: str
    oldest_version: Version
    newest_version: Version
    # Older clients record what is typed while the agent works only as queue-operation lines.
    queued_attachments_since: Version
    # The first version that knows all the hook events which leftoff cannot do without; the last of them was SessionEnd.
    oldest_with_hooks: Version
    # The first versions with the other events. Found by running the clients before and after each of them.
    hooks_since: Mapping[str, Version]
    # Older clients skip a whole settings file, permissions included, if it names an event that they do not know. Headless they
    # do so without a word.
    ignores_unknown_hooks_since: Version
    mods_since: Version  # the first version that loads plugin modules
    records: Mapping[str, RecordKind]  # by type; types that have a parser of their own are not listed
    system: Mapping[str, RecordKind]  # by subtype; the two compaction boundaries have parsers of their own
    attachments: Mapping[str, RecordKind]
    # Of lines that have a parent; other fields make a newer client's session unsafe to copy.
    chain_fields: frozenset[str]
    not_typed: tuple[str, ...]  # how text in a user's line begins that the client put there
    rendering: Mapping[str, str]  # the text that the client sends for lines which do not contain it
    # The client compacts at window - min(max_output, output_reserve) - margin.
    output_reserve_tokens: int
    margin_tokens: int
    # What the client sends besides the conversation, as usual in the first requests of real sessions: system prompt and tools.
    baseline_tokens: int
    large_window_suffix: str  # of a model's name, where the model has two windows
    large_window_tokens: int
    models: tuple[KnownModel, ...]  # the first that fits a name counts

    def model(self, name: str) -> KnownModel | None:
        """Return the first family that the name belongs to; None for an unknown model."""
        bare = name[max(0, name.find("claude-")) :]  # without a provider's prefix: us.anthropic.claude-…
        return next((model for model in self.models if bare.startswith(model.begins)), None)


@cache
def known() -> Known:
    """Return the table, loaded once."""
    data = loads(Path(__file__).with_name("versions.json").read_bytes())
    for name in ("oldest_version", "newest_version", "queued_attachments_since"):
        data[name] = version(data[name])
    for name in ("oldest_with_hooks", "ignores_unknown_hooks_since", "mods_since"):
        data[name] = version(data[name])
    data["hooks_since"] = {event: version(since) for event, since in data["hooks_since"].items()}
    for name in ("records", "system", "attachments"):
        data[name] = {record_type: RecordKind(kind) for record_type, kind in data[name].items()}
    data["chain_fields"] = frozenset(data["chain_fields"])
    data["not_typed"] = tuple(data["not_typed"])
    data["models"] = tuple(KnownModel(**model) for model in data["models"])
    return Known(**data)


def version(text: str) -> Version:
    """Parse ``2.1.97`` into numbers that compare; an empty tuple, older than all, for anything else."""
    parts = text.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) < 10 for part in parts) else ()


def dotted(version: Version) -> str:
    """Return a version as it is written."""
    return ".".join(map(str, version))
