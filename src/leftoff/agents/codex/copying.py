"""Writes a session under another id, into a new file: with changes, with removed content restored, or as it is.

The first line describes the session and carries the metadata; ``forked_from_id`` names the original, as in Codex' own forks. A fork
is written whole, with what it inherits, and then needs no other rollout. Lines of a paginated rollout are numbered without a gap.
What events repeat of a cut piece for the screen is cut with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from leftoff.agents.codex import chain, copy_checks, rollouts, shrinkable
from leftoff.agents.codex.copy_checks import LINE_MARK, SPACED, RepeatedContent, UsageCap
from leftoff.agents.codex.items import is_typed
from leftoff.agents.codex.launch import format_time, new_meta, rollout_path
from leftoff.agents.codex.usage import model_provider
from leftoff.agents.collector import find_block_place
from leftoff.agents.copy_usage import ReservedUsage
from leftoff.agents.copy_writer import (
    CopyLines,
    OpenSink,
    ReadOutline,
    byte_counter,
    edit_line,
    outdated_plan,
    parse_objects,
    parse_pieces,
    read_runs,
    report_progress,
    to_json,
    write_session,
)
from leftoff.agents.jsonl import Piece, last_line, open_transcript, pieces, rows, text
from leftoff.core.records import Text
from leftoff.core.session import DERIVED_BY, Session, add_lineage_block, name_in_lineage_block
from leftoff.core.trim_plan import Change, Copy, CopyOrder, Invariant, Outline
from leftoff.core.wire import JsonObject
from leftoff.platform import clock, files

_SUPERSEDED = (*DERIVED_BY, "history_base", "forked_from_ordinal_exclusive")
_ID_FIELDS = ("id", "thread_id", "session_id")
# A tool's input that is an object, and not a text: it may contain fields that look like the line's own.
_INPUT_OBJECTS = (b'"arguments":{', b'"input":{', b'"arguments": {', b'"input": {')
_FAR_BYTES = 16 * 1024 * 1024
_Spot = tuple[str, int]  # a rollout and the byte where an object begins
_Swap = tuple[bytes, bytes]


def write_copy(
    home: Path,
    session: Session,
    changes: Sequence[Change],
    order: CopyOrder,
    invariants: Sequence[Invariant],
    open_sink: OpenSink = files.atomic_writer,
) -> Copy:
    """Write the copy in the folder of the day.

    Codex may be writing to the source: the copy, and the check of the source for problems, end at the same byte.
    """
    session_id = order.session_id(clock.uuid7(order.at))
    target = order.destination(rollout_path(home, session_id, order.at))
    segments = rollouts.lineage(Path(session.transcript), home)
    ends = [*map(_end_of, segments)]
    provider = segments[-1].meta.model_provider or model_provider(home)
    named = order._replace(block=order.block and name_in_lineage_block(order.block, target.name))
    writer = _CopyWriter(session, segments, ends, changes, named, session_id, provider)
    size = write_session(
        target,
        writer.lines(),
        copy_checks.OUTLINER,
        source=partial(_outlines, segments, ends),
        invariants=(*order.invariants, *invariants),
        reserved=writer.reserved,
        less_than_bytes=sum(ends) if order.must_shrink else None,
        open_sink=open_sink,
    )
    return Copy(session_id=session_id, transcript=target, size_bytes=size)


def copy_size(
    home: Path, session: Session, changes: Sequence[Change], order: CopyOrder, invariants: Sequence[Invariant]
) -> int:
    """Return how large the copy would be. Refuse what ``write_copy`` would refuse."""
    return write_copy(home, session, changes, order, invariants, byte_counter).size_bytes


def _end_of(segment: rollouts.Segment) -> int:
    """Return up to which byte the session uses this rollout: where the next takes over, else to its present end."""
    if segment.end is not None:
        return max((piece.place.end for piece in rollouts.oldest_first((segment,))), default=0)
    with open_transcript(segment.path) as file:
        return file.seek(0, 2)


def _outlines(
    segments: tuple[rollouts.Segment, ...], ends: Sequence[int], read: ReadOutline
) -> Iterator[Outline]:
    """Read the structure of the source, without the numbers of lines: those must hold in the copy, whatever they were."""
    for segment, end in zip(segments, ends, strict=True):
        for run in read_runs(segment.path, end=end):
            yield read(run.raw)._replace(ids=(), parent_ids=())


class _CopyWriter:
    """Produces the lines of the copy in one pass over the rollouts that the session is made of."""

    def __init__(
        self,
        session: Session,
        segments: tuple[rollouts.Segment, ...],
        ends: Sequence[int],
        changes: Sequence[Change],
        order: CopyOrder,
        session_id: str,
        provider: str,
    ) -> None:
        self._session, self._segments, self._ends, self._order = session, segments, ends, order
        self._session_id, self._provider = session_id, provider
        self._headers = [rollouts.find_header(pieces(segment.path)) for segment in segments]
        self._block_at = _first_prompt(session, order)
        self._changes: dict[_Spot, list[Change]] = {}
        for change in changes:
            self._changes.setdefault((change.place.transcript, change.place.start), []).append(change)
        self._measured = {(place.transcript, place.start) for place in order.measured_at}
        self._restored_parts = {
            (part.place.transcript, part.place.start): part.raw for part in order.left_out.parts
        }
        # Where lines begin that are decoded and edited.
        self._edits = {*self._changes, *self._measured, *self._restored_parts}
        if self._block_at is not None:
            self._edits.add(self._block_at)
        self._repeated = RepeatedContent(changes)
        self._first_change = min((change.place.start for change in changes), default=0)
        self._cap = None if order.used_tokens is None else UsageCap(order.used_tokens, order.removed_tokens)
        self._cap_from = _cap_from(segments, order) if self._cap else None
        self.reserved = ReservedUsage(self._cap.tally if self._cap else None)
        self._old_ids = {session.session_id, *(segment.meta.session_id for segment in segments)}
        self._id_swaps = [*_id_swaps(self._old_ids, session_id)]
        self._folder_swaps = [*_folder_swaps(session, order)]
        self._next_number: int | None = None  # where lines are numbered

    def lines(self) -> Iterator[CopyLines]:
        """Yield all lines of the copy."""
        yield self._number_lines(self._first_line())
        for segment, end, header in zip(self._segments, self._ends, self._headers, strict=True):
            yield from map(self._number_lines, self._segment_lines(segment, end, header))

    def _first_line(self) -> CopyLines:
        """Return the header of the newest rollout, changed to that of the copy."""
        header = self._headers[-1]
        if header is None:
            at = self._order.at
            payload = new_meta(self._session_id, at, self._session.project)
            bare: JsonObject = {"timestamp": format_time(at), "type": "session_meta", "payload": payload}
            return CopyLines(self.reserved.reserve(to_json(self._edit_header(bare))) + b"\n", b"")
        raw = self.reserved.reserve(edit_line(header.raw, self._edit_header))
        return CopyLines(raw.rstrip(b" \t\r\n") + b"\n", header.raw)

    def _edit_header(self, line: JsonObject) -> JsonObject:
        fields = shrinkable.item_of(line)
        if fields.get("history_mode") == "paginated":
            # Not later, because the reserved space is counted from the beginning of the line.
            self._next_number = line["ordinal"] = 0
        for key in _SUPERSEDED:
            line.pop(key, None)
            fields.pop(key, None)
        fields["id"] = self._session_id
        if "session_id" in fields:
            fields["session_id"] = self._session_id
        fields["timestamp"] = format_time(self._order.at)
        fields["forked_from_id"] = self._session.session_id
        fields["model_provider"] = self._provider
        if self._order.project is not None:
            folder = str(self._order.project.resolve())
            fields["cwd"] = folder
            if "runtime_workspace_roots" in fields:
                fields["runtime_workspace_roots"] = [folder]
        fields |= self.reserved.with_marker(self._order.metadata)
        return line

    def _segment_lines(
        self, segment: rollouts.Segment, end: int, header: Piece | None
    ) -> Iterator[CopyLines]:
        name = str(segment.path)
        spots = {*self._edits, *([self._cap_from] if self._cap_from else [])}
        positions = {start for path, start in spots if path == name}
        positions |= {header.place.start} if header else set()
        for run in read_runs(segment.path, positions, end):
            start, raw, is_selected = report_progress(run, self._order, sum(self._ends))
            if is_selected:
                yield from self._selected_line(name, start, raw, header)
            else:
                yield from self._unchanged_lines(name, start, raw)

    def _unchanged_lines(self, name: str, start: int, raw: bytes) -> Iterator[CopyLines]:
        """Yield lines that no change names."""
        end = start + len(raw)
        raw = self._rename(raw)
        is_live = self._cap_from is None or (name == self._cap_from[0] and start >= self._cap_from[1])
        if self._cap and is_live:
            raw = self._cap.cap_lines(raw)
        # What repeats a piece follows the call that it belongs to, which is not far before the piece.
        is_far_before = len(self._segments) == 1 and end < self._first_change - _FAR_BYTES
        return iter((CopyLines(raw),)) if is_far_before else self._repeated.shorten(raw)

    def _selected_line(self, name: str, start: int, raw: bytes, header: Piece | None) -> Iterator[CopyLines]:
        """Yield what becomes of a line that is changed, or that is the header, which was written already."""
        for piece in parse_pieces(start, raw):
            begin = piece.place.start
            spot = (name, begin)
            if header is not None and begin == header.place.start:
                continue
            if spot not in self._edits:
                yield from self._unchanged_lines(name, begin, piece.raw)
            elif line := edit_line(piece.raw, partial(self._edit, spot)):
                yield CopyLines(self._rename(line), piece.raw)

    def _edit(self, spot: _Spot, line: JsonObject) -> JsonObject | None:
        changes = self._changes.get(spot, ())
        for change in changes:
            if not shrinkable.apply(line, change):
                raise outdated_plan(spot[0], change)
        if spot == self._block_at and self._order.block:
            _add_block(line, self._order.block)
        if spot in self._restored_parts:
            for original in parse_objects(self._restored_parts[spot])[:1]:
                shrinkable.rejoin(line, original)
        if spot in self._measured and self._cap:
            self._cap.set_usage(shrinkable.item_of(line))
        return None if any(change.part == "thinking" for change in changes) else line

    def _rename(self, raw: bytes) -> bytes:
        """Return the lines with the id of the new session, and with its folder."""
        layouts = 2 if SPACED in raw else 1  # each search goes through the whole file
        has_input_objects = any(mark in raw for mark in _INPUT_OBJECTS[: 2 * layouts])
        if has_input_objects and any(old in raw for old, _ in self._id_swaps):
            raw = b"\n".join(map(self._rename_fields, raw.split(b"\n")))
        else:
            raw = _replace_all(raw, self._id_swaps[: layouts * len(self._old_ids)])
        return _replace_all(raw, self._folder_swaps[:layouts])

    def _rename_fields(self, line: bytes) -> bytes:
        """Change the id in the line's own fields only: an id in a tool's input must stay."""
        if not any(mark in line for mark in _INPUT_OBJECTS) or len(parse_objects(line)) != 1:
            return _replace_all(line, self._id_swaps)

        def rename(value: JsonObject) -> JsonObject:
            for fields in (value, shrinkable.item_of(value)):
                for key in _ID_FIELDS:
                    if isinstance(old := fields.get(key), str) and old in self._old_ids:
                        fields[key] = self._session_id
            return value

        return edit_line(line, rename) if any(old in line for old, _ in self._id_swaps) else line

    def _number_lines(self, lines: CopyLines) -> CopyLines:
        """Return the lines with the numbers that they have in the copy."""
        if self._next_number is None:
            return lines
        if _is_numbered(lines.raw, self._next_number, count := lines.raw.count(b"\n")):
            self._next_number += count
            return lines
        numbered: list[bytes] = []
        for line in lines.raw.split(b"\n"):
            if line.startswith(b"{"):
                numbered.append(_set_number(line, self._next_number))
                self._next_number += 1
            else:
                numbered.append(line)
        return lines._replace(raw=b"\n".join(numbered))


def _is_numbered(raw: bytes, first: int, count: int) -> bool:
    """Say whether the first and the last line have the right numbers; the check of the copy sees those between."""
    last = raw.rfind(b"\n", 0, -1) + 1
    return raw.endswith(b"\n") and _has_number(raw, 0, first) and _has_number(raw, last, first + count - 1)


def _has_number(raw: bytes, begin: int, number: int) -> bool:
    at = raw.find(copy_checks.ORDINAL, begin, begin + copy_checks.HEAD_BYTES)
    return at >= 0 and raw.startswith(b"%d," % number, at + len(copy_checks.ORDINAL))


def _set_number(line: bytes, number: int) -> bytes:
    at = line.find(copy_checks.ORDINAL, 0, copy_checks.HEAD_BYTES) + len(copy_checks.ORDINAL)
    if at < len(copy_checks.ORDINAL):
        return b'{"ordinal":%d,' % number + line[1:]
    return line[:at] + b"%d" % number + line[line.find(b",", at) :]


def _first_prompt(session: Session, order: CopyOrder) -> _Spot | None:
    """Return the line that gets the lineage block: the first real prompt that is sent, else a replaced history."""
    place = find_block_place(session, order, chain.live_chain, chain.opens)
    return (place.transcript, place.start) if place else None


def _cap_from(segments: tuple[rollouts.Segment, ...], order: CopyOrder) -> _Spot | None:
    """Return from where usage is capped: the live part or the last usage, whichever comes first; None for the first line."""
    place, newest = order.live_from, segments[-1].path
    if place is None or place.transcript != str(newest) or newest.suffix == ".zst":
        return None
    last = last_line(newest, LINE_MARK, bool)
    return place.transcript, min(place.start, place.start if last is None else last)


def _add_block(line: JsonObject, block: str) -> None:
    """Add the lineage block before the first text of the user; in a replaced history, before the first in it."""
    item = shrinkable.item_of(line)
    history = item.get("replacement_history")
    messages = history if isinstance(history, list) else [item]
    for message in messages:
        if not (isinstance(message, dict) and message.get("role") == "user"):
            continue
        for part in rows(message, "content"):
            content = text(part, "text") if isinstance(part, dict) else None
            if content and isinstance(part, dict) and is_typed(Text(text=content)):
                part["text"] = add_lineage_block(content, block)
                return


def _id_swaps(old_ids: Collection[str], new: str) -> Iterator[_Swap]:
    """Yield replacements for ``thread_id`` and ``session_id``: events name the thread that they belong to.

    First as Codex lays lines out, then with a space after the colon, as other programs do.
    """
    for gap in (b"", b" "):
        for old in old_ids:
            yield b'd":' + gap + to_json(old), b'd":' + gap + to_json(new)


def _folder_swaps(session: Session, order: CopyOrder) -> Iterator[_Swap]:
    """Yield replacements for the working folder of each turn, if the copy moves; in the same two layouts."""
    if order.project is not None and session.project is not None:
        new = to_json(str(order.project.resolve()))
        for gap in (b"", b" "):
            yield b'"cwd":' + gap + to_json(session.project), b'"cwd":' + gap + new


def _replace_all(raw: bytes, swaps: Sequence[_Swap]) -> bytes:
    for old, new in swaps:
        raw = raw.replace(old, new)
    return raw
