"""Pauses that are started, recorded into, discarded and recovered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.errors import NotFoundError, NothingToDoError, UsageError
from leftoff.pause.finalize import (
    Ending,
    archive_only,
    end_selected,
)
from leftoff.pause.folders import manual_pause, session_pause
from leftoff.pause.journal import Origin
from leftoff.pause.lifecycle import (
    count_discarded,
    discard,
    discard_selected,
    find_orphans,
    record_manually,
    recover,
    start,
    start_manually,
    this_process,
)
from leftoff.pause.list_pauses import list_pauses, pause_status
from leftoff.platform import paths
from leftoff.testing.builders import Story
from leftoff.workspace import Workspace

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"
SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


@pytest.fixture
def here():
    return Workspace.open()


def begin(home, **more):
    return start(home, 0.9, {}, **more)


@pytest.fixture
def orphan(here):
    """A pause of this project whose process has ended."""
    return begin(manual_pause(here), process={"pid": 2**22 + 1, "begun": "1"})


def test_a_manual_pause_starts_at_the_usage_of_the_latest_session(here, home):
    """A given share is used instead; without either, starting is an error."""
    with pytest.raises(UsageError, match=r"--context 0\.9"):
        start_manually(here, None)
    home.claude(
        Story(project=str(here.folder), model="claude-sonnet-4-5").asked("go").replied("ok", used=150_300)
    )
    started = start_manually(here, None)
    assert started.context_percentage == pytest.approx(0.9, abs=0.005)
    assert "context" in manual_pause(here).file.read().first_data["initial_state"]
    discard_selected(None, here)
    assert start_manually(here, 0.5).context_percentage == 0.5


def test_recording_puts_the_text_where_the_type_has_it(here):
    """Further data is kept beside it; without a fraction the last one counts."""
    start_manually(here, 0.91)

    def put(type_, words, tool=None, data=None, fraction=None):
        return record_manually(here, type_, words, tool=tool, data=data or {}, context_percentage=fraction)

    assert put("user_message", "hi").data == {"message": "hi"}
    assert put("assistant_response", "x" * 300, fraction=0.95).data == {"summary": "x" * 200, "length": 300}
    assert put("tool_call", "a.py", tool="Read", data={"lines": 3}).data == {
        "tool": "Read",
        "args": "a.py",
        "lines": 3,
    }
    last = put("system_event", "memory_warning")
    assert (last.data, last.context_percentage) == ({"event": "memory_warning"}, 0.95)
    with pytest.raises(UsageError, match="needs its tool"):
        put("tool_call", "a.py")
    discard_selected(None, here)
    with pytest.raises(NotFoundError, match="leftoff pause start"):
        put("user_message", "too late")


def test_a_pause_of_bad_lines_can_be_recorded_into(here):
    pause = manual_pause(here).file
    pause.path.parent.mkdir(parents=True)
    pause.path.write_bytes(b"garbage\n")
    done = record_manually(here, "user_message", "hi", tool=None, data={}, context_percentage=None)
    assert done.context_percentage == 0.0


def test_without_a_selector_the_only_pause_is_ended(here):
    """The only pause is finalised, archived or discarded without being named."""
    begin(manual_pause(here))
    assert end_selected(None, here, Ending()).main.suffix == ".json"
    begin(manual_pause(here))
    assert end_selected(None, here, Ending(), with_snapshot=False).main.name.endswith("-incremental.jsonl")
    begin(manual_pause(here))
    assert discard_selected(None, here).action_count == 1
    with pytest.raises(NothingToDoError, match="No pause is running"):
        end_selected(None, here, Ending())
    assert archive_only(manual_pause(here), Ending()) is None
    assert discard(manual_pause(here)) is None


def test_discarded_pauses_are_counted_by_project(here):
    """Entries of schema 1 count, and lines that are not entries do not."""
    paths.state_folder().mkdir(parents=True)
    ledger = paths.state_folder() / "discarded-pauses.jsonl"
    ledger.write_bytes((GOLDEN / "discarded_pause.v1.jsonl").read_bytes() + b"garbage\n[]\n")
    assert count_discarded(Path("/home/dev/shop")) == 1
    assert count_discarded(here.project.root) == 0
    begin(manual_pause(here))
    discard(manual_pause(here))
    assert count_discarded(here.project.root) == 1
    assert set(json.loads(ledger.read_text("utf-8").splitlines()[-1])) == set(
        json.loads(ledger.read_bytes().splitlines()[0])
    )


def test_a_discard_works_even_if_it_cannot_be_noted(here):
    begin(manual_pause(here))
    paths.state_folder().parent.mkdir(parents=True)
    paths.state_folder().write_text("x", encoding="utf-8")
    assert manual_pause(here).file.discard() is not None
    begin(manual_pause(here))
    assert discard(manual_pause(here)) is not None
    assert count_discarded(here.project.root) == 0


@pytest.mark.slow
def test_a_pause_whose_process_died_is_an_orphan_at_once(here):
    code = (
        "from leftoff.pause.lifecycle import start, this_process\n"
        "from leftoff.pause.folders import manual_pause; from leftoff.workspace import Workspace\n"
        "print(start(manual_pause(Workspace.open()), 0.9, {}, process=this_process()))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (orphan,) = find_orphans(here)
    assert orphan.summary.session_id == ended.stdout.strip()
    assert orphan.status == "orphaned"


def test_a_pause_whose_process_lives_is_recovered_only_by_name(here):
    session_id = begin(manual_pause(here), process=this_process())
    assert find_orphans(here) == []
    with pytest.raises(NothingToDoError, match="No pause was interrupted"):
        recover(None, here, lambda _: "discard")
    (settled,) = recover(session_id, here, lambda _: "discard")
    assert settled.pause.summary.session_id == session_id


@pytest.mark.parametrize(
    ("choice", "running", "kept"), [("finalize", 0, 1), ("discard", 0, 0), ("continue", 1, 0), (None, 1, 0)]
)
def test_each_orphan_is_recovered_as_decided(orphan, here, choice, running, kept):
    """A choice of ``None`` leaves the orphan as it is."""
    (settled,) = recover(None, here, lambda _: choice)
    assert settled.choice == choice
    assert (settled.finalized is not None) == (choice == "finalize")
    assert manual_pause(here).file.is_active() == running
    assert len([each for each in list_pauses(here) if each.status == "finished"]) == kept
    assert settled.to_dict()["session_id"] == orphan


def test_orphans_of_other_projects_are_recovered_into_their_own_project(here, tmp_path):
    other = tmp_path / "other"
    (other / ".leftoff").mkdir(parents=True)
    home = session_pause("claude", SESSION, Workspace.open(other))
    begin(home, origin=Origin(agent="claude", session_id=SESSION, project=str(other)))
    os.utime(home.file.path, (0, 0))
    assert find_orphans(here) == []
    (settled,) = recover(None, here, lambda _: "finalize", everywhere=True)
    assert settled.finalized.main.is_relative_to(other / ".leftoff" / "sessions")


@pytest.mark.parametrize("share", [90, 4.9, -0.1, float("nan")])
def test_an_impossible_share_is_refused_before_anything_is_written(here, share):
    """A percentage given as a fraction is an example."""
    with pytest.raises(UsageError, match=r"0\.9 for 90 %"):
        start_manually(here, share)
    assert [*here.folder.iterdir()] == []
    begin(manual_pause(here))
    with pytest.raises(UsageError, match=r"0\.9 for 90 %"):
        record_manually(here, "user_message", "x", tool=None, data={}, context_percentage=share)


def test_a_continued_pause_is_an_orphan_again_after_an_hour(orphan, here):
    """The process that records now is not known."""
    recover(None, here, lambda _: "continue")
    assert find_orphans(here) == []
    assert pause_status(None, here).summary.last_action_type == "system_event"
    os.utime(manual_pause(here).file.path, (0, 0))
    assert [each.summary.session_id for each in find_orphans(here)] == [orphan]
