"""The repository of a project's resume logs: local files, the storage backend of the settings, and logs of claude-mpm.

The local files are always written, so that a log can be read, edited and restored even when the backend is out of reach.
A backend or plugin that cannot be loaded or that fails is recorded in ``troubles`` and skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from leftoff.core.open_work import latest_open
from leftoff.core.protocols import SectionProvider, StorageBackend, TakesOptions, TriggerCondition
from leftoff.core.resume_log import ResumeLog
from leftoff.errors import ConfigError, LeftoffError, NotFoundError, PluginError
from leftoff.platform import clock, paths
from leftoff.platform.paths import Project
from leftoff.platform.register import Register
from leftoff.plugins import make, make_all, make_from
from leftoff.storage import file_store, store_base
from leftoff.storage.file_store import FileStore, LogFiles
from leftoff.storage.store_base import MemoryStore
from leftoff.workspace import Workspace

if TYPE_CHECKING:
    from leftoff.config.settings import Settings

Result = TypeVar("Result")
_MAX_READ = 100  # to find the latest log of open work


@dataclass(slots=True, kw_only=True)
class LogRepository:
    """A project's resume logs, with the plugins that take part in building them."""

    workspace: Workspace
    local: FileStore
    register: Register
    backend: StorageBackend | None = None  # set by a program or in memory: called at once
    remote: StorageBackend | None = None  # from the settings: written through the outbox
    providers: list[SectionProvider] = field(default_factory=list)
    conditions: list[TriggerCondition] = field(default_factory=list)
    troubles: list[LeftoffError] = field(default_factory=list)  # what failed and was skipped so far

    @classmethod
    def open(cls, workspace: Workspace, *, folder: Path | None = None) -> LogRepository:
        """Return the repository of a project; ``folder`` keeps its files elsewhere. Nothing is created or connected to."""
        settings = workspace.settings
        register = Register(folder=paths.data_folder())
        local = FileStore(
            folder or workspace.log_folder, register=register, max_tokens=settings.resume_logs.max_tokens
        )
        repository = cls(workspace=workspace, local=local, register=register)
        repository._load_backend()
        repository.providers += repository._load_plugins("sections", settings.plugins.sections)
        repository.conditions += repository._load_plugins("triggers", settings.plugins.triggers)
        return repository

    @property
    def project(self) -> Project:
        """The project whose logs these are."""
        return self.workspace.project

    @property
    def settings(self) -> Settings:
        """The settings in force for the project."""
        return self.workspace.settings

    @property
    def claude_mpm_logs(self) -> Sequence[LogFiles]:
        """The logs that claude-mpm left in this project, newest first."""
        return file_store.list_log_files(file_store.claude_mpm_folder(self.project.root))

    def load(self, session_id: str) -> ResumeLog | None:
        """Return a session's log from the backend, the local files or claude-mpm's, in this order; None when all lack it.

        The remote of the settings is not asked: it holds logs of other machines, which are fetched only on request.
        """
        for log in self._load_from_backend(session_id):
            if log.session_id == session_id:
                return log
        own = self.local.load(session_id)
        if own is not None:
            return own
        older = (files for files in self.claude_mpm_logs if files.session_id == session_id)
        return next((files.log() for files in older), None)

    def latest(self) -> ResumeLog | None:
        """Return the newest readable log of open work, else the newest that says anything.

        Those that cannot be read are recorded in ``troubles``.
        """
        return _prefer_open(self._newest_first(lambda _: None))

    def latest_trusted(self) -> ResumeLog | None:
        """Return the newest such log that may be restored unasked: from the backend, or written or trusted on this machine."""
        return _prefer_open(self._newest_first(self.register.require))

    def _newest_first(self, check: Callable[[Path], None]) -> Iterator[ResumeLog]:
        """Yield the logs that say anything, those of the backend first."""
        yield from (log for log in self._load_from_backend("") if not log.is_empty)
        for files in self.local.logs():
            try:
                check(files.json or files.path)
                log = files.log()
            except LeftoffError as error:
                self.troubles.append(error)
                continue
            if not log.is_empty:
                yield log

    def list_everywhere(self) -> list[tuple[str, Path]]:
        """Return all session ids with the paths of the local copies, newest first.

        A log that only the backend has is listed with the path that its local copy would have.
        """
        local = self.local.logs()
        saved = {files.session_id: (files.saved_ns / 1e9, files.path) for files in local}
        for log in self._load_from_backend("", without=saved):
            at = clock.parse_rfc3339(log.context_metrics.timestamp)
            saved.setdefault(
                log.session_id, (at.timestamp() if at else 0.0, self.local.path_of(log.session_id))
            )
        newest_first = sorted(saved.items(), key=lambda each: each[1][0], reverse=True)
        return [(session_id, path) for session_id, (_, path) in newest_first]

    def _load_from_backend(self, part: str, *, without: Collection[str] = ()) -> Iterator[ResumeLog]:
        """Yield the backend's logs whose identifier contains ``part``, newest first; a backend may add to a session id.

        Those in ``without`` are passed over.
        """
        backend = self.backend
        if backend is None:
            return
        for identifier in self.call_plugin(backend, backend.list) or []:
            if part in identifier and identifier not in without:
                log = self.call_plugin(backend, partial(backend.load, identifier))
                if log is not None:
                    yield log

    def call_plugin(self, plugin: object, call: Callable[[], Result]) -> Result | None:
        """Return the result of a call into ``plugin``; where it fails, record that in ``troubles`` and return None."""
        result = store_base.call_plugin(plugin, call)
        if isinstance(result, PluginError):
            self.troubles.append(result)
            return None
        return result

    def _load_backend(self) -> None:
        try:
            backend = configured_backend(self.settings)
        except (PluginError, NotFoundError, ConfigError) as error:
            self.troubles.append(error)
            return
        if isinstance(backend, MemoryStore):
            # The sender is another process and would fill a store of its own.
            self.backend = backend
        else:
            self.remote = backend

    def _load_plugins(self, group: Literal["sections", "triggers"], dotted_paths: Sequence[str]) -> list[Any]:
        loaded = [*make_all(group, dotted_paths)]
        self.troubles += [each for each in loaded if isinstance(each, PluginError)]
        return [each for each in loaded if not isinstance(each, PluginError)]


def _prefer_open(newest_first: Iterator[ResumeLog]) -> ResumeLog | None:
    logs = [*islice(newest_first, _MAX_READ)]
    return latest_open(logs) or next(iter(logs), None)


def configured_backend(settings: Settings) -> StorageBackend | None:
    """Return the backend that the settings name, with its options; None for local files. Connects to nothing."""
    name = settings.storage
    if name == "files":
        return None
    backend: StorageBackend = make_from(name) if ":" in name else make("storage", name)
    return backend.with_options(settings.storage_options) if isinstance(backend, TakesOptions) else backend
