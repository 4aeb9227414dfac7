"""Where a project's resume logs are kept: its own files, the storage backend of the settings, and what a predecessor left.

The local files are always written, so that a log can be read, edited and restored whatever becomes of the backend. A
backend or plugin that cannot be loaded or used is named in ``troubles`` and passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from leftoff import plugins
from leftoff.config.settings import Settings
from leftoff.errors import ConfigError, LeftoffError, NotFoundError, PluginError
from leftoff.flows.log_folder import log_folder
from leftoff.model.protocols import (
    SectionProvider,
    StorageBackend,
    TakesOptions,
    TriggerCondition,
)
from leftoff.model.resume_log import ResumeLog
from leftoff.resume_logs import guests
from leftoff.stores import log_files, predecessor
from leftoff.stores.files import FileStore
from leftoff.stores.log_files import LogFiles
from leftoff.stores.memory import MemoryStore
from leftoff.system import paths
from leftoff.system.paths import Project
from leftoff.system.register import Register

if TYPE_CHECKING:
    from collections.abc import Sequence

Answer = TypeVar("Answer")
_FILES = "files"


@dataclass(slots=True, kw_only=True)
class Shelf:
    """A project's logs and everything that takes part in making them. ``backend`` None: the local files are the store."""

    project: Project
    settings: Settings
    local: FileStore
    register: Register
    backend: StorageBackend | None = None  # set by a program, and asked at once
    remote: StorageBackend | None = None  # of the settings; what it is to keep goes through the outbox
    providers: list[SectionProvider] = field(default_factory=list)
    conditions: list[TriggerCondition] = field(default_factory=list)
    troubles: list[LeftoffError] = field(default_factory=list)  # what was passed over so far

    @property
    def left_by_predecessor(self) -> Sequence[LogFiles]:
        """The logs that the predecessor left in this project, newest first."""
        return log_files.found_in(predecessor.folder_in(self.project.root))

    def load(self, session_id: str) -> ResumeLog | None:
        """A session's log: the program's backend's, the local one, the predecessor's; None when nobody has it.

        The remote of the settings is not asked: what it holds is another machine's, and is fetched when the user says so.
        """
        for log in self._in_backend(self.backend, named=session_id):
            if log.session_id == session_id:
                return log
        own = self.local.load(session_id)
        if own is not None:
            return own
        left = (files for files in self.left_by_predecessor if files.session_id == session_id)
        return next((files.log() for files in left), None)

    def latest(self) -> ResumeLog | None:
        """The newest log that can be read; those that cannot are named in ``troubles``."""
        return next(self._newest_first(lambda _: None), None)

    def latest_trusted(self) -> ResumeLog | None:
        """The newest log that may be used by itself: of the user's own backend, or written or trusted on this machine."""
        return next(self._newest_first(self.register.require), None)

    def _newest_first(self, check: Callable[[Path], None]) -> Iterator[ResumeLog]:
        yield from self._in_backend(self.backend, named="")
        for files in self.local.logs():
            try:
                check(files.json or files.path)
                yield files.log()
            except LeftoffError as error:
                self.troubles.append(error)

    def _in_backend(self, backend: StorageBackend | None, *, named: str) -> Iterator[ResumeLog]:
        """The logs of a backend whose identifier has ``named`` in it, newest first: what it is called there is its own affair."""
        if backend is None:
            return
        identifiers = self.ask(backend, backend.list) or []
        for identifier in identifiers:
            if named in identifier:
                log = self.ask(backend, partial(backend.load, identifier))
                if log is not None:
                    yield log

    def ask(self, guest: object, question: Callable[[], Answer]) -> Answer | None:
        """What a plugin answers; None where it fails, which is then among the troubles."""
        answer = guests.asked(guest, question)
        if isinstance(answer, PluginError):
            self.troubles.append(answer)
            return None
        return answer


def shelf_here(working_folder: Path, settings: Settings, *, folder: Path | None = None) -> Shelf:
    """The shelf of the project that ``working_folder`` belongs to; ``folder`` keeps its files elsewhere. Creates nothing."""
    project = paths.project_of(working_folder)
    register = Register(folder=paths.data_folder())
    local = FileStore(
        folder or log_folder(project, settings.resume_logs.storage_dir),
        register=register,
        max_tokens=settings.resume_logs.max_tokens,
    )
    shelf = Shelf(project=project, settings=settings, local=local, register=register)
    _add_backend(shelf, settings)
    shelf.providers += _loaded(shelf, "sections", settings.plugins.sections)
    shelf.conditions += _loaded(shelf, "triggers", settings.plugins.triggers)
    return shelf


def _add_backend(shelf: Shelf, settings: Settings) -> None:
    """One that lives in this process is asked at once: another process, which sends later, would have its own."""
    try:
        made = configured_backend(settings)
    except (PluginError, NotFoundError, ConfigError) as error:
        shelf.troubles.append(error)
        return
    if isinstance(made, MemoryStore):
        shelf.backend = made
    else:
        shelf.remote = made


def configured_backend(settings: Settings) -> StorageBackend | None:
    """The backend of the settings by its name or dotted path, told its options; None for the files. Connects to nothing."""
    name = settings.storage
    if name == _FILES:
        return None
    backend: StorageBackend = plugins.make_from(name) if ":" in name else plugins.make("storage", name)
    return backend.with_options(settings.storage_options) if isinstance(backend, TakesOptions) else backend


def _loaded(shelf: Shelf, group: Literal["sections", "triggers"], dotted_paths: Iterable[str]) -> list[Any]:
    """The plugins of a group that can be loaded."""
    made = [*plugins.make_all(group, dotted_paths)]
    shelf.troubles += [each for each in made if isinstance(each, PluginError)]
    return [each for each in made if not isinstance(each, PluginError)]
