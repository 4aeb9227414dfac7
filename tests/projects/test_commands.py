"""A whole project life: research, planning, execution over three sections and four sessions with two compactions, complete."""

from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.errors import NothingToDoError
from leftoff.platform import clock
from leftoff.projects import body, find_project
from leftoff.projects.commands import close, complete, complete_section, init, save
from leftoff.projects.find_project import load_projects
from leftoff.projects.history import session_work
from leftoff.projects.loader import load_project
from leftoff.projects.progress import UserInput
from leftoff.projects.project_state import Planning
from leftoff.projects.update import update_state
from leftoff.shrink.derive import copy_to_folder
from leftoff.testing.builders import Story, call
from leftoff.workspace import SessionRef, Workspace

STEPS = """# Steps

## Section 1: Setup

- [ ] make the folder
- [ ] write the config

## Section 2: Implementation

- [ ] parse
- [ ] score
  - [ ] weigh
- [-] draw pictures

## Section 3: Release

- [ ] tag
"""
IDS = [f"0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b{number}" for number in (11, 12, 13, 14)]


@pytest.fixture
def workspace():
    return Workspace.open()


def state_of(workspace):
    return find_project.load_state(load_projects(workspace).find("1")).state


def text_of(workspace):
    return load_projects(workspace).find("1").state.read_text(encoding="utf-8")


def session(home, number, *, compactions=0):
    """The transcript of a session that worked on the project."""
    story = Story(session_id=IDS[number], project=str(Path.cwd()), model="claude-sonnet-4-5")
    story.asked("Go on with 02-projects/01-skills").replied(
        "I decided to use SQLite because nothing has to be started.",
        call("shell", {"command": f"touch 02-projects/01-skills/03-working/part{number}.py"}, "ok"),
        used=40_000 + number,
    )
    for _ in range(compactions):
        story.compacted("It was about skills.", after=20_000)
        story.asked("On.").replied("Going on.", used=30_000)
    return home.claude(story)


def record_turn(workspace, transcript, **numbers):
    """Update the state as the hooks do at the end of a turn."""
    here = load_projects(workspace)
    project = here.find("1")
    worked = session_work(
        SessionRef(agent=claude.here(), transcript=transcript), project, workspace, **numbers
    )
    return update_state(here, project, clock.now(), work=worked).document.state


def test_the_compactions_of_a_copy_count_once(home, workspace):
    """A copy repeats those of the session that it was made from; one of its own counts."""
    init("Skills", workspace)
    original = session(home, 0, compactions=1)
    assert record_turn(workspace, original).metadata.compaction_count == 1
    ref = SessionRef(agent=claude.here(), transcript=original)
    copy = copy_to_folder(ref, Path.cwd(), Workspace.open()).output_file
    assert record_turn(workspace, copy).metadata.compaction_count == 1
    lines = original.read_text("utf-8").splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if '"compact_boundary"' in line)
    with copy.open("a", encoding="utf-8") as file:
        file.writelines(lines[1 : at + 2])
    assert record_turn(workspace, copy).metadata.compaction_count == 2


@pytest.mark.slow
def test_a_whole_project_life(home, workspace):
    """The state is right after each step, and a state saved twice is byte-identical."""
    project = init("Skills", workspace)
    assert project.id == "01-skills"
    state = state_of(workspace)
    assert (state.project.project_status, state.location.current_phase) == ("RESEARCH", "research")
    assert state.planning == Planning(research=False, overview=False, plan=False, steps=False)
    assert state.next_action == "Do the research and write down what was found"
    assert load_project("skills", workspace).action == "continue_working"

    # Research is written, so the phase advances automatically.
    project.part("research").write_text(
        "# Research\n\n" + "We found three dependencies. " * 4, encoding="utf-8"
    )
    state = save("1", workspace).document.state
    assert (state.project.project_status, state.location.current_phase) == ("PLANNING", "planning")
    assert (state.planning.research, state.location.current_workflow_step) == (True, 2)
    assert state.next_action.startswith("Write the overview")

    # Planning flags, one by a command and the others by what is written.
    project.part("plan").write_text(
        "# Plan\n\n" + "First principles, then a pre-mortem. " * 3, encoding="utf-8"
    )
    state = save(
        "1", workspace, given=UserInput(flags=("overview",), models=("Pre-Mortem: the API may change",))
    ).document.state
    assert state.planning == Planning(research=True, overview=True, plan=True, steps=False)
    project.part("steps").write_text(STEPS, encoding="utf-8")
    state = save("1", workspace).document.state
    assert state.planning.first_open is None
    assert state.next_action == "Begin the execution: leftoff project save --phase execution"
    state = save("1", workspace, given=UserInput(phase="execution")).document.state
    assert (state.project.project_status, state.location.current_skill) == ("IN_PROGRESS", "execute-project")
    assert state.next_action == 'Continue Task 1 - "make the folder"'
    assert (state.execution.current_section, state.execution.current_section_name) == (1, "Setup")
    before = text_of(workspace)
    assert not save("1", workspace).is_changed
    assert text_of(workspace) == before

    # First session: the first section, ticked at once.
    first = session(home, 0)
    assert complete_section("1", 1, workspace).sections == ("Section 1: Setup",)
    state = record_turn(workspace, first, used_tokens=40_000, usable_tokens=167_000)
    assert (state.metadata.session_count, state.metadata.compaction_count) == (1, 0)
    assert state.metadata.total_tokens_approx == 40_000
    assert (state.execution.progress_tasks_completed, state.execution.progress_tasks_total) == (2, 6)
    assert state.next_action == 'Continue Task 3 - "parse"'

    # Second session, compacted once; recorded twice, it counts once.
    second = session(home, 1, compactions=1)
    complete("1", "3", workspace)
    for _ in range(2):
        state = record_turn(workspace, second, used_tokens=30_000)
    assert (state.metadata.session_count, state.metadata.compaction_count) == (2, 1)
    assert (state.execution.next_task_number, state.execution.progress_percentage) == (5, 50)
    assert "### Session 1: Execution" in text_of(workspace)
    assert "### Session 2 (Current): Execution" in text_of(workspace)

    # Third session: compacted again, and closed with a note.
    third = session(home, 2, compactions=1)
    complete("1", "4", workspace)  # with its sub-task
    record_turn(workspace, third)
    closed = close("1", workspace, given=UserInput(notes=("half of the release is planned",)))
    state = closed.saved.document.state
    assert (state.metadata.session_count, state.metadata.compaction_count) == (3, 2)
    assert "(Current)" not in text_of(workspace)
    assert "Note: half of the release is planned" in text_of(workspace)
    assert closed.checks[0].is_good, closed.checks[0]

    # Fourth session: the end.
    fourth = session(home, 3)
    complete("1", "7", workspace)
    state = record_turn(workspace, fourth)
    assert (state.metadata.session_count, state.metadata.compaction_count) == (4, 2)
    assert (state.project.project_status, state.execution.progress_percentage) == ("COMPLETE", 100)
    assert state.next_action == "Nothing is left to do: the project is complete"
    assert load_project("1", workspace).action == "complete"
    with pytest.raises(NothingToDoError):
        complete("1", "7", workspace)

    # What must not be forgotten is there, once, and nothing moves any more.
    decisions = [item.text for item in body.list_items(text_of(workspace), "decisions")]
    assert len(decisions) == 1
    assert "SQLite" in decisions[0]
    last = text_of(workspace)
    assert not update_state(
        load_projects(workspace), load_projects(workspace).find("1"), clock.now()
    ).is_changed
    assert text_of(workspace) == last


def test_ticking_a_task_changes_few_lines(home, workspace):
    project = init("Skills", workspace)
    project.part("steps").write_text(STEPS, encoding="utf-8")
    save("1", workspace, given=UserInput(phase="execution"))
    before = text_of(workspace).splitlines()
    complete("1", "1", workspace)
    after = text_of(workspace).splitlines()
    assert len(before) == len(after)
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) <= 12, changed
    assert {line.partition(":")[0] for line in changed if line[0].isalpha()} <= {
        "last_updated",
        "next_action",
        "next_task_number",
        "next_task_description",
        "progress_tasks_completed",
        "progress_percentage",
        "Finish Section 1",
    }


def test_a_new_task_reopens_a_finished_project(workspace):
    project = init("Skills", workspace)
    project.part("steps").write_text("- [x] one\n", encoding="utf-8")
    assert save("1", workspace).document.state.project.project_status == "COMPLETE"
    project.part("steps").write_text("- [x] one\n- [ ] two\n", encoding="utf-8")
    state = save("1", workspace).document.state
    assert (state.project.project_status, state.next_action) == ("IN_PROGRESS", 'Continue Task 2 - "two"')


def test_the_user_s_next_action_is_kept_until_the_work_moves_on(workspace):
    project = init("Skills", workspace)
    project.part("steps").write_text("- [ ] one\n- [ ] two\n", encoding="utf-8")
    save("1", workspace, given=UserInput(phase="execution", next_action="Ask Ann first"))
    assert save("1", workspace).document.state.next_action == "Ask Ann first"
    assert complete("1", "1", workspace).state.next_action == 'Continue Task 2 - "two"'


def test_the_testing_phase_lasts_until_the_user_completes_the_project(workspace):
    project = init("Skills", workspace)
    project.part("steps").write_text("- [x] one\n", encoding="utf-8")
    state = save("1", workspace, given=UserInput(phase="testing")).document.state
    assert (state.project.project_status, state.location.current_phase) == ("IN_PROGRESS", "testing")
    assert "Continue testing" in state.next_action
    state = close("1", workspace, given=UserInput(status="COMPLETE")).saved.document.state
    assert state.project.project_status == "COMPLETE"
    assert save("1", workspace).document.state.project.project_status == "COMPLETE"
