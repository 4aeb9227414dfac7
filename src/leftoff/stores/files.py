"""The default storage backend: each log as Markdown and JSON in one folder, written as a set, and noted in the register.

Keeps every promise of ``StorageBackend``. Beyond them: the order of saving holds even where two saves fall into one tick of
the clock, or the clock jumps back; a log can be compressed, and is then read like any other; ``update`` and ``remove`` do
what takes more than one step while nobody else can do the same.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from leftoff.errors import DocumentError, StorageError
from leftoff.model.resume_log import ResumeLog
from leftoff.stores import log_files
from leftoff.stores.log_files import PREFIX, LogFiles, Part
from leftoff.system import clock, files, ids, locks, paths, reasons
from leftoff.system.register import Register

_UPDATE_LOCK = ".update.lock"  # not the folder's own: that one is taken inside it


def here() -> FileStore:
    """The store of the project that we are in, with the usual settings."""
    folder = paths.project_of(paths.working_folder()).folder / "resume-logs"
    return FileStore(folder, register=Register(folder=paths.data_folder()))


class FileStore:
    """Resume logs in ``folder``; ``register`` None: they are nobody's own, and nothing restores them by itself."""

    def __init__(
        self, folder: Path, *, register: Register | None = None, max_tokens: int = ResumeLog.MAX_TOTAL_TOKENS
    ) -> None:
        self.folder = folder
        self._register = register
        self._max_tokens = max_tokens

    def save(self, resume_log: ResumeLog) -> str:
        """Write Markdown and JSON as one; the identifier is the session id."""
        session_id = ids.checked(resume_log.session_id)
        data = json.dumps(resume_log.to_dict(), indent=2, ensure_ascii=False).encode() + b"\n"
        text = resume_log.to_markdown(self._max_tokens).encode()
        files.write_set(self.folder, {_name(session_id, ".md"): text, _name(session_id, ".json"): data})
        with self._alone():
            if self.path_of(session_id, ".json").exists():  # else it was deleted or compressed since
                self._put_first(session_id)
                self._unlink(session_id, (".md.gz", ".json.gz"))
        self._note(session_id, (".md", ".json"))
        return session_id

    def load(self, identifier: str) -> ResumeLog | None:
        """The log; None when there is none, DocumentError when it is there and broken."""
        names = [_name(ids.checked(identifier), part) for part in (".json", ".json.gz")]
        for name, data in files.read_set(self.folder, names).items():
            path = self.folder / name
            return log_files.parsed(path, log_files.unpacked(path, data) if path.suffix == ".gz" else data)
        half = self.find(identifier)
        return None if half is None else half.log()  # which says that only the text is left

    def list(self) -> list[str]:
        """All session ids, newest save first."""
        return [log.session_id for log in self.logs()]

    def delete(self, identifier: str) -> bool:
        """Whether there was one to delete."""
        session_id = ids.checked(identifier)
        if not self.folder.is_dir():
            return False
        with self._alone():
            return self._unlink(session_id, log_files.PARTS)

    def logs(self) -> Sequence[LogFiles]:
        """The files of all logs, newest save first."""
        with files.settled(self.folder):
            return log_files.found_in(self.folder)

    def find(self, session_id: str) -> LogFiles | None:
        """The files of one log."""
        wanted = ids.checked(session_id)
        return next((log for log in self.logs() if log.session_id == wanted), None)

    def path_of(self, session_id: str, part: Part = ".md") -> Path:
        """Where that part of a session's log stands, or would."""
        return self.folder / _name(ids.checked(session_id), part)

    def update(self, session_id: str, change: Callable[[ResumeLog | None], ResumeLog]) -> ResumeLog:
        """Save what ``change`` makes of the log that is there, with no other update in between; what was saved.

        A log that cannot be read counts as none, and is replaced.
        """
        ids.checked(session_id)
        files.make_folder(self.folder)
        with locks.held(self.folder / _UPDATE_LOCK):
            changed = change(self._readable(session_id))
            self.save(changed)
            return changed

    def remove(self, chosen: Callable[[Sequence[str]], Iterable[str]]) -> Sequence[Path]:
        """Delete those of all ids, newest first, that ``chosen`` picks, with no save in between; one path for each."""
        if not self.folder.is_dir():
            return []
        with self._alone():
            logs = {log.session_id: log for log in log_files.found_in(self.folder)}
            gone = [logs[session_id] for session_id in chosen([*logs])]
            for log in gone:
                self._unlink(log.session_id, log_files.PARTS)
        return [log.path for log in gone]

    def compress(self, session_id: str) -> bool:
        """Put a log into less space; False where there is nothing to compress. A save meanwhile wins."""
        plain: tuple[Part, ...] = (".md", ".json")
        before = self.find(session_id)
        content = files.read_set(self.folder, [_name(ids.checked(session_id), part) for part in plain])
        if before is None or not content:
            return False
        packed = {f"{name}.gz": gzip.compress(data, mtime=0) for name, data in content.items()}
        files.write_set(self.folder, packed)
        with self._alone():
            now = {log.session_id: log for log in log_files.found_in(self.folder)}.get(session_id)
            changed = now is None or now.saved_ns != before.saved_ns
            self._unlink(session_id, (".md.gz", ".json.gz") if changed else plain)
            if changed:
                return False
            for name in packed:
                os.utime(self.folder / name, ns=(before.saved_ns, before.saved_ns))
        self._note(session_id, (".md.gz", ".json.gz"))
        return True

    def _readable(self, session_id: str) -> ResumeLog | None:
        try:
            return self.load(session_id)
        except DocumentError:
            return None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While the block runs, nobody writes here, and no set waits to be finished: that would undo what we do."""
        while True:
            with files.settled(self.folder):
                pass
            with locks.held(self.folder / files.LOCK_NAME):
                journal = self.folder / files.JOURNAL_NAME
                if journal.is_symlink() or not journal.is_file():
                    yield
                    return

    def _put_first(self, session_id: str) -> None:
        """Later than every other log, whatever the clock says."""
        others = (log.saved_ns for log in log_files.found_in(self.folder) if log.session_id != session_id)
        moment = max(int(clock.now().timestamp() * 1e9), max(others, default=0) + 1)
        for part in (".json", ".md"):
            with suppress(FileNotFoundError):  # a foreign hand takes no lock
                os.utime(self.path_of(session_id, part), ns=(moment, moment))

    def _unlink(self, session_id: str, parts: Iterable[Part]) -> bool:
        """The JSON last: whatever is left after a crash is a whole log. The caller is alone."""
        gone = False
        for part in sorted(parts, key=lambda part: ".json" in part):
            path = self.path_of(session_id, part)
            try:
                path.unlink()
                gone = True
            except FileNotFoundError:
                continue
            except OSError as error:
                raise StorageError(f"{path}: not deleted: {reasons.words(error)}.", path=path) from error
        return gone

    def _note(self, session_id: str, parts: Iterable[Part]) -> None:
        if self._register is None:
            return
        for part in parts:
            path = self.path_of(session_id, part)
            if path.is_file():  # not deleted since
                self._register.note_written(path, session_id, clock.now())


def _name(session_id: str, part: Part) -> str:
    return f"{PREFIX}{session_id}{part}"
