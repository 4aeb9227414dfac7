"""The remote store as one project sees it: the logs of the project that any machine has saved there, newest first.

Logs that wait in the outbox are sent first, so that what is read includes what was saved here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from leftoff.core.project_identity import METADATA_KEY, ProjectIdentity, is_same_project
from leftoff.core.protocols import KnowsProjects, StorageBackend, TellsMoments
from leftoff.core.resume_log import ResumeLog
from leftoff.core.wire import JsonObject
from leftoff.errors import ConfigError, LeftoffError, StorageError
from leftoff.storage.outbox import ROOT_KEY, SendResult, send_all
from leftoff.storage.repository import LogRepository
from leftoff.storage.store_base import call_backend
from leftoff.workspace import Workspace

MAX_LISTED = 20  # each is read over the network, for its mission


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """The remote backend of a project. ``sent`` is the result of sending what waited in the outbox."""

    backend: StorageBackend
    repository: LogRepository
    identity: ProjectIdentity
    sent: SendResult

    def logs(self) -> Iterator[tuple[str, ResumeLog | LeftoffError]]:
        """Yield the identifier and the log of each of the project's logs, newest first; the error where one cannot be read."""
        for identifier in self.identifiers():
            log = self.load(identifier)
            if log is not None:
                yield identifier, log

    def identifiers(self) -> list[str]:
        """Return the backend's identifiers of its logs, newest first."""
        return call_backend(self.backend, self.backend.list)

    def load(self, identifier: str) -> ResumeLog | LeftoffError | None:
        """Return one log, or the error that reading it raised; None when it is missing or belongs to another project."""
        try:
            log = call_backend(self.backend, lambda: self.backend.load(identifier))
        except LeftoffError as error:
            return error
        if log is None:
            return None
        saved = ProjectIdentity.from_dict(log.metadata.get(METADATA_KEY))
        return log if saved is not None and is_same_project(saved.key, self.identity.key) else None

    def saved_at(self, identifier: str) -> int | None:
        """Return when a log was saved, in nanoseconds since 1970; None when the backend does not say."""
        store = self.backend
        if not isinstance(store, TellsMoments):
            return None
        return call_backend(store, lambda: store.saved_at(identifier))


def open_remote(workspace: Workspace) -> Remote:
    """Return the remote of a project after sending what waits; ConfigError where the settings name none."""
    workspace.config.require_sound()
    repository = LogRepository.open(workspace)
    backend = repository.remote
    if backend is None:
        if repository.troubles:
            raise repository.troubles[0]
        raise ConfigError(
            f"There is no remote: storage is {workspace.settings.storage!r} in your settings. "
            "docs/storage.md explains how to keep logs in a bucket or a database."
        )
    sent = send_all(backend)
    if sent.is_away:  # another attempt would take as long again
        raise StorageError(sent.trouble or "The remote does not answer.")
    if isinstance(backend, KnowsProjects):
        backend = backend.for_project(workspace.identity.key)
    return Remote(backend=backend, repository=repository, identity=workspace.identity, sent=sent)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLog:
    """One log in the remote. ``root`` is its project's folder where it was saved.

    ``trouble`` says why the log cannot be read; then the other values are None.
    """

    session_id: str
    written_at: str | None = None
    mission: str | None = None
    next_step: str | None = None
    root: str | None = None
    is_local: bool = False
    trouble: str | None = None

    def to_dict(self) -> JsonObject:
        """Return the JSON form."""
        return {
            "session_id": self.session_id,
            "written_at": self.written_at,
            "mission": self.mission,
            "next_step": self.next_step,
            "root": self.root,
            "local": self.is_local,
            "trouble": self.trouble,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLogs:
    """The newest logs, whether there are more, and the result of sending what waited in the outbox."""

    logs: tuple[RemoteLog, ...]
    more: bool
    sent: SendResult


def list_remote_logs(workspace: Workspace) -> RemoteLogs:
    """List the newest logs of the project in the remote."""
    remote = open_remote(workspace)
    local = {*remote.repository.local.list()}
    found = [*islice(remote.logs(), MAX_LISTED + 1)]
    logs = tuple(_summarise(session_id, log, local) for session_id, log in found[:MAX_LISTED])
    return RemoteLogs(logs=logs, more=len(found) > MAX_LISTED, sent=remote.sent)


def _summarise(identifier: str, log: ResumeLog | LeftoffError, local: set[str]) -> RemoteLog:
    if isinstance(log, LeftoffError):
        return RemoteLog(session_id=identifier, trouble=str(log))
    root = log.metadata.get(ROOT_KEY)
    return RemoteLog(
        session_id=log.session_id,
        written_at=log.context_metrics.timestamp,
        mission=log.mission_summary.strip() or None,
        next_step=next((step for step in log.next_steps if step.strip()), None),
        root=root if isinstance(root, str) else None,
        is_local=log.session_id in local,
    )
