"""The outbox: logs that wait to be sent to the remote store, and the background process that sends them.

Each log is one file, named by its time, so that a newer log of the same session is another file and a sender deletes exactly
what it has sent. Nothing is lost between saving and sending, and one broken file blocks no other. Each log of a session has a
later time than the one before, and than what was fetched from elsewhere, whatever the clocks say. Logs are sent without
credentials, whatever the settings say of local files. One sender runs at a time, until nothing is left to try; what could
not be sent is tried again after the next save, at the next start of a session, and when the remote is asked for.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leftoff.core.project_identity import METADATA_KEY, ProjectIdentity
from leftoff.core.protocols import CanBeChecked, CanSaveLate, StorageBackend
from leftoff.core.quantities import count
from leftoff.core.resume_log import ResumeLog
from leftoff.core.wire import SCHEMAS, JsonObject, upgrade_document
from leftoff.errors import (
    DocumentError,
    LeftoffError,
    LockTimeoutError,
    StorageError,
    UnreachableError,
    describe_os_error,
)
from leftoff.platform import clock, files, locks, paths, process
from leftoff.platform.log import write_line
from leftoff.platform.redaction import Redactor
from leftoff.storage.repository import configured_backend
from leftoff.storage.store_base import call_backend, redact_log
from leftoff.workspace import Workspace, identity_of

if TYPE_CHECKING:
    from leftoff.config.settings import Settings
    from leftoff.storage.repository import LogRepository

SENDING_LOCK = ".sending.lock"
_PUTTING = ".putting.lock"
_STARTED = ".sender"  # a sender was just started and does not hold the lock yet
_START_SECONDS = 10.0
_LAST = ".last"  # ending of the files with the last time of a session
_MAX_LAST_TIMES = 500
_TROUBLE = "trouble.txt"
_NAME = re.compile(r"([0-9a-f]{12})\.(.+)\.(\d{20})\.json")
# -P: a folder called leftoff in the project must not be imported instead.
_SENDER = ("-P", "-m", "leftoff.storage.outbox")
ROOT_KEY = "project_root"  # in a log's metadata: the project's folder on the machine that wrote it
_MAX_SECONDS = 300
_LOCK_SECONDS = 20.0
_SENDER_LOCK_SECONDS = 1.0  # another sender would send our logs too, so there is no need to wait for it
_BUSY = "another process is sending just now"


class Entry(NamedTuple):
    """A log that waits. ``root`` is its project's folder on this machine, ``saved_ns`` the time of saving."""

    log: ResumeLog
    root: str
    saved_ns: int

    def to_dict(self) -> JsonObject:
        """Return the JSON form."""
        return {
            "schema": SCHEMAS["outbox_entry"],
            "saved_ns": self.saved_ns,
            "root": self.root,
            "log": self.log.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: object, *, where: str) -> Entry:
        """Parse the JSON form; DocumentError where it is invalid."""
        match upgrade_document("outbox_entry", data, where=where):  # type: ignore[arg-type] # it checks the type
            case {"saved_ns": int(saved_ns), "root": str(root), "log": dict(log)}:
                return cls(log=ResumeLog.from_dict(log, where=where), root=root, saved_ns=saved_ns)
            case _:
                raise DocumentError(f"{where}: not a log on its way.", path=where)


def user_outbox() -> Outbox:
    """Return the outbox of this user; its folder is created with the first entry."""
    return Outbox(paths.state_folder() / "outbox")


class Outbox:
    """A folder of logs that wait to be sent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, entry: Entry) -> Path:
        """Add an entry with a later time than earlier ones of its session, and delete those that still wait."""
        session_id = clock.check_id(entry.log.session_id)
        project = _project_hash(entry.root)
        files.make_folder(self.folder)
        last = self._last(entry.root, session_id)
        with locks.hold(self.folder / _PUTTING):
            saved_ns = max(entry.saved_ns, _read_time(last) + 1)
            path = self.folder / f"{project}.{session_id}.{saved_ns:020d}.json"
            body = json.dumps(entry._replace(saved_ns=saved_ns).to_dict(), ensure_ascii=False)
            files.write_file(path, body.encode())
            files.write_file(last, str(saved_ns).encode())
            for other in self.waiting():
                named = _NAME.fullmatch(other.name)
                if named and named.group(1, 2) == (project, session_id) and other != path:
                    self.remove(other)
            self._delete_oldest_times()
        return path

    def last_time_ns(self, root: str, session_id: str) -> int:
        """Return the time of the last log of a session that was added or fetched; 0 when none is known."""
        return _read_time(self._last(root, clock.check_id(session_id)))

    def note_fetched(self, root: str, session_id: str, saved_ns: int) -> None:
        """Give logs that are added later a time after that of a fetched one: another machine's clock may be ahead."""
        last = self._last(root, clock.check_id(session_id))
        files.make_folder(self.folder)
        with locks.hold(self.folder / _PUTTING):
            if saved_ns > _read_time(last):
                files.write_file(last, str(saved_ns).encode())
            self._delete_oldest_times()

    def _last(self, root: str, session_id: str) -> Path:
        return self.folder / f"{_project_hash(root)}.{session_id}{_LAST}"

    def _delete_oldest_times(self) -> None:
        known = [*self.folder.glob(f"*{_LAST}")]
        if len(known) > _MAX_LAST_TIMES:
            for path in sorted(known, key=_read_time)[: len(known) - _MAX_LAST_TIMES]:
                path.unlink(missing_ok=True)

    def needs_sender(self) -> bool:
        """Whether no sender is running or about to: then the caller must start one, which others learn from a mark."""
        started = self.folder / _STARTED
        try:
            with locks.hold(self.folder / SENDING_LOCK, timeout_seconds=0.0):
                age = clock.now().timestamp() - started.stat().st_mtime
                if abs(age) < _START_SECONDS:
                    return False
        except LockTimeoutError:
            return False  # it looks again before it ends, and finds our entry
        except FileNotFoundError:
            pass
        with suppress(OSError):
            started.touch(mode=0o600)
        return True

    def clear_start_mark(self) -> None:
        """Remove the mark of a started sender, which holds the lock now."""
        (self.folder / _STARTED).unlink(missing_ok=True)

    def waiting(self) -> list[Path]:
        """Return the files that wait, oldest first; StorageError where the folder cannot be read."""
        try:
            found = [path for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise StorageError(
                f"{self.folder}: the logs that wait to be sent cannot be read: {describe_os_error(error)}. "
                f"It must be yours to read and write: chmod u+rwx {shlex.quote(str(self.folder))}",
                path=self.folder,
            ) from error
        return sorted(found, key=lambda path: path.name.rsplit(".", 2)[1])

    def read(self, path: Path) -> Entry | None:
        """Parse a file; None when it is gone, DocumentError when it is broken, StorageError when it cannot be read."""
        try:
            return Entry.from_dict(json.loads(path.read_bytes()), where=str(path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _blocking_file_error(path, f"cannot be read: {describe_os_error(error)}") from error
        except (ValueError, RecursionError) as error:
            raise DocumentError(f"{path}: not a log on its way: {error}.", path=path) from error

    def remove(self, path: Path) -> None:
        """Delete a file that need not be sent any more."""
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _blocking_file_error(path, f"cannot be taken away: {describe_os_error(error)}") from error

    def set_aside(self, path: Path) -> None:
        """Rename a broken file, so that it is not tried again and a person can look at it."""
        try:
            path.rename(path.with_suffix(".broken"))
        except FileNotFoundError:
            return
        except OSError as error:
            raise _blocking_file_error(
                path, f"broken, and cannot be put aside: {describe_os_error(error)}"
            ) from error

    def of_session(self, session_id: str) -> Iterator[Path]:
        """Yield the files of one session that wait."""
        wanted = clock.check_id(session_id)
        return (
            path for path in self.waiting() if (named := _NAME.fullmatch(path.name)) and named[2] == wanted
        )

    def of_project(self, root: str) -> list[Path]:
        """Return the files of one project: what waits, what was broken, and the last times of its sessions."""
        return sorted(self.folder.glob(f"{_project_hash(root)}.*"))

    def note_trouble(self, trouble: str) -> None:
        """Remember why nothing could be sent; an empty text means that all was sent."""
        path = self.folder / _TROUBLE
        if trouble:
            files.write_file(path, trouble.encode("utf-8", "replace"))
        else:
            path.unlink(missing_ok=True)

    def trouble(self) -> str | None:
        """Return why the last sending failed; None when it did not."""
        with suppress(OSError, StorageError):
            return (self.folder / _TROUBLE).read_text("utf-8", "replace") or None
        return None


def _project_hash(root: str) -> str:
    return hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _blocking_file_error(path: Path, problem: str) -> StorageError:
    return StorageError(f"{path}: {problem}. Look at it, and move it away.", path=path)


def _read_time(path: Path) -> int:
    """Return the time in a file; 0 where it cannot be read."""
    try:
        return int(path.read_bytes())
    except (OSError, ValueError):
        return 0


def queue_and_send(log: ResumeLog, repository: LogRepository) -> None:
    """Add a log to the outbox and start the sender; errors go to the repository's troubles, because the local copy is safe."""
    try:
        queue_log(log, repository)
        _start_sender()
    except LeftoffError as error:
        repository.troubles.append(error)


def queue_log(log: ResumeLog, repository: LogRepository) -> None:
    """Add a log to the outbox, without credentials."""
    saved_ns = int(clock.now().timestamp() * 1_000_000) * 1_000
    clean = _without_credentials(log, repository.settings)
    user_outbox().put(Entry(log=clean, root=str(repository.project.root), saved_ns=saved_ns))


def start_sending(settings: Settings) -> int | None:
    """Start the sender if something waits and the settings name a remote; return its process id."""
    if settings.storage == "files" or not user_outbox().waiting():
        return None
    return _start_sender()


def _start_sender() -> int | None:
    """Start the sender unless one is running; return its process id."""
    return process.start_detached([sys.executable, *_SENDER]) if user_outbox().needs_sender() else None


def _without_credentials(log: ResumeLog, settings: Settings) -> ResumeLog:
    """Redact a log also where redaction is off: that setting is about local files."""
    wanted = settings.redaction
    if wanted.enabled:
        return log  # every log is redacted before it is saved
    return redact_log(log, Redactor(allow=wanted.allow, deny=wanted.deny))


class SendResult(NamedTuple):
    """How many logs were sent, how many still wait, and why; None when nothing went wrong.

    ``is_away`` means that the server does not answer.
    """

    sent: int
    waiting: int
    trouble: str | None
    is_away: bool = False


def send_all(backend: StorageBackend, *, lock_seconds: float = _LOCK_SECONDS) -> SendResult:
    """Send everything that waits, oldest first, and what is added meanwhile."""
    box = user_outbox()
    if not box.waiting():
        return SendResult(sent=0, waiting=0, trouble=None)
    files.make_folder(box.folder)
    progress = _Progress()
    try:
        # Look again after releasing the lock: an entry that was added while we held it has started no other sender.
        while not progress.is_away and not progress.tried.issuperset(box.waiting()):
            with locks.hold(box.folder / SENDING_LOCK, timeout_seconds=lock_seconds):
                box.clear_start_mark()
                _send_waiting(box, backend, progress)
                box.note_trouble(progress.trouble or "")
    except LockTimeoutError:
        progress.trouble = _BUSY
    return SendResult(
        sent=progress.sent, waiting=len(box.waiting()), trouble=progress.trouble, is_away=progress.is_away
    )


def main() -> None:
    """Run as the sender process; errors are written to leftoff's log."""
    process.run_in_background(most_seconds=_MAX_SECONDS)
    try:
        backend = configured_backend(Workspace.open(paths.state_folder()).settings)
        sent = send_all(backend, lock_seconds=_SENDER_LOCK_SECONDS) if backend is not None else None
        if sent is not None and sent.trouble not in {None, _BUSY}:
            write_line(f"{count(sent.waiting, 'log')} not sent yet: {sent.trouble}")
    except LeftoffError as error:
        write_line(f"nothing was sent: {error}")


@dataclass(slots=True, kw_only=True)
class _Progress:
    """What a sender has done so far."""

    tried: set[Path] = field(default_factory=set)
    sent: int = 0
    trouble: str | None = None
    is_away: bool = False


def _send_waiting(box: Outbox, backend: StorageBackend, progress: _Progress) -> None:
    for path in box.waiting():
        if path in progress.tried:
            continue
        progress.tried.add(path)
        error = _send(box, path, backend)
        if error is None:
            progress.sent += 1
            continue
        progress.trouble = progress.trouble or str(error)
        progress.is_away = _is_away(backend, error)
        if progress.is_away:
            return


def _is_away(backend: StorageBackend, error: LeftoffError) -> bool:
    """Whether the server is the reason and not the log, so that every other call would fail too."""
    if isinstance(error, UnreachableError):
        return True
    try:
        call_backend(backend, backend.check if isinstance(backend, CanBeChecked) else backend.list)
    except LeftoffError:
        return True
    return False


def _send(box: Outbox, path: Path, backend: StorageBackend) -> LeftoffError | None:
    """Send one log; return the error, or None. A file that cannot be parsed is set aside."""
    try:
        entry = _read_entry(box, path)
        if entry is not None:
            call_backend(backend, lambda: _save(backend, entry))
            box.remove(path)
    except LeftoffError as error:
        return error
    return None


def _read_entry(box: Outbox, path: Path) -> Entry | None:
    """Parse a file; None when it is gone or was set aside."""
    try:
        return box.read(path)
    except DocumentError as error:
        box.set_aside(path)
        write_line(f"{error} It was put aside.")
        return None


def _save(backend: StorageBackend, entry: Entry) -> str:
    log = with_identity(entry.log, Path(entry.root))
    return backend.save_as_of(log, entry.saved_ns) if isinstance(backend, CanSaveLate) else backend.save(log)


def with_identity(log: ResumeLog, root: Path) -> ResumeLog:
    """Add to a log its project's identity on every machine and its folder on this one."""
    if ProjectIdentity.from_dict(log.metadata.get(METADATA_KEY)) is not None:
        return log  # it came from another machine and belongs to the same project
    identity = {METADATA_KEY: identity_of(root).to_dict(), ROOT_KEY: str(root)}
    return replace(log, metadata=log.metadata | identity)


if __name__ == "__main__":
    main()
