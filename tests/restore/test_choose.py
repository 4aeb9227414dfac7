"""Which log: nearest first, only what is trusted, nothing that is over."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from leftoff.model.sources import Ground
from leftoff.restore.choose import Here, candidate_of, choose, foreign_candidate, is_wanted, shared
from leftoff.restore.going_on import asks_to_go_on
from tests.restore.logs import log

AT = datetime(2026, 1, 6, 12, tzinfo=UTC)
HERE = Here(folder="/p", branch="main", worktree=None)


def candidate(
    name, *, hours=0, standing="written", folder="/p", branch="main", worktree=None, ended=None, context=None
):
    of = log(
        session_id=name,
        metadata={"project": folder, "ended": ended},
        ground=Ground(branch=branch, worktree=worktree),
        critical_context=context or {},
    )
    return candidate_of(of, path=f"/p/{name}.json", standing=standing, saved_at=AT + timedelta(hours=hours))


def ids(candidates):
    return [each.session_id for each in candidates]


def test_the_nearest_comes_first():
    """Folder before branch before worktree before overlap before age."""
    candidates = [
        candidate("newest", hours=9, folder="/elsewhere"),
        candidate("inside", hours=8, folder="/p/sub"),
        candidate("branch", hours=7, branch="other"),
        candidate("worktree", hours=6, worktree="tree"),
        candidate("old", hours=1),
        candidate("new", hours=2),
        candidate("shares", hours=0, context={"files": {"src/limits.py": "changed"}}),
    ]
    chosen = choose(candidates, HERE, "what about limits.py?")
    assert ids(chosen.offered) == ["shares", "new", "old", "worktree", "branch", "inside", "newest"]


def test_what_is_not_trusted_waits():
    """However near it is."""
    chosen = choose(
        [candidate("a", standing="foreign"), candidate("b", standing="trusted", folder=None)], HERE
    )
    assert (ids(chosen.offered), ids(chosen.waiting), ids(chosen.over)) == (["b"], ["a"], [])


@pytest.mark.parametrize("ended", ["cleared", "finished"])
def test_what_is_over_is_kept_and_not_offered(ended):
    """The user has said so; any other ending is offered."""
    chosen = choose(
        [candidate("a", ended=ended), candidate("b", ended="closed"), candidate("c", ended=5)], HERE
    )
    assert (ids(chosen.offered), ids(chosen.over)) == (["b", "c"], ["a"])


def test_a_log_without_ground_or_folder_is_still_a_candidate():
    """Not known is not here, and not nowhere."""
    bare = candidate_of(log(), path="x", standing="written", saved_at=AT)
    assert (bare.folder, bare.branch, bare.worktree, bare.ended, bare.words) == (
        None,
        None,
        None,
        None,
        frozenset(),
    )
    assert ids(choose([bare], HERE).offered) == ["s1"]


@pytest.mark.parametrize(
    "prompt",
    [
        "continue",
        "Please continue.",
        "ok, let's go on with the parser",
        "where were we?",
        "resume",
        "What's next?",
        "keep going!",
    ],
)
def test_a_prompt_can_ask_to_go_on(prompt):
    """In its first words."""
    assert asks_to_go_on(prompt)
    assert is_wanted(candidate("a"), prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "Fix the continue button",
        "add a resume endpoint",
        "resumes are parsed wrongly",
        "proceed to a new task",
        "hello",
        "",
    ],
)
def test_other_prompts_do_not(prompt):
    """The words alone are not the wish."""
    assert not asks_to_go_on(prompt)
    assert not is_wanted(candidate("a"), prompt)


def test_files_and_names_of_the_log_make_it_wanted():
    """By path, by the last part of it, by name; prose and short words do not count."""
    context = {
        "files": {"src/limits.py": "changed the bucket", "a.c": "read"},
        "names": {"src/limits.py": "refill, TokenBucket — the heart of it"},
    }
    found = candidate("a", context=context)
    assert shared(found, "look at ./src/limits.py and `TokenBucket`") == {"src/limits.py", "TokenBucket"}
    assert shared(found, "limits.py: refill()") == {"limits.py", "refill"}
    assert not shared(found, "the heart of the bucket in a.c")
    listed = candidate("b", context={"files": ["src/x.py"], "names": ["do_it in src/x.py"]})
    assert is_wanted(listed, "why does do_it fail?")
    assert not is_wanted(dataclasses.replace(listed, words=frozenset()), "why does do_it fail?")


def test_plain_words_count_only_where_they_are_written_as_code():
    """Functions are called as people speak; and a word of ours is no name."""
    found = candidate(
        "a", context={"names": {"elsewhere": "move, Config, TODO, re-use, do_it", "Makefile": "`build`"}}
    )
    assert not shared(found, "Please move the TODO Config elsewhere, re-use the build")
    assert shared(found, "why does `move` call build()?") == {"move", "build"}
    assert shared(found, "do_it in the Makefile") == {"do_it", "Makefile"}


def test_a_log_is_as_old_as_the_last_activity_of_its_session():
    """Never younger than its file; what cannot be read says nothing."""
    for told, hours in (("2026-01-06T10:00:00Z", -2), ("2026-01-06T14:00:00Z", 0), ("yesterday", 0), (5, 0)):
        of = log(session_id="a", metadata={"last_activity": told})
        found = candidate_of(of, path="x", standing="written", saved_at=AT)
        assert found.left_at == AT + timedelta(hours=hours)


def test_a_log_that_nobody_looked_into_waits():
    """By its name and age alone."""
    found = foreign_candidate("a", path="/p/a.json", saved_at=AT)
    assert ids(choose([found, candidate("b")], HERE).waiting) == ["a"]
