"""Writes the copy of a session made of JSON lines: looked through line by line as it is written, named only when all holds.

What is passed through keeps its bytes; what is changed is decoded, changed and written compactly, never in ASCII escapes, so that
no line grows by being written anew (L26). Bytes that are no UTF-8 and halves of surrogate pairs come through a change as they were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple, Protocol

import orjson

from leftoff.agents.collecting import longest
from leftoff.agents.jsonl import LONGEST_LINE_BYTES, Piece, opened
from leftoff.agents.mending import mended
from leftoff.errors import NothingToDoError, StorageError
from leftoff.model.copying import CopyOrder, Invariant, Outline, Watcher
from leftoff.model.trim_plan import Cut
from leftoff.model.wire import JsonObject, JsonValue
from leftoff.system import files

_BLANK = b" \t\r\n"
_BLOCK_BYTES = 1024 * 1024
_LONG_CHARS = 200  # of a text that is worth replacing where it is only repeated
_LONG_LIST_BYTES = 1000
_MOST_TOLD = 3
_HALVES = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # without those that stand for bytes that are no UTF-8


class Run(NamedTuple):
    """Some whole lines of a source, and where they begin. One that is ``due`` is a single line with something to change in it."""

    start: int
    raw: bytes
    is_due: bool


class Written(NamedTuple):
    """Some lines of the copy as they are to stand there. One that was changed stands alone, with what it was; no bytes: it is gone."""

    raw: bytes
    was: bytes | None = None


class Outliner(NamedTuple):
    """Reads off what holds lines together.

    ``of_same`` may go by their bytes, as the client lays them out: what it takes amiss it takes amiss in the source as well.
    ``of_changed`` decodes the one line that it is given.
    """

    of_same: Callable[[bytes], Outline]
    of_changed: Callable[[bytes], Outline]


class Room(Protocol):
    """Something that is known only when all lines are written, and the room that was left for it."""

    def filling(self) -> tuple[int, bytes] | None:
        """Where the room is and what goes there; None for nothing."""
        ...


class Sink(Protocol):
    """What a copy is poured into."""

    def write(self, raw: bytes, /) -> int:
        """The next bytes."""
        ...

    def tell(self) -> int:
        """How many bytes there are."""
        ...

    def seek(self, at: int, /) -> int:
        """Go back, to fill the room that was left."""
        ...


Into = Callable[[Path], AbstractContextManager[Sink]]


@contextmanager
def counted(target: Path) -> Iterator[Sink]:  # noqa: ARG001 - as whatever is poured into
    """Something to pour a copy into that only counts: nothing of it stands anywhere, and what would be refused is refused."""
    yield _Counted()


class _Counted:
    def __init__(self) -> None:
        self._bytes = 0

    def write(self, raw: bytes, /) -> int:
        self._bytes += len(raw)
        return len(raw)

    def tell(self) -> int:
        return self._bytes

    def seek(self, at: int, /) -> int:
        return at


def write_session(
    target: Path,
    lines: Iterable[Written],
    outliner: Outliner,
    *,
    source: Callable[[], Iterable[Outline]],
    invariants: Sequence[Invariant],
    room: Room,
    less_than_bytes: int | None = None,
    beside: Callable[[], AbstractContextManager[None]] = nullcontext,
    into: Into = files.drafted,
) -> int:
    """Write the lines and give the file its name, if every invariant holds that held in the source and it is small enough.

    A flaw that the source had already is no reason to refuse, because the agent went on from it; the source is looked through
    only when there is one. What has to stand ``beside`` the file is put there last, before the file has its name, and taken away
    again where that comes to nothing. How many bytes there are comes back.
    """
    watchers = _watchers(invariants)
    with ExitStack() as around, into(target) as file:
        _pour(_seen(lines, outliner, watchers) if watchers else (line.raw for line in lines), file)
        broken = _broken(watchers)
        if broken:
            _refuse(target, broken, _flaws(source(), _watchers(invariants)))
        size = file.tell()
        if less_than_bytes is not None and size >= less_than_bytes:
            raise NothingToDoError("There is nothing to gain: the copy would be no smaller than the session.")
        filled = room.filling()
        if filled:
            file.seek(filled[0])
            file.write(filled[1])
        around.enter_context(beside())
    return size


def _pour(lines: Iterable[bytes], file: Sink) -> None:
    write, end = file.write, b"\n"
    for raw in lines:
        write(raw)
        end = raw[-1:] or end
    if end != b"\n":
        write(b"\n")  # whoever goes on would glue a line to the last one


def _seen(lines: Iterable[Written], outliner: Outliner, watchers: Sequence[Watcher]) -> Iterator[bytes]:
    """The bytes of the lines, each looked at before it is handed on."""
    of_same = outliner.of_same
    for raw, was in lines:
        outline = of_same(raw) if was is None else _changed_outline(raw, was, outliner)
        for watcher in watchers:
            watcher.see(outline)
        yield raw


def _changed_outline(raw: bytes, was: bytes, outliner: Outliner) -> Outline:
    now, before = outliner.of_changed(raw), outliner.of_changed(was)
    return now._replace(lost=[call[0] for call in before.calls if call not in now.calls])


def _flaws(source: Iterable[Outline], watchers: Sequence[Watcher]) -> Sequence[str]:
    for outline in source:
        for watcher in watchers:
            watcher.see(outline)
    return _broken(watchers)


def _watchers(invariants: Sequence[Invariant]) -> list[Watcher]:
    return [watcher for invariant in invariants if (watcher := invariant.watch()) is not None]


def _broken(watchers: Sequence[Watcher]) -> list[str]:
    return [flaw for watcher in watchers for flaw in watcher.broken()]


def _refuse(target: Path, broken: Sequence[str], flaws: Sequence[str]) -> None:
    known = set(flaws)
    new = [flaw for flaw in broken if flaw not in known]
    if new:
        more = f"; and {len(new) - _MOST_TOLD} more" if len(new) > _MOST_TOLD else ""
        raise StorageError(
            f"{target}: not written, because the agent could not go on from it: {'; '.join(new[:_MOST_TOLD])}{more}. "
            "The session that it is made from is untouched.",
            path=target,
        )


def runs(path: Path, due: Iterable[int] = (), end: int | None = None) -> Iterator[Run]:
    """The lines of a file, many at a time, up to ``end`` or as far as it goes now; each that holds a byte of ``due`` alone.

    What is appended meanwhile is left out.
    """
    waiting = sorted(set(due), reverse=True)
    with opened(path) as file:
        end = file.seek(0, 2) if end is None else end
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
            yield Run(start + done, block[done:begin], is_due=False)
        yield Run(start + begin, block[begin:end], is_due=True)
        done = end
    if done < len(block):
        yield Run(start + done, block[done:] if done else block, is_due=False)


def told(run: Run, order: CopyOrder, size_bytes: int) -> Run:
    """The run itself, when whoever waits has been told how far it goes."""
    if order.progress:
        order.progress(run.start + len(run.raw), size_bytes)
    return run


def pieces_of(start: int, line: bytes) -> Iterator[Piece]:
    """The parts of one line: more than one where objects are glued together."""
    return mended("", 0, start, line)


def objects_in(line: bytes) -> list[JsonObject]:
    """The objects of one line, read as leniently as anywhere."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return [piece.value for piece in pieces_of(0, line) if piece.value is not None]
    return [value] if isinstance(value, dict) else []


def changed(raw: bytes, change: Callable[[JsonObject], JsonObject | None]) -> bytes:
    """The bytes of one object with a change in it; none where nothing is left of it."""
    try:
        value = change(orjson.loads(raw))
    except orjson.JSONDecodeError:
        value = change(json.loads(raw.decode("utf-8", "surrogateescape")))
    return b"" if value is None else dumped(value) + raw[len(raw.rstrip(_BLANK)) :]


def dumped(value: JsonValue) -> bytes:
    """A value as compact JSON in UTF-8, whatever is in it."""
    try:
        return orjson.dumps(value)
    except TypeError:  # halves of surrogate pairs, or bytes that are no UTF-8
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        whole = _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
        return whole.encode("utf-8", "surrogateescape")


def shortened(value: JsonValue, note: str) -> JsonValue:
    """What only repeats cut content, for a screen: the same shape, with a note in the place of long texts."""
    match value:
        case str():
            return note if len(value) > _LONG_CHARS else value
        case dict():
            return {key: _short_member(each, note) for key, each in value.items()}
        case list():
            return [shortened(each, note) for each in value]
        case _:
            return value


def _short_member(value: JsonValue, note: str) -> JsonValue:
    if isinstance(value, list) and len(dumped(value)) > _LONG_LIST_BYTES:
        return []
    return shortened(value, note)


def note_of(cut: Cut) -> str:
    """What stands where cut content was repeated."""
    return f"[suppressed: leftoff expand {cut.key}]" if cut.key else "[suppressed]"


def cut_input(given: JsonValue, cut: Cut) -> JsonValue:
    """A tool's input without its long texts: the replacement where the longest was, a note where the others were.

    Names, paths and everything short stay, so that the call still says what it did (L34).
    """
    if isinstance(given, str):
        return cut.replacement
    shown = longest(given)  # the same that the replacement shows the ends of
    if len(shown) <= _LONG_CHARS:
        return _one_of_many(given, cut.replacement)
    return _without(given, shown, cut.replacement, note_of(cut))


def _one_of_many(given: JsonValue, replacement: str) -> JsonValue:
    """Many short texts in their shape: of the longest list its first entry, the replacement in the place of its longest text."""
    match given:
        case dict() if given:
            name = max(
                given, key=lambda key: (isinstance(given[key], str | list | dict), len(dumped(given[key])))
            )
            return {**given, name: _one_of_many(given[name], replacement)}
        case list() if given:
            return [_one_of_many(given[0], replacement)]
        case _:
            return replacement


def _without(value: JsonValue, shown: str, replacement: str, note: str) -> JsonValue:
    match value:
        case str():
            return replacement if value == shown else note if len(value) > _LONG_CHARS else value
        case dict():
            return {key: _without(each, shown, replacement, note) for key, each in value.items()}
        case list():
            return [_without(each, shown, replacement, note) for each in value]
        case _:
            return value
