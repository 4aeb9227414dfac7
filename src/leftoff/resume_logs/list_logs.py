"""List, find and show the resume logs of a project, count them, and clean up old ones.

Clean-up keeps the newest logs of finished work, and those of open work for much longer. The log of a session that may still be
running is never deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from leftoff.core import quantities
from leftoff.core.open_work import continued_sessions, open_sessions, title
from leftoff.core.protocols import StorageBackend
from leftoff.core.resume_log import ResumeLog
from leftoff.core.session import MIN_PREFIX_CHARS, unique_prefixes
from leftoff.core.wire import JsonObject
from leftoff.errors import (
    AmbiguousSessionError,
    Choice,
    LeftoffError,
    NotFoundError,
    NothingFoundError,
    NothingToDoError,
    StorageError,
    UsageError,
)
from leftoff.platform import clock
from leftoff.platform.log import write_line
from leftoff.platform.register import WRITTEN, Judgement
from leftoff.sessions.find import LATEST, find_session
from leftoff.sessions.listing import entries, list_transcripts
from leftoff.storage import file_store
from leftoff.storage.file_store import LogFiles
from leftoff.storage.repository import LogRepository
from leftoff.workspace import Workspace

OWN = "leftoff"
_MAX_MISSION_CHARS = 60  # in a list to choose from
_RUNNING = timedelta(hours=1)  # a session whose transcript grew within this time may still be running


class ListedLog(NamedTuple):
    """A log in the list. ``trouble`` says why it cannot be read; then ``mission`` and ``next_step`` are None."""

    files: LogFiles
    origin: str  # leftoff, or the predecessor's name
    mission: str | None = None
    next_step: str | None = None
    edited: bool = False
    trouble: str | None = None
    judgement: Judgement = WRITTEN

    @property
    def session_id(self) -> str:
        """The session that the log is about."""
        return self.files.session_id

    @property
    def saved_at(self) -> datetime:
        """When it was last saved."""
        return datetime.fromtimestamp(self.files.saved_ns / 1e9, UTC)

    def to_dict(self) -> JsonObject:
        """Return the JSON form that scripts rely on."""
        files = self.files
        return {
            "session_id": self.session_id,
            "origin": self.origin,
            "saved_at": clock.format_rfc3339(self.saved_at),
            "mission": self.mission,
            "next_step": self.next_step,
            "markdown_file": None if files.markdown is None else str(files.markdown),
            "json_file": None if files.json is None else str(files.json),
            "size_bytes": files.size_bytes,
            "compressed": files.is_compressed,
            "edited": self.edited,
            "trouble": self.trouble,
            **self.judgement.to_dict(),
        }


def list_logs(workspace: Workspace) -> list[ListedLog]:
    """Return the resume logs of a project; one that cannot be read is listed with the reason."""
    repository = LogRepository.open(workspace)
    logs = [*_list(repository)]
    judged = repository.register.judge_all(log.files.json or log.files.path for log in logs)
    return [
        log._replace(judgement=judged.get(log.files.json or log.files.path, log.judgement)) for log in logs
    ]


def _list(repository: LogRepository) -> Iterator[ListedLog]:
    """Yield leftoff's own logs, then those of claude-mpm; each newest first."""
    yield from (_read(files, OWN) for files in repository.local.logs())
    yield from (_read(files, file_store.CLAUDE_MPM) for files in repository.claude_mpm_logs)


def find_log(selector: str, repository: LogRepository) -> tuple[LogFiles, str]:
    """Return the selected log and its origin.

    A selector is ``latest``, a session id, its beginning, the path of a log, or any session selector.
    """
    logs = [
        *((files, OWN) for files in repository.local.logs()),
        *((files, file_store.CLAUDE_MPM) for files in repository.claude_mpm_logs),
    ]
    if not logs:
        error = NothingFoundError if selector == LATEST else NotFoundError
        raise error("This project has no resume log yet. leftoff log save makes one.")
    if selector == LATEST:
        return _latest(logs)
    exact = [each for each in logs if selector == each[0].session_id or is_file_of(selector, each[0])]
    by_prefix = [
        each for each in logs if len(selector) >= MIN_PREFIX_CHARS and each[0].session_id.startswith(selector)
    ]
    matches = exact or by_prefix
    if len(matches) > 1:
        raise AmbiguousSessionError(selector, "logs", _choices(matches))
    if matches:
        return matches[0]
    return _find_by_session(selector, logs, repository.workspace)


def _latest(logs: list[tuple[LogFiles, str]]) -> tuple[LogFiles, str]:
    """Return the newest log of open work, else the newest that says anything about its work."""
    latest = file_store.latest([files for files, _ in logs])
    for each in logs:
        if each[0] is latest:
            return each
    raise NothingFoundError(
        "The logs of this project say only how full the window was. leftoff log list shows them; leftoff log save makes a new one."
    )


def is_file_of(selector: str, files: LogFiles) -> bool:
    """Return whether the selector is the path of a file of this log."""
    return "/" in selector and Path(selector).absolute() in {files.markdown, files.json}


def _choices(logs: Sequence[tuple[LogFiles, str]]) -> list[Choice]:
    """Say of each log how to select it: by the beginning of its id, or by its path if another has the same id."""
    prefixes = unique_prefixes([files.session_id for files, _ in logs])
    times = Counter(files.session_id for files, _ in logs)
    now = clock.now()
    return [
        Choice(
            selector=str(log.files.path) if times[log.session_id] > 1 else prefixes[log.session_id],
            description=", ".join(
                (
                    f"written by {log.origin}",
                    quantities.ago(now, log.saved_at),
                    quantities.size(log.files.size_bytes),
                    " ".join((log.mission or log.trouble or "no mission").split())[:_MAX_MISSION_CHARS],
                )
            ),
        )
        for log in (_read(files, origin) for files, origin in logs)
    ]


def _find_by_session(
    selector: str, logs: list[tuple[LogFiles, str]], workspace: Workspace
) -> tuple[LogFiles, str]:
    """Return the log of the session that a number of the list last shown or the path of a transcript selects."""
    try:
        session_id = find_session(selector, workspace).session.session_id
    except AmbiguousSessionError:
        raise
    except LeftoffError:
        raise NotFoundError(
            f"No resume log of this project is called {selector[:60]!r}. leftoff log list shows what there is."
        ) from None
    for each in logs:
        if each[0].session_id == session_id:
            return each
    raise NotFoundError(
        f"Session {session_id} has no resume log in this project. leftoff log save {session_id} makes one."
    )


def _read(files: LogFiles, origin: str) -> ListedLog:
    try:
        log = files.log()
    except StorageError as error:
        return ListedLog(files=files, origin=origin, trouble=error.message)
    return ListedLog(
        files=files,
        origin=origin,
        mission=log.mission_summary.strip() or None,
        next_step=next((step for step in log.next_steps if step.strip()), None),
        edited=bool(log.edits),
    )


class LogStats(NamedTuple):
    """``newest`` and ``oldest`` are times of saving, None without a log. claude-mpm's logs count in ``predecessor_logs`` only."""

    enabled: bool
    storage: str
    storage_dir: str
    max_tokens: int
    keep_count: int
    total_logs: int
    total_size_bytes: int
    compressed_logs: int
    edited_logs: int
    unreadable_logs: int
    predecessor_logs: int
    newest: str | None
    oldest: str | None
    latest_session_id: str | None

    def to_dict(self) -> JsonObject:
        """Return the JSON form that scripts rely on."""
        return self._asdict()


def log_stats(workspace: Workspace) -> LogStats:
    """Return numbers about the logs of a project."""
    return repository_stats(LogRepository.open(workspace))


def repository_stats(repository: LogRepository) -> LogStats:
    """Return numbers about the logs of a repository."""
    logs = [*_list(repository)]
    own = [log for log in logs if log.origin == OWN]
    latest = file_store.latest([log.files for log in own])
    count = Counter(
        what
        for log in own
        for what, is_so in (
            ("compressed", log.files.is_compressed),
            ("edited", log.edited),
            ("unreadable", log.trouble is not None),
        )
        if is_so
    )
    settings = repository.settings.resume_logs
    return LogStats(
        enabled=settings.enabled,
        storage=repository.settings.storage,
        storage_dir=str(repository.local.folder),
        max_tokens=settings.max_tokens,
        keep_count=settings.cleanup.keep_count,
        total_logs=len(own),
        total_size_bytes=sum(log.files.size_bytes for log in own),
        compressed_logs=count["compressed"],
        edited_logs=count["edited"],
        unreadable_logs=count["unreadable"],
        predecessor_logs=len(logs) - len(own),
        newest=clock.format_rfc3339(own[0].saved_at) if own else None,
        oldest=clock.format_rfc3339(own[-1].saved_at) if own else None,
        latest_session_id=None if latest is None else latest.session_id,
    )


class ShownLog(NamedTuple):
    """A selected log; its content is read on demand."""

    files: LogFiles
    origin: str
    max_tokens: int
    judgement: Judgement

    def text(self) -> str:
        """Return the Markdown."""
        return self.files.text(self.max_tokens)

    def log(self) -> ResumeLog:
        """Return the whole log."""
        return self.files.log()


def show_log(selector: str, workspace: Workspace) -> ShownLog:
    """Return the log that ``selector`` names."""
    repository = LogRepository.open(workspace)
    files, origin = find_log(selector, repository)
    judged = repository.register.judge_all(files.parts.values())
    return ShownLog(
        files=files,
        origin=origin,
        max_tokens=workspace.settings.resume_logs.max_tokens,
        judgement=next((each for each in judged.values() if each.standing == "foreign"), WRITTEN),
    )


class CleanupResult(NamedTuple):
    """The logs that were deleted or compressed, or would be; how many are left, and what was skipped because it failed."""

    paths: tuple[Path, ...]
    left: int
    troubles: tuple[LeftoffError, ...]
    open_work: Mapping[Path, str] = MappingProxyType({})  # what those of them were about whose work is open
    open_left: int = 0  # logs of open work that stay, however many of the newest do


def cleanup_logs(workspace: Workspace, keep_count: int | None) -> CleanupResult:
    """Delete all but the newest ``keep_count`` logs of finished work; None takes the number of the settings.

    Logs of open work are deleted only when they are too many or too old by the settings.
    """
    repository = _open_sound(workspace)
    if not repository.settings.resume_logs.cleanup.enabled:
        raise NothingToDoError(
            "Nothing was deleted: resume_logs.cleanup.enabled is false in your configuration."
        )
    opened = _find_open(repository)
    running = running_sessions(clock.now())
    removed = clean_up(repository, _count(repository, keep_count), active=running, opened=opened)
    return _result(repository, removed, opened)


def compress_logs(workspace: Workspace, keep_count: int | None) -> CleanupResult:
    """Compress all but the newest ``keep_count`` logs; they stay readable like any other."""
    repository = _open_sound(workspace)
    older = [log for log in _surplus_of(repository, keep_count) if repository.local.compress(log)]
    paths = tuple(repository.local.path_of(session_id, ".md.gz") for session_id in older)
    return CleanupResult(paths=paths, left=len(repository.local.list()), troubles=tuple(repository.troubles))


def logs_to_clean(workspace: Workspace, keep_count: int | None, *, compress: bool = False) -> CleanupResult:
    """Return what deleting or compressing would affect; nothing is changed."""
    repository, opened = _open_sound(workspace), None
    count, running = _count(repository, keep_count), running_sessions(clock.now())
    ids = repository.local.list()
    if not compress:
        opened = _find_open(repository)
    surplus_ids = surplus(ids, count, running) if opened is None else opened.surplus(ids, count, running)
    return _result(repository, [repository.local.path_of(each) for each in surplus_ids], opened)


def _result(repository: LogRepository, affected: Sequence[Path], opened: OpenLogs | None) -> CleanupResult:
    about = {} if opened is None else opened.too_many_or_old
    ids = {path: named[0] for path in affected if (named := file_store.parse_file_name(path.name))}
    return CleanupResult(
        paths=tuple(affected),
        left=len(repository.local.list()),
        troubles=tuple(repository.troubles),
        open_work={path: about[ids[path]] for path in affected if ids.get(path) in about},
        open_left=0 if opened is None else len(opened.kept),
    )


def clean_up_after_save(repository: LogRepository, *, active: Collection[str]) -> list[Path]:
    """Clean up if the settings ask for it after each save; a log of open work that goes is named in leftoff's own log.

    Running sessions are only looked up when a log would be deleted.
    """
    wanted = repository.settings.resume_logs.cleanup
    if not (wanted.enabled and wanted.auto_cleanup) or len(repository.local.list()) <= wanted.keep_count:
        return []
    opened = _find_open(repository)
    removed = clean_up(
        repository, wanted.keep_count, active={*active, *running_sessions(clock.now())}, opened=opened
    )
    for path, about in _result(repository, removed, opened).open_work.items():
        write_line(
            f"{path}: this log of unfinished work was deleted, because a project keeps {wanted.keep_open_count} of them for "
            f"{wanted.keep_open_days} days: {' '.join(about.split())[:200]}"
        )
    return removed


def clean_up(
    repository: LogRepository,
    keep_count: int,
    *,
    active: Collection[str],
    opened: OpenLogs | None = None,
) -> list[Path]:
    """Delete all but the newest ``keep_count`` logs, here and in the backend; return the deleted local paths.

    With ``opened``, logs of open work do not count and stay, except those that it names as too many or too old.
    """
    if opened is None:
        removed = repository.local.remove(lambda session_ids: surplus(session_ids, keep_count, active))
    else:
        removed = repository.local.remove(lambda session_ids: opened.surplus(session_ids, keep_count, active))
        active = {*active, *opened.kept}
    if repository.backend is not None:
        _clean_backend(repository, repository.backend, keep_count, active)
    return [*removed]


class OpenLogs(NamedTuple):
    """The sessions whose logs of open work are kept, and what those are about that are too many or too old."""

    kept: frozenset[str]
    too_many_or_old: Mapping[str, str]

    def surplus(self, session_ids: Sequence[str], keep_count: int, active: Collection[str]) -> list[str]:
        """Return the logs to delete."""
        others = [each for each in session_ids if each not in self.kept and each not in self.too_many_or_old]
        gone = [each for each in session_ids if each in self.too_many_or_old and each not in active]
        return [*surplus(others, keep_count, active), *gone]


def _find_open(repository: LogRepository) -> OpenLogs:
    """Read the logs that this machine knows. One that cannot be read counts as open, and so does one that an open log inherits from."""
    known, wanted = repository.register.noted_paths(), repository.settings.resume_logs.cleanup
    found = [each for each in repository.local.logs() if str(each.json or each.path) in known]
    logs: dict[str, ResumeLog] = {}
    for files in found:
        with suppress(LeftoffError):
            logs[files.session_id] = files.log()
    still_open = open_sessions(logs.values()) | {
        each.session_id for each in found if each.session_id not in logs
    }
    since = (clock.now() - timedelta(days=wanted.keep_open_days)).timestamp() * 1e9
    in_order = [each for each in found if each.session_id in still_open]
    kept = {each.session_id for each in in_order[: wanted.keep_open_count] if each.saved_ns >= since}
    inherited = {parent for each in kept if each in logs for parent in continued_sessions(logs[each])}
    gone = {each.session_id: each for each in in_order if each.session_id not in kept | inherited}
    return OpenLogs(
        kept=frozenset(kept | inherited),
        too_many_or_old={
            each: title(logs[each]) if each in logs else str(files.path) for each, files in gone.items()
        },
    )


def _clean_backend(
    repository: LogRepository, backend: StorageBackend, keep_count: int, active: Collection[str]
) -> None:
    """Delete logs in the backend, except those whose identifier contains an active session's id: a backend may add to ids."""
    identifiers = repository.call_plugin(backend, backend.list) or []
    protected = [each for each in identifiers if any(session_id in each for session_id in active)]
    for identifier in surplus(identifiers, keep_count, protected):
        repository.call_plugin(backend, partial(backend.delete, identifier))


def running_sessions(now: datetime) -> set[str]:
    """Return the sessions of any agent that may still be running: their transcripts grew within the hour."""
    since = (now - _RUNNING).timestamp() * 1e9
    found = takewhile(lambda each: each.modified_ns >= since, list_transcripts())
    return {entry.session_id for entry in entries(found)}


def _open_sound(workspace: Workspace) -> LogRepository:
    workspace.config.require_sound()
    return LogRepository.open(workspace)


def _surplus_of(repository: LogRepository, keep_count: int | None) -> list[str]:
    return surplus(repository.local.list(), _count(repository, keep_count), running_sessions(clock.now()))


def _count(repository: LogRepository, keep_count: int | None) -> int:
    return repository.settings.resume_logs.cleanup.keep_count if keep_count is None else keep_count


def surplus(session_ids: Sequence[str], keep_count: int, active: Collection[str]) -> list[str]:
    """Return the ids (newest first) after the first ``keep_count``, without those of active sessions."""
    if keep_count < 0:
        raise UsageError(
            f"keep_count is {keep_count}: how many logs to keep, 0 or more. Nothing was deleted."
        )
    return [session_id for session_id in session_ids[keep_count:] if session_id not in active]
