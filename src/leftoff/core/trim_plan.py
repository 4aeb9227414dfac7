"""What shrinking a session would change, and the requests and results of writing a copy.

A plan is complete before a byte is written, so that it can be shown and checked first.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias, get_args

from leftoff.core.metrics import USUAL_TOKENS_PER_CHAR, ContextMetrics
from leftoff.core.records import Place
from leftoff.core.wire import JsonObject, JsonValue

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

Strategy = Literal["trim", "smart-trim", "rollover"]
TrimLevel = Literal["careful", "normal", "strong"]  # of smart-trim
TRIM_LEVELS: tuple[TrimLevel, ...] = get_args(TrimLevel)
_ID_AT_END = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
CutPart = Literal["result", "input", "text", "thinking"]
TodoPart = Literal["list", "entry"]


class Cut(NamedTuple):
    """One piece of content to remove, and the text that replaces it.

    ``part`` says what to cut from the record and ``call_id`` from which call; it is ``None`` for the record's own text or
    thinking. An empty ``replacement`` removes the whole block, which is allowed for thinking only. ``key`` is the argument
    with which ``leftoff expand`` prints the original; the replacement contains it, except for thinking.
    """

    place: Place
    part: CutPart
    call_id: str | None
    tool: str | None
    original_chars: int
    replacement: str
    rationale: str
    description: str = ""
    key: str = ""
    is_whole: bool = False  # of an input: nothing of its lists may stay, because a part would mislead

    @property
    def saved_chars(self) -> int:
        """Characters of context that this cut frees."""
        return self.original_chars - len(self.replacement)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimPlan:
    """All cuts of one strategy on one session. The numbers count the live chain only, which is what the model is sent.

    ``kept`` tells the reader what the strategy did not cut, and why.
    """

    strategy: Strategy
    session_id: str
    transcript: str
    cuts: tuple[Cut, ...]
    live_chars: int
    live_tokens: int
    saved_tokens: int
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    first_prompt: Place | None = (
        None  # where a copy gets its lineage block; None: the writer has to look for it
    )
    live_from: Place | None = None  # the first live line of the file; None: not known
    tokens_per_char: float = USUAL_TOKENS_PER_CHAR
    tail_tokens: int = 0
    tail_places: frozenset[Place] = frozenset()
    content_digest: str | None = None  # as in LivePieces

    @property
    def tokens_after(self) -> int:
        """The tokens in the window of the copy."""
        return max(0, self.live_tokens - self.saved_tokens)

    @property
    def usage_after(self) -> int:
        """What the last reply of the copy must report, so that the gauge of the copy shows ``tokens_after``."""
        return max(0, self.live_tokens - self.tail_tokens - self.removed_tokens)

    @property
    def removed_tokens(self) -> int:
        """What is cut of the messages that a reply has counted."""
        measured = sum(cut.saved_chars for cut in self.cuts if cut.place not in self.tail_places)
        return int(measured * self.tokens_per_char)

    @property
    def saved_chars(self) -> int:
        """Characters of context that all cuts free together."""
        return sum(cut.saved_chars for cut in self.cuts)

    @property
    def tools_trimmed(self) -> int:
        """How many tool calls lose content."""
        return len({cut.call_id for cut in self.cuts if cut.call_id is not None})

    @property
    def nothing_to_trim(self) -> bool:
        """Whether the plan is empty."""
        return not self.cuts


class Savings(NamedTuple):
    """What shrinking a session changes on the gauge, in tokens and in percentages of the usable window."""

    tokens: int  # that are free again; negative for what comes back
    before: ContextMetrics
    after: ContextMetrics

    @classmethod
    def expect(cls, before: ContextMetrics, tokens: int) -> Savings:
        """Return the savings of a copy with that many tokens fewer."""
        after = None if before.used_tokens is None else max(0, before.used_tokens - tokens)
        return cls(
            tokens,
            before,
            replace(before, used_tokens=after, percentage_used=None, remaining_tokens=None),
        )

    @property
    def gauge(self) -> str:
        """``54 % → 50 %``, with a decimal where whole numbers would hide the change; empty if the window is not known."""
        was, becomes = self.before.shown_percentage, self.after.shown_percentage
        if was is None or becomes is None:
            return ""
        if was == becomes:
            return f"{int(was)} %"
        if int(was) != int(becomes):
            was, becomes = int(was), int(becomes)
        return f"{was} % → {becomes} %"

    def __str__(self) -> str:
        """Return ``54 % → 50 %, 6,400 tokens``."""
        return ", ".join(filter(None, [self.gauge, f"{self.tokens:,} tokens"]))

    def to_dict(self) -> JsonObject:
        """Return the JSON shape for scripts; percentages are None where the window is not known."""
        was, becomes = self.before.shown_percentage, self.after.shown_percentage
        return {
            "tokens_saved": self.tokens,
            "context_saved_percent": None if was is None or becomes is None else round(was - becomes, 1),
            "percentage_before": was,
            "percentage_after": becomes,
        }


class Piece(NamedTuple):
    """One piece of live content that could be cut: a result, an input, the text of a reply, or thinking.

    ``chars`` counts what the model is sent (a picture counts what it costs). ``head`` and ``tail`` are the two ends of the
    text, as long as the caller asked for. ``digest`` identifies the original (``digest_of`` its JSON value). ``turn``
    counts the user's prompts before it. This is a named tuple, because a long session has very many.
    ``text_chars`` is how long the text is that ``head`` and ``tail`` are from (None: not known): of an input that is its longest.
    ``todos`` says that the input sets the whole to-do list, or one entry of it.
    """

    place: Place
    part: CutPart
    call_id: str | None
    tool: str | None
    chars: int
    turn: int
    digest: str
    head: str
    tail: str
    is_error: bool | None = None
    text_chars: int | None = None
    todos: TodoPart | None = None


class LivePieces(NamedTuple):
    """The pieces of the live chain that are large enough to cut, in sending order, and the size of the whole chain.

    ``live_tokens`` is what the gauge shows. ``tail_tokens`` of them are estimated, because no reply has counted the messages at
    ``tail_places`` yet.
    """

    pieces: tuple[Piece, ...]
    live_chars: int
    live_tokens: int
    turns: int
    first_prompt: Place | None = (
        None  # where a copy gets its lineage block; None: there is no prompt, or not known
    )
    live_from: Place | None = None  # the first live line of the file; None: not known
    tokens_per_char: float = USUAL_TOKENS_PER_CHAR  # of tool results in this session, as far as it shows
    tail_tokens: int = 0
    tail_places: frozenset[Place] = frozenset()
    content_digest: str | None = None  # of all that is live; None: not known


class RestoredPiece(NamedTuple):
    """One piece to put back; ``value`` is the original from its record."""

    place: Place
    part: CutPart
    call_id: str | None
    value: JsonValue


Change: TypeAlias = Cut | RestoredPiece


class RestoredRecord(NamedTuple):
    """A removed record to put back before the one at ``place``; the records at ``hanging`` become its children again."""

    place: Place
    raw: bytes  # its line from an ancestor's transcript
    hanging: tuple[Place, ...] = ()


class RestoredPart(NamedTuple):
    """A record that lost content without a placeholder, with its full line from an ancestor's transcript."""

    place: Place
    raw: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedContent:
    """Content that was cut without a placeholder and that an ancestor still has.

    ``thoughts`` and ``chars`` count how much of it the model is sent.
    """

    records: tuple[RestoredRecord, ...] = ()
    parts: tuple[RestoredPart, ...] = ()
    thoughts: int = 0
    chars: int = 0

    def __bool__(self) -> bool:
        return bool(self.records or self.parts)


class Outline(NamedTuple):
    """The structure of some consecutive lines: their ids and how they link, without their text. Ids are raw bytes.

    The last three fields are filled only for lines that were changed; unchanged lines cannot have lost anything.
    """

    ids: Sequence[bytes] = ()
    parent_ids: Sequence[bytes] = ()
    calls: Sequence[tuple[bytes, bool]] = ()  # in order: the id of a call, and whether this is its answer
    lost: Sequence[bytes] = ()  # calls whose request or answer is gone
    misplaced: Sequence[bytes] = ()  # calls whose answer is not the first block of its message
    empty_messages: int = 0


class CopyChecker(Protocol):
    """Checks the lines of one copy, given in file order, against one invariant."""

    def see(self, lines: Outline) -> None:
        """Take the next lines."""

    def broken(self) -> tuple[str, ...]:
        """Return one sentence for each violation; empty without any.

        The same flaw gives the same sentence in a source and in its copy, so that the copy is not blamed for it.
        """


class Invariant(Protocol):
    """A rule that a session must satisfy for its agent to resume it. Invariants have no state."""

    @property
    def name(self) -> str:
        """The name used in plans and errors."""

    def forbids(self, cut: Cut) -> str | None:
        """Return why the cut would violate the rule; None if it would not."""

    def watch(self) -> CopyChecker | None:
        """Return a checker for one copy; None if the finished copy needs no check."""


class CopyOrder(NamedTuple):
    """How to write a copy of a session, besides its changes.

    - ``metadata``: ``trim_metadata`` or ``continue_metadata`` with its value, written where it survives a fork.
    - ``block``: the lineage block. It goes before the first real user message of the live chain and replaces an older
      block. ``first_prompt`` locates that message; without it, the writer reads the chain once more.
    - ``used_tokens``: the size of the copy. Usage numbers above it are lowered, because agents decide by them when to
      compact; None leaves them. Numbers before ``live_from`` stay, because their content is no longer sent. The replies at
      ``measured_at`` get exactly this number. ``removed_tokens`` is by how much the last usage falls.
    - ``left_out``: removed content to put back.
    - ``project``: another project folder for the copy.
    - ``folder``, ``file``: where to write, other than where the agent looks: into this folder, or as this file.
    - ``must_shrink``: raise NothingToDoError if the copy would not be smaller.
    """

    at: datetime
    metadata: JsonObject
    block: str | None = None
    first_prompt: Place | None = None
    live_from: Place | None = None
    used_tokens: int | None = None
    removed_tokens: int = 0
    measured_at: Sequence[Place] = ()
    left_out: RemovedContent = RemovedContent()
    project: Path | None = None
    invariants: Sequence[Invariant] = ()
    progress: Callable[[int, int], None] | None = None  # bytes done, bytes in all
    folder: Path | None = None
    file: Path | None = None
    must_shrink: bool = False

    def session_id(self, new: str) -> str:
        """Return the id of the copy: the one that the name of its file ends with, if it was given one; else the ``new`` one."""
        named = _ID_AT_END.search(self.file.stem) if self.file is not None else None
        return named[0] if named else new

    def destination(self, usual: Path) -> Path:
        """Return where to write the copy that usually goes to ``usual``."""
        if self.file is not None:
            return self.file
        return usual if self.folder is None else self.folder / usual.name


class FreshOrder(NamedTuple):
    """How to write a new session that contains one user message and can be resumed.

    ``parent_id`` fills the agent's own lineage field, if it has one and the parent belongs to the same agent.
    """

    at: datetime
    project: Path
    first_message: str
    metadata: JsonObject
    parent_id: str | None = None
    model: str | None = None


class NotCopied(NamedTuple):
    """A file that could not be copied along with a session; the original is still in its place."""

    what: str
    path: Path
    why: str

    def __str__(self) -> str:
        return (
            f"Not taken along: {self.what} ({self.path}): {self.why}. "
            "Nothing is lost: it is still with the session that this one was copied from."
        )


class Copy(NamedTuple):
    """A session file that was written, and the files that could not be copied along."""

    session_id: str
    transcript: Path
    size_bytes: int
    left_behind: tuple[NotCopied, ...] = ()


def digest_of(value: JsonValue) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a JSON value, independent of its layout."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
