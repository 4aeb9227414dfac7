"""The verbs of the pause: list, pick, status, discard, recover, stats, compress."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from leftoff.errors import AmbiguousSessionError, NotFoundError, NothingToDoError, StorageError, UsageError
from leftoff.flows.capture import capture_here
from leftoff.flows.pause_compress import compress_archives
from leftoff.flows.pause_discard import discard, discard_here, discarded_in
from leftoff.flows.pause_finalize import Ending, archive_here, archive_only, finalize, finalize_here, snapshot
from leftoff.flows.pause_homes import hand_driven, of_session
from leftoff.flows.pause_list import list_pauses, pick, pick_running, remember
from leftoff.flows.pause_record import record, record_here
from leftoff.flows.pause_recover import orphaned_here, recover_everywhere, recover_here, recover_named
from leftoff.flows.pause_start import start, start_here, this_process
from leftoff.flows.pause_stats import pause_stats
from leftoff.flows.pause_status import pause_status
from leftoff.pauses.origin import Origin
from leftoff.system import paths
from leftoff.system.register import Register
from leftoff.testing.builders import Story

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"
SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


@pytest.fixture
def here():
    return Path.cwd()


def capture():
    return capture_here(Path.cwd())


def begin(home, **more):
    return start(home, 0.9, {}, capture=capture(), **more)


def ended(here, reason=None):
    home = hand_driven(here)
    session_id = begin(home)
    record(home, "tool_call", {"tool": "Read"}, 0.92, capture=capture())
    finalize(home, Ending(reason=reason))
    return session_id


# List and picker


def test_running_ones_come_first_then_the_finished_newest_first(here):
    """Each once, with its numbers."""
    first, second = ended(here), ended(here)
    running = begin(hand_driven(here))
    listed = list_pauses(here)
    assert [each.session_id for each in listed] == [running, second, first]
    assert [each.standing for each in listed] == ["running", "finished", "finished"]
    assert [each.action_count for each in listed] == [1, 3, 3]
    assert listed[1].context_range == (0.9, 0.92)
    assert listed[1].to_dict()["path"].endswith(".md")


def test_a_pause_that_died_between_its_snapshot_and_its_end_counts_once(here):
    """It is running until it is recovered, which writes the same files again."""
    home = hand_driven(here)
    session_id = begin(home)
    before = home.file.path.read_bytes()
    finalize(home, Ending())
    home.file.path.write_bytes(before)
    assert [each.session_id for each in list_pauses(here)] == [session_id]
    assert finalize(home, Ending()).session_id == session_id
    assert len(list_pauses(here)) == 1


def test_what_is_meant_by_a_number_an_id_or_a_part(here):
    """Numbers are those of the list last shown, also when a newer one has come since."""
    first, second = ended(here), ended(here)
    remember(list_pauses(here))
    third = ended(here)
    listed = list_pauses(here)
    assert pick("1", listed).session_id == second
    assert pick("2", listed).session_id == first
    assert pick(third, listed).session_id == third
    assert pick(third[-8:], listed).session_id == third
    with pytest.raises(AmbiguousSessionError, match="names 3 pauses"):
        pick("session-", listed)
    with pytest.raises(NotFoundError, match="leftoff pause list"):
        pick("99999", listed)
    with pytest.raises(NotFoundError, match="No such pause"):
        pick("zzz", listed)
    with pytest.raises(AmbiguousSessionError, match="There are 3 pauses"):
        pick(None, listed)


def test_a_number_that_the_list_does_not_have_names_nothing(here):
    """It is never taken for a part of an id: the wrong pause would be thrown away."""
    session_id = begin(hand_driven(here))
    remember(list_pauses(here))
    for number in {*session_id} & {*"23456789"}:
        with pytest.raises(NotFoundError, match=f"no number {number}"):
            discard_here(number, here)
    with pytest.raises(NotFoundError, match="no number 2026"):
        pause_status("2026", here)
    assert hand_driven(here).file.is_active()
    assert pick("1", list_pauses(here)).session_id == session_id


def test_a_number_of_a_pause_that_has_ended_since_names_no_other(here):
    """The list that was shown counts, not the one of now."""
    begin(hand_driven(here))
    remember(list_pauses(here))
    finalize(hand_driven(here), Ending())
    begin(hand_driven(here))
    with pytest.raises(NotFoundError):
        discard_here("1", here)


def test_a_part_of_an_id_has_at_least_four_characters(here):
    """Less is a slip of the finger."""
    session_id = begin(hand_driven(here))
    with pytest.raises(NotFoundError, match="at least 4 characters"):
        discard_here("ses", here)
    assert pick_running(session_id[-8:], here).summary.session_id == session_id


def odd_thing(path, kind, tmp_path):
    """Something that is no file, where the file of a pause should be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        (tmp_path / "victim").write_text("precious", encoding="utf-8")
        path.symlink_to(tmp_path / "victim")
    else:
        os.mkfifo(path)


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_no_file_is_named_and_can_be_discarded(here, tmp_path, kind):
    """Discard always works; a link is not followed."""
    home = hand_driven(here)
    odd_thing(home.file.path, kind, tmp_path)
    (listed,) = list_pauses(here)
    assert (listed.standing, listed.action_count) == ("unreadable", None)
    assert f"a {kind}" in listed.note
    shown = pause_status(None, here)
    assert shown.listed.note == listed.note
    assert shown.to_dict()["note"] == listed.note
    with pytest.raises(StorageError, match="leftoff pause discard"):
        finalize_here(None, here, Ending())
    assert orphaned_here(here) == []
    discard_here(None, here)
    assert not os.path.lexists(home.file.path)
    assert list_pauses(here) == []
    if kind == "link":
        assert (tmp_path / "victim").read_text("utf-8") == "precious"


def test_a_folder_with_something_in_it_is_never_emptied(here):
    """What to type is said."""
    home = hand_driven(here)
    (home.file.path / "mine").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"a folder that is not empty.*rm -r"):
        discard_here(None, here)
    assert (home.file.path / "mine").exists()


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_one_bad_entry_among_the_pauses_of_hooks_blocks_no_other(here, tmp_path, kind):
    """It is named in the list, and passed over where nobody names it."""
    odd_thing(paths.state_folder() / "pauses" / "claude-x.jsonl", kind, tmp_path)
    session_id = begin(hand_driven(here))
    assert [each.standing for each in list_pauses(here)] == ["running", "unreadable"]
    assert pause_status(None, here).summary.session_id == session_id
    assert finalize_here(None, here, Ending()).session_id == session_id
    with pytest.raises(NothingToDoError):
        finalize_here(None, here, Ending())
    with pytest.raises(NothingToDoError):
        recover_everywhere(here, lambda _: "finalize")
    remember(list_pauses(here))
    (odd,) = [each for each in list_pauses(here) if each.standing == "unreadable"]
    number = [each.session_id for each in list_pauses(here)].index(odd.session_id) + 1
    discard_here(str(number), here)
    assert [each.standing for each in list_pauses(here)] == ["finished"]


def test_a_pause_without_permission_is_named_with_what_to_do(ordinary_folder, run_python):
    """Not being allowed to read one is neither "none" nor a reason to hide the others."""
    code = (
        "import os, sys, tempfile; from pathlib import Path; from leftoff.cli.main import run\n"
        "with tempfile.TemporaryDirectory() as warm:\n"
        "    os.environ.update(HOME=warm, XDG_STATE_HOME=warm, XDG_DATA_HOME=warm); os.chdir(warm)\n"
        "    run(['pause', 'list']); run(['pause', 'discard']); os.chdir('/')\n"
        "drop(); where = sys.argv[1]\n"
        "os.environ.update(HOME=where, XDG_STATE_HOME=where, XDG_DATA_HOME=where, COLUMNS='200')\n"
        "os.makedirs(where + '/p/.leftoff/sessions'); os.chdir(where + '/p')\n"
        "path = Path('.leftoff/sessions/ACTIVE-PAUSE.jsonl'); path.write_text('x'); path.chmod(0)\n"
        "print(run(['pause', 'list', '--json']))\n"
        "path.parent.chmod(0o500); print(run(['pause', 'discard', '--json'])); path.parent.chmod(0o700)\n"
        "print(run(['pause', 'discard', '--json']), path.exists())\n"
    )
    said = run_python(code, ordinary_folder).stdout
    assert '"standing": "unreadable"' in said
    assert "cannot be read: no permission" in said
    assert said.count("no permission") == 2
    assert said.endswith("0 False\n")


def test_many_that_match_are_named_in_part(here):
    """Four of them, and how many more."""
    for _ in range(6):
        ended(here)
    with pytest.raises(AmbiguousSessionError, match="and 2 more"):
        pick("session", list_pauses(here))


def test_a_hook_s_pause_can_be_named_by_the_agent_s_session(here):
    """People know that id."""
    home = of_session("claude", SESSION, here)
    session_id = begin(home, origin=Origin(agent="claude", session_id=SESSION, project=str(here)))
    assert pick_running(SESSION[:8], here).summary.session_id == session_id


def test_the_numbers_of_the_list_last_shown_are_read_as_first_written(here):
    """Schema 1."""
    paths.state_folder().mkdir(parents=True)
    (paths.state_folder() / "last-pauses.json").write_bytes((GOLDEN / "last_pauses.v1.json").read_bytes())
    with pytest.raises(NotFoundError):
        pick("2", [])
    sessions = hand_driven(here).sessions
    sessions.mkdir(parents=True)
    (sessions / "session-20260106-120000-000000-bbbbbbbb.md").write_text("x", encoding="utf-8")
    assert pick("2", list_pauses(here)).session_id == "session-20260106-120000-000000-bbbbbbbb"


def test_a_list_that_cannot_be_remembered_is_no_trouble(here):
    """Numbers do not work then; nothing else fails. Nor does a broken one."""
    paths.state_folder().parent.mkdir(parents=True)
    paths.state_folder().write_text("a file in its place", encoding="utf-8")
    remember([])
    with pytest.raises(NotFoundError):
        pick("1", [])


# Status


def test_status_of_the_running_one_and_of_a_finished_one(here):
    """With the last actions in words; the length of a finished one does not grow."""
    finished = ended(here)
    home = hand_driven(here)
    running = begin(home)
    for number in range(8):
        record(home, "user_message", {"message": f"m{number}"}, 0.93, capture=capture())
    found = pause_status(None, here)
    assert found.summary.session_id == running
    assert [each.data["message"] for each in found.last_actions] == ["m3", "m4", "m5", "m6", "m7"]
    shown = found.to_dict()
    assert (shown["standing"], shown["origin"], shown["last_actions"][-1]["words"]) == ("running", None, "m7")
    assert pause_status(finished, here).to_dict()["standing"] == "finished"


def test_status_without_a_pause_says_so(here):
    """3; and of one whose lines are gone, what is left."""
    with pytest.raises(NothingToDoError, match="No pause is running"):
        pause_status(None, here)
    session_id = ended(here)
    (hand_driven(here).sessions / f"{session_id}-incremental.jsonl").unlink()
    with pytest.raises(NotFoundError, match="its actions are gone"):
        pause_status(session_id, here)


# Start and record by hand


def test_a_pause_by_hand_starts_at_the_gauge_of_the_latest_session(here, home):
    """Or where it is told to; without either the window is not known."""
    with pytest.raises(UsageError, match=r"--context 0\.9"):
        start_here(here, None)
    home.claude(Story(project=str(here), model="claude-sonnet-4-5").asked("go").replied("ok", used=150_300))
    started = start_here(here, None)
    assert started.context_percentage == pytest.approx(0.9, abs=0.005)
    assert "context" in hand_driven(here).file.read().first_data["initial_state"]
    discard_here(None, here)
    assert start_here(here, 0.5).context_percentage == 0.5


def test_words_go_where_each_type_has_them(here):
    """And more data beside them; the last fraction counts where none is given."""
    start_here(here, 0.91)

    def put(type_, words, tool=None, data=None, fraction=None):
        return record_here(here, type_, words, tool=tool, data=data or {}, context_percentage=fraction)

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
    discard_here(None, here)
    with pytest.raises(NotFoundError, match="leftoff pause start"):
        put("user_message", "too late")


def test_a_pause_of_broken_lines_can_be_recorded_into_by_hand(here):
    """Its last fraction is not known, and counts as none."""
    pause = hand_driven(here).file
    pause.path.parent.mkdir(parents=True)
    pause.path.write_bytes(b"garbage\n")
    done = record_here(here, "user_message", "hi", tool=None, data={}, context_percentage=None)
    assert done.context_percentage == 0.0


# Ends


def test_the_only_one_is_ended_where_none_is_named(here):
    """As a snapshot, as an archive, or not at all."""
    begin(hand_driven(here))
    assert finalize_here(None, here, Ending()).main.suffix == ".json"
    begin(hand_driven(here))
    assert archive_here(None, here, Ending()).main.name.endswith("-incremental.jsonl")
    begin(hand_driven(here))
    assert discard_here(None, here).summary.action_count == 1
    for end in (finalize_here, archive_here):
        with pytest.raises(NothingToDoError, match="No pause is running"):
            end(None, here, Ending())
    assert archive_only(hand_driven(here), Ending()) is None
    assert discard(hand_driven(here)) is None


def test_discards_are_counted_by_project(here):
    """As first written, and today; lines that are none are passed over."""
    paths.state_folder().mkdir(parents=True)
    ledger = paths.state_folder() / "discarded-pauses.jsonl"
    ledger.write_bytes((GOLDEN / "discarded_pause.v1.jsonl").read_bytes() + b"garbage\n[]\n")
    assert discarded_in(Path("/home/dev/shop")) == 1
    assert discarded_in(here) == 0
    begin(hand_driven(here))
    discard(hand_driven(here))
    assert discarded_in(here) == 1
    assert set(json.loads(ledger.read_text("utf-8").splitlines()[-1])) == set(
        json.loads(ledger.read_bytes().splitlines()[0])
    )


def test_a_discard_that_cannot_be_counted_is_done_all_the_same(here):
    """A file stands where the state folder should be."""
    begin(hand_driven(here))
    paths.state_folder().parent.mkdir(parents=True)
    paths.state_folder().write_text("x", encoding="utf-8")
    assert hand_driven(here).file.discard() is not None
    begin(hand_driven(here))
    assert discard(hand_driven(here)) is not None
    assert discarded_in(here) == 0


# Recovery


@pytest.fixture
def orphan(here):
    """A pause of this project whose process has died."""
    code = (
        "from pathlib import Path; from leftoff.flows.pause_start import start, this_process\n"
        "from leftoff.flows.pause_homes import hand_driven; from leftoff.flows.capture import capture_here\n"
        "here = Path.cwd(); print(start(hand_driven(here), 0.9, {}, capture=capture_here(here), process=this_process()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_pause_whose_process_died_is_found(orphan, here):
    """At once, not after an hour."""
    (found,) = orphaned_here(here)
    assert found.summary.session_id == orphan
    assert found.standing == "orphaned"


def test_a_pause_whose_process_lives_is_not(here):
    """Unless it is named."""
    session_id = begin(hand_driven(here), process=this_process())
    assert orphaned_here(here) == []
    with pytest.raises(NothingToDoError, match="No pause was left behind"):
        recover_here(here, lambda _: "discard")
    (settled,) = recover_named(session_id, here, lambda _: "discard")
    assert settled.found.summary.session_id == session_id


@pytest.mark.parametrize(
    ("choice", "running", "kept"), [("finalize", 0, 1), ("discard", 0, 0), ("continue", 1, 0), (None, 1, 0)]
)
def test_each_is_settled_as_decided(orphan, here, choice, running, kept):
    """None leaves it as it is."""
    (settled,) = recover_here(here, lambda _: choice)
    assert settled.choice == choice
    assert (settled.finalized is not None) == (choice == "finalize")
    assert hand_driven(here).file.is_active() == running
    assert len([each for each in list_pauses(here) if each.standing == "finished"]) == kept
    assert settled.to_dict()["session_id"] == orphan


def test_orphans_of_other_projects_are_found_everywhere(here, tmp_path):
    """And their snapshots go to their own project."""
    other = tmp_path / "other"
    (other / ".leftoff").mkdir(parents=True)
    home = of_session("claude", SESSION, other)
    begin(home, origin=Origin(agent="claude", session_id=SESSION, project=str(other)))
    os.utime(home.file.path, (0, 0))
    assert orphaned_here(here) == []
    (settled,) = recover_everywhere(here, lambda _: "finalize")
    assert settled.finalized.main.is_relative_to(other / ".leftoff" / "sessions")


# Statistics and compression


def test_statistics_over_a_project(here):
    """Finished and discarded ones; those without readable lines are counted apart."""
    ended(here)
    broken = ended(here)
    bare = ended(here)
    sessions = hand_driven(here).sessions
    (sessions / f"{broken}-incremental.jsonl").unlink()
    (sessions / f"{broken}-incremental.jsonl.gz").write_bytes(b"nonsense")
    (sessions / f"{bare}-incremental.jsonl").unlink()
    begin(hand_driven(here))
    discard(hand_driven(here))
    snapshot(hand_driven(here).project, Ending())  # no pause was recorded for it
    found = pause_stats(here)
    assert (found.statistics.finished, found.statistics.discarded, found.without_lines) == (3, 1, 2)
    assert found.statistics.discarded_fraction == 0.25
    assert found.statistics.tools == {"Read": 1}
    assert found.to_dict()["without_lines"] == 2


def test_old_archives_are_packed_on_request(here):
    """Young ones stay; packed ones are still known as ours, and read like the others."""
    session_id = ended(here)
    assert compress_archives(here, timedelta(days=1)).archives == 0
    done = compress_archives(here, timedelta(0))
    assert (done.archives, done.saved_bytes > 0) == (1, True)
    packed = hand_driven(here).sessions / f"{session_id}-incremental.jsonl.gz"
    assert Register(folder=paths.data_folder()).standing(packed) == "written"
    assert pause_status(session_id, here).summary.action_count == 3
    assert pause_stats(here).statistics.finished == 1


def test_an_archive_that_cannot_be_packed_stops_no_other(here):
    """What was packed is told, and so is what was not."""
    first, second = ended(here), ended(here)
    bad = hand_driven(here).sessions / f"{second}-incremental.jsonl"
    bad.unlink()
    bad.symlink_to(here / "elsewhere")
    done = compress_archives(here, timedelta(0))
    assert done.archives == 1
    assert (hand_driven(here).sessions / f"{first}-incremental.jsonl.gz").exists()
    (trouble,) = done.troubles
    assert second in trouble


def test_packed_archives_that_the_register_cannot_take_are_told(here):
    """They are packed all the same."""
    ended(here)
    shutil.rmtree(paths.data_folder())
    paths.data_folder().write_text("a file where the folder should be", encoding="utf-8")
    done = compress_archives(here, timedelta(0))
    assert (done.archives, len(done.troubles)) == (1, 1)


# Small things by hand


@pytest.mark.parametrize("share", [90, 4.9, -0.1, float("nan")])
def test_a_share_that_cannot_be_one_leaves_nothing_behind(here, share):
    """A percentage taken for a fraction is refused before anything is made."""
    with pytest.raises(UsageError, match=r"0\.9 for 90 %"):
        start_here(here, share)
    assert [*here.iterdir()] == []
    begin(hand_driven(here))
    with pytest.raises(UsageError, match=r"0\.9 for 90 %"):
        record_here(here, "user_message", "x", tool=None, data={}, context_percentage=share)


def test_what_goes_on_is_not_found_as_left_behind_again(orphan, here):
    """Nobody knows who records it now: it counts as left behind when nothing was touched for an hour."""
    recover_here(here, lambda _: "continue")
    assert orphaned_here(here) == []
    assert pause_status(None, here).summary.last_action_type == "system_event"
    os.utime(hand_driven(here).file.path, (0, 0))
    assert [each.summary.session_id for each in orphaned_here(here)] == [orphan]
