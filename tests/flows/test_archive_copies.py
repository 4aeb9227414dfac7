"""A session whose transcript was cut short: both copies are listed, put back, searched and forgotten."""

import json
import os
from pathlib import Path

import pytest

from leftoff.errors import NotFoundError, StorageError
from leftoff.flows import forget as flow
from leftoff.flows.archive_sessions import archive_here, keep_finished, list_archive, restore_session
from leftoff.flows.library_update import rebuild_library, update_library
from leftoff.system import paths
from leftoff.testing.builders import Story
from tests.cli.test_install import leftoff
from tests.flows.test_forget import NOW, SESSION
from tests.flows.test_forget_stays import finds

COPY = "20260301T000000Z"


@pytest.fixture
def cut_short(home, own_world):
    """A transcript of which the archive has the whole and the first lines; what it was, and what it is now."""
    mine = own_world / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  archive:\n    enabled: true\n", encoding="utf-8")
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("first words")
    for number in range(20):
        story.replied("ok").asked(f"precious koala {number}")
    transcript = home.claude(story)
    keep_finished(NOW)
    update_library()
    whole, stat = transcript.read_bytes(), transcript.stat()
    transcript.write_bytes(b"".join(whole.splitlines(keepends=True)[:6]))
    os.utime(transcript, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    keep_finished(NOW)
    update_library()
    return transcript, whole, transcript.read_bytes()


def test_the_whole_session_comes_back(cut_short):
    """By itself; the other where it is asked for, and none where another file stands."""
    transcript, whole, rest = cut_short
    with pytest.raises(StorageError, match="another file stands there"):
        restore_session(SESSION)
    transcript.unlink()
    restore_session(SESSION[:8])
    assert transcript.read_bytes() == whole
    assert keep_finished(NOW) == []
    transcript.unlink()
    with pytest.raises(NotFoundError, match=f"is there: {COPY}, {COPY}-2"):
        restore_session(SESSION, "yesterday")
    said = json.loads(leftoff("archive", "restore", SESSION, "--copy", f"{COPY}-2", "--json"))
    assert said["copy"] == f"{COPY}-2"
    assert transcript.read_bytes() == rest


def test_both_copies_are_listed_also_while_the_cut_file_stands(cut_short):
    """With what to type."""
    assert [(each.deleted, each.copies) for each in list_archive()] == [(False, 2), (False, 2)]
    said = leftoff("archive", "list")
    assert f"there, copy {COPY}" in said
    assert f"there, copy {COPY}-2" in said
    assert "--copy COPY" in said
    assert {each["copy"] for each in json.loads(leftoff("archive", "list", "--json"))} == {COPY, f"{COPY}-2"}


def test_the_library_reads_the_fullest_copy_when_the_transcript_is_gone(cut_short):
    """As long as that stands, it is what is searched."""
    transcript, *_ = cut_short
    assert finds("first words")
    assert not finds("precious")
    transcript.unlink()
    assert finds("precious")
    for renew in (update_library, rebuild_library, update_library):
        assert renew().finished
        assert finds("precious")


def test_a_text_goes_with_the_copies_that_hold_it_and_a_session_with_all(cut_short):
    """The cut one holds nothing of it."""
    cut_short[0].unlink()
    assert flow.forget(flow.plan_text("precious koala")).left == ()
    (left,) = archive_here().sessions()
    assert left.copy == f"{COPY}-2"
    done = flow.forget(flow.plan_session(SESSION, Path.cwd()))
    assert (done.left, done.archived) == ((), 1)
    assert [*(paths.data_folder() / "archive").iterdir()] == []


def test_both_copies_of_a_session_are_forgotten(cut_short):
    """By its id, which both names hold."""
    done = flow.forget(flow.plan_session(SESSION, Path.cwd()))
    assert (done.left, done.archived) == ((), 2)
    assert [*(paths.data_folder() / "archive").iterdir()] == []


def test_a_transcript_that_was_changed_without_growing_is_archived_too(cut_short):
    """Its time tells."""
    transcript, _, rest = cut_short
    transcript.write_bytes(rest.replace(b"first words", b"other words"))
    os.utime(transcript, (NOW.timestamp() - 9000, NOW.timestamp() - 9000))
    (kept,) = keep_finished(NOW)
    assert kept.copy == f"{COPY}-3"
    assert keep_finished(NOW) == []
