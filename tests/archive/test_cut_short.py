"""A session whose transcript was cut short: both copies are listed, restored, searched and forgotten."""

import json
import os
from pathlib import Path

import pytest

from leftoff.archive.archive import archive_finished, list_archive, open_archive, restore_session
from leftoff.errors import NotFoundError, StorageError
from leftoff.forget import forget
from leftoff.platform import paths
from leftoff.search.update_index import rebuild_library, update_library
from leftoff.testing.builders import Story
from leftoff.workspace import Workspace
from tests.cli.test_install import leftoff
from tests.forget.support import NOW, SESSION, finds

COPY = "20260301T000000Z"


@pytest.fixture
def cut_short(home, isolated_home):
    """A transcript of which the archive has a complete and a short copy; returns its old and new content."""
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  archive:\n    enabled: true\n", encoding="utf-8")
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("first words")
    for number in range(20):
        story.replied("ok").asked(f"precious koala {number}")
    transcript = home.claude(story)
    archive_finished(Workspace.open(), NOW)
    update_library(Workspace.open())
    whole, stat = transcript.read_bytes(), transcript.stat()
    transcript.write_bytes(b"".join(whole.splitlines(keepends=True)[:6]))
    os.utime(transcript, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    archive_finished(Workspace.open(), NOW)
    update_library(Workspace.open())
    return transcript, whole, transcript.read_bytes()


def test_the_fullest_copy_is_restored(cut_short):
    """The other copy is restored on request, and neither replaces an existing file."""
    transcript, whole, rest = cut_short
    with pytest.raises(StorageError, match="another file is there"):
        restore_session(SESSION)
    transcript.unlink()
    restore_session(SESSION[:8])
    assert transcript.read_bytes() == whole
    assert archive_finished(Workspace.open(), NOW) == []
    transcript.unlink()
    with pytest.raises(NotFoundError, match=f"is there: {COPY}, {COPY}-2"):
        restore_session(SESSION, "yesterday")
    data = json.loads(leftoff("archive", "restore", SESSION, "--copy", f"{COPY}-2", "--json"))
    assert data["copy"] == f"{COPY}-2"
    assert transcript.read_bytes() == rest


def test_both_copies_are_listed_while_the_cut_transcript_exists(cut_short):
    """The list says what to type."""
    assert [(each.deleted, each.copies) for each in list_archive()] == [(False, 2), (False, 2)]
    output = leftoff("archive", "list")
    assert f"there, copy {COPY}" in output
    assert f"there, copy {COPY}-2" in output
    assert "--copy COPY" in output
    assert {each["copy"] for each in json.loads(leftoff("archive", "list", "--json"))} == {COPY, f"{COPY}-2"}


def test_the_fullest_copy_is_indexed_if_the_transcript_is_missing(cut_short):
    """While the transcript exists, only the transcript is searched."""
    transcript, *_ = cut_short
    assert finds("first words")
    assert not finds("precious")
    transcript.unlink()
    assert finds("precious")
    for renew in (update_library, rebuild_library, update_library):
        assert renew(Workspace.open()).finished
        assert finds("precious")


def test_forgetting_a_text_removes_only_the_copies_that_contain_it(cut_short):
    """Forgetting the session removes all copies."""
    cut_short[0].unlink()
    assert forget.forget(forget.plan_text("precious koala", Workspace.open())).left == ()
    (left,) = open_archive().sessions()
    assert left.copy == f"{COPY}-2"
    done = forget.forget(forget.plan_session(SESSION, Workspace.open()))
    assert (done.left, done.archived) == ((), 1)
    assert [*(paths.data_folder() / "archive").iterdir()] == []


def test_both_copies_of_a_session_are_forgotten(cut_short):
    """Both copies have the session's id in their names."""
    done = forget.forget(forget.plan_session(SESSION, Workspace.open()))
    assert (done.left, done.archived) == ((), 2)
    assert [*(paths.data_folder() / "archive").iterdir()] == []


def test_a_transcript_that_changed_without_growing_is_archived(cut_short):
    """A changed modification time is enough."""
    transcript, _, rest = cut_short
    transcript.write_bytes(rest.replace(b"first words", b"other words"))
    os.utime(transcript, (NOW.timestamp() - 9000, NOW.timestamp() - 9000))
    (kept,) = archive_finished(Workspace.open(), NOW)
    assert kept.copy == f"{COPY}-3"
    assert archive_finished(Workspace.open(), NOW) == []
