"""What the first line of a rollout says of the session: who, where, and where it came from.

A rollout whose first line is broken or cut away still has a session: then the name of the file must do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from leftoff.agents.fields import count, table, text
from leftoff.agents.jsonl import Piece
from leftoff.model.session import DERIVED_BY, Parent
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject

# rollout-2026-11-15T19-46-07-<thread>.jsonl; a reverted thread goes on in a file of its own, <thread>_<rollout>.
_NAME = re.compile(
    r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(?P<thread>[0-9A-Za-z-]+)(?:_(?P<rollout>[0-9A-Za-z-]+))?\.jsonl(?:\.zst)?"
)
_FIRST_PIECES = 8  # a header further down is a copy of somebody else's


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The rollout that this one goes on from, and where in it."""

    rollout_id: str
    end_ordinal: int | None
    end_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """The head of a rollout. None means that it does not say."""

    session_id: str
    project: str | None = None
    client_version: str | None = None
    model_provider: str | None = None
    base: Base | None = None
    parent: Parent | None = None


def meta(transcript: Path, head: Iterable[Piece]) -> Meta:
    """The head of the rollout that begins with these pieces."""
    for piece in islice(head, _FIRST_PIECES):
        line = piece.value or {}
        if line.get("type") == "session_meta":
            return _of_session_meta(transcript, line, table(line, "payload"))
        if "type" not in line and text(line, "id") and text(line, "timestamp"):
            return _of_session_meta(transcript, line, line)
    return Meta(session_id=thread_id(transcript))


def thread_id(transcript: Path) -> str:
    """The session's id as the file's name has it; the name itself where it is another kind of name."""
    named = _NAME.fullmatch(transcript.name)
    return named["thread"] if named else transcript.name.partition(".jsonl")[0]


def rollout_id(transcript: Path) -> str | None:
    """What a rollout that goes on from this one calls it."""
    named = _NAME.fullmatch(transcript.name)
    return (named["rollout"] or named["thread"]) if named else None


def _of_session_meta(transcript: Path, line: JsonObject, said: JsonObject) -> Meta:
    return Meta(
        session_id=text(said, "id") or text(said, "session_id") or thread_id(transcript),
        project=text(said, "cwd"),
        client_version=text(said, "cli_version"),
        model_provider=text(said, "model_provider"),
        base=_base(said),
        parent=_parent(line, said),
    )


def _base(said: JsonObject) -> Base | None:
    base = table(said, "history_base")
    source = text(base, "thread_id")
    if source is None:
        return None
    return Base(
        rollout_id=source,
        end_ordinal=count(base, "end_ordinal_exclusive"),
        end_bytes=count(base, "end_byte_offset"),
    )


def _parent(line: JsonObject, said: JsonObject) -> Parent | None:
    """As a note of 002 tells it, unless the client has forked the session since and kept the note of the one it forked."""
    origin = text(said, "forked_from_id") or text(table(said, "history_base"), "thread_id")
    for key, derivation in DERIVED_BY.items():
        note = table(said, key) or table(line, key)
        named = text(note, "parent_session_id") or origin
        if note and origin in {None, named}:
            file = text(note, "parent_file") or text(note, "parent_session_file")
            return Parent(session_id=named, transcript=file, derivation=derivation)
    return Parent(session_id=origin, transcript=None, derivation="forked") if origin else None
