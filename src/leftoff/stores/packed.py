"""A resume log as one piece of JSON for a store, with the hash that tells half of it from all of it; and moments to file it by."""

from __future__ import annotations

import hashlib
import json
import threading

from leftoff.errors import DocumentError, InvalidIdError
from leftoff.model.project_identity import METADATA_KEY, NOBODY, ProjectIdentity
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.system import clock, ids

MOST_BYTES = 5_000_000  # of one log; the largest of ours is a tenth of it, and who fetches must not choke on a stranger's


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A log ready to be kept. ``project`` is the key of the project that it says it belongs to."""

    session_id: str
    project: str
    sha256: str
    body: str


def packed(log: ResumeLog) -> Packed:
    """The log in one piece; InvalidIdError for an id that could lead elsewhere, DocumentError for what nobody would fetch."""
    body = json.dumps(log.to_dict(), ensure_ascii=False)
    if len(body.encode()) > MOST_BYTES:
        shown = log.session_id[:60]
        raise DocumentError(
            f"{_too_large(f'The log of {shown}')} It stays on this machine and cannot be sent: shorten it with "
            f"leftoff log edit {shown}, or erase the session with leftoff forget {shown}.",
            path=f"The log of {shown}",
        )
    identity = ProjectIdentity.from_dict(log.metadata.get(METADATA_KEY)) or NOBODY
    return Packed(
        session_id=ids.checked(log.session_id),
        project=identity.key,
        sha256=digest(body.encode()),
        body=body,
    )


def unpacked(body: bytes, sha256: str, *, where: str) -> ResumeLog:
    """The log behind a piece; DocumentError where it is not whole. ``where`` names it in errors."""
    if len(body) > MOST_BYTES:
        raise _too_large(where)
    if not digest(body).startswith(sha256):
        raise DocumentError(
            f"{where}: half written or changed by somebody: its content is not what was saved.", path=where
        )
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{where}: not JSON: {error}.", path=where) from error
    return ResumeLog.from_dict(value, where=where)


def _too_large(where: str) -> DocumentError:
    return DocumentError(
        f"{where}: larger than {MOST_BYTES // 1_000_000} MB, which no resume log is.", path=where
    )


def is_id(text: str) -> bool:
    """Whether a name that somebody has given in a store is one that can be asked for."""
    try:
        return bool(ids.checked(text))
    except InvalidIdError:
        return False


def digest(data: bytes) -> str:
    """What two pieces share only when they are the same."""
    return hashlib.sha256(data).hexdigest()


class _Moments:
    """Moments in nanoseconds since 1970, each later than the one before, even within one tick of the clock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> int:
        now = int(clock.now().timestamp() * 1_000_000) * 1_000
        with self._lock:
            self._last = max(now, self._last + 1)
            return self._last


next_moment = _Moments().next
