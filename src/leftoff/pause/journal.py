"""One running pause: a file of JSON lines that is started once, appended to by many processes, and ended once.

Of several processes that start a pause at once, one wins. Starting, appending, finishing and discarding share one lock,
which the fast hook takes too: a line reported as written is in the pause that was finished or discarded after it, and
nowhere else. Lines that are not actions are kept and counted; a file of nothing but bad lines can still be ended.
"""

from __future__ import annotations

import errno
import json
import math
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import orjson

from leftoff.core.wire import SCHEMAS, JsonObject, JsonValue, as_json, upgrade_document
from leftoff.errors import DocumentError, StorageError, UnreadableFileError, UsageError, describe_os_error
from leftoff.platform import clock, files, locks

ACTIVE_NAME = "ACTIVE-PAUSE.jsonl"
_MOST_LINES = (
    20_000  # of the last tenth of a window; a file from elsewhere may have millions, and users wait for hooks
)
_ID_IN_HEAD = re.compile(
    rb'\{"type": ?"pause_started", ?"timestamp": ?"[^"]*", ?"session_id": ?"([\w.-]{1,128})"'
)
Result = TypeVar("Result")
ActionType = Literal[
    "pause_started", "tool_call", "assistant_response", "user_message", "system_event", "pause_finalized"
]
ACTION_TYPES: tuple[str, ...] = get_args(ActionType)
_LONGEST_LINE_BYTES = 1_250_000  # parsed, a hostile line takes thirty times as much
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)  # json.dumps would build one for every line


class Line(NamedTuple):
    """A line without its line end; ``action`` is ``None`` if the line is not an action."""

    raw: bytes
    action: PauseAction | None


class Recording(NamedTuple):
    """The contents of a pause file. ``modified_at`` is the time of the file, for pauses whose lines give none.

    ``fallback_id`` is the pause's id if no line gives one; None derives it from ``modified_at``.
    """

    lines: tuple[Line, ...]
    modified_at: datetime
    fallback_id: str | None = None

    @property
    def actions(self) -> list[PauseAction]:
        """The lines that are actions."""
        return [line.action for line in self.lines if line.action is not None]

    @property
    def bad_lines(self) -> int:
        """The number of lines that are not actions."""
        return sum(line.action is None for line in self.lines)

    @property
    def session_id(self) -> str:
        """The pause's id: from its first action, else ``fallback_id``, else derived from the file's time."""
        first = next((line.action for line in self.lines if line.action is not None), None)
        if first is not None:
            return first.session_id
        return self.fallback_id or f"session-{self.modified_at:%Y%m%d-%H%M%S-%f}-recovered"

    @property
    def first_data(self) -> JsonObject:
        """The data of the action that started the pause; empty if that line is lost."""
        started = (action.data for action in self.actions if action.type == "pause_started")
        return next(started, {})


def first_action(
    session_id: str, fraction: float, initial_state: JsonObject, at: datetime, *, extra: JsonObject
) -> PauseAction:
    """Return the action that starts a pause. Its data holds the schema number of the file."""
    data = {"context_percentage": fraction, "initial_state": as_json(initial_state)}
    return PauseAction(
        "pause_started",
        clock.format_rfc3339(at),
        session_id,
        data | extra | {"schema": SCHEMAS["pause_action"]},
        fraction,
    )


class PauseFile(NamedTuple):
    """The file of a pause, and the lock that every reader and writer holds."""

    path: Path
    lock: Path

    @classmethod
    def at(cls, path: Path) -> PauseFile:
        """Return the pause at ``path``. Its lock is the file beside it that the fast hook uses too."""
        return cls(path=path, lock=path.with_name(f".{path.name}.lock"))

    def is_active(self) -> bool:
        """Return whether a pause is running, which means that its file exists, whatever it holds."""
        return self._modified_timestamp() is not None

    def modified_at(self) -> datetime | None:
        """Return when the file (or whatever is at its path) was last changed; None if there is nothing."""
        timestamp = self._modified_timestamp()
        return None if timestamp is None else datetime.fromtimestamp(timestamp, UTC)

    def start(self, first: PauseAction) -> bool:
        """Start a pause with its first action. Return False, and change nothing, if one is already running."""
        files.make_folder(self.path.parent)
        with locks.hold(self.lock):
            return files.create_file(self.path, _line(first))

    def append(
        self, action_type: str, data: JsonObject, fraction: float, at: datetime, *, sync: bool = False
    ) -> PauseAction | None:
        """Add an action to the running pause, under the pause's id; return None if none is running."""
        appended: list[PauseAction] = []
        stamp = clock.format_rfc3339(at)

        def line_after(head: bytes) -> bytes:
            appended.append(unchecked_action(action_type, stamp, self._session_id(head), data, fraction))
            return _line(appended[0])

        try:
            with locks.hold(self.lock):
                return appended[0] if files.extend_file(self.path, line_after, sync=sync) else None
        except StorageError:
            if self.is_active():
                raise
            return None  # there is not even a folder for the lock

    def read(self) -> Recording | None:
        """Return all lines so far; None if no pause is running."""
        if not self.is_active():
            return None
        with locks.hold(self.lock, shared=True):
            return self._read()

    def finish(self, deliver: Callable[[Recording], Result]) -> Result | None:
        """Pass all lines to ``deliver``, then remove the file; return None if no pause is running.

        The lock is held throughout. If ``deliver`` raises or the process dies, the pause is still running, unchanged.
        """
        if not self.is_active():
            return None
        with locks.hold(self.lock):
            recorded = self._read()
            if recorded is None:
                return None
            result = deliver(recorded)
            self._remove()
            return result

    def discard(self) -> Recording | None:
        """Remove the file, whatever it is, and return what could be read of it; None if there was nothing."""
        if not self.is_active():
            return None
        with locks.hold(self.lock):
            modified_at = self.modified_at()
            if modified_at is None:
                return None
            recorded = Recording(lines=(), modified_at=modified_at)
            with suppress(StorageError):
                recorded = self._read() or recorded
            self._remove()
            return recorded

    def _modified_timestamp(self) -> float | None:
        """Return the file's modification time; None if it does not exist. No permission to look is an error."""
        try:
            return self.path.lstat().st_mtime
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _read_error(self.path, error) from error

    def _session_id(self, head: bytes) -> str:
        """Return the running pause's id: from the start of its first line if that is intact, else from any action."""
        if match := _ID_IN_HEAD.match(head):
            return match[1].decode("ascii")
        return (self._read() or Recording(lines=(), modified_at=clock.now())).session_id

    def _read(self) -> Recording | None:
        """Return all lines, without taking the lock."""
        try:
            status = self.path.lstat()
            if not stat.S_ISREG(status.st_mode):
                raise StorageError(
                    f"{self.path}: {_file_kind(status.st_mode)} and not a file; it is not read. "
                    "leftoff pause list shows it, leftoff pause discard with its number removes it.",
                    path=self.path,
                )
            data = files.read_regular_file(self.path, files.MAX_DOCUMENT_BYTES, follow_links=False)
            if data.count(b"\n") > _MOST_LINES:
                raise UnreadableFileError(self.path, f"it has more than {_MOST_LINES:,} lines")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _read_error(self.path, error) from error
        return Recording(
            lines=tuple(read_lines(data)), modified_at=datetime.fromtimestamp(status.st_mtime, UTC)
        )

    def _remove(self) -> None:
        """Remove the entry itself, never the target of a link or the contents of a folder."""
        try:
            if stat.S_ISDIR(self.path.lstat().st_mode):
                self.path.rmdir()
            else:
                self.path.unlink(missing_ok=True)
        except FileNotFoundError:
            return
        except OSError as error:
            is_full = error.errno in (errno.ENOTEMPTY, errno.EEXIST)
            why = "a folder that is not empty" if is_full else describe_os_error(error)
            way = f"Look into it, then: rm -r {self.path}" if is_full else f"Fix that, then: rm {self.path}"
            raise StorageError(f"{self.path}: cannot be removed: {why}. {way}", path=self.path) from error


def read_lines(data: bytes) -> Iterator[Line]:
    """Yield the lines of a pause without the blank ones."""
    for raw in data.split(b"\n"):
        if raw.strip():
            yield Line(raw, _parse_line(raw))


def _parse_line(raw: bytes) -> PauseAction | None:
    """Return the action on a line; None if the line is torn, foreign, or its id could not be used as a file name."""
    if len(raw) > _LONGEST_LINE_BYTES or not raw.lstrip().startswith(b"{"):
        return None
    try:
        try:
            action = parse_action(orjson.loads(raw))
        except orjson.JSONDecodeError:  # json accepts half of a surrogate pair, orjson does not
            action = PauseAction.from_json_line(raw.decode("utf-8"))
        clock.check_id(action.session_id)
    except ValueError:
        return None
    return action if math.isfinite(action.context_percentage) else None


def _line(action: PauseAction) -> bytes:
    line = action.to_json_line().encode() + b"\n"
    if len(line) > _LONGEST_LINE_BYTES:
        raise UsageError(
            f"The data of this action take {len(line):,} bytes; a line of a pause holds at most {_LONGEST_LINE_BYTES:,}."
        )
    return line


def _file_kind(mode: int) -> str:
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}
    return kinds.get(stat.S_IFMT(mode), "a device or a socket")


def _read_error(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be read: {describe_os_error(error)}.", path=path)


class Origin(NamedTuple):
    """The agent session that a pause belongs to, as its first line records it. Pauses started by hand have none.

    The fast hook writes only types, ids, offsets and percentages; the texts are in ``transcript``, from ``offset`` on.
    ``offset`` is the size of the transcript in bytes when the pause began; None if not known.
    """

    agent: str
    session_id: str
    transcript: str | None = None
    offset: int | None = None
    project: str | None = None  # the folder that the session ran in

    def to_dict(self) -> JsonObject:
        """Return the form that the first line of a pause holds."""
        return {
            "agent": self.agent,
            "session_id": self.session_id,
            "transcript": self.transcript,
            "offset": self.offset,
            "project": self.project,
        }


def parse_origin(first_data: JsonObject) -> Origin | None:
    """Return the origin that the data of a pause's first line holds; None if it holds none."""
    match first_data.get("origin"):
        case {"agent": str(agent), "session_id": str(session_id), **rest}:
            transcript, offset, project = (rest.get(name) for name in ("transcript", "offset", "project"))
            return Origin(
                agent=agent,
                session_id=session_id,
                transcript=transcript if isinstance(transcript, str) else None,
                offset=offset if isinstance(offset, int) and offset >= 0 else None,
                project=project if isinstance(project, str) else None,
            )
        case _:
            return None


@dataclass(frozen=True, slots=True)
class PauseAction:
    """One line of a pause: something that happened while it was recorded.

    ``context_percentage`` is a fraction, 0-1. ``data`` is converted to JSON values, so that a line can always be written and
    reads back the same.
    """

    type: str
    timestamp: str
    session_id: str
    data: dict[str, Any]
    context_percentage: float

    def __post_init__(self) -> None:
        for name in ("type", "timestamp", "session_id"):
            if not isinstance(getattr(self, name), str):
                raise UsageError(f"{name} is {getattr(self, name)!r:.60}: text was expected.")
        if not is_number(self.context_percentage):
            raise UsageError(
                f"context_percentage is {self.context_percentage!r:.60}: a fraction was expected, 0.9 for 90 %."
            )
        object.__setattr__(self, "data", as_json(self.data))

    def to_json_line(self) -> str:
        """Return the action as one line of JSON, without a line end."""
        return _ENCODER.encode(
            {
                "type": self.type,
                "timestamp": self.timestamp,
                "session_id": self.session_id,
                "data": self.data,
                "context_percentage": self.context_percentage,
            }
        )

    @classmethod
    def from_json_line(cls, line: str) -> PauseAction:
        """Return the action on a line.

        A torn line raises JSONDecodeError, one that is not an action DocumentError; both are ValueErrors.
        """
        if not isinstance(line, str | bytes):
            raise UsageError(f"line is {line!r:.60}: text was expected.")
        try:
            data = json.loads(line)
        except RecursionError as error:
            raise DocumentError(f"Not a line of a pause: {error}") from error
        return cls(*_fields(data))


def is_number(value: object) -> bool:
    """Return whether ``value`` is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def parse_action(data: JsonValue) -> PauseAction:
    """Return the action that a parsed line holds; raise DocumentError if it is no action."""
    return unchecked_action(*_fields(data))


def unchecked_action(
    type_: str, timestamp: str, session_id: str, data: JsonObject, fraction: float
) -> PauseAction:
    """Return an action without copying its data, which must be JSON already: copying takes longer than writing it."""
    action = object.__new__(PauseAction)
    for name, value in zip(
        PauseAction.__slots__, (type_, timestamp, session_id, data, fraction), strict=True
    ):
        object.__setattr__(action, name, value)
    return action


def _fields(data: JsonValue) -> tuple[str, str, str, JsonObject, float]:
    match data:
        case {
            "type": str(type_),
            "timestamp": str(timestamp),
            "session_id": str(session_id),
            "data": dict(inner),
            "context_percentage": float() | int() as fraction,
        }:
            if "schema" in inner and type_ == "pause_started":
                upgrade_document("pause_action", inner, where=session_id)
            return type_, timestamp, session_id, inner, float(fraction)
        case _:
            raise DocumentError(f"Not a line of a pause: {str(data)[:80]}")
