"""A resume state stays short however many sessions there are; what was moved out of it is kept, and what a person wrote stays."""

import json

import pytest

from leftoff.cli.main import run
from leftoff.projects import body, find_project, update
from leftoff.projects.condense import HistoryFile
from leftoff.projects.find_project import load_projects
from leftoff.projects.history import SessionWork
from leftoff.projects.progress import UserInput
from leftoff.workspace import Workspace
from tests.projects.builders import AT

STEPS = "# Steps\n" + "".join(
    f"\n## Section {section}: Part {section}\n\n" + "".join(f"- [ ] task {section}.{n}\n" for n in range(20))
    for section in range(1, 12)
)


@pytest.fixture
def home(capsys):
    assert run(["project", "init", "Shop", "of", "skills"]) == 0
    home = load_projects(Workspace.open()).find("1")
    home.part("steps").write_text(STEPS, encoding="utf-8")
    home.part("overview").write_text(
        "## Purpose\n\nSell skills. Sort them by price first.\n", encoding="utf-8"
    )
    assert run(["project", "save", "--phase", "execution"]) == 0
    capsys.readouterr()
    return home


def save(home, number, **given):
    """Save what session ``number`` did: a task, two decisions, two files."""
    work = SessionWork(
        agent="claude",
        session_id=f"{number:08d}-6d0c-4c7b-9d57-3f6c9d9a3b11",
        used_tokens=100_000 + number,
        usable_tokens=167_000,
        compactions=number % 2,
        decisions=(f"Decision {number}a about the shop - reason {number}", f"Decision {number}b: {'ü' * 90}"),
        created=(f"src/shop/part_{number}.py",),
        modified=("src/shop/main.py", f"src/shop/module_{number % 50}.py"),
        is_over=given.pop("is_over", False),
    )
    projects = load_projects(Workspace.open())
    return update.update_state(projects, home, AT, given=UserInput(**given), work=work)


def tick(home, number):
    text = home.part("steps").read_text(encoding="utf-8")
    home.part("steps").write_text(text.replace("- [ ]", "- [x]", 1), encoding="utf-8")


@pytest.mark.slow
def test_the_state_stays_below_8_kb_in_200_sessions(home, capsys):
    """At every save: the state is short and exact; in the end nothing of 200 sessions is lost."""
    for number in range(1, 201):
        tick(home, number)
        saved = save(home, number, notes=(f"note {number}",))
        assert len(home.state.read_bytes()) < 8192
        if number % 9 == 0:
            assert not save(home, number).is_changed, "saved twice, a state is byte-identical"
        state = saved.document.state
        assert state.metadata.session_count == number
        assert state.execution.progress_tasks_completed == number
    assert state.metadata.compaction_count == 100
    assert run(["project", "load", "1", "--json"]) == 0
    loaded = json.loads(capsys.readouterr().out)["state"]
    assert (loaded["current_section"], loaded["next_task_number"]) == (11, 201)
    assert loaded["next_action"] == 'Continue Task 201 - "task 11.0"'
    assert (loaded["progress_tasks_total"], loaded["progress_percentage"]) == (220, 90)
    text, moved = home.state.read_text(encoding="utf-8"), home.history.read_text(encoding="utf-8")
    assert "### Session 200 (Current): Execution" in text
    assert "`_resume-history.md`" in text
    assert text.count("(Current)") == 1
    assert "(Current)" not in moved
    for number in range(1, 201):
        for words in (
            f"### Session {number}",
            f"Note: note {number}\n",
            f"Decision {number}a about",
            f"part_{number}.py",
        ):
            assert f"{text}{moved}".count(words) >= 1, words
    assert text.count("Decision 200a") == 1
    assert "Decision 199b" in text


def test_a_short_state_keeps_everything(home):
    """Nothing moves before it has to."""
    for number in range(1, 4):
        save(home, number)
    assert not home.history.exists()
    text = home.state.read_text(encoding="utf-8")
    assert all(f"### Session {number}" in text for number in range(1, 4))


def test_older_sessions_have_one_line_each_and_then_a_count(home):
    for number in range(1, 13):
        tick(home, number)
        save(home, number)
    block = body.find_blocks(home.state.read_text(encoding="utf-8"))["earlier"]
    pointer, *lines = block.content.split("\n")
    assert pointer.startswith("In `_resume-history.md`, beside this file: ")
    assert "earlier sessions" in pointer
    assert "decisions" in pointer
    assert lines
    assert all(line.startswith("- Session ") for line in lines)
    assert "(2026-01-03): Completed 1 task (" in lines[-1]


@pytest.mark.slow
def test_what_a_person_wrote_stays(home):
    """Text of their own, an entry and a list that they edited, an open blocker, and what is pending."""
    save(home, 1, blockers=("CI is slow",), pending=("a.py - tests",), assumptions=("x is y",))
    text = home.state.read_text(encoding="utf-8")
    text = text.replace("### Session 1 (Current): Execution", "### My first day")
    text = text.replace("## Quick Context\n", "## Quick Context\n\nMy own words.\n")
    text = text.replace("1. Decision 1a", "1. My decision 1a")
    home.state.write_text(text, encoding="utf-8")
    for number in range(2, 40):
        tick(home, number)
        save(home, number)
    text = home.state.read_text(encoding="utf-8")
    for words in (
        "### My first day",
        "My own words.",
        "1. My decision 1a",
        "- [ ] CI is slow",
        "- a.py - tests",
    ):
        assert words in text
    assert len(text.encode()) < 8192
    assert "My first day" not in home.history.read_text(encoding="utf-8")


def test_a_session_that_is_resumed_after_its_entry_was_moved_counts_once(home):
    """Its entry comes back with its number and notes, and moves again later."""
    save(home, 1, notes=("first note",))
    for number in range(2, 14):
        save(home, number)
    assert "### Session 1:" in home.history.read_text(encoding="utf-8")
    tick(home, 1)
    saved = save(home, 1)
    assert (saved.document.state.metadata.session_count, saved.document.state.metadata.compaction_count) == (
        13,
        7,
    )
    text = home.state.read_text(encoding="utf-8")
    assert "### Session 1 (Current):" in text
    assert "Note: first note" in text
    for number in range(14, 20):
        save(home, number)
    moved = home.history.read_text(encoding="utf-8")
    assert moved.count("### Session 1:") == 1
    assert "Completed 1 task (1/220)" in moved


@pytest.mark.slow
def test_a_large_state_of_an_earlier_version_is_condensed_at_its_next_save(home, monkeypatch):
    """What was too long becomes short in one step."""
    monkeypatch.setattr("leftoff.projects.condense.MOST_BYTES", 10**6)
    for number in range(1, 26):
        save(home, number)
    assert len(home.state.read_bytes()) > 15_000
    monkeypatch.undo()
    save(home, 26)
    assert len(home.state.read_bytes()) < 8192
    assert len(HistoryFile(home.history.read_text(encoding="utf-8")).sessions) > 20


@pytest.mark.slow
def test_a_file_that_is_touched_again_is_among_the_newest(home):
    for number in range(1, 20):
        save(home, number)
    listed = [item.text for item in body.list_items(find_project.load_state(home).body, "modified")]
    assert "`src/shop/main.py`" in listed


@pytest.mark.slow
def test_line_ends_stay_as_they_are(home):
    home.state.write_bytes(home.state.read_bytes().replace(b"\n", b"\r\n"))
    for number in range(1, 12):
        save(home, number)
    data = home.state.read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")
    assert len(data) < 8192


def test_an_entry_edited_in_the_history_file_stays_as_it_is(home):
    """Only its numbers follow when its session is resumed and moved again."""
    save(home, 1)
    for number in range(2, 12):
        save(home, number)
    text = home.history.read_text(encoding="utf-8")
    home.history.write_text(text.replace("### Session 1:", "### My first day:"), encoding="utf-8")
    save(home, 1)
    for number in range(12, 16):
        saved = save(home, number)
    moved = home.history.read_text(encoding="utf-8")
    assert "### My first day:" in moved
    assert "### Session 1:" not in moved
    assert saved.document.state.metadata.session_count == 15


def test_what_was_moved_can_be_forgotten(home, capsys):
    """The history file is one of leftoff's documents."""
    for number in range(1, 14):
        save(home, number)
    assert "Decision 2a" in home.history.read_text(encoding="utf-8")
    assert run(["forget", "--text", "Decision 2a about the shop", "--yes"]) == 0
    assert "Decision 2a" not in home.history.read_text(encoding="utf-8")
