"""Collects what could be cut while an adapter's live chain is made from the same pass, and finds where such a pass may begin.

Memory holds the pieces that are large enough and a few numbers per record, never the records. Which of them are live is known only
at the end: then they are put in sending order and told their turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from leftoff.agents.jsonl import LONGEST_LINE_BYTES, opened
from leftoff.model.copying import LivePieces, Piece, digest_of
from leftoff.model.occupancy import Occupancy
from leftoff.model.records import Block, Image, Opaque, Place, Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.model.session import LiveChain
from leftoff.model.trim_plan import CutPart
from leftoff.model.wire import JsonValue

USUAL_TOKENS_PER_CHAR = 0.374  # as the meter has it: 2.7 characters to a token over 204 real sessions
_BLOCK_BYTES = 1024 * 1024
_TIME = re.compile(rb'"timestamp": ?"([0-9][0-9T:.-]{18,29}Z)"')


class Content(NamedTuple):
    """One piece of a record as an adapter found it: ``value`` is its JSON value, ``words`` what a reader sees of it."""

    part: CutPart
    call_id: str | None
    tool: str | None
    chars: int
    value: JsonValue
    words: str
    is_error: bool | None = None


class _Seen(NamedTuple):
    is_prompt: bool
    opens: int | None
    chars: int
    answered: tuple[tuple[str, int], ...]  # calls that the record answers, and what each answer takes
    pieces: tuple[Piece, ...]


@dataclass(slots=True, kw_only=True)
class Collector:
    """Looks at each record once."""

    at_least_chars: int
    head: int
    tail: int
    chars: Callable[[tuple[Block, ...]], int]  # what blocks take, as the agent counts
    opens: Callable[[Record], int | None]  # see ``opening``
    _tools: dict[str, str] = field(default_factory=dict)
    _seen: dict[Place, _Seen] = field(default_factory=dict)

    def see(self, record: Record, contents: Callable[[dict[str, str]], Iterable[Content]]) -> None:
        """The next record; ``contents`` is asked for its pieces with the tools of the calls so far."""
        if record.actor is not None or not record.messages:
            return
        blocks = record.blocks
        self._tools.update((block.call_id, block.tool) for block in blocks if isinstance(block, ToolUse))
        taken = self.chars(blocks)
        found = contents(self._tools) if taken >= self.at_least_chars else ()
        self._seen[record.place] = _Seen(
            is_prompt=record.kind is RecordKind.PROMPT,
            opens=self.opens(record),
            chars=taken,
            answered=tuple(
                [(block.call_id, self.chars((block,))) for block in blocks if isinstance(block, ToolResult)]
            ),
            pieces=tuple([self._piece(record.place, each) for each in found if self._is_large(each)]),
        )

    def collected(self, chain: LiveChain, occupancy: Occupancy) -> LivePieces:
        """What of it is live, in sending order."""
        pieces: list[Piece] = []
        live_chars = turns = 0
        for place in chain.places:
            seen = self._seen.get(place)
            if seen is None:
                continue
            turns += seen.is_prompt
            live_chars += seen.chars - sum(
                chars for call, chars in seen.answered if call in chain.cleared_calls
            )
            pieces += (
                piece._replace(turn=turns)
                for piece in seen.pieces
                if piece.part != "result" or piece.call_id not in chain.cleared_calls
            )
        return LivePieces(
            pieces=tuple(pieces),
            live_chars=live_chars,
            live_tokens=_live_tokens(occupancy, live_chars),
            turns=turns,
            first_prompt=opening(
                chain.places,
                {place: seen.opens for place, seen in self._seen.items() if seen.opens is not None},
            ),
            live_from=_first_in_file(chain.places),
        )

    def _is_large(self, content: Content) -> bool:
        return content.chars >= self.at_least_chars

    def _piece(self, place: Place, content: Content) -> Piece:
        words = content.words
        return Piece(
            place=place,
            part=content.part,
            call_id=content.call_id,
            tool=content.tool,
            chars=content.chars,
            turn=0,
            digest=digest_of(content.value),
            head=words[: self.head],
            tail=words[-self.tail :] if self.tail else "",
            is_error=content.is_error,
        )


def opening(places: Iterable[Place], ranks: Mapping[Place, int]) -> Place | None:
    """Of the places in sending order the one that gets the lineage block: the first of those with the lowest rank."""
    ranked = [place for place in places if place in ranks]
    return min(ranked, key=lambda place: ranks[place], default=None)


def opening_ranks(records: Iterable[Record], opens: Callable[[Record], int | None]) -> dict[Place, int]:
    """The ranks of all records that have one."""
    return {record.place: rank for record in records if (rank := opens(record)) is not None}


def words_of(parts: Iterable[Text | Image | Opaque]) -> str:
    """What a reader sees of an answer: its words, and a word for what is none."""
    return "\n".join(map(_shown, parts))


def longest(given: JsonValue) -> str:
    """The longest text in a tool's input, however deep: what a reader would take for its content."""
    found, waiting = "", [given]
    while waiting:
        match waiting.pop():
            case str(text) if len(text) > len(found):
                found = text
            case dict(table):
                waiting += table.values()
            case list(rows):
                waiting += rows
            case _:
                pass
    return found


def last_line(path: Path, mark: bytes, accepts: Callable[[bytes], bool]) -> int | None:
    """Where the last line begins that holds ``mark`` and is accepted; looked for from the end. None: there is none."""
    with opened(path) as file:
        end = file.seek(0, 2)
        while end > 0:
            begin = max(0, end - _BLOCK_BYTES)
            file.seek(begin)
            block = file.read(end - begin)
            at = block.rfind(mark)
            if at < 0:
                end = begin + len(mark) - 1 if begin else 0  # the mark may lie across the border
                continue
            start = begin + at
            line_start = _line_start(file, start)
            file.seek(line_start)
            if accepts(file.readline(LONGEST_LINE_BYTES)):
                return line_start
            end = line_start
    return None


def lines_before(path: Path, end: int) -> int:
    """How many lines end before that byte."""
    return sum(_line_ends(block) for block in _blocks(path, end))


def stands_before(path: Path, end: int, mark: bytes) -> bool:
    """Whether those bytes stand before that byte of the file."""
    kept = b""
    for block in _blocks(path, end):
        if mark in kept + block[: len(mark)] or mark in block:
            return True
        kept = block[-len(mark) :]
    return False


def newest_time_before(path: Path, end: int) -> str:
    """The newest time that any line before that byte says; empty where none says one."""
    newest = b""
    with opened(path) as file:
        while (left := end - file.tell()) > 0:
            block = file.read(min(left, _BLOCK_BYTES))
            if len(block) < left:  # not in the middle of a line
                block += file.readline(LONGEST_LINE_BYTES)
            newest = max(newest, max(_TIME.findall(block), default=b""))
    return newest.decode("ascii")


def _blocks(path: Path, end: int) -> Iterator[bytes]:
    with opened(path) as file:
        while end > 0 and (block := file.read(min(end, _BLOCK_BYTES))):
            end -= len(block)
            yield block


def _line_ends(block: bytes) -> int:
    """Lines are long, so going from one end to the next is three times as fast as looking at every byte."""
    count, at = 0, block.find(b"\n")
    while at >= 0:
        count += 1
        at = block.find(b"\n", at + 1)
    return count


def _line_start(file: IO[bytes], at: int) -> int:
    while at > 0:
        begin = max(0, at - 65536)
        file.seek(begin)
        found = file.read(at - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        at = begin
    return 0


def _first_in_file(places: Sequence[Place]) -> Place | None:
    """None where they stand in several files, whose order the places do not tell."""
    if len({place.transcript for place in places}) != 1:
        return None
    return min(places, key=lambda place: place.start)


def _shown(part: Text | Image | Opaque) -> str:
    match part:
        case Text():
            return part.text
        case Image():
            return f"(a picture: {part.media_type or 'of unknown type'}, {part.size_bytes:,} bytes)"
        case Opaque():
            return f"({part.type or 'something'})"


def _live_tokens(occupancy: Occupancy, live_chars: int) -> int:
    if occupancy.used_tokens is None:
        return round(live_chars * USUAL_TOKENS_PER_CHAR)
    return occupancy.used_tokens + round(occupancy.tail_chars * USUAL_TOKENS_PER_CHAR)
