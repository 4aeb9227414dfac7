"""Logs on their way to a storage backend: one file each, until it was taken.

A file is written whole and named by its moment, so that a newer log of the same session is another file, and whoever sends
takes away exactly what was sent. Promises: nothing is lost between a save and its sending, whoever dies in between; a broken
or unreadable file hides no other; each log of a session has a later moment than the one before, and than what was fetched of
it from elsewhere, whatever the clocks say. Leaves out: sending.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from leftoff.errors import DocumentError, LockTimeoutError, StorageError
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS, JsonObject, upgraded
from leftoff.system import clock, files, ids, locks, paths, reasons

LOCK_NAME = ".sending.lock"
_PUTTING = ".putting.lock"
_STARTED = ".sender"  # somebody has just started a sender, which does not hold the lock yet
_STARTING_SECONDS = 10.0
_LAST = ".last"  # ends the names of files that hold the last moment of a session
_MOST_REMEMBERED = 500
_TROUBLE = "trouble.txt"
_NAME = re.compile(r"([0-9a-f]{12})\.(.+)\.(\d{20})\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A log that waits. ``root`` is its project's folder on this machine; ``saved_ns`` when it was saved."""

    log: ResumeLog
    root: str
    saved_ns: int

    def to_dict(self) -> JsonObject:
        """The wire form."""
        return {
            "schema": SCHEMAS["outbox_entry"],
            "saved_ns": self.saved_ns,
            "root": self.root,
            "log": self.log.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: object, *, where: str) -> Entry:
        """The value behind a wire form."""
        match upgraded("outbox_entry", data, where=where):  # type: ignore[arg-type] # it refuses what is no object
            case {"saved_ns": int(saved_ns), "root": str(root), "log": dict(log)}:
                return cls(log=ResumeLog.from_dict(log, where=where), root=root, saved_ns=saved_ns)
            case _:
                raise DocumentError(f"{where}: not a log on its way.", path=where)


def of_user() -> Outbox:
    """The outbox of this user, which is made when something is put in."""
    return Outbox(paths.state_folder() / "outbox")


class Outbox:
    """A folder of logs that wait."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, entry: Entry) -> Path:
        """Let it wait, as later than whatever was put in of its session; what waits of that need not be sent any more."""
        session_id = ids.checked(entry.log.session_id)
        project = _project(entry.root)
        files.make_folder(self.folder)
        last = self._last(entry.root, session_id)
        with locks.held(self.folder / _PUTTING):
            moment = max(entry.saved_ns, _moment_in(last) + 1)
            path = self.folder / f"{project}.{session_id}.{moment:020d}.json"
            body = json.dumps(replace(entry, saved_ns=moment).to_dict(), ensure_ascii=False)
            files.write_file(path, body.encode())
            files.write_file(last, str(moment).encode())
            for other in self.waiting():
                named = _NAME.fullmatch(other.name)
                if named and named.group(1, 2) == (project, session_id) and other != path:
                    self.taken(other)
            self._forget_oldest_moments()
        return path

    def last_moment(self, root: str, session_id: str) -> int:
        """The moment of what was last put in, or fetched from elsewhere, of a session; 0 when none is remembered."""
        return _moment_in(self._last(root, ids.checked(session_id)))

    def note_fetched(self, root: str, session_id: str, moment: int) -> None:
        """What is put in from now on is later than ``moment``: another machine's clock may be ahead of ours."""
        last = self._last(root, ids.checked(session_id))
        files.make_folder(self.folder)
        with locks.held(self.folder / _PUTTING):
            if moment > _moment_in(last):
                files.write_file(last, str(moment).encode())
            self._forget_oldest_moments()

    def _last(self, root: str, session_id: str) -> Path:
        return self.folder / f"{_project(root)}.{session_id}{_LAST}"

    def _forget_oldest_moments(self) -> None:
        known = [*self.folder.glob(f"*{_LAST}")]
        if len(known) > _MOST_REMEMBERED:
            for path in sorted(known, key=_moment_in)[: len(known) - _MOST_REMEMBERED]:
                path.unlink(missing_ok=True)

    def needs_sender(self) -> bool:
        """Whether nobody is sending or about to: then the caller starts one, and this says so to others."""
        started = self.folder / _STARTED
        try:
            with locks.held(self.folder / LOCK_NAME, timeout_seconds=0.0):
                age = clock.now().timestamp() - started.stat().st_mtime
                if abs(age) < _STARTING_SECONDS:
                    return False
        except LockTimeoutError:
            return False  # it looks again when it is done, and finds what was put in before we asked
        except FileNotFoundError:
            pass
        with suppress(OSError):
            started.touch(mode=0o600)
        return True

    def sender_began(self) -> None:
        """A sender holds the lock and has yet to look at what waits."""
        (self.folder / _STARTED).unlink(missing_ok=True)

    def waiting(self) -> list[Path]:
        """The files that wait, oldest first; StorageError where nobody may look."""
        try:
            found = [path for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise StorageError(
                f"{self.folder}: the logs that wait to be sent cannot be looked at: {reasons.words(error)}. "
                f"It must be yours to read and write: chmod u+rwx {shlex.quote(str(self.folder))}",
                path=self.folder,
            ) from error
        return sorted(found, key=lambda path: path.name.rsplit(".", 2)[1])

    def read(self, path: Path) -> Entry | None:
        """What a file holds; None when it is gone, DocumentError when it is broken, StorageError when it cannot be read."""
        try:
            return Entry.from_dict(json.loads(path.read_bytes()), where=str(path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _in_the_way(path, f"cannot be read: {reasons.words(error)}") from error
        except (ValueError, RecursionError) as error:
            raise DocumentError(f"{path}: not a log on its way: {error}.", path=path) from error

    def taken(self, path: Path) -> None:
        """It need not wait any more."""
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _in_the_way(path, f"cannot be taken away: {reasons.words(error)}") from error

    def put_aside(self, path: Path) -> None:
        """It is broken, and stands where a person can look at it."""
        try:
            path.rename(path.with_suffix(".broken"))
        except FileNotFoundError:
            return
        except OSError as error:
            raise _in_the_way(path, f"broken, and cannot be put aside: {reasons.words(error)}") from error

    def of_session(self, session_id: str) -> Iterator[Path]:
        """Whatever waits of one session, for those who erase it."""
        wanted = ids.checked(session_id)
        return (
            path for path in self.waiting() if (named := _NAME.fullmatch(path.name)) and named[2] == wanted
        )

    def note_trouble(self, words: str) -> None:
        """Remember why nothing could be sent, for those who ask; empty: it could."""
        path = self.folder / _TROUBLE
        if words:
            files.write_file(path, words.encode("utf-8", "replace"))
        else:
            path.unlink(missing_ok=True)

    def trouble(self) -> str | None:
        """Why the last sending failed; None when it did not."""
        with suppress(OSError, StorageError):
            return (self.folder / _TROUBLE).read_text("utf-8", "replace") or None
        return None


def _project(root: str) -> str:
    return hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _in_the_way(path: Path, words: str) -> StorageError:
    return StorageError(f"{path}: {words}. Look at it, and move it away.", path=path)


def _moment_in(path: Path) -> int:
    """What a file of a last moment says; one that cannot be read says nothing."""
    try:
        return int(path.read_bytes())
    except (OSError, ValueError):
        return 0
