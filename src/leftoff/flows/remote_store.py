"""The storage backend of the settings, seen from one project: what waits is sent first, so that what is read is what was saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from leftoff.errors import ConfigError, LeftoffError, StorageError
from leftoff.flows.ask_store import ask_store
from leftoff.flows.project_identity import identity_of
from leftoff.flows.send_outbox import Sent, send_all
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import Shelf, shelf_here
from leftoff.model.project_identity import METADATA_KEY, ProjectIdentity, is_same_project
from leftoff.model.protocols import KnowsProjects, StorageBackend, TellsMoments
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """The backend, the project as every machine knows it, and what came of sending what waited."""

    backend: StorageBackend
    shelf: Shelf
    identity: ProjectIdentity
    sent: Sent

    def logs(self) -> Iterator[tuple[str, ResumeLog | LeftoffError]]:
        """The project's logs, newest first, each with its identifier; one that cannot be read comes as the error that says so."""
        for identifier in self.identifiers():
            log = self.load(identifier)
            if log is not None:
                yield identifier, log

    def identifiers(self) -> list[str]:
        """What the backend calls its logs, newest first."""
        return ask_store(self.backend, self.backend.list)

    def load(self, identifier: str) -> ResumeLog | LeftoffError | None:
        """One log; None when there is none, or it is of another project."""
        try:
            log = ask_store(self.backend, lambda: self.backend.load(identifier))
        except LeftoffError as error:
            return error
        return log if log is not None and self._is_ours(log) else None

    def saved_at(self, identifier: str) -> int | None:
        """The moment that a log is filed under; None when the backend does not tell."""
        store = self.backend
        if not isinstance(store, TellsMoments):
            return None
        return ask_store(store, lambda: store.saved_at(identifier))

    def _is_ours(self, log: ResumeLog) -> bool:
        told = ProjectIdentity.from_dict(log.metadata.get(METADATA_KEY))
        return told is not None and is_same_project(told.key, self.identity.key)


def remote_here(working_folder: Path) -> Remote:
    """The remote of the project that ``working_folder`` belongs to; ConfigError where the settings name none."""
    config = settings_here(working_folder)
    config.require_sound()
    shelf = shelf_here(working_folder, config.settings)
    if shelf.remote is None:
        if shelf.troubles:
            raise shelf.troubles[0]
        raise ConfigError(
            f"There is no remote: storage is {config.settings.storage!r} in your settings. "
            "docs/storage.md tells how to keep logs in a bucket or a database."
        )
    identity = identity_of(shelf.project.root)
    sent = send_all(shelf.remote)
    if sent.is_away:
        raise StorageError(
            sent.trouble or "The remote does not answer."
        )  # asking again would take as long again
    scoped = (
        shelf.remote.for_project(identity.key) if isinstance(shelf.remote, KnowsProjects) else shelf.remote
    )
    return Remote(backend=scoped, shelf=shelf, identity=identity, sent=sent)
