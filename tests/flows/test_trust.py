"""Trust: shown first, remembered by content, and only what was shown."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.errors import NotFoundError, NotTrustedError, StorageError, UsageError
from leftoff.flows import trust as flow
from leftoff.system import paths
from leftoff.system.register import Register

AT = datetime(2026, 1, 6, tzinfo=UTC)


def standing(path):
    return Register(folder=paths.data_folder()).standing(path)


@pytest.fixture
def cloned(tmp_path):
    """A project with documents that came from elsewhere."""
    root = tmp_path / "clone"
    logs = root / ".leftoff" / "resume-logs"
    logs.mkdir(parents=True)
    (root / ".leftoff" / "project").mkdir()
    (logs / "session-a.md").write_text("# Session\n\n\nfirst\nsecond\n", encoding="utf-8")
    (logs / "session-a.json").write_text("{}", encoding="utf-8")
    (root / ".leftoff" / "project" / "_resume.md").write_text("resume\n", encoding="utf-8")
    (root / ".leftoff" / "configuration.yaml").write_text("x: 1\n", encoding="utf-8")
    (root / ".leftoff" / "picture.png").write_bytes(b"x")
    (root / ".leftoff" / ".lock").write_bytes(b"")
    (logs / "session-link.json").symlink_to(root / ".leftoff" / "configuration.yaml")
    return root


def test_everything_foreign_in_a_project_is_listed(cloned):
    """With size, hash and first lines; settings, links and other files are none of it."""
    found = flow.documents([], cloned)
    assert [each.path.name for each in found] == ["_resume.md", "session-a.json", "session-a.md"]
    assert (found[2].size_bytes, found[2].first_lines) == (25, ("# Session", "first", "second"))
    assert {each.standing for each in found} == {"foreign"}
    assert flow.documents([], cloned.parent) == []


def test_what_was_shown_is_trusted_until_it_changes(cloned):
    """The very content: one byte more, and it waits again."""
    shown = flow.documents([cloned / ".leftoff"], cloned)
    assert [each.path for each in flow.trust(shown)] == [each.path for each in shown]
    assert flow.documents([], cloned) == []
    path = shown[0].path
    assert standing(path) == "trusted"
    path.write_text("resume\nmore", encoding="utf-8")
    assert standing(path) == "foreign"
    assert [each.path for each in flow.documents([], cloned)] == [path]


def test_a_log_is_a_pair(cloned):
    """Naming one half means both, because both are read."""
    logs = cloned / ".leftoff" / "resume-logs"
    assert [each.path.suffix for each in flow.documents([logs / "session-a.md"], cloned)] == [".md", ".json"]
    assert [each.path.suffix for each in flow.documents([logs / "session-a.json"], cloned)] == [
        ".json",
        ".md",
    ]
    (logs / "session-a.md").unlink()
    assert [each.path.suffix for each in flow.documents([logs / "session-a.json"] * 2, cloned)] == [".json"]


def test_what_has_changed_since_it_was_shown_is_refused(cloned):
    """Nothing of the lot is trusted."""
    shown = flow.documents([], cloned)
    shown[2].path.write_text("swapped", encoding="utf-8")
    with pytest.raises(NotTrustedError, match="changed since it was shown; nothing was trusted"):
        flow.trust(shown)
    assert standing(shown[0].path) == "foreign"


def test_what_is_ours_already_is_not_trusted_again(cloned):
    """The register grows only by what is new."""
    path = cloned / ".leftoff" / "project" / "_resume.md"
    Register(folder=paths.data_folder()).note_written(path, "x", AT)
    (shown,) = flow.documents([path], cloned)
    assert shown.standing == "written"
    assert flow.trust([shown]) == []


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("nothing.md", NotFoundError, "no such file. leftoff trust lists"),
        ("resume-logs/session-link.json", UsageError, "only a file can be trusted"),
        ("empty", NotFoundError, "no documents in this folder"),
        ("a\0b", StorageError, "cannot be read"),
        ("huge.md", UsageError, "too large"),
    ],
)
def test_what_cannot_be_trusted_is_said(cloned, name, error, words):
    """What, and why."""
    (cloned / ".leftoff" / "empty").mkdir()
    with (cloned / ".leftoff" / "huge.md").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    with pytest.raises(error, match=words):
        flow.documents([Path(f"{cloned}/.leftoff/{name}")], cloned)


def test_a_project_folder_that_is_a_link_holds_nothing(cloned, tmp_path):
    """It may lead anywhere."""
    other = tmp_path / "other"
    other.mkdir()
    (other / ".leftoff").symlink_to(cloned / ".leftoff")
    assert flow.documents([], other) == []
