"""What finished calls add: files and why they were changed, commits, background jobs, reports, documents."""

from pathlib import Path

import pytest

from leftoff.core.actions import (
    Answer,
    Changed,
    Delegated,
    FinishedJob,
    Looked,
    Moved,
    Other,
    Ran,
    Removed,
    Searched,
    Wrote,
)
from leftoff.core.records import Record, RecordKind
from leftoff.extraction import State, render, step
from leftoff.testing.builders import Story, call
from leftoff.testing.plain_agent import PlainAgent
from tests.extraction.builders import add_call, record, session_state_of

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


def test_files_moved_by_a_shell_command() -> None:
    """To another name, or into a folder; unknown files are ignored."""
    state = State(project="/p")
    for action in (
        Looked("/p/a.py"),
        Looked("/q/b.py"),
        Looked("/p/e.py"),
        Ran("mv /p/e.py /p/f.py"),
        Ran("git mv a.py lib/c.py && mv -f other.py d.py"),
        Ran("mv b.py old/", folder="/q"),
    ):
        add_call(state, action, answer=GOOD)
    assert {path: (file.last, file.moved_to) for path, file in state.files.items()} == {
        "/p/e.py": ("moved", "/p/f.py"),
        "/p/f.py": ("changed", ""),
        "/p/a.py": ("moved", "/p/lib/c.py"),
        "/p/lib/c.py": ("changed", ""),
        "/q/b.py": ("moved", "/q/old/b.py"),
        "/q/old/b.py": ("changed", ""),
    }


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
    assert (state.calls, state.commands, state.passages) == (0, {}, [])


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
    """Another command that prints such a line makes none; one that failed after the commit does."""
    line = "[main 1a2b3c4] Add the index"
    assert not add_call(State(), Ran("cat notes"), answer=Answer(line, 0, failed=False)).commits
    assert not add_call(State(), Ran("git commit -qm x"), answer=Answer("", 1, failed=True)).commits
    both = Ran("git commit -m x && git push")
    output = f"exit code: 128, stdout: {line}\n 3 files changed\nstderr: ssh: Could not resolve hostname"
    state = add_call(State(), both, answer=Answer(output, 128, failed=True))
    assert [(commit.sha, commit.subject) for commit in state.commits] == [("1a2b3c4", "Add the index")]
    assert state.pushed_at == -1


HEREDOC = """git commit -F - <<'EOF'
Add the index

Lookups took 40 ms without it.
It is built when the store is opened.

Co-Authored-By: Agent <agent@example.com>
EOF"""


@pytest.mark.parametrize(
    ("command", "body"),
    [
        (HEREDOC, "Lookups took 40 ms without it.\nIt is built when the store is opened."),
        ("git commit -m 'Add the index\n\nLookups took 40 ms.'", "Lookups took 40 ms."),
        ('git commit -am "Add the index"', ""),
        ("git commit -m 'Another subject\n\nOf another commit.'", ""),
    ],
)
def test_a_commit_has_the_body_of_its_message(command: str, body: str) -> None:
    """Without trailers, and only if the message is the one that git shows."""
    answer = Answer("[main 1a2b3c4] Add the index", 0, failed=False)
    (commit,) = add_call(State(), Ran(command), answer=answer).commits
    assert commit.body == body


def test_a_quiet_commit_counts_although_it_prints_nothing() -> None:
    message = "git add -A && git commit -q -F - <<'EOF'\nfix: round totals\n\nPer file, not per row.\nEOF"
    state = add_call(State(), Wrote("/p/a.py", "x"), answer=Answer("", failed=False))
    add_call(state, Ran(message), answer=Answer("", 0, failed=False))
    assert [(each.sha, each.subject, each.body) for each in state.commits] == [
        ("", "fix: round totals", "Per file, not per row.")
    ]
    assert (
        "Nothing was changed after commit “fix: round totals”" in render(state)["critical_context"]["state"]
    )
    loud = add_call(
        State(), Ran("git commit -m 'fix: x'"), answer=Answer("nothing to commit", 1, failed=True)
    )
    assert loud.commits == []


def test_several_quiet_commits_of_one_call_all_count() -> None:
    state = add_call(
        State(), Ran("git commit -qm 'One'; git commit -qm 'Two'"), answer=Answer("", 0, failed=False)
    )
    assert [each.subject for each in state.commits] == ["One", "Two"]


def test_that_no_commit_was_seen_is_only_said_of_git() -> None:
    """And only where the agent itself names none."""
    state = add_call(State(), Wrote("/p/a.py", "x"), answer=Answer("", failed=False))
    assert render(state)["critical_context"]["state"] == [
        "Changed: `/p/a.py`; no commit was seen in this session"
    ]
    add_call(state, Ran("jj describe -m 'Add a'"), answer=Answer("", 0, failed=False))
    assert render(state)["critical_context"]["state"] == ["Changed: `/p/a.py`"]
    story = Story(project="/p").asked("Go").replied("", call("write", {"path": "/p/a.py", "content": "x"}))
    (told,) = session_state_of(story.replied("Commit: 708128ee, PR 1532"))["critical_context"]["state"]
    assert told == "Changed: `a.py`"


def test_a_job_whose_answer_says_how_it_ended_counts_as_a_command() -> None:
    state = add_call(State(), Ran("make test"), answer=Answer("", job_id="7"))
    add_call(state, Other("poll", ""), answer=Answer("12 passed in 3s", ended_jobs=("7",)))
    assert [(each.text, each.outcome, each.said) for each in state.commands.values()] == [
        ("make test", "passed", "12 passed in 3s")
    ]


def test_a_search_that_finds_nothing_has_not_failed() -> None:
    state = add_call(State(), Ran("rg 'api key' docs"), answer=Answer("", 1, failed=True))
    assert [each.outcome for each in state.commands.values()] == ["unknown"]


def test_what_is_in_progress_for_many_files_explains_none_of_them() -> None:
    todo = call("todo", {"items": [{"text": "Review all of the code", "status": "in_progress"}]})
    story = Story(project="/p").asked("Go").replied("", todo)
    story.replied("", *(call("write", {"path": f"/p/{n}.py", "content": "x"}) for n in range(5)))
    files = session_state_of(story)["critical_context"]["files"]
    assert sum("Review all of the code" in text for text in files.values()) == 3


def test_a_push_counts_for_the_commits_before_it() -> None:
    state = State()
    for command, output in (
        ("git commit -m 'Add it'", "[main 1a2b3c4] Add it"),
        ("git push origin main", "main -> main"),
    ):
        add_call(state, Ran(command), answer=Answer(output, 0, failed=False))
    assert (
        "Committed in this session: `1a2b3c4` (“Add it”); pushed"
        in render(state)["critical_context"]["state"]
    )
    add_call(state, Ran("git commit -m 'More'"), answer=Answer("[main 2a2b3c4] More", 0, failed=False))
    assert (
        "Committed in this session: `1a2b3c4` (“Add it”), `2a2b3c4` (“More”); the last was not pushed in this session"
        in (render(state)["critical_context"]["state"])
    )


def test_an_amended_commit_takes_the_place_of_the_one_before() -> None:
    state = State()
    for command, output in (
        ("git commit -m 'Add it'", "[main 1a2b3c4] Add it"),
        ("git commit --amend -m 'Add all of it'", "[main 2a2b3c4] Add all of it"),
    ):
        add_call(state, Ran(command), answer=Answer(output, 0, failed=False))
    assert [(each.sha, each.subject) for each in state.commits] == [("2a2b3c4", "Add all of it")]


def test_of_many_commits_the_last_are_named() -> None:
    state = State()
    for number in range(7):
        answer = Answer(f"[main {number}a2b3c4] Part {number}", 0, failed=False)
        add_call(state, Ran(f"git commit -m 'Part {number}'"), answer=answer)
    told = render(state)["critical_context"]["state"][-1]
    assert told.startswith("Committed in this session: 2 more, `2a2b3c4` (“Part 2”), ")


def edit(path: str = "/p/a.py"):
    return call("edit", {"path": path, "old": "x", "new": "y"})


def test_a_changed_file_says_why() -> None:
    """What the agent announced just before, else the to-do in progress; the last two, each once."""
    story = Story(project="/p").asked("Write an importer")
    story.replied("Rows are read one by one:", edit()).replied("", edit())
    story.replied("Fine. Now I skip empty rows in a.py.", edit())
    assert session_state_of(story)["critical_context"]["files"]["a.py"] == (
        "changed, 3 edits: Rows are read one by one; Now I skip empty rows in a.py."
    )
    todo = call("todo", {"items": [{"text": "Write the parser", "status": "in_progress"}]})
    planned = Story(project="/p").asked("Write an importer").replied("", todo).replied("", edit())
    assert session_state_of(planned)["critical_context"]["files"]["a.py"] == (
        "changed, 1 edit: Write the parser"
    )


def test_what_was_said_of_another_file_is_no_reason() -> None:
    story = Story(project="/p").asked("Go").replied("Now update the conversion in b.py:", edit())
    assert session_state_of(story)["critical_context"]["files"]["a.py"] == "changed, 1 edit"
    story = Story(project="/p").asked("Go").replied("Now update the conversion in a.py:", edit())
    assert session_state_of(story)["critical_context"]["files"]["a.py"].startswith("changed, 1 edit: ")


def test_what_was_said_long_ago_or_in_another_turn_is_no_reason() -> None:
    look = call("read", {"path": "/p/b.py"}, "x")
    other = Story(project="/p").asked("Look").replied("I look around.").asked("Go").replied("", edit())
    late = Story(project="/p").asked("Go").replied("I look around.", *[look] * 10).replied("", edit())
    for story in (other, late):
        assert session_state_of(story)["critical_context"]["files"]["a.py"] == "changed, 1 edit"


def test_a_background_job_is_open_until_it_ends() -> None:
    """It counts as a command once its exit code is known; a job that was stopped is only forgotten."""
    state = add_call(State(), Ran("npm run dev"), answer=Answer("", job_id="b1"))
    add_call(state, Ran("make test-all"), answer=Answer("", job_id="b2"))
    assert state.commands == {}
    assert [step for step in render(state)["next_steps"] if step.startswith("Running")] == [
        "Running in the background when last seen: `npm run dev`",
        "Running in the background when last seen: `make test-all`",
    ]
    add_call(state, Other("wait", ""), answer=Answer("FAILED test_x", 1, failed=True, ended_jobs=("b2",)))
    add_call(state, Other("stop", ""), answer=Answer("stopped", ended_jobs=("b1", "unknown")))
    assert state.jobs == {}
    assert [(each.text, each.outcome) for each in state.commands.values()] == [("make test-all", "failed")]


class Reporting(PlainAgent):
    """A client that reports the end of background jobs in later records."""

    def finished_jobs(self, record: Record) -> tuple[FinishedJob, ...]:
        job_id, _, report = record.text.partition("=")
        return (FinishedJob(job_id, report),)


@pytest.mark.parametrize("kind", [RecordKind.PROMPT, RecordKind.CONTEXT, RecordKind.SIDE])
def test_a_later_record_may_end_a_job_and_bring_its_report(kind: RecordKind) -> None:
    agent = Reporting(home=Path("/nowhere"))
    state = add_call(State(), Delegated("Count", "Count all"), answer=Answer("launched", job_id="a1"))
    assert state.passages == []
    add_call(state, Ran("make serve"), answer=Answer("", job_id="b1"))
    reports = ("b1=Slept.", "c9=Of nobody.", "a1=There are 7.", "a1=There are 7.")
    records = [record(kind, report, line=number) for number, report in enumerate(reports, 5)]
    assert [(each.kind, each.about, each.text) for each in step(state, records, agent).passages] == [
        ("report", "make serve", "Slept."),
        ("report", "Count", "There are 7."),
    ]


def test_a_subagents_report_is_kept_with_its_task() -> None:
    state = State()
    add_call(state, Delegated("Count", "Count the files", "Explore"), answer=Answer("There are 7."))
    add_call(state, Delegated("", "Count the lines of it", "Explore"), answer=Answer("Many."))
    assert state.agents == ["Explore"]
    assert [(each.kind, each.about, each.text) for each in state.passages] == [
        ("report", "Count", "There are 7."),
        ("report", "Count the lines of it", "Many."),
    ]


def test_a_subagent_that_failed_reported_nothing() -> None:
    state = State()
    add_call(state, Delegated("Count", "", "Explore"), answer=Answer("prompt is missing", failed=True))
    assert not state.passages


def test_an_edit_that_removes_much_still_shows_what_it_adds() -> None:
    old = "\n".join(f"old_{number} = {number}" for number in range(400))
    state = add_call(State(), Changed("/p/a.py", old, "new = everything"), answer=Answer("ok"))
    (edit,) = state.passages
    assert edit.text.startswith("```diff\n-old_0 = 0\n")
    assert edit.text.endswith("\n+new = everything\n```")


def test_prose_that_was_written_is_kept_and_code_as_what_changed() -> None:
    """A failed or refused call wrote nothing."""
    state = State()
    add_call(state, Wrote("HANDOFF.md", "What is left: the docs."), answer=GOOD)
    add_call(state, Changed("NOTES.md", "old", "The cache is per worker."), answer=GOOD)
    add_call(state, Changed("a.py", "a = 1\nb = 2\nc = 3", "a = 1\nb = 7\nc = 3"), answer=GOOD)
    add_call(state, Wrote("b.py", "x = 1"), answer=GOOD)
    add_call(state, Wrote("LOST.md", "Never written."), answer=BAD)
    add_call(state, Wrote("NO.md", "No."), answer=Answer("no", failed=True, refused=True))
    assert [(each.kind, each.about, each.text) for each in state.passages] == [
        ("note", "HANDOFF.md", "What is left: the docs."),
        ("note", "NOTES.md", "The cache is per worker."),
        ("edit", "a.py", "```diff\n-b = 2\n+b = 7\n```"),
    ]


def test_a_document_written_again_replaces_what_was_kept_of_it() -> None:
    """Short notes are additions and stay."""
    state = State()
    for text in ("First plan. " * 100, "Second plan. " * 100, "A line.", "Another line."):
        add_call(state, Wrote("PLAN.md", text), answer=GOOD)
    assert [each.text[:12] for each in state.passages] == ["Second plan.", "A line.", "Another line"]


def test_output_is_told_until_the_agent_comments_it() -> None:
    """Of long output the end; of a check, its result is told elsewhere."""
    said = "3 workers share 1 connection; the pool is 5"
    story = (
        Story()
        .asked("Why is it slow?")
        .replied("", call("shell", {"command": "node stats.js"}, f"{'x ' * 2_000}\n{said}"))
    )
    (told,) = session_state_of(story)["key_findings"]
    assert told.startswith("`node stats.js` printed:")
    assert told.endswith(said)
    assert not session_state_of(story.replied("The pool is larger than what it is given."))["key_findings"]


def test_only_the_last_outputs_are_kept() -> None:
    state = State()
    for number in range(9):
        add_call(
            state,
            Ran(f"node {number}.js"),
            answer=Answer(f"{number} workers share one connection to the store", 0),
        )
    assert [each.about for each in state.passages] == ["node 6.js", "node 7.js", "node 8.js"]
    assert (
        add_call(
            State(), Ran("pytest -q"), answer=Answer("12 passed in 0.31s, and some more words", 0)
        ).passages
        == []
    )
