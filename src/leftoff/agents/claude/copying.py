"""Writes a session under another id: with changes, with removed content restored, or as it is.

The first line of the user that is not a tool's answer carries the metadata, because only what is on such a line survives the
client's own fork. It becomes the first line of the copy, unless a call or a reply precedes it: a transcript may begin in the middle
of a conversation, and there every line stays where it is. A fork of a compacted session leaves that line behind too, so the first
line that is still sent, which gets the lineage block, carries the metadata as well. A line of nothing but thinking is removed whole
when that is cut, and its children get its parent. Results too large for the transcript stay in the original's folder, which the
copy names by full path; the files of subagents are copied to where the client will look for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.claude import chain, copy_checks, shrinkable, subagents
from leftoff.agents.claude.copy_checks import UsageCap
from leftoff.agents.claude.listing import sessions_folder
from leftoff.agents.collector import find_block_place
from leftoff.agents.copy_usage import ReservedUsage
from leftoff.agents.copy_writer import (
    CopyLines,
    OpenSink,
    byte_counter,
    change_some_lines,
    edit_line,
    outdated_plan,
    parse_objects,
    parse_pieces,
    read_runs,
    report_progress,
    to_json,
    write_session,
)
from leftoff.agents.jsonl import Piece, last_line, pieces, table, text
from leftoff.core.session import DERIVED_BY, Session, add_lineage_block, name_in_lineage_block
from leftoff.core.trim_plan import Change, Copy, CopyOrder, Invariant, NotCopied
from leftoff.core.wire import JsonObject
from leftoff.errors import TranscriptError
from leftoff.platform import clock, files

_SUPERSEDED = (*DERIVED_BY, "forkedFrom")  # what the source says about its own parent
_LINK = re.compile(rb'"(?:parentUuid|leafUuid)": ?"([^"]*)"')
_ID_FIELDS = ("sessionId", "session_id")
# As clients write it, and as other programs do, which put a space after a colon.
_SESSION = (b'"sessionId":"', b'"sessionId": "')
_SPACED = b'": "'
_ID_KEY = b'"sessionId'  # the key up to its "d", with which the text to be replaced begins
_BOUNDARY = b'"compact_boundary"'
_Swap = tuple[bytes, bytes]


def write_copy(
    home: Path,
    session: Session,
    changes: Sequence[Change],
    order: CopyOrder,
    invariants: Sequence[Invariant],
    open_sink: OpenSink = files.atomic_writer,
) -> Copy:
    """Write the copy beside its source, or in the folder of the project that the order names.

    A client may be writing to the source: the copy, and the check of the source for problems, end at the same byte.
    """
    source, session_id = Path(session.transcript), order.session_id(clock.uuid4())
    end = source.stat().st_size
    folder = sessions_folder(home, order.project) if order.project else source.parent
    target = order.destination(folder / f"{session_id}.jsonl")
    named = order._replace(block=order.block and name_in_lineage_block(order.block, target.name))
    writer = _CopyWriter(session, changes, named, session_id, end)
    not_copied: list[NotCopied] = []
    copy_subagents = partial(subagents.copy_files, source, target, order.live_from, not_copied)
    size = write_session(
        target,
        writer.lines(),
        copy_checks.OUTLINER,
        source=lambda read: (read(run.raw) for run in read_runs(source, end=end)),
        invariants=(*order.invariants, *invariants),
        reserved=writer.reserved,
        less_than_bytes=end if order.must_shrink else None,
        companions=copy_subagents if order.folder is order.file is None else nullcontext,
        open_sink=open_sink,
    )
    return Copy(session_id=session_id, transcript=target, size_bytes=size, left_behind=tuple(not_copied))


def copy_size(
    home: Path, session: Session, changes: Sequence[Change], order: CopyOrder, invariants: Sequence[Invariant]
) -> int:
    """Return how large the copy would be, without its subagents' files. Refuse what ``write_copy`` would refuse."""
    without_subagents = order._replace(folder=Path())
    return write_copy(home, session, changes, without_subagents, invariants, byte_counter).size_bytes


class Carrier(NamedTuple):
    """The line that carries the metadata of a copy, and whether it becomes the first."""

    line: Piece
    comes_first: bool


def find_carrier(transcript: Path) -> Carrier:
    """Return the user's first line that is not a tool's answer; else the first answer, else the first line of the conversation."""
    first: Piece | None = None
    answer: Piece | None = None
    is_order_needed = False
    for piece in pieces(transcript):
        line = piece.value
        if line is None or text(line, "type") not in chain.CHAINED_TYPES or line.get("isSidechain") is True:
            continue
        if line.get("type") == "user":
            if not shrinkable.is_answer(line):
                return Carrier(piece, comes_first=not is_order_needed)
            answer = answer or piece
        first = first or piece
        is_order_needed = is_order_needed or line.get("type") in ("user", "assistant", "tool_result")
    carrier = answer or first
    if carrier is None:
        raise TranscriptError(
            f"{transcript}: it has no message that a copy could continue from. Nothing was written.",
            path=transcript,
        )
    return Carrier(carrier, comes_first=carrier is first)


class _CopyWriter:
    """Produces the lines of the copy in one pass over the source."""

    def __init__(
        self, session: Session, changes: Sequence[Change], order: CopyOrder, session_id: str, end: int
    ) -> None:
        self._source, self._order, self._end = Path(session.transcript), order, end
        self._old_id, self._session_id = session.session_id, session_id.encode()
        self._other_session = re.compile(rb'"sessionId": ?"(?!%b)' % self._session_id)
        self._carrier, self._comes_first = find_carrier(self._source)
        self._block_at = _first_prompt(session, order)
        self._id_swaps = [*_id_swaps(session, session_id)]
        self._folder_swaps = [*_folder_swaps(session, order)]
        self._cap = None if order.used_tokens is None else UsageCap(order.used_tokens, order.removed_tokens)
        self._cap_from = order.live_from.start if order.live_from else 0
        self._removed: dict[
            bytes, bytes
        ] = {}  # ids of removed lines, each with its nearest remaining ancestor
        self.reserved = ReservedUsage(self._cap.tally if self._cap else None)
        self._changes: dict[int, list[Change]] = {}
        for change in _without_kept_thinking(self._source, changes, self._carrier):
            self._changes.setdefault(change.place.start, []).append(change)
        self._measured = {place.start for place in order.measured_at}
        self._restored_parts = {part.place.start: part.raw for part in order.left_out.parts}
        self._restored_lines: dict[int, list[bytes]] = {}  # by where the line begins that follows them
        self._restored_parents: dict[int, str] = {}
        for record in order.left_out.records:
            self._restored_lines.setdefault(record.place.start, []).append(record.raw)
            parent_id = text(parse_objects(record.raw)[0], "uuid") or ""
            self._restored_parents |= dict.fromkeys((place.start for place in record.hanging), parent_id)
        # Where lines begin that are decoded and edited.
        self._edits = {*self._changes, *self._restored_parents, *self._restored_parts, *self._measured}
        self._edits |= {place for place in (self._block_at, self._carrier.place.start) if place is not None}

    def lines(self) -> Iterator[CopyLines]:
        """Yield all lines of the copy, with space for the usage where the metadata are."""
        written = 0
        for lines in self._lines():
            copied = lines
            if lines.original is not None:
                copied = lines._replace(raw=self.reserved.reserve(lines.raw, written))
            written += len(copied.raw)
            yield copied

    def _lines(self) -> Iterator[CopyLines]:
        if self._comes_first:
            first = self._edited(self._carrier, self._carrier.place.start)
            yield first._replace(raw=first.raw.rstrip(b" \t\r\n") + b"\n")
        positions = {*self._edits, *self._restored_lines, self._cap_from}
        for run in read_runs(self._source, positions, self._end):
            start, raw, is_selected = report_progress(run, self._order, self._end)
            if is_selected:
                yield from self._selected_line(start, raw)
                continue
            lines = self._cap_usage(self._rename(raw), start)
            if self._removed:
                yield from change_some_lines(lines, self._relink_line)
            else:
                yield CopyLines(lines)

    def _selected_line(self, start: int, raw: bytes) -> list[CopyLines]:
        """Return what becomes of a line that is changed, or that was written already because it comes first."""
        copied: list[CopyLines] = []
        for piece in parse_pieces(start, raw):
            begin = piece.place.start
            if self._comes_first and begin == self._carrier.place.start:
                continue
            for restored in self._restored_lines.get(begin, ()):
                line = self._rename(restored.rstrip(b" \t\r\n") + b"\n")
                copied.append(CopyLines(self._cap_usage(line, begin)))
            if begin in self._edits:
                copied.append(self._edited(piece, begin))
            else:
                copied.append(CopyLines(self._cap_usage(self._rename(piece.raw), begin)))
        remaining = [index for index, lines in enumerate(copied) if lines.raw]
        if remaining and raw.endswith(b"\n") and not copied[remaining[-1]].raw.endswith(b"\n"):
            last = copied[remaining[-1]]  # the piece with the line's end was removed
            copied[remaining[-1]] = last._replace(raw=last.raw + b"\n")
        return copied

    def _edited(self, piece: Piece, begin: int) -> CopyLines:
        def edit(line: JsonObject) -> JsonObject | None:
            self._edit(line, begin)
            changes = self._changes.get(begin, ())
            is_thinking = bool(changes) and all(change.part == "thinking" for change in changes)
            return None if is_thinking and shrinkable.is_empty(line) else line

        raw = edit_line(self._rename(piece.raw), edit)
        if not raw:
            original = copy_checks.outline_changed(piece.raw)
            parent = original.parent_ids[0] if original.parent_ids else b""
            self._removed[original.ids[0]] = self._removed.get(parent, parent)
        return CopyLines(raw, piece.raw)

    def _edit(self, line: JsonObject, begin: int) -> None:
        for change in self._changes.get(begin, ()):
            if not shrinkable.apply(line, change):
                raise outdated_plan(self._source, change)
        self._add_lineage(line, begin)
        if begin in self._restored_parts:
            shrinkable.rejoin(line, parse_objects(self._restored_parts[begin])[0])
        parent = (text(line, "parentUuid") or "").encode("utf-8", "surrogatepass")
        if begin in self._restored_parents:
            line["parentUuid"] = self._restored_parents[begin]
        elif parent in self._removed:
            line["parentUuid"] = self._removed[parent].decode("utf-8", "surrogatepass") or None
        if self._cap:
            (self._cap.set_usage if begin in self._measured else self._cap.cap_line)(line)

    def _add_lineage(self, line: JsonObject, begin: int) -> None:
        if begin == self._block_at and self._order.block:
            _add_block(line, self._order.block)
            # After a compaction a fork begins here and leaves everything before it behind, the carrier too.
            _replace_metadata(line, self._order.metadata)
        if begin == self._carrier.place.start:
            _replace_metadata(line, self.reserved.with_marker(self._order.metadata))

    def _cap_usage(self, lines: bytes, start: int) -> bytes:
        return self._cap.cap_lines(lines) if self._cap and start >= self._cap_from else lines

    def _relink_line(self, line: bytes) -> bytes | None:
        """Return the line with a new parent or leaf; None if it stays as it is."""
        if line.startswith(copy_checks.PARENT):  # as clients lay it out
            parent = line[len(copy_checks.PARENT) : line.find(b'"', len(copy_checks.PARENT))]
            ancestor = self._removed.get(parent)
            if ancestor is None:
                return None
            begins = copy_checks.PARENT + ancestor + b'"' if ancestor else b'{"parentUuid":null'
            return begins + line[len(copy_checks.PARENT) + len(parent) + 1 :]
        if self._removed.keys().isdisjoint(_LINK.findall(line)) or len(parse_objects(line)) != 1:
            return None
        return edit_line(line, self._relink)

    def _relink(self, line: JsonObject) -> JsonObject:
        parent, leaf = ((text(line, key) or "").encode() for key in ("parentUuid", "leafUuid"))
        if parent in self._removed:
            line["parentUuid"] = self._removed[parent].decode() or None
        if ancestor := self._removed.get(leaf):  # the client continues from it, so it must exist
            line["leafUuid"] = ancestor.decode()
        return line

    def _rename(self, raw: bytes) -> bytes:
        """Return the lines with the id of the new session, and with its folder."""
        lines, renamed = raw, 0
        layouts = 2 if _SPACED in raw else 1
        for old, new in self._id_swaps[:layouts]:
            ids = _count_session_ids(old, lines)
            if ids is not None:
                lines = lines.replace(old, new)
            else:  # an id in a tool's input or answer must stay
                lines = b"\n".join(map(self._rename_fields, lines.split(b"\n")))
            renamed += ids or 0
        marks = _SESSION[:layouts]
        total = sum(map(lines.count, marks))
        if total != renamed and total != sum(lines.count(mark + self._session_id) for mark in marks):
            lines = b"\n".join(map(self._rename_foreign, lines.split(b"\n")))
        for old, new in self._folder_swaps[: 2 * layouts]:
            lines = lines.replace(old, new)
        return lines

    def _rename_fields(self, line: bytes) -> bytes:
        """Change the id in the line's own fields only."""
        old = self._old_id

        def rename(value: JsonObject) -> JsonObject:
            return value | {key: self._session_id.decode() for key in _ID_FIELDS if value.get(key) == old}

        if len(parse_objects(line)) != 1:  # damaged: fields cannot be told from content
            for before, new in self._id_swaps:
                line = line.replace(before, new)
            return line
        return edit_line(line, rename) if old.encode() in line else line

    def _rename_foreign(self, line: bytes) -> bytes:
        """Change the id of a line that came from another session; several objects may be glued together on it."""
        if not self._other_session.search(line):
            return line

        def rename(value: JsonObject) -> JsonObject:
            value["sessionId"] = self._session_id.decode()
            return value

        return b"".join(
            edit_line(piece.raw, rename) if piece.value and text(piece.value, "sessionId") else piece.raw
            for piece in parse_pieces(0, line)
        )


def _count_session_ids(swap: bytes, lines: bytes) -> int | None:
    """Count how often the text to be replaced belongs to a ``sessionId``; None if it occurs twice on a line."""
    count, at = 0, lines.find(swap)
    while at >= 0:
        count += lines.startswith(_ID_KEY, at - len(_ID_KEY) + 1)
        here, at = at, lines.find(swap, at + len(swap))
        if at >= 0 and lines.find(b"\n", here, at) < 0:
            return None
    return count


def _without_kept_thinking(source: Path, changes: Sequence[Change], carrier: Piece) -> Sequence[Change]:
    """Leave out cuts of thinking that must stay: before the last compaction, which refers to it by id, and on the carrier."""
    if not any(change.part == "thinking" for change in changes):
        return changes
    boundary = last_line(source, _BOUNDARY, shrinkable.is_boundary)
    kept_until = -1 if boundary is None else boundary
    return [
        change
        for change in changes
        if change.part != "thinking"
        or (change.place.start > kept_until and change.place.start != carrier.place.start)
    ]


def _first_prompt(session: Session, order: CopyOrder) -> int | None:
    """Return where the line begins that gets the lineage block: the first real prompt that is sent, else the summary."""
    place = find_block_place(session, order, chain.live_chain, chain.opens)
    return place.start if place else None


def _add_block(line: JsonObject, block: str) -> None:
    """Add the lineage block before the text of the message."""
    message = table(line, "message")
    content = message.get("content")
    if not isinstance(content, list):
        message["content"] = add_lineage_block(content if isinstance(content, str) else "", block)
        return
    for part in content:
        if isinstance(part, dict) and part.get("type") == "text":
            part["text"] = add_lineage_block(text(part, "text") or "", block)
            return
    results = sum(isinstance(part, dict) and part.get("type") == "tool_result" for part in content)
    content.insert(results, {"type": "text", "text": block})


def _replace_metadata(line: JsonObject, metadata: JsonObject) -> None:
    """Add the metadata, and remove what the line says about an earlier parent."""
    for key in _SUPERSEDED:
        line.pop(key, None)
    line |= metadata


def _id_swaps(session: Session, new: str) -> Iterator[_Swap]:
    """Yield replacements for ``sessionId`` and ``session_id`` in both layouts. Paths that contain the id stay, as their files do."""
    old = json.dumps(session.session_id, ensure_ascii=False)
    for gap in ("", " "):
        yield f'd":{gap}{old}'.encode(), f'd":{gap}"{new}"'.encode()


def _folder_swaps(session: Session, order: CopyOrder) -> Iterator[_Swap]:
    """Yield replacements for the working folder of each line, and for folders below it, if the copy moves."""
    if order.project is None or session.project is None:
        return
    old, new = (to_json(str(path))[1:-1] for path in (session.project, order.project.resolve()))
    for gap in (b"", b" "):
        for end in (b'"', b"/"):
            yield b'"cwd":' + gap + b'"' + old + end, b'"cwd":' + gap + b'"' + new + end
