"""Facts from files, names of projects, the history of sessions, older forms: each as it is asked for."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from leftoff.errors import NotFoundError, OutsideFolderError, StorageError, UsageError
from leftoff.projects import body, facts, keeping, layout, manifest, older, sessions, telling, update
from leftoff.projects.derive import Given
from leftoff.projects.document import Document
from leftoff.projects.facts import TO_DO
from leftoff.projects.sessions import Worked
from leftoff.projects.telling import Gauge
from leftoff.system import paths
from leftoff.system.register import Register
from tests.projects.making import AT, OVERVIEW, STEPS, first, news, project, tree_at


@pytest.fixture
def home():
    return project(Path.cwd(), overview=OVERVIEW, steps=STEPS)


@pytest.mark.parametrize(
    ("text", "purpose"),
    [
        (OVERVIEW, "Score skills. Then sort them."),
        ("---\na: 1\n---\n# T\n\nOne.\nTwo.\n\nThree.\n", "One. Two."),
        ("# T\n\n## Goals\n\n## Purpose\n\n- a list\n", "a list"),
        ("# T\n", None),
        ("# T\n\n" + "w" * 400, "w" * 299 + "…"),
    ],
)
def test_the_purpose_is_what_the_overview_says_first(home, text, purpose):
    """One or two sentences, below its heading or at the top."""
    home.part("overview").write_text(text, encoding="utf-8")
    assert facts.gather(home).purpose == purpose


def test_what_a_new_project_has_is_not_written_yet(home):
    """Nor are headings alone."""
    assert not facts.is_written(None)
    assert not facts.is_written(f"# Plan\n\n{TO_DO}\n\n" + "words " * 50)
    assert not facts.is_written("# Plan\n\n## Approach\n")
    assert facts.is_written("# Plan\n\n" + "words " * 50)


def test_the_files_worked_on_last_are_on_the_reading_list(home):
    """By name, without hidden ones and links."""
    for name in ("b.py", "a.py", ".hidden", "deep/c.py", ".git/config"):
        path = home.working / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x", encoding="utf-8")
    (home.working / "link.py").symlink_to(home.working / "a.py")
    found = facts.gather(home)
    assert found.working == ("03-working/a.py", "03-working/b.py", "03-working/deep/c.py")
    assert found.reads == (
        "01-planning/_resume.md",
        "01-planning/overview.md",
        "01-planning/steps.md",
        *found.working,
    )
    assert "4. **Work in Progress**:\n   - `03-working/a.py`" in telling.loading(found)


def test_projects_are_named_by_number_name_or_part():
    """The strictest meaning counts."""
    root = Path.cwd()
    homes = [project(root, name) for name in ("02-two", "24-skills", "124-more-skills")]
    names = {"02-two": "The Second", "24-skills": "Skills"}
    for words, found in (
        ("24", "24-skills"),
        ("024", "24-skills"),
        ("skills", "24-skills"),
        ("the sec", "02-two"),
    ):
        assert layout.named(homes, words, names).id == found
    with pytest.raises(UsageError, match="names 2 projects"):
        layout.named(homes, "skill", names)
    with pytest.raises(NotFoundError, match="There are: 02-two"):
        layout.named(homes, "", names)
    with pytest.raises(NotFoundError, match="no project here yet"):
        layout.named([], "1", {})
    assert [each.id for each in layout.found(tree_at(root))] == ["02-two", "24-skills", "124-more-skills"]
    assert layout.new_id(tree_at(root), "Très bien!") == "125-très-bien"
    assert layout.new_id(tree_at(root), "Über Größe: プロジェクト") == "125-über-größe-プロジェクト"
    assert layout.plain(tree_at(root)).number is None


def test_a_number_is_never_a_part_of_another():
    """24 is not 4."""
    homes = [project(Path.cwd(), name) for name in ("02-two", "24-skills")]
    with pytest.raises(NotFoundError, match="There are: 02-two, 24-skills"):
        layout.named(homes, "4", {})


def test_links_in_a_project_are_refused(home, tmp_path):
    """Also those that stay inside."""
    inside = home.planning / "real.md"
    inside.write_text("x", encoding="utf-8")
    home.state.symlink_to(inside)
    with pytest.raises(OutsideFolderError, match="symbolic link"):
        layout.checked(home)


def test_a_document_that_cannot_be_read_is_named(home):
    """A folder in its place."""
    assert layout.content(home, home.planning / "gone.md") is None
    with pytest.raises(StorageError, match="cannot be read"):
        layout.content(home, home.planning)


@pytest.mark.parametrize("part", layout.PARTS)
def test_only_regular_files_of_the_project_are_read(home, part, tmp_path):
    """A link to a device, a pipe that nobody writes to, somebody's secret: none is waited for, none is copied."""
    path = home.part(part)
    for make in (
        lambda: path.symlink_to("/dev/zero"),
        lambda: path.symlink_to(tmp_path / "secret"),
        lambda: path.symlink_to(home.planning / "inside"),
        lambda: os.mkfifo(path),
        lambda: path.mkdir(),
    ):
        path.unlink(missing_ok=True)
        make()
        with pytest.raises(StorageError, match=r"link|leads out|cannot be read"):
            facts.gather(layout.checked(home))
        with pytest.raises(StorageError, match=r"cannot be read|leads out"):
            facts.gather(home)


def test_a_state_that_is_a_pipe_is_refused(home):
    """Nobody writes to it."""
    os.mkfifo(home.state)
    with pytest.raises(StorageError, match="no regular file"):
        keeping.load(home)


def test_work_in_progress_is_looked_for_in_the_project_only(home, tmp_path):
    """Not behind a link in its place."""
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "secret.py").write_text("x", encoding="utf-8")
    home.working.rmdir()
    home.working.symlink_to(tmp_path / "away")
    assert facts.gather(home).working == ()
    with pytest.raises(OutsideFolderError):
        layout.checked(home)


def test_a_long_document_is_read_as_far_as_it_is_needed(home):
    """Of research the beginning says whether it is written; steps are read whole, or refused with a word."""
    home.part("research").write_text("words " * 200_000, encoding="utf-8")
    home.part("steps").write_text("- [ ] x\n" * 1000, encoding="utf-8")
    assert facts.gather(home).planning.research
    home.part("steps").write_text("- [ ] x\n" * 100_000, encoding="utf-8")
    with pytest.raises(StorageError, match="800,000 bytes, and leftoff reads at most 524,288"):
        facts.gather(home)


def test_a_session_is_told_once_and_its_notes_stay(home):
    """With what it did since it began; another one takes over as the current."""
    one = Worked(
        agent="a",
        session_id="s-1",
        compactions=2,
        decisions=("SQLite",),
        created=("x.py",),
        modified=("y.py",),
    )
    document = update.updated(
        first(home), news(home, worked=one, given=Given(notes=("hello",), pending=("y.py - tests",)))
    )
    assert sessions.knows(document, "a", "s-1")
    home.part("steps").write_text(STEPS.replace("[ ] four", "[x] four"), encoding="utf-8")
    document = update.updated(document, news(home, worked=replace(one, compactions=3)))
    text = document.text
    for words in (
        "- Completed 1 task (4/5)",
        "compacted 3 times",
        "- Note: hello",
        "- Decided: SQLite",
        "- `x.py`",
        "- `y.py`",
    ):
        assert words in text, words
    assert (document.state.metadata.session_count, document.state.metadata.compaction_count) == (1, 3)
    assert body.listed(document.body, "pending") == []
    document = update.updated(
        document,
        news(home, worked=Worked(agent="b", session_id="s-2", created=("x.py",), modified=("x.py",))),
    )
    assert document.text.count("(Current)") == 1
    assert "### Session 2 (Current): " in document.text
    assert "(Current)" not in sessions.ended(document).text
    without = document.with_text(lambda whole: whole.replace("## Session History", "## What we did"))
    again = update.updated(without, news(home, worked=Worked(agent="c", session_id="s-3")))
    assert again.text.index("session.b.s-2") < again.text.index("session.c.s-3")


def told_twice(document, told):
    """The document with the news, which told again change not a byte."""
    made = update.updated(document, told)
    assert update.updated(made, told).text == made.text
    return made


def test_a_session_whose_entry_was_edited_or_whose_place_is_gone_is_counted_once(home):
    """The words are a person's; the numbers beside them are kept all the same."""
    one = Worked(agent="a", session_id="s-1", compactions=2)
    edited = update.updated(first(home), news(home, worked=one)).with_text(
        lambda text: text.replace("### Session 1 (Current)", "### My own words")
    )
    made = told_twice(edited, news(home, worked=replace(one, compactions=3)))
    assert "### My own words" in made.text
    assert (made.state.metadata.session_count, made.state.metadata.compaction_count) == (1, 3)
    bare = first(home).with_text(lambda text: text.replace("## Session History", "## What we did"))
    made = told_twice(bare, news(home, worked=one))
    assert (made.state.metadata.session_count, made.state.metadata.compaction_count) == (1, 2)
    made = told_twice(made, news(home, worked=replace(one, compactions=3)))
    assert (made.state.metadata.session_count, made.state.metadata.compaction_count) == (1, 3)
    assert "Session 1" not in made.text


def test_a_session_is_told_outside_of_code(home):
    """A rule inside a fence ends no section."""
    document = first(home).with_text(
        lambda text: text.replace("## Session History\n", "## Session History\n\n```\na\n---\nb\n```\n")
    )
    made = told_twice(document, news(home, worked=Worked(agent="a", session_id="s-1")))
    assert "```\na\n---\nb\n```\n\n<!-- leftoff:session.a.s-1" in made.text


EDITS = {
    "as it is": lambda text: text,
    "edited": lambda text: text.replace("- (none yet)", "- my own words"),
    "markers gone": lambda text: re.sub(r"<!-- /?leftoff:[^\n]*\n", "", text),
    "labels gone": lambda text: re.sub(r"\*\*[^\n]*:\n|<!-- /?leftoff:[^\n]*\n", "", text),
    "sections gone": lambda text: text[: text.index("## Session History")],
    "windows": lambda text: text.replace("- (none yet)", "- my own words").replace("\n", "\r\n"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_a_person_says_is_never_lost(home, edit):
    """Whatever they did to the file, in every list, and for notes without a session; what they wrote stays too."""
    document = first(home).with_text(EDITS[edit])
    given = Given(
        decisions=("SQLite: x", "y" * 900),
        assumptions=("one user",),
        blockers=("CI is slow",),
        models=("Pre-Mortem: p",),
        pending=("a.py - tests",),
        notes=("hello",),
    )
    made = told_twice(document, news(home, given=given))
    for name, words in (
        ("decisions", "SQLite: x"),
        ("decisions", "y" * 900),
        ("assumptions", "one user"),
        ("blockers", "CI is slow"),
        ("mental-models", "Pre-Mortem: p"),
        ("pending", "a.py - tests"),
    ):
        assert [item.text for item in body.listed(made.body, name)].count(words) == 1
    assert [item.text for item in body.below(made.body, *body.NOTES)] == ["hello"]
    assert made.text.count("my own words") == document.text.count("my own words")
    later = told_twice(made, news(home, given=Given(decisions=("Another",), resolved=("ci is",))))
    assert [item.text for item in body.listed(later.body, "decisions")][-1] == "Another"
    assert [item.is_done for item in body.listed(later.body, "blockers")][-1] is True
    assert ("\r\n" in later.text) == (edit == "windows")


def test_a_note_for_an_entry_that_a_person_edited_stands_beside_it(home):
    """It is not lost with it."""
    one = Worked(agent="a", session_id="s-1")
    edited = update.updated(first(home), news(home, worked=one)).with_text(
        lambda text: text.replace("### Session 1 (Current)", "### My own words")
    )
    made = told_twice(edited, news(home, worked=one, given=Given(notes=("hello",))))
    assert [item.text for item in body.below(made.body, *body.NOTES)] == ["hello"]


def test_a_blocker_that_a_person_wrote_is_ticked_and_an_unknown_one_is_named(home):
    """One character of theirs; words that name none are an error."""
    edited = first(home).with_text(
        lambda text: text.replace(
            "**Blockers/Risks Identified**:\n", "**Blockers/Risks Identified**:\n* [ ] CI is slow\n"
        )
    )
    made = told_twice(edited, news(home, given=Given(resolved=("ci",))))
    assert "* [x] CI is slow\n" in made.text
    with pytest.raises(NotFoundError, match="There are: CI is slow"):
        update.updated(made, news(home, given=Given(resolved=("nobody",))))


def test_many_decisions_are_all_kept_and_told_twice_change_nothing(home):
    """The forty-first drops none, and a session with many adds each once."""
    many = tuple(f"decision {number}" for number in range(45))
    made = told_twice(first(home), news(home, worked=Worked(agent="a", session_id="s", decisions=many)))
    made = told_twice(made, news(home, given=Given(decisions=("the last",))))
    assert [item.text for item in body.listed(made.body, "decisions")] == [*many, "the last"]


def test_a_deleted_entry_does_not_come_back_from_the_transcript(home):
    """Who edits a list has taken it over; only what is said anew is added."""
    one = Worked(agent="a", session_id="s", decisions=("wrong", "right"))
    made = update.updated(first(home), news(home, worked=one))
    theirs = made.with_text(lambda text: text.replace("1. wrong\n2. right", "1. right"))
    assert "wrong" not in [
        item.text for item in body.listed(told_twice(theirs, news(home, worked=one)).body, "decisions")
    ]


def test_what_somebody_said_stands_until_the_facts_change(home):
    """Phase, status and next action, also over another wording of the task."""
    document = first(home)
    assert document.state.location.current_phase == "execution"
    said = Given(phase="planning", next_action="Ask Ann")
    document = told_twice(document, news(home, given=said))
    home.part("steps").write_text(STEPS.replace("four", "the fourth"), encoding="utf-8")
    document = told_twice(document, news(home))
    assert (document.state.location.current_phase, document.state.next_action) == ("planning", "Ask Ann")
    home.part("steps").write_text(STEPS.replace("[ ] four", "[x] four"), encoding="utf-8")
    document = told_twice(document, news(home))
    assert document.state.location.current_phase == "execution"
    document = update.updated(document, news(home, given=Given(status="COMPLETE")))
    document = told_twice(document, news(home))
    assert document.state.project.project_status == "COMPLETE"
    home.part("steps").write_text(STEPS + "- [ ] six\n", encoding="utf-8")
    assert told_twice(document, news(home)).state.project.project_status == "IN_PROGRESS"


def test_the_gauge_is_told_with_the_real_numbers():
    """Of the usable window where it is known."""
    assert "- Warning threshold: 180,000 tokens (90.0% of 200,000)" in telling.compaction(
        Gauge(used_tokens=45_000, usable_tokens=200_000)
    )
    assert "Current session: not known" in telling.compaction(Gauge())


def test_words_of_others_cannot_become_structure(home):
    """A task called like a marker or a heading, and one without end."""
    evil = "## Heading <!-- /leftoff:header -->"
    home.part("steps").write_text(f"- [x] a\n- [ ] {evil}\n- [ ] {'x' * 900}\n", encoding="utf-8")
    document = update.updated(
        first(home), news(home, given=Given(decisions=(evil, "two\n## lines", "y" * 900)))
    )
    assert document.state.execution.next_task_description == evil
    assert [name for name in body.sections(document.body) if "Heading" in name or "lines" in name] == []
    again = update.updated(document, news(home, given=Given(decisions=(evil, "two\n## lines", "y" * 900))))
    assert again.text == document.text


def test_the_manifest_holds_what_must_not_be_forgotten(home):
    """Open blockers, not those that are resolved; a finished project says so."""
    document = update.updated(
        first(home), news(home, given=Given(blockers=("CI", "Key"), assumptions=("one user",)))
    )
    document = update.updated(document, news(home, given=Given(resolved=("key",))))
    home.state.write_bytes(document.to_bytes())
    loaded = manifest.loaded(home, document, facts.gather(home), home.root)
    text = manifest.text_for_agent(loaded, document)
    assert "Open blockers:\n- CI" in text
    assert "Key" not in text
    assert "Progress: 3/5 tasks (60%)" in text
    home.part("steps").write_text("- [x] a\n", encoding="utf-8")
    done = update.updated(document, news(home))
    assert (
        manifest.loaded(home, done, facts.gather(home), home.root)
        .instructions[0]
        .startswith("Every task is done")
    )


def test_older_keys_that_fit_nothing_are_left_out():
    """Their names are known, their values may be anything."""
    document = Document(
        text='---\nphase: Discovery\ncurrent_task: "three"\nlast_skill: x\nprogress: 3\n---\n', where="x"
    )
    assert older.front_of(document) == {"current_phase": "research", "current_skill": "x"}


def test_a_state_that_changes_under_our_hands_is_not_overwritten(home):
    """An editor that knows nothing of our lock."""
    register = Register(folder=paths.data_folder())
    keeping.create(home, first(home))

    def step(document):
        home.state.write_text("---\nmine: 1\n---\n", encoding="utf-8")
        return document.with_values({"session_count": 9})

    with keeping.locked(home), pytest.raises(StorageError, match="changed it just now"):
        keeping.change(home, step, register, AT)
    assert home.state.read_text(encoding="utf-8") == "---\nmine: 1\n---\n"
    assert not keeping.create(home, first(home))
