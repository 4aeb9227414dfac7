"""Writes the copy of a session made of JSON lines: checked line by line as it is written, and named only if every check holds.

Lines that are passed through keep their bytes. Lines that are changed are decoded, changed and written compactly in UTF-8, so that
no line grows by being rewritten; bytes that are not UTF-8 and halves of surrogate pairs survive the change.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import orjson

from leftoff.agents.jsonl import BLANK, LONGEST_LINE_BYTES, Piece, open_transcript, parse_damaged_line
from leftoff.core.trim_plan import Change, CopyChecker, CopyOrder, Cut, Invariant, Outline
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import NothingToDoError, StorageError, TranscriptError
from leftoff.platform import files

_BLOCK_BYTES = 1024 * 1024
_MOST_PROBLEMS = 3  # that a message names
_MOST_UNKNOWN = 5  # that a message names
# Without those that represent bytes that are not UTF-8.
_HALF_PAIRS = re.compile("[\ud800-\udc7f\udd00-\udfff]")


class Run(NamedTuple):
    """Some whole lines of a source, and where they begin. If ``is_selected``, it is the one line at a requested position."""

    start: int
    raw: bytes
    is_selected: bool


class CopyLines(NamedTuple):
    """Some lines of the copy. A changed line is alone and has its ``original``; empty bytes mean that it was removed."""

    raw: bytes
    original: bytes | None = None


ReadOutline = Callable[[bytes], Outline]


class Outliner(NamedTuple):
    """Reads the structure of lines that the checkers compare: ids, parents, calls and answers.

    ``unchanged`` gets many lines and may go by their bytes, as the client lays them out: what it misreads in the copy it misreads
    in the source as well. ``changed`` gets one line and decodes it.
    """

    unchanged: ReadOutline
    changed: ReadOutline


class ReservedSpace(Protocol):
    """Space in the copy for something that is known only when all lines are written."""

    def content(self) -> tuple[int, bytes] | None:
        """Return where the space is and what goes there; None if no space was reserved."""
        ...


class Sink(Protocol):
    """What a copy is written to."""

    def write(self, raw: bytes, /) -> int:
        """Write the next bytes."""
        ...

    def tell(self) -> int:
        """Return how many bytes were written."""
        ...

    def seek(self, position: int, /) -> int:
        """Go back, to fill reserved space."""
        ...


OpenSink = Callable[[Path], AbstractContextManager[Sink]]


@contextmanager
def byte_counter(target: Path) -> Iterator[Sink]:  # noqa: ARG001 - an ``OpenSink``
    """Open a sink that only counts. A copy that would be refused is refused all the same."""
    yield _ByteCounter()


class _ByteCounter:
    def __init__(self) -> None:
        self._bytes = 0

    def write(self, raw: bytes, /) -> int:
        self._bytes += len(raw)
        return len(raw)

    def tell(self) -> int:
        return self._bytes

    def seek(self, position: int, /) -> int:
        return position


def write_session(
    target: Path,
    lines: Iterable[CopyLines],
    outliner: Outliner,
    *,
    source: Callable[[ReadOutline], Iterable[Outline]],
    invariants: Sequence[Invariant],
    reserved: ReservedSpace,
    less_than_bytes: int | None = None,
    companions: Callable[[], AbstractContextManager[None]] = nullcontext,
    open_sink: OpenSink = files.atomic_writer,
) -> int:
    """Write the lines and give the file its name, if the invariants hold and it is small enough. Return its size in bytes.

    A problem that the source has as well is no reason to refuse, because the agent coped with it; the source is checked only if
    there is a problem, in both ways in which lines are read. ``companions`` creates the files that belong beside the copy: it is entered last, before the file gets its
    name, and must undo its work if that fails.
    """
    checkers = _start_checkers(invariants)
    with ExitStack() as stack, open_sink(target) as file:
        _write_lines(_check(lines, outliner, checkers) if checkers else (line.raw for line in lines), file)
        if problems := _problems(checkers):
            in_source = [
                problem
                for read in (outliner.unchanged, partial(_decode_lines, outliner))
                for problem in _problems_in_source(source(read), invariants)
            ]
            _refuse_new(problems, in_source=in_source, target=target)
        size = file.tell()
        if less_than_bytes is not None and size >= less_than_bytes:
            raise NothingToDoError("There is nothing to gain: the copy would be no smaller than the session.")
        if content := reserved.content():
            file.seek(content[0])
            file.write(content[1])
        stack.enter_context(companions())
    return size


def _write_lines(lines: Iterable[bytes], file: Sink) -> None:
    write, end = file.write, b"\n"
    for raw in lines:
        write(raw)
        end = raw[-1:] or end
    if end != b"\n":
        write(b"\n")  # the agent would append to the last line


def _check(
    lines: Iterable[CopyLines], outliner: Outliner, checkers: Sequence[CopyChecker]
) -> Iterator[bytes]:
    """Yield the bytes of the lines after the checkers have seen them."""
    for raw, original in lines:
        if original is None:
            outline = outliner.unchanged(raw)
        else:
            outline, before = outliner.changed(raw), outliner.changed(original)
            outline = outline._replace(
                lost=[call[0] for call in before.calls if call not in outline.calls],
                misplaced=[call for call in outline.misplaced if call not in before.misplaced],
                empty_messages=max(0, outline.empty_messages - before.empty_messages),
            )
        for checker in checkers:
            checker.see(outline)
        yield raw


def _decode_lines(outliner: Outliner, run: bytes) -> Outline:
    return join_outlines([outliner.changed(line) for line in run.split(b"\n") if line])._replace(
        misplaced=(), empty_messages=0
    )


def _problems_in_source(source: Iterable[Outline], invariants: Sequence[Invariant]) -> list[str]:
    checkers = _start_checkers(invariants)
    for outline in source:
        for checker in checkers:
            checker.see(outline)
    return _problems(checkers)


def _start_checkers(invariants: Sequence[Invariant]) -> list[CopyChecker]:
    return [checker for invariant in invariants if (checker := invariant.watch()) is not None]


def _problems(checkers: Sequence[CopyChecker]) -> list[str]:
    return [problem for checker in checkers for problem in checker.broken()]


def _refuse_new(problems: Sequence[str], *, in_source: Sequence[str], target: Path) -> None:
    """Raise StorageError if the copy has problems that the source has not."""
    known = {*in_source}
    new = [problem for problem in problems if problem not in known]
    if new:
        more = f"; and {len(new) - _MOST_PROBLEMS} more" if len(new) > _MOST_PROBLEMS else ""
        raise StorageError(
            f"{target}: not written, because the agent could not continue from it: {'; '.join(new[:_MOST_PROBLEMS])}{more}. "
            "The session that it is made from is untouched.",
            path=target,
        )


def read_runs(path: Path, positions: Iterable[int] = (), end: int | None = None) -> Iterator[Run]:
    """Read the lines of a file, many at a time, up to ``end`` or the present end of the file.

    A line that holds one of the ``positions`` comes alone. What is appended meanwhile is ignored.
    """
    waiting = sorted(set(positions), reverse=True)
    with open_transcript(path) as file:
        end = file.seek(0, os.SEEK_END) if end is None else end
        file.seek(0)
        start = 0
        while start < end and (block := file.read(min(_BLOCK_BYTES, end - start))):
            block += file.readline(min(LONGEST_LINE_BYTES, end - start - len(block)))
            yield from _split(start, block, waiting)
            start += len(block)


def _split(start: int, block: bytes, waiting: list[int]) -> Iterator[Run]:
    done = 0
    while waiting and waiting[-1] < start + len(block):
        at = waiting.pop() - start
        if at < done:  # on the same line as the last one
            continue
        begin, end = block.rfind(b"\n", done, at) + 1 or done, block.find(b"\n", at) + 1 or len(block)
        if begin > done:
            yield Run(start + done, block[done:begin], is_selected=False)
        yield Run(start + begin, block[begin:end], is_selected=True)
        done = end
    if done < len(block):
        yield Run(start + done, block[done:] if done else block, is_selected=False)


def report_progress(run: Run, order: CopyOrder, total_bytes: int) -> Run:
    """Tell the caller of the copy how far it is. Return the run."""
    if order.progress:
        order.progress(run.start + len(run.raw), total_bytes)
    return run


def change_some_lines(lines: bytes, change: Callable[[bytes], bytes | None]) -> Iterator[CopyLines]:
    """Yield the lines; one that ``change`` returns other bytes for comes alone, and one that it returns None for stays."""
    begin = at = 0
    for line in lines.split(b"\n"):
        end = min(at + len(line) + 1, len(lines))
        changed = change(lines[at:end])
        if changed is not None:
            yield from (CopyLines(lines[begin:at]), CopyLines(changed))
            begin = end
        at = end
    yield CopyLines(lines[begin:])


def outdated_plan(transcript: Path | str, change: Change) -> TranscriptError:
    """Return the error for a change that does not fit its line any more."""
    line = change.place.line_idx + 1
    return TranscriptError(
        f"{transcript}: line {line} has changed since the plan was made. Plan again; nothing was written.",
        path=transcript,
        line=line,
    )


def name_unknown(client: str, newest_known: Sequence[int], what: str, unknown: Sequence[str]) -> str:
    """Say why a session of a newer client is not copied: ``what`` of it is unknown, and which."""
    listed = ", ".join(unknown[:_MOST_UNKNOWN]) + (", …" if len(unknown) > _MOST_UNKNOWN else "")
    return (
        f"it was written by {client}, which is newer than what leftoff knows "
        f"({'.'.join(map(str, newest_known))}), and {what} that leftoff does not know: {listed}"
    )


def join_outlines(outlines: Sequence[Outline]) -> Outline:
    """Return the structure of lines that were read one after the other."""
    return Outline(
        ids=[name for each in outlines for name in each.ids],
        parent_ids=[name for each in outlines for name in each.parent_ids],
        calls=[call for each in outlines for call in each.calls],
        misplaced=[call for each in outlines for call in each.misplaced],
        empty_messages=sum(each.empty_messages for each in outlines),
    )


def parse_pieces(start: int, line: bytes) -> Iterator[Piece]:
    """Return the pieces of one line: more than one where objects are glued together."""
    return parse_damaged_line("", 0, start, line)


def parse_objects(line: bytes) -> list[JsonObject]:
    """Return the objects of one line, read as leniently as anywhere."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return [piece.value for piece in parse_pieces(0, line) if piece.value is not None]
    return [value] if isinstance(value, dict) else []


def edit_line(raw: bytes, edit: Callable[[JsonObject], JsonObject | None]) -> bytes:
    """Return the bytes of one object after an edit; none if the edit removes it."""
    try:
        before = from_json(raw)
    except (ValueError, RecursionError):  # something is glued to the object, and stays
        parts = [piece for piece in parse_pieces(0, raw) if piece.raw != raw]
        return (
            b"".join(each.raw if each.value is None else edit_line(each.raw, edit) for each in parts) or raw
        )
    value = edit(before)
    return b"" if value is None else to_json(value) + raw[len(raw.rstrip(BLANK)) :]


def from_json(raw: bytes) -> JsonObject:
    """Parse one object so that ``to_json`` writes the same text again, also where it is not valid Unicode."""
    with suppress(orjson.JSONDecodeError):
        return orjson.loads(raw)  # type: ignore[no-any-return]
    return json.loads(raw.decode("utf-8", "surrogateescape"))  # type: ignore[no-any-return]


def to_json(value: JsonValue) -> bytes:
    """Return any value as compact JSON in UTF-8."""
    try:
        return orjson.dumps(value)
    except TypeError:  # halves of surrogate pairs, or bytes that are not UTF-8
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        escaped = _HALF_PAIRS.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
        return escaped.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class SignedThinking:
    """An invariant: thinking is signed or encrypted by the model, so it is removed whole or not at all."""

    name: str = "signed thoughts"

    def forbids(self, cut: Cut) -> str | None:
        """Refuse shortened thinking: it would not fit the signature, and the API would refuse it."""
        return (
            "thoughts are signed: whole or not at all" if cut.part == "thinking" and cut.replacement else None
        )

    def watch(self) -> CopyChecker | None:
        """Return no checker: thinking that is still there was passed through unchanged."""
        return None
