"""Which project a selector names, and which files of a project are read."""

import os
from pathlib import Path

import pytest

from leftoff.errors import NotFoundError, OutsideFolderError, StorageError, UsageError
from leftoff.projects import layout, progress
from tests.projects.builders import OVERVIEW, STEPS, project, tree_at


@pytest.fixture
def home():
    return project(Path.cwd(), overview=OVERVIEW, steps=STEPS)


def test_projects_are_selected_by_number_name_or_part():
    """The strictest match counts."""
    root = Path.cwd()
    homes = [project(root, name) for name in ("02-two", "24-skills", "124-more-skills")]
    names = {"02-two": "The Second", "24-skills": "Skills"}
    for words, found in (
        ("24", "24-skills"),
        ("024", "24-skills"),
        ("skills", "24-skills"),
        ("the sec", "02-two"),
    ):
        assert layout.find_home(homes, words, names).id == found
    with pytest.raises(UsageError, match="names 2 projects"):
        layout.find_home(homes, "skill", names)
    with pytest.raises(NotFoundError, match="There are: 02-two"):
        layout.find_home(homes, "", names)
    with pytest.raises(NotFoundError, match="no project here yet"):
        layout.find_home([], "1", {})
    assert [each.id for each in layout.list_homes(tree_at(root))] == [
        "02-two",
        "24-skills",
        "124-more-skills",
    ]
    assert layout.new_id(tree_at(root), "Très bien!") == "125-très-bien"
    assert layout.new_id(tree_at(root), "Über Größe: プロジェクト") == "125-über-größe-プロジェクト"
    assert layout.plain_home(tree_at(root)).number is None


def test_a_number_does_not_match_a_part_of_another():
    """4 does not select project 24."""
    homes = [project(Path.cwd(), name) for name in ("02-two", "24-skills")]
    with pytest.raises(NotFoundError, match="There are: 02-two, 24-skills"):
        layout.find_home(homes, "4", {})


def test_links_in_a_project_are_refused(home, tmp_path):
    """Links that stay inside the project are refused too."""
    inside = home.planning / "real.md"
    inside.write_text("x", encoding="utf-8")
    home.state.symlink_to(inside)
    with pytest.raises(OutsideFolderError, match="symbolic link"):
        layout.require_real_files(home)


def test_a_folder_in_place_of_a_document_is_reported(home):
    assert layout.read_text(home, home.planning / "gone.md") is None
    with pytest.raises(StorageError, match="cannot be read"):
        layout.read_text(home, home.planning)


@pytest.mark.parametrize("part", layout.PARTS)
def test_only_regular_files_of_the_project_are_read(home, part, tmp_path):
    """Links to devices or outside files, and pipes without a writer, are refused at once."""
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
            progress.gather_facts(layout.require_real_files(home))
        with pytest.raises(StorageError, match=r"cannot be read|leads out"):
            progress.gather_facts(home)
