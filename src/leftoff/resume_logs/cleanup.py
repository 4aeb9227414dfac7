"""Clean up old resume logs of a project, or compress them.

The newest logs of finished work are kept, and those of open work for much longer. The log of a session that may still be running is
never deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from leftoff.core.open_work import continued_sessions, is_begun, open_sessions, title
from leftoff.core.protocols import StorageBackend
from leftoff.core.resume_log import ResumeLog
from leftoff.errors import LeftoffError, NothingToDoError, UsageError
from leftoff.platform import clock
from leftoff.platform.log import write_line
from leftoff.sessions.listing import entries, list_transcripts
from leftoff.storage import file_store
from leftoff.storage.repository import LogRepository
from leftoff.workspace import Workspace

_RUNNING = timedelta(hours=1)  # a session whose transcript grew within this time may still be running


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
        active = {*active, *opened.kept, *opened.foreign}
    if repository.backend is not None:
        _clean_backend(repository, repository.backend, keep_count, active)
    return [*removed]


class OpenLogs(NamedTuple):
    """The sessions whose logs of open work are kept, and what those are about that are too many or too old.

    ``foreign`` logs were not written here, or changed elsewhere: they neither count nor go, because no one has looked at them
    yet, and what they say about other sessions is not believed.
    """

    kept: frozenset[str]
    too_many_or_old: Mapping[str, str]
    foreign: frozenset[str]

    def surplus(self, session_ids: Sequence[str], keep_count: int, active: Collection[str]) -> list[str]:
        """Return the logs to delete."""
        spared = self.kept | self.foreign
        others = [each for each in session_ids if each not in spared and each not in self.too_many_or_old]
        gone = [each for each in session_ids if each in self.too_many_or_old and each not in active]
        return [*surplus(others, keep_count, active), *gone]


def _find_open(repository: LogRepository) -> OpenLogs:
    """Read the logs that may be used. One that cannot be read counts as open, and so does one that an open log inherits from."""
    known, wanted = repository.register.noted_paths(), repository.settings.resume_logs.cleanup
    listed = repository.local.logs()
    judged = repository.register.judge_all(
        path for each in listed if str(path := each.json or each.path) in known
    )
    found = [
        each
        for each in listed
        if str(path := each.json or each.path) in known
        and (path not in judged or judged[path].standing != "foreign")
    ]
    logs: dict[str, ResumeLog] = {}
    for files in found:
        with suppress(LeftoffError):
            logs[files.session_id] = files.log()
    still_open = open_sessions(logs.values()) | {
        each.session_id for each in found if each.session_id not in logs
    }
    since = (clock.now() - timedelta(days=wanted.keep_open_days)).timestamp() * 1e9
    in_order = [each for each in found if each.session_id in still_open]
    in_order.sort(key=lambda each: each.session_id in logs and not is_begun(logs[each.session_id]))
    kept = {each.session_id for each in in_order[: wanted.keep_open_count] if each.saved_ns >= since}
    inherited = {parent for each in kept if each in logs for parent in continued_sessions(logs[each])}
    gone = {each.session_id: each for each in in_order if each.session_id not in kept | inherited}
    return OpenLogs(
        kept=frozenset(kept | inherited),
        too_many_or_old={
            each: title(logs[each]) if each in logs else str(files.path) for each, files in gone.items()
        },
        foreign=frozenset(each.session_id for each in listed if each not in found),
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
