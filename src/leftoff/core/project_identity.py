"""Identifies a project across machines by what all its checkouts share: git remote, first commit, name.

Two checkouts belong to the same project if they share the first commit or the remote. Outside git only the name is left, and
it counts only if nothing else is known of either. Credentials in a remote's address are removed."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from leftoff.core.wire import JsonObject, JsonValue

METADATA_KEY = "project_identity"
_UNKNOWN = "0"
_SHORT = 12
_BETWEEN = "~"
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SCP_LIKE = re.compile(r"([^/:@]+):(?!//)([^@]+)")
_HOST = re.compile(r"([^/:@]+)(?::\d+)?/(.*)")
_SECRETS_MAY_FOLLOW = re.compile(r"[?#].*", re.DOTALL)
_NOT_IN_A_KEY = re.compile(r"[^a-z0-9_-]+")


class ProjectIdentity(NamedTuple):
    """A project. ``remote`` and ``root_commit`` are None if not known: outside git, or in a shallow clone."""

    name: str
    remote: str | None = None
    root_commit: str | None = None

    @property
    def key(self) -> str:
        """A name under which stores can file the project; ``is_same_project`` compares two of them."""
        name = _NOT_IN_A_KEY.sub("-", self.name.lower()).strip("-")[:40] or _UNKNOWN
        remote = (
            _UNKNOWN if self.remote is None else hashlib.sha256(self.remote.encode()).hexdigest()[:_SHORT]
        )
        commit = _UNKNOWN if self.root_commit is None else self.root_commit[:_SHORT]
        return _BETWEEN.join((name, commit, remote))

    def to_dict(self) -> JsonObject:
        """Return the JSON form."""
        return {"name": self.name, "remote": self.remote, "root_commit": self.root_commit}

    @classmethod
    def from_dict(cls, data: JsonValue) -> ProjectIdentity | None:
        """Read the JSON form; None for anything else, such as in logs that never left their machine."""
        match data:
            case {"name": str(name), "remote": str() | None as remote, "root_commit": str() | None as commit}:
                return cls(name=name, remote=remote, root_commit=commit)
            case _:
                return None


UNKNOWN_PROJECT = ProjectIdentity(name="")


def is_same_project(one: str, other: str) -> bool:
    """Return whether two keys belong to the same project."""
    mine, theirs = one.split(_BETWEEN), other.split(_BETWEEN)
    if len(mine) != 3 or len(theirs) != 3:
        return one == other
    if any(each == again != _UNKNOWN for each, again in zip(mine[1:], theirs[1:], strict=True)):
        return True
    return mine == theirs and mine[1:] == [_UNKNOWN, _UNKNOWN]


def normalise_remote(address: str) -> str | None:
    """Return ``host/owner/name`` of a git address in any notation; None for a local folder."""
    text = _SECRETS_MAY_FOLLOW.sub("", address.strip())
    if text.lower().startswith("file:"):
        return None
    scheme = _SCHEME.match(text)
    parts = (
        _SCP_LIKE.fullmatch(_without_user(text))
        if scheme is None
        else _HOST.fullmatch(_without_user(text[scheme.end() :]))
    )
    if parts is None:
        return None
    host = parts[1].lower()
    path = parts[2].strip("/").removesuffix(".git").rstrip("/")
    return f"{host}/{path}" if host and path else None


def _without_user(text: str) -> str:
    """Remove ``user:password@``: everything up to the last ``@``, because a password can contain ``@`` or ``/``."""
    authority = text.partition("/")[0]
    is_host = re.fullmatch(r"[^:@]*(?::\d+)?", authority) is not None
    return text if is_host else text.rpartition("@")[2]
