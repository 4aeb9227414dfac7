"""Erase sessions, or a text, from the storage backend of the settings.

A session is erased by its whole id: one that an agent gave (a UUID) wherever it is filed, any other only in its own project,
because programs number their sessions as they like; and it is masked in the other logs there that name it. A text is masked in
every log of every project, and in every version that the store keeps. A log that cannot be looked at is named, and the others are gone through all the same. What the backend's own engine
keeps of deleted data (versions of a bucket, rows before a vacuum, backups) is for its owner.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path

from leftoff.errors import DocumentError, LeftoffError, StorageError, UnreachableError
from leftoff.flows.ask_store import ask_store
from leftoff.flows.forget_places import Needle, needles_of_id
from leftoff.flows.own_words import changed
from leftoff.flows.project_identity import identity_of
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import configured_backend
from leftoff.library.normal import writings
from leftoff.model.masked import is_filed_by, masked
from leftoff.model.project_identity import METADATA_KEY, ProjectIdentity, is_same_project
from leftoff.model.protocols import CanRewrite, KnowsProjects, StorageBackend
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.system import ids

_ON_THIS_MACHINE = ("files", "memory")
_MOST_NAMED = 3
_FILED_BY = ("schema", "session_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteForgot:
    """How many logs were deleted or masked, and why not all; None: nothing went wrong."""

    erased: int
    trouble: str | None


@dataclass(slots=True, kw_only=True)
class _Tally:
    erased: int = 0
    troubles: list[str] = field(default_factory=list)

    def count(self, outcome: bool | LeftoffError) -> None:  # noqa: FBT001 - an outcome, no switch
        if isinstance(outcome, LeftoffError):
            self.troubles.append(str(outcome))
        else:
            self.erased += outcome

    def told(self) -> RemoteForgot:
        more = len(self.troubles) - _MOST_NAMED
        words = " ".join(self.troubles[:_MOST_NAMED]) + (f" And {more} more." if more > 0 else "")
        return RemoteForgot(erased=self.erased, trouble=words or None)


def remote_named(working_folder: Path) -> str | None:
    """What the settings call the remote; None where logs stay on this machine."""
    storage = settings_here(working_folder).settings.storage
    return None if storage in _ON_THIS_MACHINE else storage


def forget_remote(
    session_ids: Collection[str], text: str | None, mask: str, working_folder: Path, project: Path
) -> RemoteForgot:
    """Delete the logs of these sessions of ``project``, and mask ``text`` in all; without a remote there is nothing to do."""
    tally = _Tally()
    if remote_named(working_folder) is None:
        return tally.told()
    try:
        backend = configured_backend(settings_here(working_folder).settings)
        if backend is not None:
            for outcome in _outcomes(backend, session_ids, text, mask, project):
                tally.count(outcome)
                if isinstance(outcome, UnreachableError):
                    break
    except LeftoffError as error:
        tally.count(error)
    return tally.told()


def _outcomes(
    backend: StorageBackend, session_ids: Collection[str], text: str | None, mask: str, project: Path
) -> Iterator[bool | LeftoffError]:
    if session_ids:
        yield from _deleted(backend, session_ids, project)
        yield from _cleaned(backend, _Mentions(tuple(session_ids), mask, identity_of(project).key))
    if text is not None:
        yield from _cleaned(backend, _Text(text, mask))


def _cleaned(backend: StorageBackend, cleaning: _Text | _Mentions) -> Iterator[bool | LeftoffError]:
    """Whether a log was cleaned, for each that is one of those that hold it."""
    if isinstance(backend, CanRewrite):
        rewritten = ask_store(backend, lambda: backend.rewrite(partial(_rewritten, cleaning)))
        yield from (each if isinstance(each, LeftoffError) else True for each in rewritten)
        return
    for identifier in ask_store(backend, backend.list):
        yield _asked(partial(_masked, backend, identifier, cleaning))


def _deleted(
    backend: StorageBackend, session_ids: Collection[str], project: Path
) -> Iterator[bool | LeftoffError]:
    if not isinstance(backend, KnowsProjects):
        yield from _deleted_by_looking(backend, session_ids)
        return
    key = identity_of(project).key
    for session_id in session_ids:
        store = backend if ids.is_uuid(session_id) else backend.for_project(key)
        yield _asked(partial(ask_store, store, partial(store.delete, session_id)))


def _deleted_by_looking(
    backend: StorageBackend, session_ids: Collection[str]
) -> Iterator[bool | LeftoffError]:
    """A guest calls its logs as it likes: the name only tells where to look, the log whose it is."""
    for identifier in ask_store(backend, backend.list):
        if any(session_id in identifier for session_id in session_ids):
            yield _asked(partial(_deleted_if_named, backend, identifier, session_ids))


def _deleted_if_named(backend: StorageBackend, identifier: str, session_ids: Collection[str]) -> bool:
    log = None if identifier in session_ids else ask_store(backend, partial(backend.load, identifier))
    if log is not None and log.session_id not in session_ids:
        return False
    return ask_store(backend, partial(backend.delete, identifier))


def _asked(question: Callable[[], bool]) -> bool | LeftoffError:
    try:
        return question()
    except LeftoffError as error:
        return error


def _rewritten(cleaning: _Text | _Mentions, body: bytes) -> bytes | None:
    """What becomes of the JSON of a log: masked; dropped where it is broken and holds it."""
    try:
        log = ResumeLog.from_dict(json.loads(body))
    except (DocumentError, RecursionError, ValueError) as error:
        if not cleaning.is_in(body):
            return body
        if isinstance(error, DocumentError):  # whole, and of a newer leftoff: not ours to drop
            raise
        return None
    clean = cleaning.cleaned(log)
    return body if clean == log else json.dumps(clean.to_dict(), ensure_ascii=False).encode()


def _masked(backend: StorageBackend, identifier: str, cleaning: _Text | _Mentions) -> bool:
    """Whether a guest's log held it."""
    log = ask_store(backend, partial(backend.load, identifier))
    clean = None if log is None else cleaning.cleaned(log)
    if clean is None or clean == log:
        return False
    if ask_store(backend, partial(backend.save, clean)) != identifier:
        ask_store(backend, partial(backend.delete, identifier))
    return True


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that is to be masked wherever it stands."""

    text: str
    mask: str

    def is_in(self, body: bytes) -> bool:
        return self.text.encode("utf-8", "replace") in body

    def cleaned(self, log: ResumeLog) -> ResumeLog:
        if is_filed_by(log, self.text):
            raise StorageError(
                f"Log {log.session_id}: its id or its project's name holds the text."
                f" leftoff forget {log.session_id} erases it."
            )
        for each, _ in writings(self.text):
            log = masked(log, each, self.mask)
        return log


@dataclass(frozen=True, slots=True)
class _Mentions:
    """Sessions that other logs name: a UUID in any project, any other id in its own, as a whole. All in one pass."""

    session_ids: tuple[str, ...]
    mask: str
    project_key: str

    def is_in(self, body: bytes) -> bool:
        return any(ids.is_uuid(each) and each.encode() in body for each in self.session_ids)

    def cleaned(self, log: ResumeLog) -> ResumeLog:
        identity = ProjectIdentity.from_dict(log.metadata.get(METADATA_KEY))
        is_ours = identity is not None and is_same_project(identity.key, self.project_key)
        meant = [each for each in self.session_ids if is_ours or ids.is_uuid(each)]
        if not meant:
            return log
        needles = [needle for each in meant for needle in needles_of_id(each)]
        wire = log.to_dict()
        clean = changed(wire, partial(self._without, needles)) | {
            name: wire[name] for name in _FILED_BY if name in wire
        }
        if identity is not None:
            clean["metadata"] = clean["metadata"] | {METADATA_KEY: wire["metadata"][METADATA_KEY]}
        return ResumeLog.from_dict(clean)

    def _without(self, needles: Sequence[Needle], words: str) -> str:
        content = words.encode("utf-8", "surrogatepass")
        for needle in needles:
            if needle.is_in(content):
                content = needle.pattern.sub(self.mask.encode(), content)
        return content.decode("utf-8", "surrogatepass")
