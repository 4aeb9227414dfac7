"""What finished calls add: files, commands with their exit codes, commits, subagents."""

import pytest

from leftoff.core.actions import (
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
from leftoff.extraction import State
from tests.extraction.builders import add_call

GOOD = Answer("ok", failed=False)
BAD = Answer("no such file", failed=True)


def file_after(*actions, path: str = "a.py", answer: Answer = GOOD):
    state = State()
    for action in actions:
        add_call(state, action, answer=answer)
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


def test_files_deleted_by_a_shell_command() -> None:
    """A bare name is looked for where the command ran, else in the project; unknown files are ignored."""
    state = State(project="/p")
    for action in (Looked("/p/a.py"), Looked("/q/b.py"), Ran("rm a.py"), Ran("rm b.py c.py", folder="/q")):
        add_call(state, action, answer=GOOD)
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
def test_the_line_range_last_read(reads, seen) -> None:
    """The range is ``None`` for a file that was only read whole."""
    assert file_after(*reads).seen == seen


@pytest.mark.parametrize(
    "action",
    [Looked("a.py"), Changed("a.py", "", "x"), Wrote("a.py", "x"), Removed("a.py"), Moved("a.py", "b")],
)
def test_a_failed_call_does_not_touch_files(action) -> None:
    """A failed call changes nothing in the list of files."""
    assert file_after(action, answer=BAD) is None


@pytest.mark.parametrize("where", [None, "src", "src/*.py", "*.py", "."])
def test_searching_a_folder_reads_no_file(where: str | None) -> None:
    """Only a path that names a single file counts as read."""
    assert add_call(State(), Searched("x", where), answer=GOOD).files == {}


def test_calls_of_a_subagent_count_for_files_only() -> None:
    """The calls, commands and results of a subagent are not the session's own."""
    state = add_call(State(), Changed("a.py", "x", "y"), Ran("make"), answer=GOOD, actor="sub")
    assert state.files["a.py"].edits == 1
    assert (state.calls, state.commands, state.glimpses) == (0, {}, [])


def test_a_command_has_its_exit_code_and_runs() -> None:
    """What the agent does not report is ``None``."""
    state = State()
    add_call(state, Ran(" make test "), answer=Answer("3 passed in 1s", 0, failed=False))
    add_call(state, Ran("make test"), answer=Answer("4 passed in 1s", 0, failed=False))
    command = state.commands["make test"]
    assert (command.runs, command.exit_code, command.failed, command.result) == (
        2,
        0,
        False,
        "4 passed in 1s",
    )
    assert add_call(State(), Ran("x"), answer=Answer("")).commands["x"].failed is None
    assert add_call(State(), Ran("x"), answer=Answer("", 3, failed=False)).commands["x"].failed is True


def test_a_fixed_failure_names_the_files_changed_in_between() -> None:
    """The fix stays known after further successful runs."""
    state = State()
    add_call(state, Changed("old.py", "", "x"), answer=GOOD)
    add_call(state, Ran("make test"), answer=Answer("E   AssertionError: 1 != 2\n1 failed", 1, failed=True))
    assert state.commands["make test"].failure == "E   AssertionError: 1 != 2"
    add_call(state, Changed("a.py", "x", "y"), answer=GOOD)
    for _ in range(2):
        add_call(state, Ran("make test"), answer=Answer("1 passed", 0, failed=False))
        command = state.commands["make test"]
        assert command.failure == ""
        assert command.failed_before == "E   AssertionError: 1 != 2"
        assert command.fixed_by == ("a.py",)
    assert state.errors == 1


def test_only_changes_after_the_failure_can_be_the_fix() -> None:
    """Files that were changed before it failed do not count."""
    state = add_call(State(), Changed("old.py", "", "x"), answer=GOOD)
    add_call(state, Ran("make"), answer=Answer("error: x", 1, failed=True))
    add_call(state, Changed("a.py", "x", "y"), answer=GOOD)
    add_call(state, Ran("make"), answer=Answer("ok", 0, failed=False))
    assert state.commands["make"].fixed_by == ("a.py",)


@pytest.mark.parametrize(
    ("output", "branch", "sha"),
    [
        ("[main 1a2b3c4] Add the index\n 1 file changed", "main", "1a2b3c4"),
        ("[work/7 (root-commit) 1a2b3c4d] Add the index", "work/7", "1a2b3c4d"),
        ("[detached HEAD 1a2b3c4] Add the index", "", "1a2b3c4"),
    ],
)
def test_a_commit_has_its_branch(output: str, branch: str, sha: str) -> None:
    """The branch is read from what git prints."""
    state = add_call(State(), Ran("git commit -m x"), answer=Answer(output, 0, failed=False))
    (commit,) = state.commits
    assert (state.branch, commit.sha, commit.subject) == (branch, sha, "Add the index")


def test_only_a_command_that_commits_makes_a_commit() -> None:
    """A failed commit, or another command that prints such a line, makes none."""
    line = "[main 1a2b3c4] Add the index"
    assert not add_call(State(), Ran("cat notes"), answer=Answer(line, 0, failed=False)).commits
    assert not add_call(State(), Ran("git commit"), answer=Answer(line, 1, failed=True)).commits


def test_a_delegation_has_task_and_answer() -> None:
    state = State()
    add_call(state, Delegated("Count", "Count the files", "Explore"), answer=Answer("There are 7."))
    add_call(state, Delegated("", "Count the lines of everything", "Explore"), answer=Answer("Many."))
    add_call(state, Delegated("Look", "Look around", None), answer=Answer("Seen."))
    assert state.agents == ["Explore"]
    assert [(each.task, each.to, each.answer) for each in state.delegations] == [
        ("Count", "Explore", "There are 7."),
        ("Count the lines of everything", "Explore", "Many."),
        ("Look", "", "Seen."),
    ]


@pytest.mark.parametrize(
    ("action", "path", "call_text", "answer"),
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
def test_a_recent_text_has_request_and_answer(action, path: str, call_text: str, answer: str) -> None:
    """Names are searched in recent texts when a log is written."""
    (recent_text,) = add_call(State(), action, answer=GOOD).glimpses
    assert (recent_text.kind, recent_text.path, recent_text.asked, recent_text.answer) == (
        type(action).__name__,
        path,
        call_text,
        answer,
    )


@pytest.mark.parametrize("action", [Planned(()), Removed("a.py"), Moved("a.py", "b.py")])
def test_calls_without_text_leave_no_recent_text(action) -> None:
    """A to-do list has its own section."""
    assert add_call(State(), action, answer=GOOD).glimpses == []


def test_older_recent_texts_are_cut_short() -> None:
    """The newest sixty are kept in full, short ones are not cut."""
    state = add_call(State(), Ran("first"), answer=Answer("x " * 15_000))
    add_call(state, Ran("second"), answer=Answer("short"))
    for number in range(61):
        add_call(state, Ran(f"make {number}"), answer=Answer("y " * 15_000))
    assert [len(recent.answer) for recent in state.glimpses[:4]] == [7_999, 5, 7_999, 30_000]
