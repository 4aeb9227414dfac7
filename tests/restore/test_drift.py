"""Drift: what changed is told in short sentences; nothing is said of what did not."""

import pytest

from leftoff.model.sources import Ground
from leftoff.restore.drift import drift

THEN = Ground(head="a" * 40, branch="main", dirty=("notes.md",), hashes={"src/a.py": "1", "src/b.py": "2"})


def ground(**changes):
    fields = {"head": THEN.head, "branch": "main", "dirty": ("notes.md",), "hashes": dict(THEN.hashes)}
    return Ground(**(fields | changes))


def test_unchanged_ground_has_no_drift():
    """No sentence, and false."""
    assert not drift(THEN, ground(), 0)
    assert str(drift(Ground(), Ground(), None)) == ""


def test_all_of_it_in_one_line():
    """As it stands in a restoration."""
    now = ground(head="b" * 40, branch="x", hashes={"src/a.py": "9"})
    told = drift(THEN, now, 3)
    assert (
        str(told) == "HEAD moved by 3 commits; branch is now x, was main; src/a.py changed; src/b.py is gone"
    )
    assert told


@pytest.mark.parametrize(
    ("now", "between", "words"),
    [
        (ground(head="b" * 40), 1, "HEAD moved by 1 commit"),
        (ground(head="b" * 40), 0, "HEAD moved back from aaaaaaa to bbbbbbb"),
        (ground(head="b" * 40), None, "HEAD moved from aaaaaaa to bbbbbbb"),
        (ground(head=None), None, "git knows no HEAD here any more"),
        (ground(branch=None), 0, "branch is now detached, was main"),
        (ground(worktree="tree"), 0, "this is tree, it was the main checkout"),
        (ground(hashes={"src/a.py": "", "src/b.py": "2"}), 0, "src/a.py changed"),
        (ground(hashes={}), 0, "src/a.py, src/b.py are gone"),
        (ground(dirty=("notes.md", "new.py")), 0, "new.py is changed or new"),
        (ground(dirty=()), 0, "notes.md is no longer changed"),
    ],
)
def test_each_change_has_its_sentence(now, between, words):
    """One change, one sentence."""
    assert drift(THEN, now, between).sentences == (words,)


def test_the_first_commit_and_the_way_back():
    """A branch without commits has no head; a worktree can be left."""
    assert str(drift(ground(head=None), ground(), None)) == "HEAD is now aaaaaaa, there was none"
    assert str(drift(ground(worktree="t"), ground(), 0)) == "this is the main checkout, it was t"
    assert str(drift(ground(branch=None), ground(), 0)) == "branch is now main, was detached"


def test_many_files_are_counted():
    """Five names, then a number."""
    then = Ground(hashes={f"f{n}": "1" for n in range(9)})
    assert (
        str(drift(then, Ground(hashes=dict.fromkeys(then.hashes, "2")), None))
        == "f0, f1, f2, f3, f4 and 4 more changed"
    )


def test_a_file_is_told_once_and_our_own_documents_never():
    """A touched file that changed is dirty too; what leftoff writes is no drift."""
    now = ground(
        hashes={"src/a.py": "9", "src/b.py": "2"},
        dirty=("notes.md", "src/a.py", ".leftoff/project/_resume.md"),
    )
    assert drift(THEN, now, 0).sentences == ("src/a.py changed",)


@pytest.mark.parametrize("unknown", [ground(dirty=None)])
def test_unknown_is_not_clean(unknown):
    """Without both lists nothing is said of dirty files."""
    assert not drift(THEN, unknown, 0)
    assert not drift(unknown, THEN, 0)
