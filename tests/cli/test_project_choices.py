"""The choices of the welcome-back screen, and what ``leftoff project`` says about projects that are complete, empty or several."""

import json
from pathlib import Path

import pytest

from leftoff.cli.main import run

STEPS = """# Steps

## Section 1: Setup
- [x] one
- [ ] two

## Section 2: Work
- [ ] three

## Section 3: Tests
- [x] four
- [ ] five
- [ ] six
"""
FOLDER = Path("02-projects/01-shop")


def output_of(capsys, *arguments, code=0):
    assert run(["project", *arguments]) == code, capsys.readouterr().err
    captured = capsys.readouterr()
    return captured.out + captured.err


def json_of(capsys, *arguments):
    return json.loads(output_of(capsys, *arguments, "--json"))


def complete(capsys, *tasks):
    return json_of(capsys, "complete", ",".join(map(str, tasks)))["state"]


@pytest.fixture
def steps(capsys):
    """The steps of a project in execution."""
    output_of(capsys, "init", "Shop")
    path = FOLDER / "01-planning" / "steps.md"
    path.write_text(STEPS, encoding="utf-8")
    output_of(capsys, "save", "--phase", "execution")
    return path


def test_the_jump_of_the_welcome_screen_jumps(capsys, steps):
    """Section, next task, next action and instructions agree, in the file and on the screen."""
    screen = output_of(capsys, "resume")
    assert (
        "2. Jump to different section (1: Setup; 2: Work; 3: Tests): leftoff project save --project 1 --section N"
        in screen
    )
    output_of(capsys, "save", "--project", "1", "--section", "3")
    found = json_of(capsys, "load")
    state = found["state"]
    assert (state["current_section"], state["current_section_name"]) == (3, "Tests")
    assert (state["next_task_number"], state["next_task_description"]) == (5, "five")
    assert state["next_action"] == 'Continue Task 5 - "five"'
    assert "Continue with Task 5 of 6; do not repeat finished tasks." in found["instructions"]
    text = (FOLDER / "01-planning" / "_resume.md").read_text(encoding="utf-8")
    assert "> **Current Phase**: Execution (Section 3: Tests)" in text
    screen = output_of(capsys, "resume")
    assert "Section 3: Tests" in screen
    assert 'Next Task: #5 - "five"' in screen
    assert "Section 3: 1/3 tasks complete" in screen


def test_a_section_stays_current_until_it_is_done(capsys, steps):
    """Saving, ticking elsewhere and new tasks do not end the jump; the last task of the section does."""
    output_of(capsys, "save", "--section", "3")
    output_of(capsys, "save", "--note", "on the way")
    steps.write_text(steps.read_text(encoding="utf-8") + "- [ ] seven\n", encoding="utf-8")
    assert complete(capsys, 2)["next_task_number"] == 5
    assert complete(capsys, 5)["next_task_number"] == 6
    state = complete(capsys, 6, 7)
    assert (state["current_section"], state["next_task_number"]) == (2, 3)
    assert complete(capsys, 3)["project_status"] == "COMPLETE"


def test_a_jump_replaces_the_next_action_and_begins_the_execution(capsys, steps):
    """What was said before is over; what is said with it holds."""
    output_of(capsys, "save", "--phase", "planning", "--next", "Ask Ann")
    state = json_of(capsys, "save", "--section", "2")["state"]
    assert (state["current_phase"], state["next_action"]) == ("execution", 'Continue Task 3 - "three"')
    state = json_of(capsys, "save", "--section", "3", "--next", "Ask Bob")["state"]
    assert (state["current_section"], state["next_action"]) == (3, "Ask Bob")
    instructions = json_of(capsys, "load")["instructions"]
    assert "Do the next action first, then Task 5 of 6; do not repeat finished tasks." in instructions


def test_a_jump_to_nowhere_is_refused_and_changes_nothing(capsys, steps):
    before = (FOLDER / "01-planning" / "_resume.md").read_bytes()
    assert "There is no section 9. There are: 1: Setup, 2: Work, 3: Tests." in output_of(
        capsys, "save", "--section", "9", code=1
    )
    steps.write_text(STEPS.replace("- [ ] three", "- [x] three"), encoding="utf-8")
    assert "Section 2 has no open task." in output_of(capsys, "save", "--section", "2", code=3)
    assert (FOLDER / "01-planning" / "_resume.md").read_bytes() == before


def test_a_section_left_open_by_a_jump_is_recorded_when_it_is_done(capsys, steps):
    """The progress of a later session counts it."""
    output_of(capsys, "save", "--section", "3")
    done = json_of(capsys, "complete", "--section", "1")
    assert done["sections_completed"] == ["Section 1: Setup"]
    assert done["state"]["current_section"] == 3


def test_a_complete_project_is_greeted_as_complete(capsys, steps):
    complete(capsys, "1-6")
    screen = output_of(capsys, "resume")
    assert "Welcome back! This project is complete:" in screen
    assert "Nothing is left to do." in screen
    assert "Ready to continue" not in screen
    assert "Picking up" not in screen


def test_an_empty_folder_is_not_an_open_project(capsys, steps):
    """Its number is taken all the same."""
    Path("02-projects/02-empty").mkdir()
    assert json_of(capsys, "load")["state"]["project_name"] == "Shop"
    assert json_of(capsys, "init", "Next")["id"] == "03-next"


def test_with_several_open_projects_the_message_says_what_to_type(capsys, steps):
    output_of(capsys, "init", "Other")
    for command in ("load", "save"):
        message = output_of(capsys, command, code=2)
        assert "leftoff project load 1" in message
        assert "--project 1" in message


def test_saving_a_decision_ticks_its_box(capsys, steps):
    """No session is needed for that."""
    state = FOLDER / "01-planning" / "_resume.md"
    assert "- [ ] Update Critical Context if decisions made" in state.read_text(encoding="utf-8")
    output_of(capsys, "save", "--decision", "SQLite: nothing to start")
    text = state.read_text(encoding="utf-8")
    assert "- [x] Update Critical Context if decisions made" in text
    assert "- [ ] Update session_count" in text


def test_research_that_is_written_is_not_asked_for(capsys):
    """Also where the comment of the new file was left in."""
    output_of(capsys, "init", "Shop")
    research = FOLDER / "02-resources" / "research.md"
    new = research.read_text(encoding="utf-8")
    research.write_text(f"{new}\nSQLite is enough for us, says everybody we asked.\n", encoding="utf-8")
    state = json_of(capsys, "load")["state"]
    assert (state["current_phase"], state["planning_completed"]["research"]) == ("planning", True)
    assert "Write the overview" in output_of(capsys, "load")
