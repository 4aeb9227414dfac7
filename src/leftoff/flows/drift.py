"""What has changed in a project since a resume log was written."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from leftoff.model.sources import Ground
from leftoff.restore import drift as judged
from leftoff.restore.drift import Drift
from leftoff.system import git

_NOT_COMPARED = (
    ""  # the hash of a file that is there and cannot be read or is too large: it is not what it was
)


def drift_since(then: Ground, root: Path) -> Drift:
    """The ground of ``root`` now against what it was; files are those that the document names, relative to ``root``."""
    now = ground_now(then, root)
    between = git.commits_between(root, then.head, now.head) if then.head and now.head else None
    return judged.drift(then, now, between)


def ground_now(then: Ground, root: Path) -> Ground:
    """The ground as it is, with the hashes of the files that ``then`` names and that are there."""
    now = git.ground(root, then.hashes)
    unread = {
        name: _NOT_COMPARED for name in then.hashes if name not in now.hashes and os.path.lexists(root / name)
    }
    return dataclasses.replace(now, hashes=now.hashes | unread)
