"""Trust: shown first, remembered by content, and only what was shown."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.chat import chat_file
from leftoff.chat.saved_chats import trusted_part
from leftoff.errors import NotFoundError, NotTrustedError, StorageError
from leftoff.live import trust
from leftoff.platform import paths
from leftoff.platform.register import Register
from leftoff.workspace import Workspace

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
    """Documents are listed with size, hash and first lines; settings, links and other files are not."""
    found = trust.waiting(Workspace.open(cloned)).documents
    assert [each.path.name for each in found] == ["_resume.md", "session-a.json", "session-a.md"]
    assert (found[2].size_bytes, found[2].first_lines) == (25, ("# Session", "first", "second"))
    assert {each.standing for each in found} == {"foreign"}
    assert trust.waiting(Workspace.open(cloned.parent)).documents == ()


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


CHAT = (
    "# helper\n\n**Session ID:** helper_1\n\n**Date:** 2026-01-06T12:00:00\n\n**Agent:** helper\n\n---\n\n"
    "<!-- SESSION_SUMMARY_START -->\n**Background Context:** None\n<!-- SESSION_SUMMARY_END -->\n"
)


@pytest.fixture
def spread(cloned, isolated_home):
    """Return a clone with documents in every place that the settings allow, and a lookalike."""
    written(
        isolated_home / ".config" / "leftoff" / "configuration.yaml",
        "context_management:\n  resume_logs:\n    storage_dir: notes\n  chat:\n    folder: talks\n",
    )
    written(cloned / "02-projects" / "24-cart" / "01-planning" / "_resume.md", "---\n---\n")
    written(cloned / "02-projects" / "24-cart" / "01-planning" / "plan.md", "a plan")
    written(cloned / "notes" / "session-b.json", "{}")
    written(cloned / "notes" / "README.md", "no log")
    written(cloned / "talks" / "helper_1.md", CHAT)
    written(cloned / "talks" / "README.md", "no chat")
    written(cloned / ".claude-mpm" / "resume-logs" / "session-c.md", "older")
    written(cloned / ".leftoff" / "sessions" / "session-20260106-120000.md", "paused")
    written(cloned / ".leftoff" / "sessions" / "LATEST-SESSION.txt", "session-20260106-120000\n")
    return cloned


def test_wherever_documents_are_they_are_listed_with_what_they_are_for(spread):
    """States of projects, logs, chats, pauses and a predecessor's files are listed; plans and notes are not."""
    purposes = {
        str(each.path.relative_to(spread)): each.what
        for each in trust.waiting(Workspace.open(spread)).documents
    }
    state = "the state of project {}: given, with its reading list, to an agent that continues the project"
    log = "a resume log: offered to the next session here"
    assert purposes == {
        ".leftoff/project/_resume.md": state.format("clone"),
        ".leftoff/resume-logs/session-a.json": "a document: used only where you name it",
        ".leftoff/resume-logs/session-a.md": "a document: used only where you name it",
        ".leftoff/sessions/session-20260106-120000.md": "a pause: leftoff pause list shows it",
        "02-projects/24-cart/01-planning/_resume.md": state.format("24-cart"),
        "notes/session-b.json": log,
        "talks/helper_1.md": "a saved chat: its summary is given to the agent that continues it",
        ".claude-mpm/resume-logs/session-c.md": (
            "a resume log that claude-mpm left: leftoff resume can continue from it"
        ),
    }


def test_what_waits_elsewhere_is_trusted_as_any_other(spread):
    """Documents in configured folders are trusted like any others."""
    trust.trust(
        trust.documents(
            [each.path for each in trust.waiting(Workspace.open(spread)).documents], Workspace.open(spread)
        )
    )
    assert trust.waiting(Workspace.open(spread)).documents == ()


def test_a_chat_of_which_this_machine_wrote_what_is_used_does_not_wait(spread):
    """A chat page grows with every turn, and without a summary nothing of it is used."""
    chat = spread / "talks" / "helper_1.md"
    saved = chat_file.load(chat)
    part = trusted_part(saved.header, saved.summary.text)
    Register(folder=paths.data_folder()).note_part(chat, part, "helper_1", AT)
    chat.write_text(chat.read_text(encoding="utf-8").replace("# helper", "# Helper"), encoding="utf-8")
    assert [each.standing for each in trust.documents([chat], Workspace.open(spread))] == ["written"]
    assert chat not in [each.path for each in trust.waiting(Workspace.open(spread)).documents]
    chat.write_text(CHAT.partition("<!--")[0], encoding="utf-8")
    assert chat not in [each.path for each in trust.waiting(Workspace.open(spread)).documents]


def test_what_leads_elsewhere_is_listed_nowhere(spread, tmp_path):
    """A state, a folder of logs or of chats that is a link is refused wherever it is used."""
    for name in ("notes", "talks", "02-projects/24-cart/01-planning"):
        (spread / name).rename(tmp_path / Path(name).name)
        (spread / name).symlink_to(tmp_path / Path(name).name)
    left = {each.path.parent.name for each in trust.waiting(Workspace.open(spread)).documents}
    assert left == {"project", "resume-logs", "sessions"}


def test_folders_that_settings_place_outside_the_project_raise_no_error(spread, isolated_home):
    """Folders outside the project are refused where they are used."""
    written(
        isolated_home / ".config" / "leftoff" / "configuration.yaml",
        "context_management:\n  resume_logs:\n    storage_dir: ../notes\n  chat:\n    folder: ../talks\n"
        "  project_state:\n    root: ../projects\n",
    )
    assert "_resume.md" in [each.path.name for each in trust.waiting(Workspace.open(spread)).documents]


def test_a_document_that_cannot_be_used_hides_no_other(cloned):
    """An oversized document is reported and does not hide the others."""
    with (cloned / ".leftoff" / "huge.md").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    found = trust.waiting(Workspace.open(cloned))
    assert len(found.documents) == 3
    assert any("huge.md: cannot be read: it is larger than 16 MB" in words for words in found.passed_over)


def test_settings_of_the_project_are_listed(cloned):
    """Each has its line; what a project may not set is ignored and reported."""
    written(
        cloned / ".leftoff" / "configuration.yaml",
        "context_management:\n  thresholds:\n    caution: 0.6\n  project_state:\n    root: plans\n  storage: s3\n",
    )
    found = trust.waiting(Workspace.open(cloned))
    settings = [(each.key, each.value, each.line) for each in found.settings]
    assert settings == [("thresholds.caution", 0.6, 3), ("project_state.root", "plans", 5)]
    assert found.settings_file == cloned / ".leftoff" / "configuration.yaml"
    (passed,) = found.passed_over
    assert "configuration.yaml:6: storage may not be set by a project's file" in passed


def test_what_was_shown_is_trusted_until_other_content_replaces_it(cloned):
    """An own edit keeps it usable; unpacked over it, one byte is enough, and the list says why it waits."""
    documents = trust.documents([cloned / ".leftoff"], Workspace.open(cloned))
    assert [each.path for each in trust.trust(documents)] == [each.path for each in documents]
    assert trust.waiting(Workspace.open(cloned)).documents == ()
    path = documents[0].path
    assert standing(path) == "trusted"
    path.write_text("resume\nmore", encoding="utf-8")
    assert standing(path) == "edited"
    path.write_text("resume\nunpacked", encoding="utf-8")
    os.utime(path, (0, 0))
    (waiting,) = trust.waiting(Workspace.open(cloned)).documents
    assert (waiting.path, waiting.standing) == (path, "foreign")
    assert waiting.why.startswith("it was unpacked or copied to its place: its own time is 1970-01-01")


def test_a_log_is_a_pair(cloned):
    """Naming one half means both, because both are read."""
    logs = cloned / ".leftoff" / "resume-logs"
    assert [
        each.path.suffix for each in trust.documents([logs / "session-a.md"], Workspace.open(cloned))
    ] == [".md", ".json"]
    assert [
        each.path.suffix for each in trust.documents([logs / "session-a.json"], Workspace.open(cloned))
    ] == [
        ".json",
        ".md",
    ]
    (logs / "session-a.md").unlink()
    assert [
        each.path.suffix for each in trust.documents([logs / "session-a.json"] * 2, Workspace.open(cloned))
    ] == [".json"]


def test_what_has_changed_since_it_was_shown_is_refused(cloned):
    """None of the documents is trusted if one has changed."""
    documents = trust.waiting(Workspace.open(cloned)).documents
    documents[2].path.write_text("swapped", encoding="utf-8")
    with pytest.raises(NotTrustedError, match="changed since it was shown; nothing was trusted"):
        trust.trust(documents)
    assert standing(documents[0].path) == "foreign"


def test_what_is_ours_already_is_not_trusted_again(cloned):
    """The register grows only by what is new."""
    path = cloned / ".leftoff" / "project" / "_resume.md"
    Register(folder=paths.data_folder()).note_written(path, "x", AT)
    (document,) = trust.documents([path], Workspace.open(cloned))
    assert document.standing == "written"
    assert trust.trust([document]) == []


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("nothing.md", NotFoundError, "no such file. leftoff trust lists"),
        ("resume-logs/session-link.json", StorageError, "symbolic link"),
        ("empty", NotFoundError, "this folder has no documents"),
        ("a\0b", StorageError, "cannot be read"),
        ("huge.md", StorageError, "larger than 16 MB"),
    ],
)
def test_what_cannot_be_trusted_is_reported(cloned, name, error, words):
    """The error says what cannot be trusted, and why."""
    (cloned / ".leftoff" / "empty").mkdir()
    with (cloned / ".leftoff" / "huge.md").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    with pytest.raises(error, match=words):
        trust.documents([Path(f"{cloned}/.leftoff/{name}")], Workspace.open(cloned))


def test_a_project_folder_that_is_a_link_holds_nothing(cloned, tmp_path):
    """A linked folder may lead anywhere, so nothing in it is offered for trust."""
    other = tmp_path / "other"
    other.mkdir()
    (other / ".leftoff").symlink_to(cloned / ".leftoff")
    assert trust.waiting(Workspace.open(other)).documents == ()
