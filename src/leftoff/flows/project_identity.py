"""What a checkout shares with every other of the same project; a credential in it is none of that."""

from __future__ import annotations

from pathlib import Path

from leftoff.model.project_identity import ProjectIdentity, normalised_remote
from leftoff.system import git
from leftoff.system.redaction import Redactor


def identity_of(root: Path) -> ProjectIdentity:
    """The identity of the project whose folder this is; outside git, or where git says nothing, only its name."""
    clean = Redactor().redact  # with nobody's own patterns: it must come out the same on every machine
    if not root.is_dir():
        return ProjectIdentity(name=clean(root.name))
    address = git.remote_address(root)
    remote = None if address is None else normalised_remote(address)
    return ProjectIdentity(
        name=clean(root.name),
        remote=None if remote is None else clean(remote),
        root_commit=git.first_commit(root),
    )
