"""What shrinking needs to know of a session's content, and what a copy of a session is ordered and delivered as."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from leftoff.model.records import Place
from leftoff.model.trim_plan import Cut, CutPart
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject, JsonValue

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path


class Piece(NamedTuple):
    """One piece of live content that could be cut: a result, an input, the words of a reply, thoughts.

    ``chars`` counts what the model is sent (a picture at what it costs); ``head`` and ``tail`` are the two ends of the
    text, as far as they were asked for; ``digest`` names the original (``digest_of`` its JSON value). A named tuple,
    because a long session has very many. ``turn`` counts the user's prompts before it.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePieces:
    """The pieces of the live chain that are large enough, in sending order, and what the whole chain takes."""

    pieces: tuple[Piece, ...]
    live_chars: int
    live_tokens: int  # as reported, else estimated
    turns: int
    first_prompt: Place | None = (
        None  # what a lineage block goes before; None: there is nothing, or nobody looked
    )
    live_from: Place | None = None  # the first line of the file that is live; None: not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncut:
    """One piece given back: ``value`` is the original, as its record had it."""

    place: Place
    part: CutPart
    call_id: str | None
    value: JsonValue


Change: TypeAlias = Cut | Uncut


@dataclass(frozen=True, slots=True, kw_only=True)
class Regained:
    """A record that is gone whole, to be put back before the one at ``place``; those at ``hanging`` hang from it again."""

    place: Place
    raw: bytes  # its line, as an ancestor has it
    hanging: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejoined:
    """A record that lost something and has no placeholder for it, with its line as an ancestor has it."""

    place: Place
    raw: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What cuts took out of a session without a trace, and an ancestor still has; ``thoughts`` and ``chars`` count what the model is sent of it."""

    records: tuple[Regained, ...] = ()
    parts: tuple[Rejoined, ...] = ()
    thoughts: int = 0
    chars: int = 0

    def __bool__(self) -> bool:
        return bool(self.records or self.parts)


class Outline(NamedTuple):
    """What holds some lines in a row together and to the others, without their words. Ids are bytes as they stand in the file.

    The last three are looked for where a line was changed; one that was passed through keeps what it had.
    """

    ids: Sequence[bytes] = ()
    parent_ids: Sequence[bytes] = ()  # what they hang from
    calls: Sequence[
        tuple[bytes, bool]
    ] = ()  # in their order: the id of a call, and whether it is answered there
    lost: Sequence[bytes] = ()  # calls that were made or answered there, and no longer are
    misplaced: Sequence[bytes] = ()  # calls before whose answer something else stands in the message
    empty_messages: int = 0


class Watcher(Protocol):
    """Sees the lines of one copy in the order of the file, and says at the end what does not hold."""

    def see(self, lines: Outline) -> None:
        """The next lines."""
        ...

    def broken(self) -> tuple[str, ...]:
        """What does not hold, one sentence each; empty when all is well.

        The same flaw gives the same sentence in the source and in its copy: what a source had already is no fault of the copy.
        """
        ...


class Invariant(Protocol):
    """Something that must hold in a session for its agent to go on from it. One object each, without state."""

    @property
    def name(self) -> str:
        """What it is called in a plan and in an error."""
        ...

    def forbids(self, cut: Cut) -> str | None:
        """Why that cut would break it; None when it would not. Where cutting is allowed is where no invariant forbids."""
        ...

    def watch(self) -> Watcher | None:
        """Somebody to look through a copy before it takes its name; None where there is nothing to look for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOrder:
    """What a copy of a session is to be, besides its changes.

    ``metadata`` is ``trim_metadata`` or ``continue_metadata`` with its value, carried where it survives a fork. ``block`` is the
    lineage block, put before the first real user message of the live chain in place of an older one; ``first_prompt`` says where
    that stands, and without it the chain is read once more to find it. ``used_tokens`` is what the copy takes: the usage numbers in
    it are rewritten so that none says more (L28); None leaves them. Those before ``live_from`` stay: they are of content that is sent
    no more and was not cut. The replies at ``measured_at`` say just that, also where they said less. ``left_out`` is given back.
    ``project`` re-homes the copy into another folder. ``folder`` or ``file`` put it elsewhere than where the agent would look for
    it: under its own name in that folder, or as that very file. A copy that ``must_shrink`` and would not is NothingToDoError.
    """

    at: datetime
    metadata: JsonObject
    block: str | None = None
    first_prompt: Place | None = None
    live_from: Place | None = None
    used_tokens: int | None = None
    measured_at: Sequence[Place] = ()
    left_out: LeftOut = LeftOut()
    project: Path | None = None
    invariants: Sequence[Invariant] = ()
    progress: Callable[[int, int], None] | None = None  # bytes done, bytes in all
    folder: Path | None = None
    file: Path | None = None
    must_shrink: bool = False

    def placed(self, usual: Path) -> Path:
        """Where the copy stands that would usually stand there."""
        if self.file is not None:
            return self.file
        return usual if self.folder is None else self.folder / usual.name


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshOrder:
    """A new session with one user message in it and nothing else, ready to be gone on with.

    ``parent_id`` fills the agent's own lineage field where it has one and the parent is a session of the same agent.
    """

    at: datetime
    project: Path
    first_message: str
    metadata: JsonObject
    parent_id: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """Something that should have gone along with a copy and could not: it is where it was, with the session copied from."""

    what: str
    path: Path
    why: str

    def __str__(self) -> str:
        return (
            f"Not taken along: {self.what} ({self.path}): {self.why}. "
            "Nothing is lost: it is still with the session that this one was copied from."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A session file that was written and stands in its place, and what could not be taken along into it."""

    session_id: str
    transcript: Path
    size_bytes: int
    left_behind: tuple[LeftBehind, ...] = ()


def digest_of(value: JsonValue) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a JSON value, whatever its layout was."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
