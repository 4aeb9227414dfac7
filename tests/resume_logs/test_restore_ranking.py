"""The choice of a log: the nearest first, only trusted ones, and none of a finished session."""

from datetime import UTC, datetime, timedelta

import pytest

from leftoff.core.provenance import Ground
from leftoff.resume_logs.continuing import asks_to_continue
from leftoff.resume_logs.restore import (
    Location,
    make_candidate,
    rank_candidates,
    shared_words,
    untrusted_candidate,
)
from tests.resume_logs.sample_logs import log

AT = datetime(2026, 1, 6, 12, tzinfo=UTC)
HERE = Location(folder="/p", branch="main", worktree=None)


def candidate(
    name,
    *,
    hours=0,
    standing="written",
    folder="/p",
    branch="main",
    worktree=None,
    ended=None,
    begun=True,
    files=None,
    findings=(),
):
    of = log(
        session_id=name,
        mission_summary="Write it.",
        metadata={"project": folder, "ended": ended, "begun": begun},
        ground=Ground(branch=branch, worktree=worktree),
        critical_context={"files": files} if files else {},
        key_findings=[*findings],
    )
    return make_candidate(of, path=f"/p/{name}.json", standing=standing, saved_at=AT + timedelta(hours=hours))


def ids(candidates):
    return [each.session_id for each in candidates]


def test_the_nearest_comes_first():
    """Candidates are ordered by whether work has begun, folder, branch, worktree, shared words and age."""
    candidates = [
        candidate("unanswered", hours=10, begun=False, files={"src/limits.py": "named"}),
        candidate("newest", hours=9, folder="/elsewhere"),
        candidate("inside", hours=8, folder="/p/sub"),
        candidate("branch", hours=7, branch="other"),
        candidate("worktree", hours=6, worktree="tree"),
        candidate("old", hours=1),
        candidate("new", hours=2),
        candidate("shares", hours=0, files={"src/limits.py": "changed"}),
    ]
    chosen = rank_candidates(candidates, HERE, "what about limits.py?")
    assert ids(chosen.offered) == [
        "shares",
        "new",
        "old",
        "worktree",
        "branch",
        "inside",
        "newest",
        "unanswered",
    ]


def test_an_untrusted_log_waits():
    """An untrusted log is never offered, however near it is."""
    chosen = rank_candidates(
        [candidate("a", standing="foreign"), candidate("b", standing="trusted", folder=None)], HERE
    )
    assert (ids(chosen.offered), ids(chosen.waiting), ids(chosen.over)) == (["b"], ["a"], [])


@pytest.mark.parametrize("ended", ["cleared", "finished"])
def test_a_finished_or_cleared_session_is_not_offered(ended):
    """Sessions with any other ending are offered."""
    chosen = rank_candidates(
        [candidate("a", ended=ended), candidate("b", ended="closed"), candidate("c", ended=5)], HERE
    )
    assert (ids(chosen.offered), ids(chosen.over)) == (["b", "c"], ["a"])


def test_a_log_without_ground_or_folder_is_still_a_candidate():
    """Unknown facts count neither for nor against a log."""
    bare = make_candidate(log(mission_summary="Write it."), path="x", standing="written", saved_at=AT)
    assert (bare.folder, bare.branch, bare.worktree, bare.is_open) == (
        None,
        None,
        None,
        True,
    )
    assert ids(rank_candidates([bare], HERE).offered) == ["s1"]


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
def test_a_prompt_can_ask_to_continue(prompt):
    """A prompt asks to continue in its first words."""
    assert asks_to_continue(prompt)


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
def test_other_prompts_do_not_ask_to_continue(prompt):
    """The words alone are not enough."""
    assert not asks_to_continue(prompt)
    assert not shared_words(candidate("a"), prompt)


def test_files_and_names_of_the_log_make_it_wanted():
    """Paths and file names, and names that the log writes as code; prose and short words do not count."""
    found = candidate(
        "a",
        files={"src/limits.py": "changed, 2 edits", "a.c": "read 1 time"},
        findings=["The heart of it is `TokenBucket`, and `refill` in `src/deep/bucket.py` calls do_it."],
    )
    assert shared_words(found, "look at ./src/limits.py and `TokenBucket`") == {
        "src/limits.py",
        "TokenBucket",
    }
    assert shared_words(found, "limits.py and bucket.py: refill()") == {"limits.py", "bucket.py", "refill"}
    assert not shared_words(found, "the heart of the bucket in a.c")
    listed = candidate("b", files=["src/x.py"])
    assert shared_words(listed, "why does x.py fail?")
    assert not shared_words(listed._replace(words=frozenset()), "why does x.py fail?")


def test_ordinary_words_count_only_as_code():
    """Functions may be named like ordinary words."""
    found = candidate("a", files={"Makefile": "changed"}, findings=["`move`, `Config`, `build` and `do_it`"])
    assert not shared_words(found, "Please move the Config elsewhere, re-use the build")
    assert shared_words(found, "why does `move` call build()?") == {"move", "build"}
    assert shared_words(found, "do_it in the Makefile") == {"do_it", "Makefile"}


def test_a_log_is_as_old_as_the_last_activity_of_its_session():
    """A log is never newer than its file, and an unreadable time is ignored."""
    for last_activity, hours in (
        ("2026-01-06T10:00:00Z", -2),
        ("2026-01-06T14:00:00Z", 0),
        ("yesterday", 0),
        (5, 0),
    ):
        of = log(session_id="a", metadata={"last_activity": last_activity})
        found = make_candidate(of, path="x", standing="written", saved_at=AT)
        assert found.left_at == AT + timedelta(hours=hours)


def test_an_unread_log_waits():
    """Only the name and age of an unread log are known."""
    found = untrusted_candidate("a", path="/p/a.json", saved_at=AT, why="git pull brought it")
    assert ids(rank_candidates([found, candidate("b")], HERE).waiting) == ["a"]
