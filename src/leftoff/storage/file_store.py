"""Resume logs as files: ``session-{id}.md`` with ``session-{id}.json`` beside it, each perhaps compressed (``.gz``).

``FileStore`` is the default storage backend. Beyond what every backend promises, it keeps the order of saves even when the
clock jumps back, compresses logs, and offers ``update`` and ``remove``, which no other process can interrupt. Reading needs
no lock, so that folders of other programs can be read too: half of a pair is listed, links and other names are skipped, and
one bad file hides no other.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from heapq import nlargest
from pathlib import Path
from typing import Literal, NamedTuple

from leftoff.core.open_work import latest_open
from leftoff.core.resume_log import MAX_LOG_BYTES, ResumeLog
from leftoff.errors import (
    DocumentError,
    InvalidIdError,
    OutsideFolderError,
    StorageError,
    UnreadableFileError,
    describe_os_error,
)
from leftoff.platform import clock, file_sets, files, locks, paths
from leftoff.platform.register import Register

_UPDATE_LOCK = ".update.lock"  # not the folder's own lock, which is taken while this one is held
Part = Literal[".md", ".json", ".md.gz", ".json.gz"]
PREFIX = "session-"
PARTS: tuple[Part, ...] = (".md.gz", ".json.gz", ".md", ".json")  # the longer endings first
CLAUDE_MPM = "claude-mpm"  # its logs are read and never written
_CLAUDE_MPM_FOLDER = ".claude-mpm/resume-logs"


def open_project_store() -> FileStore:
    """Return the store of the current project with default settings."""
    folder = paths.find_project(paths.working_folder()).folder / "resume-logs"
    return FileStore(folder, register=Register(folder=paths.data_folder()))


class FileStore:
    """Resume logs in ``folder``. Without a ``register`` they are not trusted, so nothing restores them unasked."""

    def __init__(
        self, folder: Path, *, register: Register | None = None, max_tokens: int = ResumeLog.MAX_TOTAL_TOKENS
    ) -> None:
        self.folder = folder
        self._register = register
        self._max_tokens = max_tokens

    def save(self, resume_log: ResumeLog) -> str:
        """Write Markdown and JSON as one set; the identifier is the session id."""
        session_id = clock.check_id(resume_log.session_id)
        # In JSON, a backslash escape is what a name that is not UTF-8 is written as anyway.
        data = json.dumps(resume_log.to_dict(), indent=2, ensure_ascii=False) + "\n"
        texts = {
            _name(session_id, ".md"): resume_log.to_markdown(self._max_tokens),
            _name(session_id, ".json"): data,
        }
        parts = {name: text.encode("utf-8", "backslashreplace") for name, text in texts.items()}
        file_sets.write_set(self.folder, parts)
        with self._locked():
            if self.path_of(session_id, ".json").exists():  # otherwise it was deleted or compressed meanwhile
                self._make_newest(session_id, parts)
                self._unlink(session_id, (".md.gz", ".json.gz"))
        self._register_files(session_id, parts)
        return session_id

    def load(self, identifier: str) -> ResumeLog | None:
        """Return the log, or None; DocumentError when it is broken."""
        names = [_name(clock.check_id(identifier), part) for part in (".json", ".json.gz")]
        try:
            found = file_sets.read_set(self.folder, names, MAX_LOG_BYTES)
        except UnreadableFileError as error:
            raise DocumentError(error.message, path=error.path) from error
        for name, data in found.items():
            path = self.folder / name
            return parse_log(path, decompress(path, data) if path.suffix == ".gz" else data)
        half = self.find(identifier)
        return None if half is None else half.log()  # raises: only the Markdown is left

    def list(self) -> list[str]:
        """Return all session ids, newest save first."""
        return [log.session_id for log in self.logs()]

    def delete(self, identifier: str) -> bool:
        """Delete a log; return whether there was one."""
        session_id = clock.check_id(identifier)
        if not self.folder.is_dir():
            return False
        with self._locked():
            return self._unlink(session_id, PARTS)

    def logs(self) -> Sequence[LogFiles]:
        """Return the files of all logs, newest save first."""
        with file_sets.consistent_set(self.folder):
            return list_log_files(self.folder)

    def find(self, session_id: str) -> LogFiles | None:
        """Return the files of one log, or None."""
        wanted = clock.check_id(session_id)
        return next((log for log in self.logs() if log.session_id == wanted), None)

    def path_of(self, session_id: str, part: Part = ".md") -> Path:
        """Return the path of a part of a session's log, whether it exists or not."""
        return self.folder / _name(clock.check_id(session_id), part)

    def update(self, session_id: str, change: Callable[[ResumeLog | None], ResumeLog]) -> ResumeLog:
        """Replace a log, with no other update in between; ``change`` gets the saved one, or None where none can be read."""
        clock.check_id(session_id)
        files.make_folder(self.folder)
        with locks.hold(self.folder / _UPDATE_LOCK):
            changed = change(self._load_if_readable(session_id))
            self.save(changed)
            return changed

    def remove(self, choose: Callable[[Sequence[str]], Iterable[str]]) -> Sequence[Path]:
        """Delete the logs that ``choose`` selects from all ids, newest first; return one path of each.

        No other process can save in between.
        """
        if not self.folder.is_dir():
            return []
        with self._locked():
            logs = {log.session_id: log for log in list_log_files(self.folder)}
            deleted = [logs[session_id] for session_id in choose([*logs])]
            for log in deleted:
                self._unlink(log.session_id, PARTS)
        return [log.path for log in deleted]

    def compress(self, session_id: str) -> bool:
        """Compress a log; return False where there is nothing to compress, or it was saved again meanwhile."""
        plain: tuple[Part, ...] = (".md", ".json")
        before = self.find(session_id)
        content = file_sets.read_set(
            self.folder, [_name(clock.check_id(session_id), part) for part in plain], MAX_LOG_BYTES
        )
        if before is None or not content:
            return False
        known = (
            {} if self._register is None else self._register.judge_all(self.folder / name for name in content)
        )
        compressed = {f"{name}.gz": gzip.compress(data, mtime=0) for name, data in content.items()}
        file_sets.write_set(self.folder, compressed)
        with self._locked():
            now = {log.session_id: log for log in list_log_files(self.folder)}.get(session_id)
            changed = now is None or now.saved_ns != before.saved_ns
            self._unlink(session_id, (".md.gz", ".json.gz") if changed else plain)
            if changed:
                return False
            for name in compressed:
                os.utime(self.folder / name, ns=(before.saved_ns, before.saved_ns))
        if not any(each.standing == "foreign" for each in known.values()):
            self._register_files(session_id, compressed)
        return True

    def _load_if_readable(self, session_id: str) -> ResumeLog | None:
        try:
            return self.load(session_id)
        except DocumentError:
            return None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the folder's lock while no interrupted write of a set is pending: finishing it would undo the block."""
        while True:
            with file_sets.consistent_set(self.folder):
                pass
            with locks.hold(self.folder / files.LOCK_NAME):
                journal = self.folder / file_sets.JOURNAL_NAME
                if journal.is_symlink() or not journal.is_file():
                    yield
                    return

    def _make_newest(self, session_id: str, written: Mapping[str, bytes]) -> None:
        """Give our files a time later than that of every other log; one that has replaced them meanwhile keeps its own."""
        others = (log.saved_ns for log in list_log_files(self.folder) if log.session_id != session_id)
        moment = max(int(clock.now().timestamp() * 1e9), max(others, default=0) + 1)
        for name, content in written.items():
            with (
                suppress(FileNotFoundError),
                (self.folder / name).open("rb") as file,
            ):  # it may be deleted without the lock
                if file.read(len(content) + 1) == content:
                    os.utime(file.fileno(), ns=(moment, moment))

    def _unlink(self, session_id: str, parts: Iterable[Part]) -> bool:
        """Delete parts of a log, the JSON last, so that a crash leaves a readable log. The caller holds the lock."""
        any_deleted = False
        for part in sorted(parts, key=lambda part: ".json" in part):
            path = self.path_of(session_id, part)
            try:
                path.unlink()
                any_deleted = True
            except FileNotFoundError:
                continue
            except OSError as error:
                raise StorageError(f"{path}: not deleted: {describe_os_error(error)}.", path=path) from error
        return any_deleted

    def _register_files(self, session_id: str, written: Mapping[str, bytes]) -> None:
        """Register what was written, not what is there now: something from elsewhere may have replaced it."""
        if self._register is not None:
            contents = {self.folder / name: content for name, content in written.items()}
            self._register.note_contents(contents, session_id, clock.now())


def _name(session_id: str, part: Part) -> str:
    return f"{PREFIX}{session_id}{part}"


class LogFiles(NamedTuple):
    """The files of one log. ``saved_ns`` is the time of its last save in nanoseconds since 1970."""

    session_id: str
    parts: Mapping[Part, Path]
    saved_ns: int
    size_bytes: int

    @property
    def markdown(self) -> Path | None:
        """The Markdown; None where only the JSON is left."""
        return self.parts.get(".md", self.parts.get(".md.gz"))

    @property
    def json(self) -> Path | None:
        """The JSON; None where only the Markdown is left."""
        return self.parts.get(".json", self.parts.get(".json.gz"))

    @property
    def path(self) -> Path:
        """The file to name in messages: the Markdown if there is one."""
        path = self.markdown or self.json
        assert path is not None, "a log has at least one file"
        return path

    @property
    def is_compressed(self) -> bool:
        """Whether the log is compressed."""
        return self.path.suffix == ".gz"

    def log(self) -> ResumeLog:
        """Parse the log; DocumentError where it cannot be read."""
        if self.json is None:
            raise DocumentError(
                f"{self.path}: only the text of this log is left, its JSON is gone. "
                f"leftoff log show {self.session_id} prints the text.",
                path=self.path,
            )
        return parse_log(self.json, read_log_file(self.json))

    def text(self, max_tokens: int | None = None) -> str:
        """Return the Markdown of its file, or rendered from the JSON where there is no such file."""
        if self.markdown is None:
            return self.log().to_markdown(max_tokens)
        return read_log_file(self.markdown).decode("utf-8", "replace")


def latest(logs: Sequence[LogFiles]) -> LogFiles | None:
    """Return the newest log of open work that has begun; else of open work; else the newest that says anything; None if none does.

    One that cannot be read may say something.
    """
    read: dict[str, ResumeLog] = {}
    for each in logs:
        with suppress(StorageError):
            read[each.session_id] = each.log()
    newest = latest_open([*read.values()])
    with_content = [
        each for each in logs if each.session_id not in read or not read[each.session_id].is_empty
    ]
    wanted = None if newest is None else newest.session_id
    return next((each for each in with_content if each.session_id == wanted), next(iter(with_content), None))


def list_log_files(folder: Path) -> list[LogFiles]:
    """Return the logs in a folder, newest first; empty where there is no folder."""
    return _group_files(_entries(folder))


def list_known_log_files(folder: Path, known_paths: Collection[str], *, most_unknown: int) -> list[LogFiles]:
    """Return the logs with these paths and those in the newest ``most_unknown`` other files, newest first.

    For a folder that may hold any number of files from elsewhere: of those only the time is read.
    """
    entries = _entries(folder)
    unknown = [entry for entry in entries if entry.path not in known_paths]
    if len(unknown) > most_unknown:
        entries = [entry for entry in entries if entry.path in known_paths]
        entries += nlargest(most_unknown, unknown, key=_changed_ns)
    return _group_files(entries)


def _changed_ns(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _group_files(entries: Iterable[os.DirEntry[str]]) -> list[LogFiles]:
    """Return the logs that these files belong to, newest first."""
    parts: dict[str, dict[Part, os.DirEntry[str]]] = {}
    for entry in entries:
        named = parse_file_name(entry.name)
        if named is not None and entry.is_file(follow_symlinks=False):
            parts.setdefault(named[0], {})[named[1]] = entry
    logs = [log for session_id, each in parts.items() if (log := _log_files(session_id, each)) is not None]
    return sorted(logs, key=lambda log: (-log.saved_ns, log.session_id))


def parse_file_name(name: str) -> tuple[str, Part] | None:
    """Return the session id and the part in a file name; None for any other name."""
    part = next((each for each in PARTS if name.endswith(each)), None)
    if part is None or not name.startswith(PREFIX):
        return None
    try:
        return clock.check_id(name[len(PREFIX) : -len(part)]), part
    except InvalidIdError:
        return None


def parse_log(path: Path, data: bytes) -> ResumeLog:
    """Parse the JSON of a log; ``path`` names it in errors."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{path}: not JSON, or torn: {error}.", path=path) from error
    return ResumeLog.from_dict(value, where=str(path))


def read_log_file(path: Path) -> bytes:
    """Return the content of a file, decompressed if it is a ``.gz``."""
    try:
        data = files.read_file(path, MAX_LOG_BYTES)
    except UnreadableFileError as error:
        raise DocumentError(error.message, path=path) from error
    return decompress(path, data) if path.suffix == ".gz" else data


def decompress(path: Path, data: bytes) -> bytes:
    """Decompress the content of a file; ``path`` names it in errors."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            plain = file.read(MAX_LOG_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DocumentError(f"{path}: cannot be unpacked: {error}.", path=path) from error
    if len(plain) > MAX_LOG_BYTES:
        raise DocumentError(
            f"{path}: unpacks to more than {MAX_LOG_BYTES // 1_000_000} MB; no log does.", path=path
        )
    return plain


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    if folder.is_symlink():
        raise OutsideFolderError(
            f"{folder}: this is a symbolic link; leftoff reads logs only from a real folder. Remove the link.",
            path=folder,
        )
    try:
        with os.scandir(folder) as entries:
            return [*entries]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"{folder}: cannot be read: {describe_os_error(error)}.", path=folder) from error


def _log_files(session_id: str, entries: Mapping[Part, os.DirEntry[str]]) -> LogFiles | None:
    """Return None where all files vanished meanwhile. The JSON's time counts: people may edit the Markdown."""
    stats: dict[Part, os.stat_result] = {}
    for part, entry in entries.items():
        try:
            stats[part] = entry.stat(follow_symlinks=False)
        except OSError:
            continue
    if not stats:
        return None
    dated = next(part for part in (".json", ".json.gz", ".md", ".md.gz") if part in stats)
    return LogFiles(
        session_id=session_id,
        parts={part: Path(entries[part].path) for part in stats},
        saved_ns=stats[dated].st_mtime_ns,
        size_bytes=sum(stat.st_size for stat in stats.values()),
    )


def claude_mpm_folder(root: Path) -> Path:
    """Return the folder in which claude-mpm keeps the logs of the project at ``root``."""
    return root / _CLAUDE_MPM_FOLDER
