"""List, find and show the resume logs of a project, and count them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from leftoff.core import quantities
from leftoff.core.resume_log import ResumeLog
from leftoff.core.session_ids import MIN_PREFIX_CHARS, unique_prefixes
from leftoff.core.wire import JsonObject
from leftoff.errors import (
    AmbiguousSessionError,
    Choice,
    LeftoffError,
    NotFoundError,
    NothingFoundError,
    StorageError,
)
from leftoff.platform import clock
from leftoff.platform.register import WRITTEN, Judgement
from leftoff.sessions.find import LATEST, find_session
from leftoff.storage import file_store
from leftoff.storage.file_store import LogFiles
from leftoff.storage.repository import LogRepository
from leftoff.workspace import Workspace

OWN = "leftoff"
_MAX_MISSION_CHARS = 60  # in a list to choose from


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
        raise error("This project has no resume log yet. To save one: leftoff log save")
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
            f"No resume log of this project is called {selector[:60]!r}. To list them: leftoff log list"
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
