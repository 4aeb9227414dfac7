"""What the library takes in: the pieces of a source, each a text with its place and what is known of it.

A source is a session's transcript, a resume log, a pause or a chat. A piece is what one record holds of one kind: a prompt, a
reply, a call with its input, a result. Texts come redacted and cut; the library stores what it is given.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

SourceType = Literal["session", "log", "pause", "chat"]
PieceKind = Literal[
    "prompt", "reply", "thinking", "call", "command", "result", "summary", "context", "log", "pause", "chat"
]  # fmt: skip
KINDS: tuple[PieceKind, ...] = (
    "prompt", "reply", "thinking", "call", "command", "result", "summary", "context", "log", "pause", "chat",
)  # fmt: skip
Verb = Literal["read", "changed", "wrote", "removed", "moved"]

# How much a hit in such a piece is worth: a person's own words most, what a tool printed least.
WEIGHTS: dict[PieceKind, float] = {
    "prompt": 4.0,
    "reply": 1.6,
    "thinking": 0.8,
    "call": 1.2,
    "command": 1.2,
    "result": 0.7,
    "summary": 1.2,
    "context": 0.3,
    "log": 1.0,
    "pause": 0.6,
    "chat": 1.6,
}
LONGEST_TITLE = 300  # characters
_USUAL_CHARS = 1500


class Touch(NamedTuple):
    """A file that a call touched, as the agent named it."""

    path: str
    verb: Verb


class Reached(NamedTuple):
    """How far a source was read: the place of its last record, and a digest of that record's bytes."""

    line_idx: int
    start: int
    end: int
    digest: bytes


class Source(NamedTuple):
    """Where pieces come from. None where it is not known."""

    type: SourceType
    path: str
    agent: str | None
    session_id: str | None
    project: str | None
    title: str | None
    modified_ns: int
    size_bytes: int


class Piece(NamedTuple):
    """A text and where it stands: ``line`` (1-based) and the byte its record starts at.

    ``call_id`` joins a call with its result. ``at`` is in seconds since 1970. ``exit_code`` and ``failed`` are of a result. Of a call
    that ``is_excluded`` nothing is kept but that its result is excluded too.
    """

    kind: PieceKind
    text: str
    line: int
    start: int
    at: int | None = None
    tool: str | None = None
    call_id: str | None = None
    failed: bool | None = None
    exit_code: int | None = None
    touches: tuple[Touch, ...] = ()
    is_excluded: bool = False

    @property
    def weight(self) -> float:
        """What a hit in it is worth: the shorter the text, the more is said by a word in it."""
        failing = 1.3 if self.failed else 1.0
        return WEIGHTS[self.kind] * failing / math.sqrt(1.0 + len(self.text) / _USUAL_CHARS)


class Waiting(NamedTuple):
    """A call that has no result yet: its tool, and its piece."""

    tool: str
    piece: int


WaitingCalls: TypeAlias = dict[str, Waiting]
