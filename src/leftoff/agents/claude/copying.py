"""Writes a session anew under another id: cut, given back, or as it was; and what must hold in it.

The first line is the first line of the user, because only what stands on such a line survives the client's own fork; it carries
the metadata, and everything else follows in its order. A fork of a compacted session leaves that line behind too, so the line that
gets the lineage block, the first that is still sent, carries the metadata as well. A line of nothing but thoughts that are cut goes whole, and what hung
from it hangs from what it hung from. Results too large for the transcript stand in the folder of the original, which the copy's
lines name by their full paths; what subagents wrote is copied along where the client will look for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from leftoff.agents.claude import chain, outline, parts, subagents
from leftoff.agents.claude.homes import sessions_folder
from leftoff.agents.claude.usage_cap import UsageCap
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
from leftoff.agents.fields import table, text
from leftoff.agents.jsonl import Piece, pieces
from leftoff.agents.usage_tally import Room
from leftoff.errors import TranscriptError
from leftoff.model.copying import Change, Copy, CopyOrder, Invariant, LeftBehind
from leftoff.model.lineage_text import with_block, with_name
from leftoff.model.records import Place, Record
from leftoff.model.session import DERIVED_BY, Session
from leftoff.model.trim_plan import CutPart
from leftoff.model.wire import JsonObject, JsonValue
from leftoff.system import files, ids

_CHAINED = ("user", "assistant", "attachment", "system", "tool_result")
_SUPERSEDED = (*DERIVED_BY, "forkedFrom")  # what the source said of its own parent
_LEAF = b'"leafUuid":"'
_ID_FIELDS = ("sessionId", "session_id")
_SESSION = b'"sessionId":"'
_NAMED = b'"sessionId'  # how the field begins, up to where the swap's word begins
_BOUNDARY = b'"subtype":"compact_boundary"'


def write_copy(
    home: Path,
    session: Session,
    changes: Sequence[Change],
    order: CopyOrder,
    own: Sequence[Invariant],
    into: Into = files.drafted,
) -> Copy:
    """The copy, beside its source; in the folder of another project where it is to live there.

    A client may be writing into the source: the copy, and whoever looks for its flaws in the source, go to the same byte.
    """
    source, session_id = Path(session.transcript), ids.uuid4()
    end = source.stat().st_size
    folder = sessions_folder(home, order.project) if order.project else source.parent
    target = order.placed(folder / f"{session_id}.jsonl")
    named = replace(order, block=order.block and with_name(order.block, target.name))
    writing = _Writing(session, changes, named, session_id, end)
    left: list[LeftBehind] = []
    carried = partial(subagents.carried, source, target, order.live_from, left)
    size = write_session(
        target,
        writing.lines(),
        outline.OUTLINER,
        source=lambda: (outline.of_same(run.raw) for run in runs(source, end=end)),
        invariants=(*order.invariants, *own),
        room=writing.room,
        less_than_bytes=end if order.must_shrink else None,
        beside=carried if order.folder is order.file is None else nullcontext,
        into=into,
    )
    return Copy(session_id=session_id, transcript=target, size_bytes=size, left_behind=tuple(left))


def copy_size(
    home: Path, session: Session, changes: Sequence[Change], order: CopyOrder, own: Sequence[Invariant]
) -> int:
    """How large the copy would be; refused as it would be, and written nowhere, nor is what subagents wrote."""
    return write_copy(home, session, changes, replace(order, folder=Path()), own, counted).size_bytes


def first_line(transcript: Path) -> Piece:
    """The line that becomes the first: of the user, else any that the client hangs others from."""
    chained: Piece | None = None
    for piece in pieces(transcript):
        line = piece.value
        if line is None or line.get("type") not in _CHAINED or line.get("isSidechain") is True:
            continue
        if line.get("type") == "user":
            return piece
        chained = chained or piece
    if chained is None:
        raise TranscriptError(
            f"{transcript}: there is no message in it that could be gone on from. Nothing was written.",
            path=transcript,
        )
    return chained


class _Writing:
    """One pass over the source."""

    def __init__(
        self, session: Session, changes: Sequence[Change], order: CopyOrder, session_id: str, end: int
    ) -> None:
        self._source, self._order, self._end = Path(session.transcript), order, end
        self._old_id, self._session_id = session.session_id, session_id.encode()
        self._other_session = re.compile(rb'"sessionId": ?"(?!%b)' % self._session_id)
        self._first = first_line(self._source)
        self._block_at = _first_prompt(session, order)
        self._id_swaps = [*_id_swaps(session, session_id)]
        self._folder_swaps = [*_folder_swaps(session, order)]
        self._cap = UsageCap(order.used_tokens) if order.used_tokens is not None else None
        self._cap_from = order.live_from.start if order.live_from else 0
        self._gone: dict[bytes, bytes] = {}  # ids of lines that are left out, and what these hung from
        self.room = Room(self._cap.tally if self._cap else None)
        self._changes: dict[int, list[Change]] = {}
        for change in _without_kept_thoughts(self._source, changes):
            self._changes.setdefault(change.place.start, []).append(change)
        self._measured = {place.start for place in order.measured_at}
        self._rejoined = {each.place.start: each.raw for each in order.left_out.parts}
        self._regained: dict[int, list[bytes]] = {}
        self._hangs_from: dict[int, str] = {}  # what a line hangs from again
        for each in order.left_out.records:
            self._regained.setdefault(each.place.start, []).append(each.raw)
            self._hangs_from |= dict.fromkeys((place.start for place in each.hanging), _id_of(each.raw))
        self._edits = self._edited_at()

    def lines(self) -> Iterator[Written]:
        """Every line of the copy."""
        yield self._first_line()
        due = {*self._edits, *self._regained, self._first.place.start, self._cap_from}
        for run in runs(self._source, due, self._end):
            start, raw, is_due = told(run, self._order, self._end)
            if is_due:
                yield from self._due(start, raw)
                continue
            lines = self._capped(self._own(raw), start)
            if self._gone:
                yield from self._linked(lines)
            else:
                yield Written(lines)

    def _first_line(self) -> Written:
        piece = self._first
        raw = self.room.made(changed(self._own(piece.raw), self._with_metadata))
        return Written(raw.rstrip(b" \t\r\n") + b"\n", piece.raw)

    def _with_metadata(self, line: JsonObject) -> JsonObject:
        self._edit(line, self._first.place.start)
        _put_metadata(line, self.room.marked(self._order.metadata))
        return line

    def _due(self, start: int, raw: bytes) -> Iterator[Written]:
        """What becomes of a line that has something to change in it, or the first line, which stands elsewhere now."""
        made = [
            written
            for piece in pieces_of(start, raw)
            if piece.place != self._first_place(piece)
            for written in (*self._before(piece.place.start), self._piece(piece))
        ]
        left = [number for number, each in enumerate(made) if each.raw]
        if left and raw.endswith(b"\n") and not made[left[-1]].raw.endswith(b"\n"):
            last = made[left[-1]]  # what had the line's end is gone
            made[left[-1]] = last._replace(raw=last.raw + b"\n")
        yield from made

    def _before(self, begin: int) -> Iterator[Written]:
        """Lines that are put back before the one that begins there."""
        for raw in self._regained.get(begin, ()):
            yield Written(self._capped(self._own(raw.rstrip(b" \t\r\n") + b"\n"), begin))

    def _edited_at(self) -> set[int]:
        """Where lines begin that are decoded and written anew."""
        block_at = () if self._block_at is None else (self._block_at,)
        return {*self._changes, *self._hangs_from, *self._rejoined, *self._measured, *block_at}

    def _first_place(self, piece: Piece) -> Place:
        return piece.place._replace(start=self._first.place.start, end=self._first.place.end)

    def _piece(self, piece: Piece) -> Written:
        begin = piece.place.start
        if begin in self._edits:
            return self._edited(piece, begin)
        return Written(self._capped(self._own(piece.raw), begin))

    def _edited(self, piece: Piece, begin: int) -> Written:
        def change(line: JsonObject) -> JsonObject | None:
            self._edit(line, begin)
            return None if self._is_gone(line, begin) else line

        raw = changed(self._own(piece.raw), change)
        if not raw:
            was = outline.of_changed(piece.raw)
            parent = was.parent_ids[0] if was.parent_ids else b""
            self._gone[was.ids[0]] = self._gone.get(parent, parent)
        return Written(raw, piece.raw)

    def _edit(self, line: JsonObject, begin: int) -> None:
        for change in self._changes.get(begin, ()):
            if not parts.apply(line, change):
                raise TranscriptError(
                    f"{self._source}: line {change.place.line_idx + 1} is not what the plan was made from. "
                    "Plan anew; nothing was written.",
                    path=self._source,
                    line=change.place.line_idx + 1,
                )
        if begin == self._block_at and self._order.block:
            _put_block(line, self._order.block)
            # After a compaction a fork begins there: what stands before, the first line too, is left behind.
            _put_metadata(line, self._order.metadata)
        if begin in self._rejoined:
            parts.rejoin(line, objects_in(self._rejoined[begin])[0])
        parent = (text(line, "parentUuid") or "").encode()
        if begin in self._hangs_from:
            line["parentUuid"] = self._hangs_from[begin]
        elif parent in self._gone:
            line["parentUuid"] = self._gone[parent].decode() or None
        if self._cap:
            (self._cap.exact if begin in self._measured else self._cap.value)(line)

    def _capped(self, lines: bytes, start: int) -> bytes:
        return self._cap.run(lines) if self._cap and start >= self._cap_from else lines

    def _is_gone(self, line: JsonObject, begin: int) -> bool:
        thoughts = all(change.part == "thinking" for change in self._changes.get(begin, ()))
        return thoughts and begin in self._changes and parts.is_empty(line)

    def _linked(self, lines: bytes) -> Iterator[Written]:
        """The lines, each hung from what is still there: those that were hung anew stand alone."""
        begin = at = 0
        for line in lines.split(b"\n"):
            end = min(at + len(line) + 1, len(lines))
            hung = self._hung(lines[at:end])
            if hung is not None:
                yield from (Written(lines[begin:at]), Written(hung))
                begin = end
            at = end
        yield Written(lines[begin:])

    def _hung(self, line: bytes) -> bytes | None:
        """The line hung higher; None where it stays as it is."""
        if line.startswith(outline.PARENT):
            parent = line[len(outline.PARENT) : line.find(b'"', len(outline.PARENT))]
            higher = self._gone.get(parent)
            if higher is None:
                return None
            begins = outline.PARENT + higher + b'"' if higher else b'{"parentUuid":null'
            return begins + line[len(outline.PARENT) + len(parent) + 1 :]
        at = line.find(_LEAF)
        if at < 0:
            return None
        # The client goes on from the leaf that it named last: it must be there.
        leaf = line[at + len(_LEAF) : line.find(b'"', at + len(_LEAF))]
        higher = self._gone.get(leaf)
        return line.replace(_LEAF + leaf, _LEAF + higher) if higher else None

    def _own(self, raw: bytes) -> bytes:
        """The lines under the new session's id, and in its new folder."""
        lines, own = raw, 0
        for old, new in self._id_swaps:
            named = _named_once(old, lines)
            if named is not None:
                lines = lines.replace(old, new)
            else:  # there is an id in what a tool was given or answered, which stays
                lines = b"\n".join(map(self._renamed_itself, lines.split(b"\n")))
            own += named or 0
        if lines.count(_SESSION) != own and lines.count(_SESSION) != lines.count(_SESSION + self._session_id):
            lines = b"\n".join(map(self._renamed, lines.split(b"\n")))
        for old, new in self._folder_swaps:
            lines = lines.replace(old, new)
        return lines

    def _renamed_itself(self, line: bytes) -> bytes:
        """A line of this session under the new id in its own fields alone."""
        old = self._old_id

        def rename(value: JsonObject) -> JsonObject:
            return value | {key: self._session_id.decode() for key in _ID_FIELDS if value.get(key) == old}

        if len(objects_in(line)) != 1:  # glued together, or torn: as it can be done
            for before, new in self._id_swaps:
                line = line.replace(before, new)
            return line
        return changed(line, rename) if old.encode() in line else line

    def _renamed(self, line: bytes) -> bytes:
        """A line that was brought from another session, and still says so, made one of this; any other as it is."""
        if not self._other_session.search(line):
            return line

        def rename(value: JsonObject) -> JsonObject:
            value["sessionId"] = self._session_id.decode()
            return value

        named = [value for value in objects_in(line) if text(value, "sessionId")]
        return changed(line, rename) if len(named) == 1 else line


def _named_once(word: bytes, lines: bytes) -> int | None:
    """How often the word ends a ``sessionId``; None where it stands twice on a line."""
    count, at = 0, lines.find(word)
    while at >= 0:
        count += lines.startswith(_NAMED, at - len(_NAMED) + 1)
        here, at = at, lines.find(word, at + len(word))
        if at >= 0 and lines.find(b"\n", here, at) < 0:
            return None
    return count


def _id_of(line: bytes) -> str:
    return text(objects_in(line)[0], "uuid") or ""


def _without_kept_thoughts(source: Path, changes: Sequence[Change]) -> Sequence[Change]:
    """Without thoughts that stand before the last compaction: it kept them by their ids, and these must stay."""
    if not any(change.part == "thinking" for change in changes):
        return changes
    boundary = last_line(source, _BOUNDARY, bool)
    if boundary is None:
        return changes
    return [change for change in changes if change.part != "thinking" or change.place.start > boundary]


def _first_prompt(session: Session, order: CopyOrder) -> int | None:
    """Where the line begins that gets the lineage block: the first real prompt that is sent, else the summary before all."""
    if order.block is None:
        return None
    if order.first_prompt is not None:
        return order.first_prompt.start
    place = opening(chain.live_chain(session.records).places, opening_ranks(session.records, chain.opens))
    return place.start if place else None


def _put_block(line: JsonObject, block: str) -> None:
    """Before the words of the message, wherever in it they stand."""
    message = table(line, "message")
    content = message.get("content")
    if not isinstance(content, list):
        message["content"] = with_block(content if isinstance(content, str) else "", block)
        return
    for part in content:
        if isinstance(part, dict) and part.get("type") == "text":
            part["text"] = with_block(text(part, "text") or "", block)
            return
    results = sum(isinstance(part, dict) and part.get("type") == "tool_result" for part in content)
    content.insert(results, {"type": "text", "text": block})


def _put_metadata(line: JsonObject, metadata: JsonObject) -> None:
    """In the place of what the line said of an older parent."""
    for key in _SUPERSEDED:
        line.pop(key, None)
    line |= metadata


def _id_swaps(session: Session, new: str) -> Iterator[tuple[bytes, bytes]]:
    """``sessionId`` and ``session_id`` in both layouts; a path that has the id in it stays, as what it names does."""
    old = json.dumps(session.session_id, ensure_ascii=False)
    for gap in ("", " ") if b'": "' in _head(session) else ("",):
        yield f'd":{gap}{old}'.encode(), f'd":{gap}"{new}"'.encode()


def _folder_swaps(session: Session, order: CopyOrder) -> Iterator[tuple[bytes, bytes]]:
    """The folder that every line says the agent was in, and those below it."""
    if order.project is None or session.project is None:
        return
    old, new = (dumped(str(path))[1:-1] for path in (session.project, order.project.resolve()))
    for gap in (b"", b" ") if b'": "' in _head(session) else (b"",):
        for end in (b'"', b"/"):
            yield b'"cwd":' + gap + b'"' + old + end, b'"cwd":' + gap + b'"' + new + end


def _head(session: Session) -> bytes:
    with Path(session.transcript).open("rb") as file:
        return file.read(65536)


def original(record: Record, part: CutPart, call_id: str | None) -> JsonValue:
    """The piece as the record has it; None when it has none."""
    values = (parts.value_of(line, part, call_id) for line in objects_in(record.raw))
    return next((value for value in values if value is not None), None)
