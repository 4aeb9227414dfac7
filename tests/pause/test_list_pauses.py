"""All pauses of a project, the selection of one, and its status."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leftoff.errors import AmbiguousSessionError, NotFoundError, NothingToDoError, StorageError
from leftoff.pause.finalize import (
    Ending,
    end_selected,
    finalize,
)
from leftoff.pause.folders import manual_pause, session_pause
from leftoff.pause.journal import Origin
from leftoff.pause.lifecycle import (
    discard_selected,
    find_orphans,
    record,
    recover,
    start,
)
from leftoff.pause.list_pauses import list_pauses, pause_status, pick, pick_running, save_numbering
from leftoff.platform import paths
from leftoff.workspace import Workspace

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"
SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


@pytest.fixture
def here():
    return Workspace.open()


def begin(home, **more):
    return start(home, 0.9, {}, **more)


def finish(here, reason=None):
    home = manual_pause(here)
    session_id = begin(home)
    record(home, "tool_call", {"tool": "Read"}, 0.92)
    finalize(home, Ending(reason=reason))
    return session_id


def put_in_place_of_file(path, kind, tmp_path):
    """Create something that is not a file at the path of a pause."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        (tmp_path / "victim").write_text("precious", encoding="utf-8")
        path.symlink_to(tmp_path / "victim")
    else:
        os.mkfifo(path)


def test_running_pauses_come_first_then_finished_ones_newest_first(here):
    first, second = finish(here), finish(here)
    running = begin(manual_pause(here))
    listed = list_pauses(here)
    assert [each.session_id for each in listed] == [running, second, first]
    assert [each.status for each in listed] == ["running", "finished", "finished"]
    assert [each.action_count for each in listed] == [1, 3, 3]
    assert listed[1].context_range == (0.9, 0.92)
    assert listed[1].to_dict()["path"].endswith(".md")


def test_a_pause_with_a_snapshot_that_is_still_running_counts_once(here):
    """The process ended between snapshot and removal, and finalising again writes the same files."""
    home = manual_pause(here)
    session_id = begin(home)
    before = home.file.path.read_bytes()
    finalize(home, Ending())
    home.file.path.write_bytes(before)
    assert [each.session_id for each in list_pauses(here)] == [session_id]
    assert finalize(home, Ending()).session_id == session_id
    assert len(list_pauses(here)) == 1


def test_a_pause_is_selected_by_number_id_or_part(here):
    """Numbers are those of the list shown last, even if a newer pause exists."""
    first, second = finish(here), finish(here)
    save_numbering(list_pauses(here))
    third = finish(here)
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


def test_a_number_that_is_not_in_the_list_selects_nothing(here):
    """A number never matches a part of an id, because the wrong pause would be discarded."""
    session_id = begin(manual_pause(here))
    save_numbering(list_pauses(here))
    for number in {*session_id} & {*"23456789"}:
        with pytest.raises(NotFoundError, match=f"no number {number}"):
            discard_selected(number, here)
    with pytest.raises(NotFoundError, match="no number 2026"):
        pause_status("2026", here)
    assert manual_pause(here).file.is_active()
    assert pick("1", list_pauses(here)).session_id == session_id


def test_a_number_of_a_pause_that_has_ended_selects_no_other(here):
    begin(manual_pause(here))
    save_numbering(list_pauses(here))
    finalize(manual_pause(here), Ending())
    begin(manual_pause(here))
    with pytest.raises(NotFoundError):
        discard_selected("1", here)


def test_a_part_of_an_id_has_at_least_four_characters(here):
    session_id = begin(manual_pause(here))
    with pytest.raises(NotFoundError, match="at least 4 characters"):
        discard_selected("ses", here)
    assert pick_running(session_id[-8:], here).summary.session_id == session_id


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_something_that_is_not_a_file_is_listed_and_can_be_discarded(here, tmp_path, kind):
    """A link is not followed."""
    home = manual_pause(here)
    put_in_place_of_file(home.file.path, kind, tmp_path)
    (listed,) = list_pauses(here)
    assert (listed.status, listed.action_count) == ("unreadable", None)
    assert f"a {kind}" in listed.note
    status = pause_status(None, here)
    assert status.listed.note == listed.note
    assert status.to_dict()["note"] == listed.note
    with pytest.raises(StorageError, match="leftoff pause discard"):
        end_selected(None, here, Ending())
    assert find_orphans(here) == []
    discard_selected(None, here)
    assert not os.path.lexists(home.file.path)
    assert list_pauses(here) == []
    if kind == "link":
        assert (tmp_path / "victim").read_text("utf-8") == "precious"


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_one_bad_file_among_the_hooks_pauses_hides_no_other(here, tmp_path, kind):
    """An unreadable pause is listed, and skipped if none is named."""
    put_in_place_of_file(paths.state_folder() / "pauses" / "claude-x.jsonl", kind, tmp_path)
    session_id = begin(manual_pause(here))
    assert [each.status for each in list_pauses(here)] == ["running", "unreadable"]
    assert pause_status(None, here).summary.session_id == session_id
    assert end_selected(None, here, Ending()).session_id == session_id
    with pytest.raises(NothingToDoError):
        end_selected(None, here, Ending())
    with pytest.raises(NothingToDoError):
        recover(None, here, lambda _: "finalize", everywhere=True)
    save_numbering(list_pauses(here))
    (odd,) = [each for each in list_pauses(here) if each.status == "unreadable"]
    number = [each.session_id for each in list_pauses(here)].index(odd.session_id) + 1
    discard_selected(str(number), here)
    assert [each.status for each in list_pauses(here)] == ["finished"]


@pytest.mark.slow
def test_a_pause_without_permission_is_listed_with_the_reason(unprivileged_folder, run_python):
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
    output = run_python(code, unprivileged_folder).stdout
    assert '"standing": "unreadable"' in output
    assert "cannot be read: no permission" in output
    assert output.count("no permission") == 2
    assert output.endswith("0 False\n")


def test_an_ambiguous_selector_can_be_replaced_by_any_of_the_choices(here):
    for _ in range(6):
        finish(here)
    listed = list_pauses(here)
    with pytest.raises(AmbiguousSessionError, match="names 6 pauses") as caught:
        pick("session", listed)
    assert [pick(each.selector, listed) for each in caught.value.choices] == listed


def test_a_hook_s_pause_can_be_selected_by_its_session_id(here):
    home = session_pause("claude", SESSION, here)
    session_id = begin(home, origin=Origin(agent="claude", session_id=SESSION, project=str(here.folder)))
    assert pick_running(SESSION[:8], here).summary.session_id == session_id


def test_a_numbering_of_schema_1_is_read(here):
    paths.state_folder().mkdir(parents=True)
    (paths.state_folder() / "last-pauses.json").write_bytes((GOLDEN / "last_pauses.v1.json").read_bytes())
    with pytest.raises(NotFoundError):
        pick("2", [])
    sessions = manual_pause(here).sessions
    sessions.mkdir(parents=True)
    (sessions / "session-20260106-120000-000000-bbbbbbbb.md").write_text("x", encoding="utf-8")
    assert pick("2", list_pauses(here)).session_id == "session-20260106-120000-000000-bbbbbbbb"


def test_a_numbering_that_cannot_be_written_or_read_is_ignored(here):
    paths.state_folder().parent.mkdir(parents=True)
    paths.state_folder().write_text("a file in its place", encoding="utf-8")
    save_numbering([])
    with pytest.raises(NotFoundError):
        pick("1", [])


def test_status_shows_a_running_and_a_finished_pause(here):
    """The last actions are described; the duration of a finished pause does not grow."""
    finished = finish(here)
    home = manual_pause(here)
    running = begin(home)
    for number in range(8):
        record(home, "user_message", {"message": f"m{number}"}, 0.93)
    found = pause_status(None, here)
    assert found.summary.session_id == running
    assert [each.data["message"] for each in found.last_actions] == ["m3", "m4", "m5", "m6", "m7"]
    status = found.to_dict()
    assert (status["standing"], status["origin"], status["last_actions"][-1]["words"]) == (
        "running",
        None,
        "m7",
    )
    assert pause_status(finished, here).to_dict()["standing"] == "finished"


def test_status_without_a_pause_or_without_its_archive_is_an_error(here):
    with pytest.raises(NothingToDoError, match="No pause is running"):
        pause_status(None, here)
    session_id = finish(here)
    (manual_pause(here).sessions / f"{session_id}-incremental.jsonl").unlink()
    with pytest.raises(NotFoundError, match="its actions are gone"):
        pause_status(session_id, here)
