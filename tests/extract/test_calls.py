"""What finished calls add: files with the last thing done to them, commands with their end, commits, subagents."""

import pytest

from leftoff.extract import State
from leftoff.model.actions import (
    Answer,
    Changed,
    Delegated,
    Fetched,
    Looked,
    Moved,
    Other,
    Planned,
    Proposed,
    Questioned,
    Ran,
    Removed,
    Searched,
    Wrote,
)
from tests.extract.making import noted

GOOD = Answer("ok", failed=False)
BAD = Answer("no such file", failed=True)


def file_after(*actions, path: str = "a.py", answer: Answer = GOOD):
    state = State()
    for action in actions:
        noted(state, action, answer=answer)
    return state.files.get(path)


@pytest.mark.parametrize(
    ("actions", "last"),
    [
        ([Looked("a.py")], "read"),
        ([Searched("x", "a.py")], "searched"),
        ([Wrote("a.py", "x")], "created"),
        ([Looked("a.py"), Wrote("a.py", "x")], "changed"),
        ([Wrote("a.py", "x"), Wrote("a.py", "y")], "created"),
        ([Looked("a.py"), Removed("a.py"), Wrote("a.py", "x")], "created"),
        ([Looked("a.py"), Changed("a.py", "x", "y")], "changed"),
        ([Wrote("a.py", "x"), Removed("a.py")], "deleted"),
        ([Wrote("a.py", "x"), Moved("a.py", "b.py")], "moved"),
        ([Moved("b.py", "a.py")], "changed"),
        ([Looked("a.py"), Ran("git rm -f a.py && ls")], "deleted"),
        ([Looked("a.py"), Ran("rm other.py")], "read"),
    ],
)
def test_the_last_thing_done_to_a_file(actions, last: str) -> None:
    """Read, searched, created, changed, deleted or moved."""
    assert file_after(*actions).last == last


def test_a_shell_deletes_files_of_its_own_folder() -> None:
    """A bare name is looked for where the command ran, else in the project; a file nobody saw needs no word."""
    state = State(project="/p")
    for action in (Looked("/p/a.py"), Looked("/q/b.py"), Ran("rm a.py"), Ran("rm b.py c.py", folder="/q")):
        noted(state, action, answer=GOOD)
    assert {path: file.last for path, file in state.files.items()} == {
        "/p/a.py": "deleted",
        "/q/b.py": "deleted",
    }


@pytest.mark.parametrize(
    ("reads", "seen"),
    [
        ([Looked("a.py")], None),
        ([Looked("a.py", 10, 20)], (10, 20)),
        ([Looked("a.py", 10)], (10, 0)),
        ([Looked("a.py", None, 20)], (1, 20)),
        ([Looked("a.py", 10, 20), Looked("a.py", 30, 40)], (30, 40)),
        ([Looked("a.py", 10, 20), Looked("a.py")], (1, 0)),
    ],
)
def test_the_range_last_seen(reads, seen) -> None:
    """None for a file that was only ever read whole."""
    assert file_after(*reads).seen == seen


@pytest.mark.parametrize(
    "action",
    [Looked("a.py"), Changed("a.py", "", "x"), Wrote("a.py", "x"), Removed("a.py"), Moved("a.py", "b")],
)
def test_a_call_that_failed_did_nothing_to_a_file(action) -> None:
    """What did not happen is not told."""
    assert file_after(action, answer=BAD) is None


@pytest.mark.parametrize("where", [None, "src", "src/*.py", "*.py", "."])
def test_a_search_of_a_folder_is_no_look_at_a_file(where: str | None) -> None:
    """Only a path that is a file's."""
    assert noted(State(), Searched("x", where), answer=GOOD).files == {}


def test_a_subagents_work_counts_for_files_alone() -> None:
    """Its calls, commands and verdicts are not the session's."""
    state = noted(State(), Changed("a.py", "x", "y"), Ran("make"), answer=GOOD, actor="sub")
    assert state.files["a.py"].edits == 1
    assert (state.calls, state.commands, state.glimpses) == (0, {}, [])


def test_a_command_has_its_end_and_its_runs() -> None:
    """As the agent says it, or not known."""
    state = State()
    noted(state, Ran(" make test "), answer=Answer("3 passed in 1s", 0, failed=False))
    noted(state, Ran("make test"), answer=Answer("4 passed in 1s", 0, failed=False))
    command = state.commands["make test"]
    assert (command.runs, command.exit_code, command.failed, command.result) == (
        2,
        0,
        False,
        "4 passed in 1s",
    )
    assert noted(State(), Ran("x"), answer=Answer("")).commands["x"].failed is None
    assert noted(State(), Ran("x"), answer=Answer("", 3, failed=False)).commands["x"].failed is True


def test_a_failure_that_was_cured_names_the_files_changed_in_between() -> None:
    """And stays told through further good runs."""
    state = State()
    noted(state, Changed("old.py", "", "x"), answer=GOOD)
    noted(state, Ran("make test"), answer=Answer("E   AssertionError: 1 != 2\n1 failed", 1, failed=True))
    assert state.commands["make test"].failure == "E   AssertionError: 1 != 2"
    noted(state, Changed("a.py", "x", "y"), answer=GOOD)
    for _ in range(2):
        noted(state, Ran("make test"), answer=Answer("1 passed", 0, failed=False))
        command = state.commands["make test"]
        assert command.failure == ""
        assert command.failed_before == "E   AssertionError: 1 != 2"
        assert command.cured_by == ("a.py",)
    assert state.errors == 1


def test_what_cured_it_is_what_was_changed_since() -> None:
    """Nothing that was changed before it failed."""
    state = noted(State(), Changed("old.py", "", "x"), answer=GOOD)
    noted(state, Ran("make"), answer=Answer("error: x", 1, failed=True))
    noted(state, Changed("a.py", "x", "y"), answer=GOOD)
    noted(state, Ran("make"), answer=Answer("ok", 0, failed=False))
    assert state.commands["make"].cured_by == ("a.py",)


@pytest.mark.parametrize(
    ("output", "branch", "sha"),
    [
        ("[main 1a2b3c4] Add the index\n 1 file changed", "main", "1a2b3c4"),
        ("[work/7 (root-commit) 1a2b3c4d] Add the index", "work/7", "1a2b3c4d"),
        ("[detached HEAD 1a2b3c4] Add the index", "", "1a2b3c4"),
    ],
)
def test_a_commit_is_told_with_its_branch(output: str, branch: str, sha: str) -> None:
    """As git prints it."""
    state = noted(State(), Ran("git commit -m x"), answer=Answer(output, 0, failed=False))
    (commit,) = state.commits
    assert (state.branch, commit.sha, commit.subject) == (branch, sha, "Add the index")


def test_only_a_command_that_commits_makes_a_commit() -> None:
    """Not one that failed, nor one that prints such a line."""
    line = "[main 1a2b3c4] Add the index"
    assert not noted(State(), Ran("cat notes"), answer=Answer(line, 0, failed=False)).commits
    assert not noted(State(), Ran("git commit"), answer=Answer(line, 1, failed=True)).commits


def test_a_subagent_is_told_with_task_and_answer() -> None:
    """Each kind of agent once in the list of those used."""
    state = State()
    noted(state, Delegated("Count", "Count the files", "Explore"), answer=Answer("There are 7."))
    noted(state, Delegated("", "Count the lines of everything", "Explore"), answer=Answer("Many."))
    noted(state, Delegated("Look", "Look around", None), answer=Answer("Seen."))
    assert state.agents == ["Explore"]
    assert [(each.task, each.to, each.answer) for each in state.delegations] == [
        ("Count", "Explore", "There are 7."),
        ("Count the lines of everything", "Explore", "Many."),
        ("Look", "", "Seen."),
    ]


@pytest.mark.parametrize(
    ("action", "path", "asked", "answer"),
    [
        (Changed("a.py", "old", "new"), "a.py", "new\nold", ""),
        (Wrote("a.py", "text"), "a.py", "text", ""),
        (Looked("a.py"), "a.py", "", "ok"),
        (Searched("what", "src"), "src", "what", "ok"),
        (Searched("what"), "", "what", "ok"),
        (Ran("make"), "", "make", "ok"),
        (Delegated("t", "prompt"), "", "prompt", "ok"),
        (Fetched("https://x"), "", "https://x", ""),
        (Other("odd", "words"), "", "odd words", ""),
        (Proposed("plan"), "", "plan", ""),
        (Questioned(("a?", "b?")), "", "a?\nb?", ""),
    ],
)
def test_a_glimpse_holds_what_was_asked_and_seen(action, path: str, asked: str, answer: str) -> None:
    """To look for the names in it when a log is made."""
    (glimpse,) = noted(State(), action, answer=GOOD).glimpses
    assert (glimpse.kind, glimpse.path, glimpse.asked, glimpse.answer) == (
        type(action).__name__,
        path,
        asked,
        answer,
    )


@pytest.mark.parametrize("action", [Planned(()), Removed("a.py"), Moved("a.py", "b.py")])
def test_what_has_no_words_leaves_no_glimpse(action) -> None:
    """A list of things to do is told for itself."""
    assert noted(State(), action, answer=GOOD).glimpses == []


def test_older_glimpses_are_cut_short() -> None:
    """The newest sixty are kept in full, short ones are left alone."""
    state = noted(State(), Ran("first"), answer=Answer("x " * 15_000))
    noted(state, Ran("second"), answer=Answer("short"))
    for number in range(61):
        noted(state, Ran(f"make {number}"), answer=Answer("y " * 15_000))
    assert [len(glimpse.answer) for glimpse in state.glimpses[:4]] == [7_999, 5, 7_999, 30_000]
