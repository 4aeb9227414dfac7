"""One running pause: a file of lines that is started once, appended to by many, and ended once (L9-L12).

Promises: of several starters one wins; start, append, finish and discard agree through one lock, which the fast path takes
too, so a line that was said to be written stands in the pause that was finished or discarded after it, and nowhere else.
Lines that are no actions are kept, counted and passed over; a file without a single good line can be finished and discarded
like any other. Leaves out: what an action means, and where a finished pause is kept.
"""

from __future__ import annotations

import errno
import math
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

import orjson

from leftoff.errors import InvalidIdError, StorageError
from leftoff.model.pause_action import PauseAction, action_of, plain_action
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS, JsonObject, as_json
from leftoff.system import clock, files, ids, locks, reasons

ACTIVE_NAME = "ACTIVE-PAUSE.jsonl"
_ID_IN_HEAD = re.compile(
    rb'\{"type": ?"pause_started", ?"timestamp": ?"[^"]*", ?"session_id": ?"([\w.-]{1,128})"'
)

Result = TypeVar("Result")


class Line(NamedTuple):
    """A line without its end; ``action`` is None for one that is no action of a pause."""

    raw: bytes
    action: PauseAction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a pause file held when it was read. ``modified_at`` is the file's own time, when nothing in it tells any.

    ``own_id`` is the pause's id where no good line tells it; None: one is made from the file's time.
    """

    lines: tuple[Line, ...]
    modified_at: datetime
    own_id: str | None = None

    @property
    def actions(self) -> list[PauseAction]:
        """The good lines."""
        return [line.action for line in self.lines if line.action is not None]

    @property
    def bad_lines(self) -> int:
        """How many lines could not be read."""
        return sum(line.action is None for line in self.lines)

    @property
    def session_id(self) -> str:
        """The pause's id, from any good line; one made from the file's time when there is none."""
        for line in self.lines:
            if line.action is not None:
                return line.action.session_id
        return self.own_id or f"session-{self.modified_at:%Y%m%d-%H%M%S-%f}-recovered"

    @property
    def first_data(self) -> JsonObject:
        """What the pause was started with; empty when its first line is lost."""
        started = (action.data for action in self.actions if action.type == "pause_started")
        return next(started, {})


def opening(
    session_id: str, fraction: float, initial_state: JsonObject, at: datetime, *, extra: JsonObject
) -> PauseAction:
    """The first action of a pause; the file's schema number stands in its data."""
    data = {"context_percentage": fraction, "initial_state": as_json(initial_state)}
    return PauseAction(
        "pause_started",
        clock.rfc3339(at),
        session_id,
        data | extra | {"schema": SCHEMAS["pause_action"]},
        fraction,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseFile:
    """The file of a pause, and the lock that everybody who touches it holds."""

    path: Path
    lock: Path

    @classmethod
    def at(cls, path: Path) -> PauseFile:
        """The pause at ``path``, with the lock beside it that the fast path takes too."""
        return cls(path=path, lock=path.with_name(f".{path.name}.lock"))

    def is_active(self) -> bool:
        """Whether a pause is running: its file is there, whatever it holds."""
        return self._status() is not None

    def modified_at(self) -> datetime | None:
        """When what stands there was last changed, whatever it is; None when there is nothing."""
        status = self._status()
        return None if status is None else _moment(status)

    def start(self, first: PauseAction) -> bool:
        """Begin a pause with its first action; False when one is running already, which stays as it is."""
        files.make_folder(self.path.parent)
        with locks.held(self.lock):
            return files.create_file(self.path, _line(first))

    def append(
        self, action_type: str, data: JsonObject, fraction: float, at: datetime, *, sync: bool = False
    ) -> PauseAction | None:
        """Add an action to the running pause, under that pause's id; None when none is running."""
        made: list[PauseAction] = []
        stamp = clock.rfc3339(at)

        def line_after(head: bytes) -> bytes:
            made.append(plain_action(action_type, stamp, self._session_id(head), data, fraction))
            return _line(made[0])

        try:
            with locks.held(self.lock):
                return made[0] if files.extend_file(self.path, line_after, sync=sync) else None
        except StorageError:
            if self.is_active():
                raise
            return None  # not even a folder to lock in

    def read(self) -> Recorded | None:
        """All lines so far; None when no pause is running."""
        if not self.is_active():
            return None
        with locks.held(self.lock, shared=True):
            return self._read()

    def finish(self, deliver: Callable[[Recorded], Result]) -> Result | None:
        """Hand everything to ``deliver``, and take the file away once that has kept it; None when no pause is running.

        Nobody writes in between. When ``deliver`` raises, or the process dies, the pause is still running as it was.
        """
        if not self.is_active():
            return None
        with locks.held(self.lock):
            recorded = self._read()
            if recorded is None:
                return None
            result = deliver(recorded)
            self._remove()
            return result

    def discard(self) -> Recorded | None:
        """Take the file away, whatever it is; what it held, as far as that could be read. None when there was nothing."""
        if not self.is_active():
            return None
        with locks.held(self.lock):
            status = self._status()
            if status is None:
                return None
            recorded = Recorded(lines=(), modified_at=_moment(status))
            with suppress(StorageError):
                recorded = self._read() or recorded
            self._remove()
            return recorded

    def _status(self) -> float | None:
        """The time of the file's last change; None when there is none. Not being allowed to look is not "none"."""
        try:
            return self.path.lstat().st_mtime
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def _session_id(self, head: bytes) -> str:
        """The running pause's id: from the head of its first line, where that is whole, else from any line."""
        if found := _ID_IN_HEAD.match(head):
            return found[1].decode("ascii")
        return (self._read() or Recorded(lines=(), modified_at=clock.now())).session_id

    def _read(self) -> Recorded | None:
        try:
            status = self.path.lstat()
            if not stat.S_ISREG(status.st_mode):
                raise StorageError(
                    f"{self.path}: {_kind(status.st_mode)} and not a file; it is not read. "
                    "leftoff pause list shows it, leftoff pause discard with its number removes it.",
                    path=self.path,
                )
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(self.path, error) from error
        return Recorded(lines=tuple(read_lines(data)), modified_at=_moment(status.st_mtime))

    def _remove(self) -> None:
        """Take away what stands there itself, never what a link leads to or a folder holds."""
        try:
            if stat.S_ISDIR(self.path.lstat().st_mode):
                self.path.rmdir()
            else:
                self.path.unlink(missing_ok=True)
        except FileNotFoundError:
            return
        except OSError as error:
            is_full = error.errno in (errno.ENOTEMPTY, errno.EEXIST)
            why = "a folder that is not empty" if is_full else reasons.words(error)
            way = f"Look into it, then: rm -r {self.path}" if is_full else f"Mend that, then: rm {self.path}"
            raise StorageError(f"{self.path}: cannot be removed: {why}. {way}", path=self.path) from error


def read_lines(data: bytes) -> Iterator[Line]:
    """The lines of a pause; blank ones are left out."""
    for raw in data.split(b"\n"):
        if raw.strip():
            yield Line(raw, _action(raw))


def _action(raw: bytes) -> PauseAction | None:
    try:
        action = _parsed(raw)
    except ValueError:  # torn, foreign or of another encoding
        return None
    return action if _is_safe(action) else None


def _parsed(raw: bytes) -> PauseAction:
    """What a strict parser refuses may still be a line: one with half a character in it."""
    try:
        return action_of(orjson.loads(raw))
    except orjson.JSONDecodeError:
        return PauseAction.from_json_line(raw.decode("utf-8"))


def _is_safe(action: PauseAction) -> bool:
    """Whether its id can be a file's name and its share is a number."""
    try:
        ids.checked(action.session_id)
    except InvalidIdError:
        return False
    return math.isfinite(action.context_percentage)


def _line(action: PauseAction) -> bytes:
    return action.to_json_line().encode() + b"\n"


def _kind(mode: int) -> str:
    """What stands where a file should."""
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}
    return kinds.get(stat.S_IFMT(mode), "a device or a socket")


def _moment(timestamp: float) -> datetime:
    return datetime.fromtimestamp(timestamp, UTC)


def _unreadable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be read: {reasons.words(error)}.", path=path)
