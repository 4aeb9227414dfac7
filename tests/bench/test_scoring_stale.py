"""Items that show as current what was over before the cut."""

import pytest

from bench.mentions import files_before
from bench.scoring import Item, find_outdated, items, stale
from bench.session_cuts import cut_at_compactions
from leftoff.agents import claude, codex
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript


def ran(command: str, answer: str = "ok", *, failed: bool = False):
    return call("shell", {"command": command}, answer, failed=failed)


ERROR = "TypeError: login_user() cannot take 2 arguments"


@pytest.fixture
def judged(tmp_path):
    """Tells why each bullet of a document is stale after these calls; None for those that are not."""

    def judge(calls, *bullets: str, agent=claude, section: str = "Key Findings") -> list[str | None]:
        story = Story().asked("Go")
        for each in calls:
            story.replied("", each)
        path = tmp_path / "session.jsonl"
        write_transcript(agent.here(), story.compacted("Gone.").script(), path)
        (cut,) = cut_at_compactions(path, tmp_path / "scratch")
        document = f"## {section}\n\n" + "".join(f"- {bullet}\n" for bullet in bullets)
        why = {each.item: each.why for each in stale(items(document), find_outdated(cut), files_before(cut))}
        return [why.get(bullet) for bullet in bullets]

    return judge


def test_bullets_belong_to_their_heading_and_keep_their_further_lines():
    document = "# T\n\n## Mission\n\nWords.\n\n## Next Steps\n\n- one\n  goes on\n2. two\n\nNo item.\n\n## Other\n\n- three\n"
    assert items(document) == [
        Item(section="Next Steps", text="one goes on"),
        Item(section="Next Steps", text="two"),
        Item(section="Other", text="three"),
    ]


@pytest.mark.parametrize(
    "command", ["rm src/old.py", "rm -f ./src/old.py", "git rm src/old.py", "make && rm src/old.py; ls"]
)
def test_a_deleted_file_named_as_existing_is_stale(judged, command):
    """A deleted file is not stale if the item says that it is gone."""
    found = judged([ran(command)], "src/old.py: read", "Deleted src/old.py", "src/new.py: read")
    assert found == ["deleted file", None, None]


def test_a_patch_deletes_as_well(judged):
    """A patch that deletes a file counts like ``rm``."""
    patch = "*** Begin Patch\n*** Delete File: src/old.py\n*** End Patch"
    assert judged([ran(f"apply_patch <<'X'\n{patch}\nX")], "src/old.py: read", agent=codex) == [
        "deleted file"
    ]


@pytest.mark.parametrize(
    "calls",
    [
        [ran("rm src/old.py"), call("write", {"path": "src/old.py", "content": "x"})],
        [ran("rm src/old.py"), ran("git checkout -- src/old.py")],
        [ran("rm src/old.py", "rm: no permission", failed=True)],
        [ran("git rm --cached src/old.py")],
        [ran("rm src/*.py")],
        [ran("echo 'rm src/old.py")],
    ],
)
def test_a_file_that_is_there_again_or_still_is_not_stale(judged, calls):
    """A file that was written again, restored or never removed is not stale."""
    assert judged(calls, "src/old.py: changed") == [None]


def test_a_deleted_file_in_a_quote_of_the_user_is_not_stale(judged):
    """A quote of the user says nothing about the present state."""
    assert judged([ran("rm src/old.py")], "“why is src/old.py there?”") == [None]


def test_an_error_whose_command_passed_later_is_stale_unless_called_fixed(judged):
    """A later success of the same command settles the error, however its output was cut."""
    calls = [ran("pytest -q 2>&1 | tail -5", f"src/a.py:3: {ERROR}", failed=True), ran("pytest -q")]
    found = judged(calls, f"pytest says {ERROR}", f"Fixed: {ERROR}", "another TypeError")
    assert found == ["mended error", None, None]


def test_an_error_that_persists_is_not_stale(judged):
    """No later success of the same command, or the same text in a later failure."""
    failing = ran("pytest -q", ERROR, failed=True)
    assert judged([failing, ran("pytest tests/a.py")], f"says {ERROR}") == [None]


def test_an_error_that_came_back_is_not_stale(judged):
    """The error was fixed once but occurs again at the end."""
    failing = ran("pytest -q", ERROR, failed=True)
    assert judged([failing, ran("pytest -q"), failing], f"says {ERROR}") == [None]


def todo(**status: str):
    return call(
        "todo",
        {"items": [{"text": text.replace("_", " "), "status": state} for text, state in status.items()]},
    )


@pytest.mark.parametrize("agent", [claude, codex])
def test_finished_work_among_the_next_steps_is_stale(judged, agent):
    """Only open work belongs in the next steps."""
    calls = [
        todo(Write_the_docs="in_progress", Ship_it="pending"),
        todo(Write_the_docs="completed", Ship_it="pending"),
    ]
    steps = ("To do: Write the docs.", "To do: Ship it")
    assert judged(calls, *steps, agent=agent, section="Next Steps") == ["finished work as next step", None]


def test_finished_work_among_the_accomplishments_is_not_stale(judged):
    """Accomplishments are where finished work belongs."""
    assert judged([todo(Write_the_docs="completed")], "Done: Write the docs", section="Accomplishments") == [
        None
    ]


def test_tasks_with_numbers_are_tracked(judged):
    """Tasks are created by subject and completed by number."""
    calls = [
        call(
            "TaskCreate", {"subject": "Write the docs", "description": "all"}, "Task #1 created successfully"
        ),
        call("TaskCreate", {"subject": "Ship it", "description": "all"}, "Task #2 created successfully"),
        call("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status"),
        call("TaskUpdate", {"taskId": "9", "status": "completed"}, "no such task"),
    ]
    assert judged(calls, "Write the docs", "Ship it", section="Next Steps") == [
        "finished work as next step",
        None,
    ]
