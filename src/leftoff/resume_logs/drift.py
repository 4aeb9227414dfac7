"""Say what has changed in a project since a resume log was written, in short sentences.

Compared are HEAD, branch, worktree, the content of the files that the session touched, and which files are dirty. A file that was
dirty then and still is does not count unless the session touched it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from leftoff.core.provenance import Ground
from leftoff.platform import git, paths

_MAX_NAMED_FILES = 5  # in one sentence; more are counted
_SHORT_HASH = 7
_NOT_COMPARED = ""  # the hash of a file that exists but cannot be read or is too large: it counts as changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What changed, in sentences; none when nothing did."""

    sentences: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "; ".join(self.sentences)

    def __bool__(self) -> bool:
        return bool(self.sentences)


def compare_grounds(then: Ground, now: Ground, commits_between: int | None) -> Drift:
    """Return what is different ``now``. ``commits_between`` counts the commits that HEAD has gained; None is not known.

    A file of ``then.hashes`` that is missing in ``now.hashes`` is gone; one with another hash has changed.
    """
    changed = [name for name, digest in then.hashes.items() if now.hashes.get(name, digest) != digest]
    gone = [name for name in then.hashes if name not in now.hashes]
    return Drift(
        sentences=(
            *_head_moved(then, now, commits_between),
            *_branch_changed(then, now),
            *_worktree_changed(then, now),
            *_name_files(changed, "changed", "changed"),
            *_name_files(gone, "is gone", "are gone"),
            *_dirty_changed(then, now, {*changed, *gone}),
        )
    )


def _head_moved(then: Ground, now: Ground, commits_between: int | None) -> Iterator[str]:
    if then.head == now.head:
        return
    if now.head is None:
        yield "git knows no HEAD here any more"
    elif then.head is None:
        yield f"HEAD is now {now.head[:_SHORT_HASH]}, there was none"
    elif commits_between:
        yield f"HEAD moved by {commits_between} commit{'s' if commits_between > 1 else ''}"
    else:  # no new commits: it moved back; or the number is not known
        how = "moved back" if commits_between == 0 else "moved"
        yield f"HEAD {how} from {then.head[:_SHORT_HASH]} to {now.head[:_SHORT_HASH]}"


def _branch_changed(then: Ground, now: Ground) -> Iterator[str]:
    if then.branch != now.branch:
        yield f"branch is now {now.branch or 'detached'}, was {then.branch or 'detached'}"


def _worktree_changed(then: Ground, now: Ground) -> Iterator[str]:
    if then.worktree != now.worktree:
        main = "the main checkout"
        yield f"this is {now.worktree or main}, it was {then.worktree or main}"


def _dirty_changed(then: Ground, now: Ground, mentioned: set[str]) -> Iterator[str]:
    """Yield changes of files that the session did not touch. Not known is not clean: without both lists nothing is said."""
    if then.dirty is None or now.dirty is None:
        return
    before, after = {*then.dirty}, {*now.dirty}
    yield from _name_files(
        _other_files(now.dirty, before | mentioned), "is changed or new", "are changed or new"
    )
    yield from _name_files(
        _other_files(then.dirty, after | mentioned), "is no longer changed", "are no longer changed"
    )


def _other_files(names: Iterable[str], known: set[str]) -> list[str]:
    """Return the files that are not known, without leftoff's own documents."""
    return [name for name in names if name not in known and name.split("/")[0] != paths.PROJECT_FOLDER]


def _name_files(names: list[str], one: str, many: str) -> Iterator[str]:
    if not names:
        return
    more = len(names) - _MAX_NAMED_FILES
    listed = ", ".join(names[:_MAX_NAMED_FILES]) + (f" and {more} more" if more > 0 else "")
    yield f"{listed} {one if len(names) == 1 else many}"


def drift_since(then: Ground, root: Path) -> Drift:
    """Return what changed at ``root`` since; files are those that ``then`` names, relative to ``root``."""
    now = read_ground_again(then, root)
    between = git.commits_between(root, then.head, now.head) if then.head and now.head else None
    return compare_grounds(then, now, between)


def read_ground_again(then: Ground, root: Path) -> Ground:
    """Return the ground as it is now, with the hashes of the existing files that ``then`` names."""
    now = git.read_ground(root, then.hashes)
    unread = {
        name: _NOT_COMPARED for name in then.hashes if name not in now.hashes and os.path.lexists(root / name)
    }
    return dataclasses.replace(now, hashes=now.hashes | unread)
