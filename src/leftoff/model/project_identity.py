"""Which project a log belongs to, told by what every checkout of it shares: its git remote, its first commit, its name.

A path names a folder of one machine; an identity names the same project on all of them. Two checkouts are of one project
when they share the first commit or the remote; outside git only the name is left, and then nothing else may be known of
either. Credentials in a remote's address are never kept.
"""

from __future__ import annotations

import hashlib
import re

from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject, JsonValue

METADATA_KEY = "project_identity"
_UNKNOWN = "0"
_SHORT = 12
_BETWEEN = "~"
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SCP_LIKE = re.compile(r"([^/:@]+):(?!//)([^@]+)")
_HOST = re.compile(r"([^/:@]+)(?::\d+)?/(.*)")
_SECRETS_MAY_FOLLOW = re.compile(r"[?#].*", re.DOTALL)
_NOT_IN_A_KEY = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectIdentity:
    """A project. ``remote`` and ``root_commit`` are None where nobody knows them: outside git, or in a shallow clone."""

    name: str
    remote: str | None = None
    root_commit: str | None = None

    @property
    def key(self) -> str:
        """A name that stores can file it under; ``is_same_project`` compares two of them."""
        name = _NOT_IN_A_KEY.sub("-", self.name.lower()).strip("-")[:40] or _UNKNOWN
        remote = (
            _UNKNOWN if self.remote is None else hashlib.sha256(self.remote.encode()).hexdigest()[:_SHORT]
        )
        commit = _UNKNOWN if self.root_commit is None else self.root_commit[:_SHORT]
        return _BETWEEN.join((name, commit, remote))

    def to_dict(self) -> JsonObject:
        """The wire form."""
        return {"name": self.name, "remote": self.remote, "root_commit": self.root_commit}

    @classmethod
    def from_dict(cls, data: JsonValue) -> ProjectIdentity | None:
        """The value behind a wire form; None for anything else, as in logs that never left their machine."""
        match data:
            case {"name": str(name), "remote": str() | None as remote, "root_commit": str() | None as commit}:
                return cls(name=name, remote=remote, root_commit=commit)
            case _:
                return None


NOBODY = ProjectIdentity(name="")


def is_same_project(one: str, other: str) -> bool:
    """Whether two keys are of one project."""
    mine, theirs = _parts(one), _parts(other)
    if mine is None or theirs is None:
        return one == other
    if any(each == again != _UNKNOWN for each, again in zip(mine[1:], theirs[1:], strict=True)):
        return True
    return mine == theirs and mine[1:] == (_UNKNOWN, _UNKNOWN)


def normalised_remote(address: str) -> str | None:
    """``host/owner/name`` of a git address, however it is written; None for a folder of one machine."""
    text = _SECRETS_MAY_FOLLOW.sub("", address.strip())
    if text.lower().startswith("file:"):
        return None
    scheme = _SCHEME.match(text)
    found = (
        _SCP_LIKE.fullmatch(_without_user(text))
        if scheme is None
        else _HOST.fullmatch(_without_user(text[scheme.end() :]))
    )
    if found is None:
        return None
    host = found[1].lower()
    path = found[2].strip("/").removesuffix(".git").rstrip("/")
    return f"{host}/{path}" if host and path else None


def _without_user(text: str) -> str:
    """What follows the last ``@``, where a user stands before the host: a password may hold an ``@`` or a ``/`` itself."""
    authority = text.partition("/")[0]
    is_host = re.fullmatch(r"[^:@]*(?::\d+)?", authority) is not None
    return text if is_host else text.rpartition("@")[2]


def _parts(key: str) -> tuple[str, str, str] | None:
    parts = key.split(_BETWEEN)
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else None
