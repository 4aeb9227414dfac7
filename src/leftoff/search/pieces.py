"""What is indexed: the pieces of a source, how they are extracted from a transcript, and how their texts are stored.

A source is a transcript, a resume log, a pause or a chat. A piece is what one record contains of one kind: a prompt, a reply,
a call with its input, a result. Texts are redacted, and long ones cut to head and tail. Nothing is indexed of tools that the
user excluded. Texts are stored compressed, several to a block.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias, get_args

from leftoff.catalogue.forgotten import Forgotten
from leftoff.core.actions import Action, Changed, Looked, Moved, Ran, Removed, Wrote
from leftoff.core.protocols import Agent
from leftoff.core.records import Block, Record, RecordKind, Text, Thinking, ToolResult, ToolUse
from leftoff.search.words import more_words
from leftoff.workspace import Capture

SourceType = Literal["session", "log", "pause", "chat"]
PieceKind = Literal[
    "prompt", "reply", "thinking", "call", "command", "result", "summary", "context", "log", "pause", "chat"
]  # fmt: skip
KINDS: tuple[PieceKind, ...] = get_args(PieceKind)
# How much a hit in a piece of this kind is worth: prompts most, tool output least.
WEIGHTS: dict[str, float] = {
    "prompt": 1.0,
    "reply": 1.0,
    "thinking": 0.8,
    "call": 0.9,
    "command": 0.9,
    "result": 0.7,
    "summary": 0.9,
    "context": 0.4,
    "log": 0.8,
    "pause": 0.6,
    "chat": 1.0,
}
PIECE_BITS = (
    24  # the lowest of a piece's id, which count the pieces of a source; the others are the id of the source
)
MAX_TITLE_CHARS = 300  # characters
SEPARATOR = "\x1e"  # between the texts of a block
BEGIN, END = "\x02", "\x03"  # around what was found in a snippet; all three are replaced inside the texts
HEAD_CHARS = 4000
TAIL_CHARS = 2000
_MAX_SECRET_CHARS = 16_000  # a private key is about a fifth of this
# Terminal escape sequences, which would become parts of the adjacent words.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_PROSE: dict[RecordKind, PieceKind] = {
    RecordKind.PROMPT: "prompt",
    RecordKind.REPLY: "reply",
    RecordKind.RESULT: "reply",  # text beside a result is the agent's
    RecordKind.CONTEXT: "context",
    RecordKind.COMPACTION: "summary",
}


class ReadPosition(NamedTuple):
    """How far a source was read: the place of its last record, and a fingerprint of the content up to there."""

    line_idx: int
    start: int
    end: int
    digest: bytes


class Source(NamedTuple):
    """Where pieces come from. Unknown values are None."""

    type: SourceType
    path: str
    agent: str | None
    session_id: str | None
    project: str | None
    title: str | None
    modified_ns: int
    size_bytes: int


class Piece(NamedTuple):
    """A text and its place: ``line`` (1-based) and ``start``, the byte offset of its record.

    ``call_id`` joins a call with its result. ``at`` is in seconds since 1970. ``exit_code`` and ``failed`` belong to a result,
    ``files``, as the agent named them, to a call. A call that ``is_excluded`` has no text; it is stored so that its result is left out too.
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
    files: tuple[str, ...] = ()
    is_excluded: bool = False


class PendingCall(NamedTuple):
    """A call without a result yet: its tool and its piece."""

    tool: str
    piece: int


PendingCalls: TypeAlias = dict[str, PendingCall]


def mask_forgotten(pieces: Iterable[Piece], forgotten: Forgotten) -> list[Piece]:
    """Return the pieces with forgotten texts masked, without files and tools whose names contain one."""
    if forgotten.is_empty:
        return [*pieces]
    return [
        piece._replace(
            text=forgotten.mask(piece.text),
            tool=None if piece.tool and forgotten.occurs_in(piece.tool) else piece.tool,
            files=tuple(each for each in piece.files if not forgotten.occurs_in(each)),
        )
        for piece in pieces
    ]


def pack_texts(texts: Sequence[str]) -> bytes:
    """Compress the texts of a block."""
    return zlib.compress(SEPARATOR.join(texts).encode(), 6)


def unpack_texts(data: bytes) -> list[str]:
    """Return the texts of a block. Raise sqlite3.DatabaseError if it is damaged, as for other parts of the file."""
    return [*_split_block(data)]


@lru_cache(maxsize=8)
def _split_block(data: bytes) -> tuple[str, ...]:
    try:
        return tuple(zlib.decompress(data).decode().split(SEPARATOR))
    except (zlib.error, TypeError, UnicodeDecodeError) as error:
        raise sqlite3.DatabaseError(f"a block is damaged: {error}") from error


def unpack_text(data: bytes, slot: int) -> str:
    """Return one text of a block; empty if there is none."""
    texts = _split_block(data)
    return texts[slot] if slot < len(texts) else ""


def add_functions(connection: sqlite3.Connection) -> None:
    """Give a connection the functions with which the full-text index reads the stored texts."""
    connection.execute("PRAGMA trusted_schema = ON")  # the view of the texts calls them
    connection.create_function("text_of", 2, unpack_text, deterministic=True)
    connection.create_function("more_words", 1, more_words, deterministic=True)


class PieceExtractor:
    """Extracts the pieces of records, remembering calls so that their results can be interpreted.

    ``waiting`` has the tools of calls without a result from earlier updates, by call id.
    """

    def __init__(self, agent: Agent, capture: Capture, waiting: dict[str, str]) -> None:
        self._agent, self._capture = agent, capture
        self._pending_uses: dict[str, ToolUse] = {
            call_id: ToolUse(call_id=call_id, tool=tool, input={}) for call_id, tool in waiting.items()
        }

    def pieces(self, record: Record) -> Iterator[Piece]:
        """Yield the pieces of one record in order."""
        if record.compaction is not None and record.compaction.summary and not record.blocks:
            yield self._piece(record, "summary", record.compaction.summary)
        if record.kind not in _PROSE:
            return
        for block in record.blocks:
            piece = self._block_piece(record, block)
            if piece is not None and (piece.text.strip() or piece.kind == "result" or piece.is_excluded):
                yield piece  # an empty result still has an exit code

    def _block_piece(self, record: Record, block: Block) -> Piece | None:
        match block:
            case Text(text=text):
                return self._piece(record, _PROSE[record.kind], self._prose(record, text))
            case Thinking(text=text):
                return self._piece(record, "thinking", text)
            case ToolUse():
                return self._call(record, block)
            case ToolResult():
                return self._result(record, block)
            case _:
                return None

    def _prose(self, record: Record, text: str) -> str:
        """Return a prompt as it was typed, without what the client adds."""
        if record.kind is not RecordKind.PROMPT:
            return text
        typed = self._agent.typed(record)
        return typed if typed.strip() and len(record.blocks) == 1 else text

    def _call(self, record: Record, use: ToolUse) -> Piece | None:
        self._pending_uses[use.call_id] = use
        if use.tool in self._capture.exclude_tools:
            hidden = self._piece(record, "call", "")
            return hidden._replace(tool=use.tool, call_id=use.call_id, is_excluded=True)
        actions = self._agent.actions(use)
        files = tuple(self._redact(path) for action in actions for path in _files_of(action))
        is_command = bool(actions) and isinstance(actions[0], Ran)
        piece = self._piece(
            record, "command" if is_command else "call", _call_text(use, actions, self._capture)
        )
        return piece._replace(tool=use.tool, call_id=use.call_id, files=files)

    def _result(self, record: Record, result: ToolResult) -> Piece | None:
        use = self._pending_uses.pop(result.call_id, None)
        if use is not None and use.tool in self._capture.exclude_tools:
            return None
        text, exit_code, failed = result.text, None, result.is_error
        if use is not None:
            answer = self._agent.answer(use, result)
            text, exit_code, failed = answer.text or answer.user_text, answer.exit_code, answer.failed
        if failed is None and exit_code is not None:
            failed = exit_code != 0
        piece = self._piece(record, "result", text)
        return piece._replace(call_id=result.call_id, exit_code=exit_code, failed=failed)

    def _redact(self, text: str) -> str:
        return text if self._capture.redactor is None else self._capture.redactor.redact(text)

    def _piece(self, record: Record, kind: PieceKind, text: str) -> Piece:
        return Piece(
            kind=kind,
            text=redact_and_shorten(_ESCAPES.sub("", text) if "\x1b" in text else text, self._redact),
            line=record.place.line_idx + 1,
            start=record.place.start,
            at=None if record.at is None else int(record.at.timestamp()),
        )


def redact_and_shorten(text: str, redact: Callable[[str], str]) -> str:
    """Return head and tail of a text without credentials, which are removed before cutting: half of one is not recognised."""
    if len(text) > HEAD_CHARS + TAIL_CHARS + 2 * _MAX_SECRET_CHARS:
        ends = text[: HEAD_CHARS + _MAX_SECRET_CHARS], text[-TAIL_CHARS - _MAX_SECRET_CHARS :]
        text = f"{redact(ends[0])}\n{redact(ends[1])}"
        return shorten(text)
    return shorten(redact(text))


def shorten(text: str) -> str:
    """Return head and tail of a long text, cut between words."""
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    head, tail = text[:HEAD_CHARS], text[-TAIL_CHARS:]
    return f"{head[: max(head.rfind(' '), head.rfind(chr(10))) + 1] or head}\n…\n{tail[_first_gap(tail) :]}"


def _first_gap(text: str) -> int:
    gaps = [at for at in (text.find(" "), text.find("\n")) if at >= 0]
    return min(gaps, default=0)


def _call_text(use: ToolUse, actions: tuple[Action, ...], capture: Capture) -> str:
    """Return a command as it was typed, or the input of any other call."""
    if actions and isinstance(actions[0], Ran):
        purpose = actions[0].purpose
        return f"{actions[0].command}\n# {purpose}" if purpose else actions[0].command
    if isinstance(use.input, str):
        return f"{use.tool} {use.input}"
    # Redacted with their names, which are not in the text: a password may look like any word.
    return " ".join([use.tool, _value_text(capture.clean(use.input))])


def _value_text(value: object) -> str:
    match value:
        case str():
            return value
        case dict():
            return " ".join(_value_text(inner) for inner in value.values())
        case list():
            return "\n".join(_value_text(inner) for inner in value)
        case _:
            return str(value)


def _files_of(action: Action) -> tuple[str, ...]:
    match action:
        case Moved(path=path, to=to):
            return path, to
        case Looked(path=path) | Changed(path=path) | Wrote(path=path) | Removed(path=path):
            return (path,)
        case _:
            return ()
