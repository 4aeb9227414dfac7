"""Facts from the files of a project, and the state that follows from them."""

from pathlib import Path

import pytest

from leftoff.errors import OutsideFolderError, StorageError
from leftoff.projects import layout, progress, render, update
from leftoff.projects.progress import TO_DO, UserInput
from tests.projects.builders import OVERVIEW, STEPS, first, news, project, update_twice


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
def test_the_purpose_is_the_first_sentences_of_the_overview(home, text, purpose):
    """One or two sentences, below a heading about the purpose or at the top."""
    home.part("overview").write_text(text, encoding="utf-8")
    assert progress.gather_facts(home).purpose == purpose


def test_a_placeholder_or_headings_alone_do_not_count_as_written(home):
    assert not progress.is_written(None)
    assert not progress.is_written(f"# Plan\n\n{TO_DO}\n\n## Approach\n")
    assert progress.is_written("# Plan\n\n" + "words " * 50)
    assert progress.is_written(f"# Plan\n\n{TO_DO}\n\n" + "words " * 50), "who writes may leave the comment"


def test_the_files_changed_last_are_on_the_reading_list(home):
    """The files are sorted by name, without hidden files and links."""
    for name in ("b.py", "a.py", ".hidden", "deep/c.py", ".git/config"):
        path = home.working / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x", encoding="utf-8")
    (home.working / "link.py").symlink_to(home.working / "a.py")
    found = progress.gather_facts(home)
    assert found.working == ("03-working/a.py", "03-working/b.py", "03-working/deep/c.py")
    assert found.reads == (
        "01-planning/_resume.md",
        "01-planning/overview.md",
        "01-planning/steps.md",
        *found.working,
    )
    assert "4. **Work in Progress**:\n   - `03-working/a.py`" in render.loading(found)


def test_a_working_folder_that_is_a_link_is_not_searched(home, tmp_path):
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "secret.py").write_text("x", encoding="utf-8")
    home.working.rmdir()
    home.working.symlink_to(tmp_path / "away")
    assert progress.gather_facts(home).working == ()
    with pytest.raises(OutsideFolderError):
        layout.require_real_files(home)


def test_long_research_is_read_in_part_and_long_steps_are_refused(home):
    home.part("research").write_text("words " * 200_000, encoding="utf-8")
    home.part("steps").write_text("- [ ] x\n" * 1000, encoding="utf-8")
    assert progress.gather_facts(home).planning.research
    home.part("steps").write_text("- [ ] x\n" * 100_000, encoding="utf-8")
    with pytest.raises(StorageError, match="800,000 bytes, and leftoff reads at most 524,288"):
        progress.gather_facts(home)


def test_what_the_user_said_is_kept_until_the_facts_change(home):
    """Phase, status and next action are kept even if the text of a task changes."""
    document = first(home)
    assert document.state.location.current_phase == "execution"
    user_input = UserInput(phase="planning", next_action="Ask Ann")
    document = update_twice(document, news(home, given=user_input))
    home.part("steps").write_text(STEPS.replace("four", "the fourth"), encoding="utf-8")
    document = update_twice(document, news(home))
    assert (document.state.location.current_phase, document.state.next_action) == ("planning", "Ask Ann")
    home.part("steps").write_text(STEPS.replace("[ ] four", "[x] four"), encoding="utf-8")
    document = update_twice(document, news(home))
    assert document.state.location.current_phase == "execution"
    document = update.update_document(document, news(home, given=UserInput(status="COMPLETE")))
    document = update_twice(document, news(home))
    assert document.state.project.project_status == "COMPLETE"
    home.part("steps").write_text(STEPS + "- [ ] six\n", encoding="utf-8")
    assert update_twice(document, news(home)).state.project.project_status == "IN_PROGRESS"
