"""Forget in the remote store of the settings: delete the logs of sessions, mask ids and texts in all others.

A session with a UUID is deleted in every project; any other id only in its own project, because programs number their
sessions as they like. A log that cannot be read is named, and the others are processed all the same. What the store's own
engine keeps of deleted data (versions of a bucket, backups) is not reached.
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
from leftoff.storage.repository import configured_backend
from leftoff.storage.store_base import call_backend
from leftoff.workspace import Workspace, identity_of

_ON_THIS_MACHINE = ("files", "memory")
_MAX_NAMED = 3
Outcome = bool | LeftoffError  # of one log: whether it was changed, or why that is not known
CleanLog = Callable[[ResumeLog], ResumeLog]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteResult:
    """How many logs were deleted or masked, and why not all; None when nothing went wrong."""

    erased: int
    trouble: str | None


def remote_name(workspace: Workspace) -> str | None:
    """Return the name of the remote in the settings; None where logs stay on this machine."""
    storage = workspace.settings.storage
    return None if storage in _ON_THIS_MACHINE else storage


def forget_remote(
    session_ids: Collection[str], text: str | None, workspace: Workspace, project: Path
) -> RemoteResult:
    """Delete the logs of these sessions of ``project`` and mask their ids and ``text`` in all other logs."""
    erased, troubles = 0, []
    if remote_name(workspace) is None:
        return RemoteResult(erased=0, trouble=None)
    try:
        backend = configured_backend(workspace.settings)
        outcomes = iter(()) if backend is None else _forget_in(backend, session_ids, text, project)
        for outcome in outcomes:
            if isinstance(outcome, LeftoffError):
                troubles.append(str(outcome))
            else:
                erased += outcome
            if isinstance(outcome, UnreachableError):
                break
    except LeftoffError as error:
        troubles.append(str(error))
    more = len(troubles) - _MAX_NAMED
    trouble = " ".join(troubles[:_MAX_NAMED]) + (f" And {more} more." if more > 0 else "")
    return RemoteResult(erased=erased, trouble=trouble or None)


def _forget_in(
    backend: StorageBackend, session_ids: Collection[str], text: str | None, project: Path
) -> Iterator[Outcome]:
    if session_ids:
        key = identity_of(project).key
        if isinstance(backend, KnowsProjects):
            for session_id in session_ids:
                store = backend if clock.is_uuid(session_id) else backend.for_project(key)
                yield _outcome(partial(call_backend, store, partial(store.delete, session_id)))
        else:
            yield from _delete_by_content(backend, session_ids)
        everywhere = Matcher(session_ids=filter(clock.is_uuid, session_ids))
        here = Matcher(session_ids=session_ids)
        yield from _mask_logs(backend, partial(_without_ids, everywhere, here, key), here)
    if text is not None:
        matcher = Matcher([text])
        yield from _mask_logs(backend, partial(_without_text, matcher), matcher)


def _delete_by_content(backend: StorageBackend, session_ids: Collection[str]) -> Iterator[Outcome]:
    """Delete from a plugin's store, which may name its logs as it likes: the name is a hint, the log says whose it is."""

    def delete(identifier: str) -> bool:
        log = None if identifier in session_ids else call_backend(backend, partial(backend.load, identifier))
        if log is not None and log.session_id not in session_ids:
            return False
        return call_backend(backend, partial(backend.delete, identifier))

    for identifier in call_backend(backend, backend.list):
        if any(session_id in identifier for session_id in session_ids):
            yield _outcome(partial(delete, identifier))


def _mask_logs(backend: StorageBackend, clean: CleanLog, matcher: Matcher) -> Iterator[Outcome]:
    """Replace each log by what ``clean`` returns; yield whether that was another one."""
    if isinstance(backend, CanRewrite):
        rewritten = call_backend(backend, lambda: backend.rewrite(partial(_clean_body, clean, matcher)))
        yield from (each if isinstance(each, LeftoffError) else True for each in rewritten)
        return
    for identifier in call_backend(backend, backend.list):
        yield _outcome(partial(_save_clean, backend, identifier, clean))


def _outcome(question: Callable[[], bool]) -> Outcome:
    try:
        return question()
    except LeftoffError as error:
        return error


def _clean_body(clean: CleanLog, matcher: Matcher, body: bytes) -> bytes | None:
    """Return the JSON of a log with all matches masked; None, to drop it, where it is broken and holds one."""
    try:
        log = ResumeLog.from_dict(json.loads(body))
    except (DocumentError, RecursionError, ValueError) as error:
        if not matcher.is_in(body.decode("utf-8", "replace")):
            return body
        if isinstance(error, DocumentError):  # valid JSON of a newer leftoff, which must not be dropped
            raise
        return None
    masked = clean(log)
    return body if masked == log else json.dumps(masked.to_dict(), ensure_ascii=False).encode()


def _save_clean(backend: StorageBackend, identifier: str, clean: CleanLog) -> bool:
    log = call_backend(backend, partial(backend.load, identifier))
    masked = None if log is None else clean(log)
    if masked is None or masked == log:
        return False
    if call_backend(backend, partial(backend.save, masked)) != identifier:
        call_backend(backend, partial(backend.delete, identifier))
    return True


def _without_ids(everywhere: Matcher, here: Matcher, project_key: str, log: ResumeLog) -> ResumeLog:
    """Mask UUIDs of sessions in any log, other ids only in logs of the same project."""
    identity = ProjectIdentity.from_dict(log.metadata.get(METADATA_KEY))
    is_here = identity is not None and is_same_project(identity.key, project_key)
    return mask_log(log, here if is_here else everywhere)


def _without_text(matcher: Matcher, log: ResumeLog) -> ResumeLog:
    identity = log.metadata.get(METADATA_KEY)
    values = identity.values() if isinstance(identity, dict) else ()
    if matcher.is_in(log.session_id, *(each for each in values if isinstance(each, str))):
        raise StorageError(
            f"Log {log.session_id}: its id or its project's name holds the text."
            f" leftoff forget {log.session_id} erases it."
        )
    return mask_log(log, matcher)


def mask_log(log: ResumeLog, matcher: Matcher) -> ResumeLog:
    """Return the log with all matches masked, except in its session id and its project's identity, by which it is stored."""
    wire = log.to_dict()
    masked: dict[str, Any] = mask_value(wire, matcher) | {"session_id": log.session_id}
    if METADATA_KEY in log.metadata:
        masked["metadata"][METADATA_KEY] = log.metadata[METADATA_KEY]
    return log if masked == wire else ResumeLog.from_dict(masked)
