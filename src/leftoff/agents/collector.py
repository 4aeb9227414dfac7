"""Collects the content that could be cut while an adapter builds the live chain.

Memory holds the pieces that are large enough and a few numbers per record. Which of them are live is known only at the end: then
they are put in sending order and numbered by turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from leftoff.agents.copy_writer import parse_objects
from leftoff.agents.cut_values import NOTE_KEY, longest_text
from leftoff.agents.jsonl import LONGEST_LINE_BYTES, open_transcript
from leftoff.core.actions import Action, Planned, TodoSet
from leftoff.core.metrics import AgentWindow, Occupancy, used_tokens
from leftoff.core.records import (
    Block,
    Image,
    Opaque,
    Place,
    Record,
    RecordKind,
    Text,
    ToolResult,
    ToolUse,
    Usage,
)
from leftoff.core.session import LiveChain, Session
from leftoff.core.trim_plan import (
    CopyOrder,
    CutPart,
    LivePieces,
    Piece,
    RestoredPiece,
    TodoPart,
    digest_of,
)
from leftoff.core.wire import JsonObject, JsonValue

_BLOCK_BYTES = 1024 * 1024
_LEAST_RESULT_CHARS = 2000  # between two replies; less says little about how many tokens a character takes
_SAMPLE_CHARS = 10_000  # for which the usual ratio counts
_FEWEST_TOKENS_PER_CHAR, _MOST_TOKENS_PER_CHAR = 0.2, 0.6  # nearly all real sessions lie between these
_TIME = re.compile(rb'"timestamp": ?"([0-9][0-9T:.-]{18,29}Z)"')


class Content(NamedTuple):
    """One piece of a record: ``value`` is its JSON value, ``text`` what a reader sees of it."""

    part: CutPart
    call_id: str | None
    tool: str | None
    chars: int
    value: JsonValue
    text: str
    is_error: bool | None = None
    todos: TodoPart | None = None


class _ResultRatio:
    """How many tokens a character of tool results takes, by what the agent reported before and after them.

    The tokens sent with one reply and with the next differ by what the first one answered, which is reported, and by what was
    added in between. Pairs with little else than results in between are counted. The usual ratio counts as one more sample, so
    that a few short results prove little.
    """

    def __init__(self) -> None:
        self._replies: list[_MeasuredReply] = []
        self._waiting: Usage | None = None
        self._last: Usage | None = None
        self._in_reply = False

    def add_usage(self, usage: Usage, *, before_reply: bool) -> None:
        if usage == self._last:
            return  # a reply's usage is on several lines
        self._last = usage
        if before_reply:
            self._waiting = usage
        elif self._replies:
            last = self._replies[-1]
            if last.usage is None or usage.occupancy_tokens > last.usage.occupancy_tokens:
                last.usage = usage

    def add(self, record: Record, chars: int, result_chars: int) -> None:
        if record.kind is RecordKind.COMPACTION:
            self._replies.append(_MeasuredReply())  # without usage: no pair spans it
            self._in_reply = False
        elif record.kind is RecordKind.REPLY:
            is_same = (
                record.reply_id is not None
                and bool(self._replies)
                and record.reply_id == self._replies[-1].reply_id
            )
            if not self._in_reply and not is_same:
                self._replies.append(_MeasuredReply(reply_id=record.reply_id, usage=self._waiting))
                self._waiting = None
            self._in_reply = True
        elif self._replies:
            self._in_reply = False
            self._replies[-1].result_chars += result_chars
            self._replies[-1].other_chars += chars - result_chars

    def tokens_per_char(self, usual: float) -> float:
        tokens, chars = usual * _SAMPLE_CHARS, float(_SAMPLE_CHARS)
        for earlier, later in pairwise(self._replies):
            if earlier.usage is None or later.usage is None or not earlier.has_mostly_results:
                continue
            added = later.sent_tokens - earlier.sent_tokens - earlier.usage.output_tokens
            if added > 0:
                tokens += added
                chars += earlier.result_chars
        return round(min(max(tokens / chars, _FEWEST_TOKENS_PER_CHAR), _MOST_TOKENS_PER_CHAR), 4)


@dataclass(slots=True, kw_only=True)
class _MeasuredReply:
    """One reply, its usage, and the characters added after it and before the next."""

    reply_id: str | None = None
    usage: Usage | None = None
    result_chars: int = 0
    other_chars: int = 0

    @property
    def sent_tokens(self) -> int:
        return self.usage.sent_tokens if self.usage else 0

    @property
    def has_mostly_results(self) -> bool:
        return self.result_chars >= _LEAST_RESULT_CHARS and self.other_chars <= self.result_chars / 10


class _RecordSize(NamedTuple):
    checksum: int
    is_prompt: bool
    opening_rank: int | None
    chars: int
    # The calls that the record answers, and the characters of each answer.
    answers: tuple[tuple[str, int], ...]
    pieces: tuple[Piece, ...]


@dataclass(slots=True, kw_only=True)
class Collector:
    """Collects pieces; each record is added once."""

    at_least_chars: int
    head: int
    tail: int
    chars: Callable[[tuple[Block, ...]], int]  # counts characters as the agent does
    opening_rank: Callable[[Record], int | None]  # the lowest gets the lineage block
    usage_first: bool = False  # usage precedes the reply that it belongs to
    _ratio: _ResultRatio = field(default_factory=_ResultRatio)
    _tail_places: set[Place] = field(default_factory=set)  # added since the last usage
    _tools: dict[str, str] = field(default_factory=dict)
    _records: dict[Place, _RecordSize] = field(default_factory=dict)

    def add(self, record: Record, contents: Callable[[dict[str, str]], Iterable[Content]]) -> None:
        """Add the next record. If it is large, ``contents`` is called for its pieces, with the tool of each call so far."""
        if record.actor is not None:
            return
        if record.messages:
            self._add_messages(record, contents)
        if record.usage is not None:
            self._ratio.add_usage(record.usage, before_reply=self.usage_first)
            self._tail_places.clear()

    def _add_messages(self, record: Record, contents: Callable[[dict[str, str]], Iterable[Content]]) -> None:
        blocks = record.blocks
        self._tools.update((block.call_id, block.tool) for block in blocks if isinstance(block, ToolUse))
        chars = self.chars(blocks)
        large = [
            content
            for content in (contents(self._tools) if chars >= self.at_least_chars else ())
            if content.chars >= self.at_least_chars
        ]
        answers = [(block.call_id, self.chars((block,))) for block in blocks if isinstance(block, ToolResult)]
        self._ratio.add(record, chars, sum(chars for _, chars in answers))
        self._tail_places.add(record.place)
        self._records[record.place] = _RecordSize(
            checksum=crc32(record.raw),
            is_prompt=record.kind is RecordKind.PROMPT,
            opening_rank=self.opening_rank(record),
            chars=chars,
            answers=tuple(answers),
            pieces=tuple([self._piece(record.place, content) for content in large]),
        )

    def collected(self, chain: LiveChain, occupancy: Occupancy, agent_window: AgentWindow) -> LivePieces:
        """Return the pieces that are live, in sending order."""
        pieces: list[Piece] = []
        checksums: list[JsonValue] = []
        live_chars = turns = 0
        for place in chain.places:
            record = self._records.get(place)
            if record is None:
                continue
            checksums.append(record.checksum)
            turns += record.is_prompt
            live_chars += record.chars - sum(
                chars for call, chars in record.answers if call in chain.cleared_calls
            )
            pieces += (
                piece._replace(turn=turns)
                for piece in record.pieces
                if piece.part != "result" or piece.call_id not in chain.cleared_calls
            )
        used = used_tokens(occupancy, agent_window)[0]
        if used is None:
            used = (agent_window.baseline_tokens or 0) + round(live_chars * agent_window.tokens_per_char)
        return LivePieces(
            pieces=tuple(pieces),
            live_chars=live_chars,
            live_tokens=used,
            turns=turns,
            tokens_per_char=self._ratio.tokens_per_char(agent_window.tokens_per_char),
            tail_tokens=0 if occupancy.used_tokens is None else used - occupancy.used_tokens,
            tail_places=frozenset(self._tail_places),
            first_prompt=_find_opening(
                chain.places,
                {
                    place: record.opening_rank
                    for place, record in self._records.items()
                    if record.opening_rank is not None
                },
            ),
            live_from=_first_in_file(chain.places),
            content_digest=digest_of(checksums),
        )

    def _piece(self, place: Place, content: Content) -> Piece:
        text = content.text
        return Piece(
            place=place,
            part=content.part,
            call_id=content.call_id,
            tool=content.tool,
            chars=content.chars,
            turn=0,
            digest=digest_of(content.value),
            head=text[: self.head],
            tail=text[-self.tail :] if self.tail else "",
            is_error=content.is_error,
            text_chars=len(text),
            todos=content.todos,
        )


def find_block_place(
    session: Session,
    order: CopyOrder,
    live_chain: Callable[[Iterable[Record]], LiveChain],
    rank_of: Callable[[Record], int | None],
) -> Place | None:
    """Return the place that gets the lineage block of a copy; None if it gets none."""
    if order.block is None:
        return None
    if order.first_prompt is not None:
        return order.first_prompt
    ranks = {record.place: rank for record in session.records if (rank := rank_of(record)) is not None}
    return _find_opening(live_chain(session.records).places, ranks)


def _find_opening(places: Iterable[Place], ranks: Mapping[Place, int]) -> Place | None:
    """Return the place of the opening: in sending order, the first with the lowest rank."""
    ranked = [place for place in places if place in ranks]
    return min(ranked, key=lambda place: ranks[place], default=None)


def input_content(
    call_id: str, tool: str, chars: int, value: JsonValue, actions: Sequence[Action]
) -> Content:
    """Return the input of a call as one piece; ``value`` is decoded, ``actions`` are what the call does."""
    todos: TodoPart | None = None
    if any(isinstance(action, Planned) for action in actions):
        todos = "list"
    elif any(isinstance(action, TodoSet) for action in actions):
        todos = "entry"
    note = value.get(NOTE_KEY) if isinstance(value, dict) else None
    return Content(
        part="input",
        call_id=call_id,
        tool=tool,
        chars=chars,
        value=value,
        text=note if isinstance(note, str) else longest_text(value),
        todos=todos,
    )


def text_content(part: CutPart, texts: Sequence[str], chars: int) -> Content:
    """Return the texts of a reply as one piece."""
    value = text_value(texts)
    return Content(part=part, call_id=None, tool=None, chars=chars, value=value, text="\n".join(texts))


def text_value(texts: Sequence[str]) -> JsonValue:
    """Return the JSON value of a piece made of these texts; None without any."""
    return None if not texts else texts[0] if len(texts) == 1 else [*texts]


def restored_texts(piece: RestoredPiece) -> list[str]:
    """Return the texts of a piece whose value is ``text_value``."""
    values = piece.value if isinstance(piece.value, list) else [piece.value]
    return [value for value in values if isinstance(value, str)]


def original_value(record: Record, value_of: Callable[[JsonObject], JsonValue]) -> JsonValue:
    """Return the first value that is found in a line of the record; None if no line has one."""
    values = map(value_of, parse_objects(record.raw))
    return next((value for value in values if value is not None), None)


def readable_text(parts: Iterable[Text | Image | Opaque]) -> str:
    """Return what a reader sees of an answer: its text, and a description of what is not text."""
    return "\n".join(map(_describe, parts))


def lines_before(path: Path, end: int) -> int:
    """Count the lines that end before that byte."""
    return sum(_line_ends(block) for block in _blocks(path, end))


def occurs_before(path: Path, end: int, mark: bytes) -> bool:
    """Say whether ``mark`` occurs before that byte of the file."""
    last = b""
    for block in _blocks(path, end):
        if mark in last + block[: len(mark)] or mark in block:
            return True
        last = block[-len(mark) :]
    return False


def newest_time_before(path: Path, end: int) -> str:
    """Return the newest timestamp on any line before that byte, or an empty string."""
    newest = b""
    with open_transcript(path) as file:
        while (left := end - file.tell()) > 0:
            block = file.read(min(left, _BLOCK_BYTES))
            if len(block) < left:  # not in the middle of a line
                block += file.readline(LONGEST_LINE_BYTES)
            newest = max(newest, max(_TIME.findall(block), default=b""))
    return newest.decode("ascii")


def _blocks(path: Path, end: int) -> Iterator[bytes]:
    with open_transcript(path) as file:
        while end > 0 and (block := file.read(min(end, _BLOCK_BYTES))):
            end -= len(block)
            yield block


def _line_ends(block: bytes) -> int:
    """Count newlines: since lines are long, going from one to the next is three times as fast as ``bytes.count``."""
    count, at = 0, block.find(b"\n")
    while at >= 0:
        count += 1
        at = block.find(b"\n", at + 1)
    return count


def _first_in_file(places: Sequence[Place]) -> Place | None:
    """Return the first place; None if they are in several files, whose order is not known."""
    if len({place.transcript for place in places}) != 1:
        return None
    return min(places, key=lambda place: place.start)


def _describe(part: Text | Image | Opaque) -> str:
    match part:
        case Text():
            return part.text
        case Image():
            return f"(a picture: {part.media_type or 'of unknown type'}, {part.size_bytes:,} bytes)"
        case Opaque():
            return f"({part.type or 'something'})"
