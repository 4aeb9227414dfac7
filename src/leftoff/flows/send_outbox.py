"""Send what waits in the outbox to the storage backend of the settings; as a program, quietly and at low priority.

One sender at a time, and it goes on until nothing is left that it has not tried. Each log is told which project it belongs to by
what every checkout of it shares. Sending is repeated until it is known to have worked, and a backend that can
(``CanSaveLate``) makes of two sendings one. A log that is refused hides no other; a server that does not answer ends the round.
What waits is tried again after the next save, at the next start of a session, and by whoever asks for the remote.
"""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path

from leftoff.errors import DocumentError, LeftoffError, LockTimeoutError, UnreachableError
from leftoff.flows.ask_store import ask_store
from leftoff.flows.project_identity import identity_of
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import configured_backend
from leftoff.model.project_identity import METADATA_KEY, ProjectIdentity
from leftoff.model.protocols import CanBeChecked, CanSaveLate, StorageBackend
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.stores import outbox
from leftoff.stores.outbox import Entry, Outbox
from leftoff.system import files, locks, own_log, paths, process

ROOT_KEY = "project_root"  # of a log's metadata: where the project stood on the machine that wrote it
_MOST_SECONDS = 300
_PATIENCE_SECONDS = 20.0
_SENDER_SECONDS = (
    1.0  # who looks whether anybody sends holds the lock for a moment; whoever sends does so for us too
)
_BUSY = "another process is sending just now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """How many logs were sent, how many still wait, and why; None: nothing went wrong. ``is_away``: nobody answers there."""

    sent: int
    waiting: int
    trouble: str | None
    is_away: bool = False


def send_all(backend: StorageBackend, *, patience_seconds: float = _PATIENCE_SECONDS) -> Sent:
    """Send everything that waits, oldest first, and what comes meanwhile."""
    box = outbox.of_user()
    if not box.waiting():
        return Sent(sent=0, waiting=0, trouble=None)
    files.make_folder(box.folder)
    rounds = _Round()
    try:
        # Looked at again without the lock: who put something in while we held it has started nobody else.
        while not rounds.is_away and not rounds.tried.issuperset(box.waiting()):
            with locks.held(box.folder / outbox.LOCK_NAME, timeout_seconds=patience_seconds):
                box.sender_began()
                _send_waiting(box, backend, rounds)
                box.note_trouble(rounds.trouble or "")
    except LockTimeoutError:
        rounds.trouble = _BUSY
    return Sent(sent=rounds.sent, waiting=len(box.waiting()), trouble=rounds.trouble, is_away=rounds.is_away)


def main() -> None:
    """Send, in a process of its own; trouble is one line in leftoff's own log."""
    process.humble(most_seconds=_MOST_SECONDS)
    try:
        backend = configured_backend(settings_here(paths.state_folder()).settings)
        sent = send_all(backend, patience_seconds=_SENDER_SECONDS) if backend is not None else None
        if sent is not None and sent.trouble not in {None, _BUSY}:
            own_log.note(f"{sent.waiting} logs wait to be sent: {sent.trouble}")
    except LeftoffError as error:
        own_log.note(f"nothing was sent: {error}")


@dataclass(slots=True, kw_only=True)
class _Round:
    """What a sender has done so far."""

    tried: set[Path] = field(default_factory=set)
    sent: int = 0
    trouble: str | None = None
    is_away: bool = False


def _send_waiting(box: Outbox, backend: StorageBackend, rounds: _Round) -> None:
    for path in box.waiting():
        if path in rounds.tried:
            continue
        rounds.tried.add(path)
        error = _send(box, path, backend)
        if error is None:
            rounds.sent += 1
            continue
        rounds.trouble = rounds.trouble or str(error)
        rounds.is_away = _is_away(backend, error)
        if rounds.is_away:
            return


def _is_away(backend: StorageBackend, error: LeftoffError) -> bool:
    """Whether it is the server and not the log: whatever is asked then fails."""
    if isinstance(error, UnreachableError):
        return True
    try:
        ask_store(backend, backend.check if isinstance(backend, CanBeChecked) else backend.list)
    except LeftoffError:
        return True
    return False


def _send(box: Outbox, path: Path, backend: StorageBackend) -> LeftoffError | None:
    """Send one; why it could not be, None when it was. What cannot be read is put aside, where a person can look at it."""
    try:
        entry = _readable(box, path)
        if entry is not None:
            ask_store(backend, lambda: _saved(backend, entry))
            box.taken(path)
    except LeftoffError as error:
        return error
    return None


def _readable(box: Outbox, path: Path) -> Entry | None:
    """What a file holds; None when it is gone or was put aside."""
    try:
        return box.read(path)
    except DocumentError as error:
        box.put_aside(path)
        own_log.note(f"{error} It was put aside.")
        return None


def _saved(backend: StorageBackend, entry: Entry) -> str:
    log = with_identity(entry.log, Path(entry.root))
    return backend.save_as_of(log, entry.saved_ns) if isinstance(backend, CanSaveLate) else backend.save(log)


def with_identity(log: ResumeLog, root: Path) -> ResumeLog:
    """The log with what names its project on every machine, and where that stands on this one."""
    if ProjectIdentity.from_dict(log.metadata.get(METADATA_KEY)) is not None:
        return log  # it came from another machine, and still belongs to the same project
    told = {METADATA_KEY: identity_of(root).to_dict(), ROOT_KEY: str(root)}
    return replace(log, metadata=log.metadata | told)


if __name__ == "__main__":
    main()
