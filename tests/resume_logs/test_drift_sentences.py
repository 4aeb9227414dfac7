"""The sentences about drift: one for each change, none for what is unchanged."""

import pytest

from leftoff.core.provenance import Ground
from leftoff.resume_logs.drift import compare_grounds

THEN = Ground(head="a" * 40, branch="main", dirty=("notes.md",), hashes={"src/a.py": "1", "src/b.py": "2"})


def ground(**changes):
    fields = {"head": THEN.head, "branch": "main", "dirty": ("notes.md",), "hashes": dict(THEN.hashes)}
    return Ground(**(fields | changes))


def test_unchanged_ground_has_no_drift():
    assert not compare_grounds(THEN, ground(), 0)
    assert str(compare_grounds(Ground(), Ground(), None)) == ""


def test_drift_is_one_line():
    """A restoration shows the drift on one line."""
    now = ground(head="b" * 40, branch="x", hashes={"src/a.py": "9"})
    drift = compare_grounds(THEN, now, 3)
    assert (
        str(drift) == "HEAD moved by 3 commits; branch is now x, was main; src/a.py changed; src/b.py is gone"
    )
    assert drift


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
    assert compare_grounds(THEN, now, between).sentences == (words,)


def test_the_first_commit_and_leaving_a_worktree():
    """A branch without commits has no head."""
    assert str(compare_grounds(ground(head=None), ground(), None)) == "HEAD is now aaaaaaa, there was none"
    assert str(compare_grounds(ground(worktree="t"), ground(), 0)) == "this is the main checkout, it was t"
    assert str(compare_grounds(ground(branch=None), ground(), 0)) == "branch is now main, was detached"


def test_many_files_are_counted():
    """Five files are named, and the others are counted."""
    then = Ground(hashes={f"f{n}": "1" for n in range(9)})
    assert (
        str(compare_grounds(then, Ground(hashes=dict.fromkeys(then.hashes, "2")), None))
        == "f0, f1, f2, f3, f4 and 4 more changed"
    )


def test_a_file_is_named_once_and_our_own_documents_never():
    """A touched file that changed is dirty too, and what leftoff writes is not drift."""
    now = ground(
        hashes={"src/a.py": "9", "src/b.py": "2"},
        dirty=("notes.md", "src/a.py", ".leftoff/project/_resume.md"),
    )
    assert compare_grounds(THEN, now, 0).sentences == ("src/a.py changed",)


@pytest.mark.parametrize("unknown", [ground(dirty=None)])
def test_unknown_is_not_clean(unknown):
    """Without both lists nothing is said about dirty files."""
    assert not compare_grounds(THEN, unknown, 0)
    assert not compare_grounds(unknown, THEN, 0)
