"""Loads ``versions.json``: what is known about the rollouts and models of Codex, by version.

Reading a rollout does not depend on the table: a line or item type that it does not list comes out as a record of kind "unknown"
and is passed through. Change ``seen`` in the file with every other change to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from orjson import loads

from leftoff.core.records import RecordKind

Version = tuple[int, ...]
ROLLED_BACK = "event_msg/thread_rolled_back"  # the record of a rollback, which removes the last turns


class KnownModel(NamedTuple):
    """The raw window of a family of models, whose names begin with ``begins``."""

    begins: str
    window_tokens: int


class Known(NamedTuple):
    """What was known about Codex on the day ``seen``."""

    seen: str
    oldest_version: Version  # older rollouts do not name a version
    newest_version: Version
    # Up to this version token_count precedes the reply it belongs to; later it follows the answers to that reply's calls.
    usage_before_reply_until: Version
    # Types of lines; response_item and event_msg go by their payload. "header" and "state" are our names for types of 2025.
    records: Mapping[str, RecordKind]
    items: Mapping[str, RecordKind]  # payloads of response_item; a message goes by its role and its text
    events: frozenset[str]  # payloads of event_msg, which are never sent to the model
    # How text in a user's message begins, in lower case, that the client put there. Since 0.166 content_item_kinds says so instead.
    not_typed: tuple[str, ...]
    # How a developer message begins that a rollback removes together with the turn after it.
    repeated_after_rollback: tuple[str, ...]
    summary_prefix: str
    no_summary: str
    failed: tuple[str, ...]  # how an answer without exit code begins if the call failed
    refused: tuple[str, ...]  # how an answer begins if the user did not allow the call
    unanswered: str  # what the client sends for a call that was never answered
    prompts_kept_tokens: int  # by a compaction that has no replacement_history
    # Shares of the raw window: where Codex compacts, and what it reports as model_context_window (in 2025: all of it).
    compacts_at_percent: int
    reported_percent: int
    # What Codex sends besides the items in a rollout, as usual in the first requests of real sessions.
    baseline_tokens: int
    tokens_per_char: float  # of its models, measured on the results of tools in real sessions
    # Raw windows of all models, for sessions that hold more than their model should.
    window_sizes: tuple[int, ...]
    models: tuple[KnownModel, ...]  # the first that fits a name counts; the last fits every name

    def raw_window(self, model: str) -> int:
        """Return the raw window of a model; of an unknown one, the size that Codex itself assumes."""
        return next(family.window_tokens for family in self.models if model.startswith(family.begins))


@cache
def known() -> Known:
    """Return the table, loaded once."""
    data = loads(Path(__file__).with_name("versions.json").read_bytes())
    for name in ("oldest_version", "newest_version", "usage_before_reply_until"):
        data[name] = version(data[name])
    for name in ("records", "items"):
        data[name] = {record_type: RecordKind(kind) for record_type, kind in data[name].items()}
    for name in ("not_typed", "repeated_after_rollback", "failed", "refused", "window_sizes"):
        data[name] = tuple(data[name])
    data["events"] = frozenset(data["events"])
    data["models"] = tuple(KnownModel(**model) for model in data["models"])
    return Known(**data)


def version(text: str) -> Version:
    """Parse ``0.166.0`` into two numbers that compare; the third never changed the format. Empty, older than all, for anything else."""
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else ()
