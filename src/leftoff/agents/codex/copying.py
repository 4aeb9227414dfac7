"""Writes a rollout anew under another id: cut, given back, or as it was; never in place, because forks point into it (L32).

The first line is the head of the session and carries the metadata; ``forked_from_id`` names the session that the copy was made from, as
Codex itself would. A fork is written whole, with what it inherits, and needs nobody's rollout any more. Lines of a paginated
rollout are numbered without a gap. What events repeat of a cut piece for the screen is cut with it (L31).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from leftoff.agents.codex import chain, forks, outline, parts
from leftoff.agents.codex.configuration import model_provider
from leftoff.agents.codex.fresh import new_meta, rollout_path, stamp
from leftoff.agents.codex.items import is_own
from leftoff.agents.codex.repeated import Repeated
from leftoff.agents.codex.usage_cap import LINE_MARK, UsageCap
from leftoff.agents.collecting import last_line, opening, opening_ranks
from leftoff.agents.copying import (
    Into,
    Written,
    changed,
    counted,
    dumped,
    objects_in,
    pieces_of,
    runs,
    told,
    write_session,
)
from leftoff.agents.fields import rows, text
from leftoff.agents.jsonl import Piece, opened, pieces
from leftoff.agents.usage_tally import Room
from leftoff.errors import TranscriptError
from leftoff.model.copying import Change, Copy, CopyOrder, Invariant, Outline
from leftoff.model.lineage_text import with_block, with_name
from leftoff.model.records import Place, Record, Text
from leftoff.model.session import DERIVED_BY, Session
from leftoff.model.trim_plan import CutPart
from leftoff.model.wire import JsonObject, JsonValue
from leftoff.system import files, ids

_FIRST_PIECES = 8  # a head further down is a copy of somebody else's
_SUPERSEDED = (*DERIVED_BY, "history_base", "forked_from_ordinal_exclusive")
_ID_FIELDS = ("id", "thread_id", "session_id")
_GIVEN = (b'"arguments":{', b'"input":{', b'"arguments": {', b'"input": {')  # to a tool, and not as a text
_HEAD_BYTES = 300  # before the long instructions, which are words
_FAR_BYTES = 16 * 1024 * 1024
_Spot = tuple[str, int]  # a rollout and the byte where an object begins


def write_copy(
    home: Path,
    session: Session,
    changes: Sequence[Change],
    order: CopyOrder,
    own: Sequence[Invariant],
    into: Into = files.drafted,
) -> Copy:
    """The copy, in the folder of the day.

    Codex may be writing into the source: the copy, and whoever looks for its flaws in the source, go to the same byte.
    """
    session_id = ids.uuid7(order.at)
    target = order.placed(rollout_path(home, session_id, order.at))
    segments = forks.lineage(Path(session.transcript), home)
    ends = [*map(_end_of, segments)]
    provider = segments[-1].meta.model_provider or model_provider(home)
    named = replace(order, block=order.block and with_name(order.block, target.name))
    writing = _Writing(session, segments, ends, changes, named, session_id, provider)
    size = write_session(
        target,
        writing.lines(),
        outline.OUTLINER,
        source=lambda: map(_without_numbers, _outlines(segments, ends)),
        invariants=(*order.invariants, *own),
        room=writing.room,
        less_than_bytes=sum(ends) if order.must_shrink else None,
        into=into,
    )
    return Copy(session_id=session_id, transcript=target, size_bytes=size)


def copy_size(
    home: Path, session: Session, changes: Sequence[Change], order: CopyOrder, own: Sequence[Invariant]
) -> int:
    """How large the copy would be; refused as it would be, and written nowhere."""
    return write_copy(home, session, changes, order, own, into=counted).size_bytes


def original(record: Record, part: CutPart, call_id: str | None) -> JsonValue:
    """The piece as the record has it; None when it has none."""
    values = (parts.value_of(line, part, call_id) for line in objects_in(record.raw))
    return next((value for value in values if value is not None), None)


def _outlines(segments: tuple[forks.Segment, ...], ends: Sequence[int]) -> Iterator[Outline]:
    for segment, end in zip(segments, ends, strict=True):
        for run in runs(segment.path, end=end):
            yield outline.of_same(run.raw)


def _without_numbers(lines: Outline) -> Outline:
    """The numbers must hold in the copy, whatever they were: each is written anew."""
    return lines._replace(ids=(), parent_ids=())


def _end_of(segment: forks.Segment) -> int:
    """Up to which byte of its text the session goes through this rollout: where the next takes over, else to its end by now."""
    if segment.end is not None:
        return max((piece.place.end for piece in forks.oldest_first((segment,))), default=0)
    with opened(segment.path) as file:
        return file.seek(0, 2)


class _Writing:
    """One pass over the rollouts that the session is made of."""

    def __init__(
        self,
        session: Session,
        segments: tuple[forks.Segment, ...],
        ends: Sequence[int],
        changes: Sequence[Change],
        order: CopyOrder,
        session_id: str,
        provider: str,
    ) -> None:
        self._session, self._segments, self._ends, self._order = session, segments, ends, order
        self._session_id, self._provider = session_id, provider
        self._heads = [_head(segment.path) for segment in segments]
        self._block_at = _first_prompt(session, order)
        self._changes: dict[_Spot, list[Change]] = {}
        for change in changes:
            self._changes.setdefault((change.place.transcript, change.place.start), []).append(change)
        self._measured = {(place.transcript, place.start) for place in order.measured_at}
        self._rejoined = {
            (each.place.transcript, each.place.start): each.raw for each in order.left_out.parts
        }
        self._repeated = Repeated(changes)
        self._first_change = min((change.place.start for change in changes), default=0)
        self._cap = UsageCap(order.used_tokens) if order.used_tokens is not None else None
        self._cap_from = _cap_from(segments, order) if self._cap else None
        self.room = Room(self._cap.tally if self._cap else None)
        self._old_ids = {session.session_id, *(segment.meta.session_id for segment in segments)}
        self._id_swaps = [*_id_swaps(session, segments, session_id)]
        self._given = _GIVEN[: 2 * len(_gaps(segments))]  # each search goes through all of the file
        self._folder_swaps = [*_folder_swaps(session, order)]
        self._number: int | None = None  # of the next line, where lines are numbered

    def lines(self) -> Iterator[Written]:
        """Every line of the copy."""
        yield self._numbered_line(self._first_line())
        for segment, end, head in zip(self._segments, self._ends, self._heads, strict=True):
            yield from self._segment(segment, end, head)

    def _segment(self, segment: forks.Segment, end: int, head: Piece | None) -> Iterator[Written]:
        name = str(segment.path)
        due = {
            start
            for path, start in (*self._changes, *self._measured, *self._rejoined, *self._block_spot())
            if path == name
        }
        due |= {head.place.start} if head else set()
        due |= {self._cap_from[1]} if self._cap_from and self._cap_from[0] == name else set()
        for run in runs(segment.path, due, end):
            start, raw, is_due = told(run, self._order, sum(self._ends))
            if is_due:
                yield from self._due(name, start, raw, head)
            else:
                yield from map(self._numbered_line, self._passed(name, start, raw))

    def _block_spot(self) -> list[_Spot]:
        return [] if self._block_at is None else [self._block_at]

    def _passed(self, name: str, start: int, raw: bytes) -> Iterator[Written]:
        """Lines that no change names."""
        end = start + len(raw)
        raw = self._own(raw)
        if self._cap and (
            self._cap_from is None or (name == self._cap_from[0] and start >= self._cap_from[1])
        ):
            raw = self._cap.run(raw)
        # What repeats a piece stands behind the call that it is of, and that not far before the piece.
        is_before = len(self._segments) == 1 and end < self._first_change - _FAR_BYTES
        return iter((Written(raw),)) if is_before else self._repeated.shortened(raw)

    def _due(self, name: str, start: int, raw: bytes, head: Piece | None) -> Iterator[Written]:
        """What becomes of a line that has something to change in it, or the head, which stands first."""
        for piece in pieces_of(start, raw):
            begin = piece.place.start
            if head is not None and begin == head.place.start:
                continue
            spot = (name, begin)
            if spot != self._block_at and not any(
                spot in each for each in (self._changes, self._measured, self._rejoined)
            ):
                yield from map(self._numbered_line, self._passed(name, begin, piece.raw))
                continue
            line = changed(piece.raw, lambda value, spot=spot: self._edited(value, spot))  # type: ignore[misc]
            if line:
                yield self._numbered_line(Written(self._own(line), piece.raw))

    def _own(self, raw: bytes) -> bytes:
        """The lines under the new session's id, and in its new folder."""
        if any(mark in raw for mark in self._given) and any(old in raw for old, _ in self._id_swaps):
            raw = b"\n".join(map(self._renamed_itself, raw.split(b"\n")))
        else:
            raw = self._renamed(raw)
        for old, new in self._folder_swaps:
            raw = raw.replace(old, new)
        return raw

    def _renamed(self, raw: bytes) -> bytes:
        for old, new in self._id_swaps:
            raw = raw.replace(old, new)
        return raw

    def _renamed_itself(self, line: bytes) -> bytes:
        """A line under the new id in its own fields alone: an id in what a tool was given stays."""
        if not any(mark in line for mark in _GIVEN) or len(objects_in(line)) != 1:
            return self._renamed(line)
        return changed(line, self._with_own_id) if any(old in line for old, _ in self._id_swaps) else line

    def _with_own_id(self, line: JsonObject) -> JsonObject:
        for said in (line, parts.item_of(line)):
            for key in _ID_FIELDS:
                if isinstance(named := said.get(key), str) and named in self._old_ids:
                    said[key] = self._session_id
        return line

    def _edited(self, line: JsonObject, spot: _Spot) -> JsonObject | None:
        changes = self._changes.get(spot, ())
        for change in changes:
            if not parts.apply(line, change):
                raise TranscriptError(
                    f"{spot[0]}: line {change.place.line_idx + 1} is not what the plan was made from. "
                    "Plan anew; nothing was written.",
                    path=spot[0],
                    line=change.place.line_idx + 1,
                )
        if spot == self._block_at and self._order.block:
            _put_block(line, self._order.block)
        if spot in self._rejoined:
            for whole in objects_in(self._rejoined[spot])[:1]:
                parts.rejoin(line, whole)
        if spot in self._measured and self._cap:
            self._cap.exact(parts.item_of(line))
        return None if any(change.part == "thinking" for change in changes) else line

    def _first_line(self) -> Written:
        """The head of the newest rollout as the copy's own."""
        head = self._heads[-1]
        if head is None:
            at = self._order.at
            payload = new_meta(self._session_id, at, self._session.project)
            bare: JsonObject = {"timestamp": stamp(at), "type": "session_meta", "payload": payload}
            return Written(self.room.made(dumped(self._with_metadata(bare))) + b"\n", b"")
        raw = self.room.made(changed(head.raw, self._with_metadata))
        return Written(raw.rstrip(b" \t\r\n") + b"\n", head.raw)

    def _with_metadata(self, line: JsonObject) -> JsonObject:
        said = parts.item_of(line)
        if said.get("history_mode") == "paginated":
            self._number = line["ordinal"] = 0  # now, because room is counted from the beginning of the line
        for key in _SUPERSEDED:
            line.pop(key, None)
            said.pop(key, None)
        said["id"] = self._session_id
        if "session_id" in said:
            said["session_id"] = self._session_id
        said["timestamp"] = stamp(self._order.at)
        said["forked_from_id"] = self._session.session_id
        said["model_provider"] = self._provider
        if self._order.project is not None:
            folder = str(self._order.project.resolve())
            said["cwd"] = folder
            if "runtime_workspace_roots" in said:
                said["runtime_workspace_roots"] = [folder]
        said |= self.room.marked(self._order.metadata)
        return line

    def _numbered_line(self, written: Written) -> Written:
        """The lines with the numbers that they have in the copy."""
        if self._number is None:
            return written
        if _is_numbered(written.raw, self._number, count := written.raw.count(b"\n")):
            self._number += count
            return written
        lines = written.raw.split(b"\n")
        numbered = [line for line in lines if line.startswith(b"{")]
        first, self._number = self._number, self._number + len(numbered)
        numbers = iter(range(first, self._number))
        made = (_renumbered(line, next(numbers)) if line.startswith(b"{") else line for line in lines)
        return written._replace(raw=b"\n".join(made))


def _is_numbered(raw: bytes, first: int, count: int) -> bool:
    """Whether the first and the last line have the right numbers; whoever looks through the copy sees those between."""
    last = raw.rfind(b"\n", 0, -1) + 1
    return raw.endswith(b"\n") and _has_number(raw, 0, first) and _has_number(raw, last, first + count - 1)


def _has_number(raw: bytes, begin: int, number: int) -> bool:
    at = raw.find(outline.ORDINAL, begin, begin + outline.HEAD_BYTES)
    return at >= 0 and raw.startswith(b"%d," % number, at + len(outline.ORDINAL))


def _renumbered(line: bytes, number: int) -> bytes:
    at = line.find(outline.ORDINAL, 0, outline.HEAD_BYTES) + len(outline.ORDINAL)
    if at < len(outline.ORDINAL):
        return b'{"ordinal":%d,' % number + line[1:]
    return line[:at] + b"%d" % number + line[line.find(b",", at) :]


def _head(path: Path) -> Piece | None:
    """The line that says what session this is; None where it is broken or cut away."""
    for piece in islice(pieces(path), _FIRST_PIECES):
        line = piece.value or {}
        if line.get("type") == "session_meta" and isinstance(line.get("payload"), dict):
            return piece
        if "type" not in line and text(line, "id") and text(line, "timestamp"):  # until August 2025
            return piece
    return None


def _first_prompt(session: Session, order: CopyOrder) -> _Spot | None:
    """What gets the lineage block: the first real prompt that is sent, else the history that a compaction left."""
    if order.block is None:
        return None
    place = order.first_prompt or _looked_for(session)
    return (place.transcript, place.start) if place else None


def _looked_for(session: Session) -> Place | None:
    return opening(chain.live_chain(session.records).places, opening_ranks(session.records, chain.opens))


def _cap_from(segments: tuple[forks.Segment, ...], order: CopyOrder) -> _Spot | None:
    """Where numbers begin to count: with what is live, or the last that Codex finds, whichever comes first; None: with the first line."""
    place, newest = order.live_from, segments[-1].path
    if place is None or place.transcript != str(newest) or newest.suffix == ".zst":
        return None
    last = last_line(newest, LINE_MARK, bool)
    return place.transcript, min(place.start, place.start if last is None else last)


def _put_block(line: JsonObject, block: str) -> None:
    """Before the first words of the user; of a replaced history, before the first in it."""
    item = parts.item_of(line)
    history = item.get("replacement_history")
    messages = history if isinstance(history, list) else [item]
    for message in messages:
        if not (isinstance(message, dict) and message.get("role") == "user"):
            continue
        for part in rows(message, "content"):
            words = text(part, "text") if isinstance(part, dict) else None
            if words and isinstance(part, dict) and is_own(Text(text=words)):
                part["text"] = with_block(words, block)
                return


def _id_swaps(
    session: Session, segments: tuple[forks.Segment, ...], new: str
) -> Iterator[tuple[bytes, bytes]]:
    """``thread_id`` and ``session_id`` of every line; events name the thread they belong to."""
    gaps = _gaps(segments)
    for old in dict.fromkeys((session.session_id, *(segment.meta.session_id for segment in segments))):
        for gap in gaps:
            yield b'd":' + gap + dumped(old), b'd":' + gap + dumped(new)


def _gaps(segments: tuple[forks.Segment, ...]) -> tuple[bytes, ...]:
    """What stands between a key and its value: nothing, as the client writes, and also a blank where others wrote."""
    with segments[-1].path.open("rb") as file:
        return (b"", b" ") if b'": "' in file.read(_HEAD_BYTES) else (b"",)


def _folder_swaps(session: Session, order: CopyOrder) -> Iterator[tuple[bytes, bytes]]:
    """The folder that each turn says it was in."""
    if order.project is not None and session.project is not None:
        new = dumped(str(order.project.resolve()))
        yield b'"cwd":' + dumped(session.project), b'"cwd":' + new
