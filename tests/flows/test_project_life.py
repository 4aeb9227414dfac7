"""A whole project life: research, planning, execution over three sections and four sessions with two compactions, complete."""

import dataclasses
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.errors import NothingToDoError
from leftoff.flows.choose import Chosen
from leftoff.flows.project_close import close
from leftoff.flows.project_complete import complete, complete_section
from leftoff.flows.project_homes import projects_here
from leftoff.flows.project_init import init
from leftoff.flows.project_load import load
from leftoff.flows.project_save import save
from leftoff.flows.project_session import worked_in
from leftoff.flows.project_update import bring_up_to_date
from leftoff.projects import body, keeping
from leftoff.projects.derive import Given
from leftoff.projects.values import Planning
from leftoff.system import clock
from leftoff.testing.builders import Story, call

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
def folder():
    return Path.cwd()


def state_of(folder):
    return keeping.load(projects_here(folder).named("1")).state


def text_of(folder):
    return projects_here(folder).named("1").state.read_text(encoding="utf-8")


def session(home, number, *, compactions=0):
    """A session that worked on the project, as its agent left it."""
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


def tell(folder, transcript, **numbers):
    """What the hooks do at the end of a turn."""
    here = projects_here(folder)
    project = here.named("1")
    worked = worked_in(Chosen(agent=claude.here(), transcript=transcript), project, **numbers)
    return bring_up_to_date(here, project, clock.now(), worked=worked).document.state


def test_a_whole_project_life(home, folder):
    """The state is right after each step, and a state saved twice is byte-identical."""
    project = init("Skills", folder)
    assert project.id == "01-skills"
    state = state_of(folder)
    assert (state.project.project_status, state.location.current_phase) == ("RESEARCH", "research")
    assert state.planning == Planning(research=False, overview=False, plan=False, steps=False)
    assert state.next_action == "Do the research and write down what was found"
    assert load("skills", folder).action == "continue_working"

    # Research is written: the phase moves on by itself.
    project.part("research").write_text(
        "# Research\n\n" + "We found three dependencies. " * 4, encoding="utf-8"
    )
    state = save("1", folder).document.state
    assert (state.project.project_status, state.location.current_phase) == ("PLANNING", "planning")
    assert (state.planning.research, state.location.current_workflow_step) == (True, 2)
    assert state.next_action.startswith("Write the overview")

    # Planning flags, one by a command and the others by what is written.
    project.part("plan").write_text(
        "# Plan\n\n" + "First principles, then a pre-mortem. " * 3, encoding="utf-8"
    )
    state = save(
        "1", folder, given=Given(flags=("overview",), models=("Pre-Mortem: the API may change",))
    ).document.state
    assert state.planning == Planning(research=True, overview=True, plan=True, steps=False)
    project.part("steps").write_text(STEPS, encoding="utf-8")
    state = save("1", folder).document.state
    assert state.planning.first_open is None
    assert state.next_action == "Begin the execution: leftoff project save --phase execution"
    state = save("1", folder, given=Given(phase="execution")).document.state
    assert (state.project.project_status, state.location.current_skill) == ("IN_PROGRESS", "execute-project")
    assert state.next_action == 'Continue Task 1 - "make the folder"'
    assert (state.execution.current_section, state.execution.current_section_name) == (1, "Setup")
    before = text_of(folder)
    assert not save("1", folder).is_changed
    assert text_of(folder) == before

    # First session: the first section, ticked at once.
    first = session(home, 0)
    assert complete_section("1", 1, folder).sections == ("Section 1: Setup",)
    state = tell(folder, first, used_tokens=40_000, usable_tokens=167_000)
    assert (state.metadata.session_count, state.metadata.compaction_count) == (1, 0)
    assert state.metadata.total_tokens_approx == 40_000
    assert (state.execution.progress_tasks_completed, state.execution.progress_tasks_total) == (2, 6)
    assert state.next_action == 'Continue Task 3 - "parse"'

    # Second session, compacted once; told twice it counts once.
    second = session(home, 1, compactions=1)
    complete("1", "3", folder)
    for _ in range(2):
        state = tell(folder, second, used_tokens=30_000)
    assert (state.metadata.session_count, state.metadata.compaction_count) == (2, 1)
    assert (state.execution.next_task_number, state.execution.progress_percentage) == (5, 50)
    assert "### Session 1: Execution" in text_of(folder)
    assert "### Session 2 (Current): Execution" in text_of(folder)

    # Third session: compacted again, and closed with a note.
    third = session(home, 2, compactions=1)
    complete("1", "4", folder)  # with its sub-task
    tell(folder, third)
    closed = close("1", folder, given=Given(notes=("half of the release is planned",)))
    state = closed.kept.document.state
    assert (state.metadata.session_count, state.metadata.compaction_count) == (3, 2)
    assert "(Current)" not in text_of(folder)
    assert "Note: half of the release is planned" in text_of(folder)
    assert closed.checks[0].is_good, closed.checks[0]

    # Fourth session: the end.
    fourth = session(home, 3)
    complete("1", "7", folder)
    state = tell(folder, fourth)
    assert (state.metadata.session_count, state.metadata.compaction_count) == (4, 2)
    assert (state.project.project_status, state.execution.progress_percentage) == ("COMPLETE", 100)
    assert state.next_action == "Nothing is left to do: the project is complete"
    assert load("1", folder).action == "complete"
    with pytest.raises(NothingToDoError):
        complete("1", "7", folder)

    # What must not be forgotten is there, once, and nothing moves any more.
    decisions = [item.text for item in body.listed(text_of(folder), "decisions")]
    assert len(decisions) == 1
    assert "SQLite" in decisions[0]
    last = text_of(folder)
    assert not bring_up_to_date(
        projects_here(folder), projects_here(folder).named("1"), clock.now()
    ).is_changed
    assert text_of(folder) == last


def test_a_step_changes_few_lines(home, folder):
    """One task ticked: the lines that say so, and no others."""
    project = init("Skills", folder)
    project.part("steps").write_text(STEPS, encoding="utf-8")
    save("1", folder, given=Given(phase="execution"))
    before = text_of(folder).splitlines()
    complete("1", "1", folder)
    after = text_of(folder).splitlines()
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


def test_new_work_opens_a_finished_project_again(folder):
    """Nobody is told that nothing is left to do when something is."""
    project = init("Skills", folder)
    project.part("steps").write_text("- [x] one\n", encoding="utf-8")
    assert save("1", folder).document.state.project.project_status == "COMPLETE"
    project.part("steps").write_text("- [x] one\n- [ ] two\n", encoding="utf-8")
    state = save("1", folder).document.state
    assert (state.project.project_status, state.next_action) == ("IN_PROGRESS", 'Continue Task 2 - "two"')


def test_what_somebody_says_comes_next_holds_until_the_work_moves_on(folder):
    """Finished work is never offered."""
    project = init("Skills", folder)
    project.part("steps").write_text("- [ ] one\n- [ ] two\n", encoding="utf-8")
    save("1", folder, given=Given(phase="execution", next_action="Ask Ann first"))
    assert save("1", folder).document.state.next_action == "Ask Ann first"
    assert complete("1", "1", folder).state.next_action == 'Continue Task 2 - "two"'


def test_testing_goes_on_when_every_task_is_done(folder):
    """Until somebody says that the project is complete."""
    project = init("Skills", folder)
    project.part("steps").write_text("- [x] one\n", encoding="utf-8")
    state = save("1", folder, given=Given(phase="testing")).document.state
    assert (state.project.project_status, state.location.current_phase) == ("IN_PROGRESS", "testing")
    assert "Go on with testing" in state.next_action
    state = close("1", folder, given=dataclasses.replace(Given(), status="COMPLETE")).kept.document.state
    assert state.project.project_status == "COMPLETE"
    assert save("1", folder).document.state.project.project_status == "COMPLETE"
