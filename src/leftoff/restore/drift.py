"""What has changed on the ground since a document was written: told in short sentences, nothing when nothing has.

Compared are HEAD, branch, worktree, the content of the files that the session touched, and which files are dirty. Leaves
out: files that were dirty then and still are, where the session did not touch them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leftoff.model.sources import Ground
from leftoff.model.values import dataclass

_MOST_NAMED = 5  # files in one sentence; more are counted
_SHORT_HASH = 7
_OWN_FOLDER = ".leftoff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What changed; no sentences: nothing did."""

    sentences: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "; ".join(self.sentences)

    def __bool__(self) -> bool:
        return bool(self.sentences)


def drift(then: Ground, now: Ground, commits_between: int | None) -> Drift:
    """What is different ``now``. ``commits_between`` counts commits that HEAD has now and had not then; None: not known.

    A file of ``then.hashes`` that ``now.hashes`` does not know is gone; one with another hash has changed.
    """
    changed = [name for name, digest in then.hashes.items() if now.hashes.get(name, digest) != digest]
    gone = [name for name in then.hashes if name not in now.hashes]
    return Drift(
        sentences=(
            *_head_moved(then, now, commits_between),
            *_branch_changed(then, now),
            *_worktree_changed(then, now),
            *_named(changed, "changed", "changed"),
            *_named(gone, "is gone", "are gone"),
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
    else:  # none of its own: it went back; or nobody could count
        how = "moved back" if commits_between == 0 else "moved"
        yield f"HEAD {how} from {then.head[:_SHORT_HASH]} to {now.head[:_SHORT_HASH]}"


def _branch_changed(then: Ground, now: Ground) -> Iterator[str]:
    if then.branch != now.branch:
        yield f"branch is now {now.branch or 'detached'}, was {then.branch or 'detached'}"


def _worktree_changed(then: Ground, now: Ground) -> Iterator[str]:
    if then.worktree != now.worktree:
        main = "the main checkout"
        yield f"this is {now.worktree or main}, it was {then.worktree or main}"


def _dirty_changed(then: Ground, now: Ground, told: set[str]) -> Iterator[str]:
    """Files beside those that the session touched. Unknown is not clean: without both lists nothing is said."""
    if then.dirty is None or now.dirty is None:
        return
    before, after = {*then.dirty}, {*now.dirty}
    yield from _named(_foreign(now.dirty, before | told), "is changed or new", "are changed or new")
    yield from _named(_foreign(then.dirty, after | told), "is no longer changed", "are no longer changed")


def _foreign(names: Iterable[str], known: set[str]) -> list[str]:
    """Those that are not known, and not our own documents."""
    return [name for name in names if name not in known and name.split("/")[0] != _OWN_FOLDER]


def _named(names: list[str], one: str, many: str) -> Iterator[str]:
    if not names:
        return
    more = len(names) - _MOST_NAMED
    listed = ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    yield f"{listed} {one if len(names) == 1 else many}"
