"""Forget in the stores of logs: delete the logs of sessions, mask ids, texts and folders in all others, then read all again.

These are the remote of the settings, and the SQLite store in leftoff's own folder, whether or not the settings name it. A
session with a UUID is deleted in every project; any other id only in its own project, because programs number their sessions
as they like. A log that cannot be read is named, and the others are processed all the same. What the store's own engine keeps
of deleted data (versions of a bucket, backups) is not reached.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from leftoff.core.project_identity import METADATA_KEY, ProjectIdentity, is_same_project
from leftoff.core.protocols import CanRewrite, KnowsProjects, StorageBackend
from leftoff.core.resume_log import ResumeLog
from leftoff.errors import DocumentError, LeftoffError, StorageError, UnreachableError
from leftoff.forget.masking import mask_value
from leftoff.forget.matcher import Matcher
from leftoff.platform import clock
from leftoff.storage.outbox import ROOT_KEY
from leftoff.storage.repository import configured_backend
from leftoff.storage.sqlite_store import open_user_store
from leftoff.storage.store_base import call_backend
from leftoff.workspace import Workspace, identity_of

_ON_THIS_MACHINE = ("files", "memory")
_OWN_STORE = "sqlite"
_MAX_NAMED = 3
Outcome = bool | LeftoffError  # of one log: whether it was changed, or why that is not known
Change = Callable[[bytes], bytes | None]  # the JSON of a log to its new form; None: the log is deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteResult:
    """How many logs were deleted or masked, and what failed or was found again; None when nothing was.

    ``others`` are logs of a forgotten project that were written elsewhere, and stay.
    """

    erased: int = 0
    trouble: str | None = None
    others: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteTask:
    """What is to be forgotten. ``matcher`` is for logs of the project, ``everywhere`` for those of others."""

    project: Path
    session_ids: Collection[str] = ()
    matcher: Matcher
    everywhere: Matcher
    is_text: bool = False
    is_project: bool = False


def remote_name(workspace: Workspace) -> str | None:
    """Return the names of the stores that are asked beside the local files; None where there are none."""
    storage = workspace.settings.storage
    named = [] if storage in _ON_THIS_MACHINE else [storage]
    if storage != _OWN_STORE and open_user_store().path.is_file():
        named.append(_OWN_STORE)
    return ", ".join(named) or None


def forget_remote(task: RemoteTask, workspace: Workspace) -> RemoteResult:
    """Forget in all stores, and read them again."""
    erased, others, troubles = 0, 0, dict[str, None]()
    key = identity_of(task.project).key
    clean = partial(_clean_body, task, key)
    try:
        for backend in _backends(workspace):
            for outcome in _delete_sessions(backend, task.session_ids, key):
                erased += outcome is True
                troubles |= _named(outcome)
            # What fails here is found when the logs are read again.
            erased += sum(outcome is True for outcome in _change_logs(backend, clean))
            for outcome in _change_logs(backend, partial(_require_clean, clean)):
                troubles |= _named(outcome)
            if task.is_project and isinstance(backend, KnowsProjects):
                others += len(call_backend(backend, backend.for_project(key).list))
    except LeftoffError as error:
        troubles |= _named(error)
    more = len(troubles) - _MAX_NAMED
    trouble = " ".join([*troubles][:_MAX_NAMED]) + (f" And {more} more." if more > 0 else "")
    return RemoteResult(erased=erased, trouble=trouble or None, others=others)


def _named(outcome: Outcome) -> dict[str, None]:
    return {str(outcome): None} if isinstance(outcome, LeftoffError) else {}


def _backends(workspace: Workspace) -> Iterator[StorageBackend]:
    storage = workspace.settings.storage
    if storage not in _ON_THIS_MACHINE and (backend := configured_backend(workspace.settings)) is not None:
        yield backend
    own = open_user_store()
    if storage != _OWN_STORE and own.path.is_file():
        yield own


def _delete_sessions(backend: StorageBackend, session_ids: Collection[str], key: str) -> Iterator[Outcome]:
    if not isinstance(backend, KnowsProjects):
        yield from _delete_by_content(backend, session_ids)
        return
    for session_id in session_ids:
        store = backend if clock.is_uuid(session_id) else backend.for_project(key)
        yield _outcome(partial(call_backend, store, partial(store.delete, session_id)))


def _delete_by_content(backend: StorageBackend, session_ids: Collection[str]) -> Iterator[Outcome]:
    """Delete from a plugin's store, which may name its logs as it likes: the name is a hint, the log says whose it is."""

    def delete(identifier: str) -> bool:
        log = None if identifier in session_ids else call_backend(backend, partial(backend.load, identifier))
        if log is not None and log.session_id not in session_ids:
            return False
        return call_backend(backend, partial(backend.delete, identifier))

    for identifier in call_backend(backend, backend.list) if session_ids else ():
        if any(session_id in identifier for session_id in session_ids):
            yield _outcome(partial(delete, identifier))


def _change_logs(backend: StorageBackend, change: Change) -> Iterator[Outcome]:
    """Replace each log by what ``change`` returns; yield whether that was another one."""
    if isinstance(backend, CanRewrite):
        rewritten = call_backend(backend, lambda: backend.rewrite(change))
        outcomes: Iterator[Outcome] = (each if isinstance(each, LeftoffError) else True for each in rewritten)
    else:
        names = call_backend(backend, backend.list)
        outcomes = (_outcome(partial(_change_one, backend, each, change)) for each in names)
    for outcome in outcomes:
        if isinstance(outcome, UnreachableError):
            raise outcome
        yield outcome


def _outcome(question: Callable[[], bool]) -> Outcome:
    try:
        return question()
    except UnreachableError:
        raise
    except LeftoffError as error:
        return error


def _change_one(backend: StorageBackend, identifier: str, change: Change) -> bool:
    log = call_backend(backend, partial(backend.load, identifier))
    if log is None:
        return False
    body = json.dumps(log.to_dict(), ensure_ascii=False).encode()
    changed = change(body)
    if changed == body:
        return False
    if changed is None or identifier != call_backend(
        backend, partial(backend.save, ResumeLog.from_dict(json.loads(changed)))
    ):
        call_backend(backend, partial(backend.delete, identifier))
    return True


def _require_clean(clean: Change, body: bytes) -> bytes:
    """Return the body as it is; StorageError where there would still be something to clean."""
    if clean(body) == body:
        return body
    try:
        name = str(json.loads(body)["session_id"])[:60]
    except (LookupError, TypeError, ValueError, RecursionError):
        name = "that cannot be read"
    raise StorageError(f"Log {name}: it still holds it, or was saved again meanwhile.")


def _clean_body(task: RemoteTask, key: str, body: bytes) -> bytes | None:
    """Return the JSON of a log with all matches masked; None, to delete it, where it is broken and holds one."""
    try:
        log = ResumeLog.from_dict(json.loads(body))
    except (DocumentError, RecursionError, ValueError) as error:
        if not task.matcher.is_in(body.decode("utf-8", "replace")):
            return body
        if isinstance(error, DocumentError):  # valid JSON of a newer leftoff, which must not be dropped
            raise
        return None
    cleaned = _clean_log(task, key, log)
    if cleaned is None:
        return None
    return body if cleaned == log else json.dumps(cleaned.to_dict(), ensure_ascii=False).encode()


def _clean_log(task: RemoteTask, key: str, log: ResumeLog) -> ResumeLog | None:
    """Return the log with all matches masked; None where the log itself is to be forgotten."""
    identity = ProjectIdentity.from_dict(log.metadata.get(METADATA_KEY))
    is_here = identity is not None and is_same_project(identity.key, key)
    if log.session_id in task.session_ids and (is_here or clock.is_uuid(log.session_id)):
        return None
    if task.is_project and is_here and log.metadata.get(ROOT_KEY) == str(task.project):
        return None
    if task.is_text and task.matcher.is_in(log.session_id, *(identity or ())):
        raise StorageError(
            f"Log {log.session_id}: its id or its project's name holds the text."
            f" leftoff forget {log.session_id} erases it."
        )
    wire = log.to_dict()
    masked: dict[str, Any] = mask_value(wire, task.matcher if is_here else task.everywhere)
    # By these it is stored.
    masked["session_id"] = log.session_id
    if identity is not None:
        masked["metadata"][METADATA_KEY] = log.metadata[METADATA_KEY]
    return log if masked == wire else ResumeLog.from_dict(masked)
