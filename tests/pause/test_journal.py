"""One running pause: started once, recorded into by many, ended once; whatever its file holds."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leftoff.errors import LockTimeoutError, StorageError
from leftoff.live import fast
from leftoff.pause.journal import ACTIVE_NAME, PauseAction, PauseFile, Recording, first_action, read_lines
from leftoff.platform import files, locks

AT = datetime(2026, 1, 6, 12, 0, tzinfo=UTC)
ID = "session-20260106-120000"


def first(session_id: str = ID, **state: object) -> PauseAction:
    return first_action(session_id, 0.9, dict(state), AT, extra={})


@pytest.fixture
def pause(tmp_path: Path) -> PauseFile:
    return PauseFile.at(tmp_path / "sessions" / ACTIVE_NAME)


@pytest.fixture
def started(pause: PauseFile) -> PauseFile:
    assert pause.start(first())
    return pause


def test_the_first_line_holds_type_time_id_state_and_fraction(started):
    line = json.loads(started.path.read_text("utf-8"))
    assert [*line] == ["type", "timestamp", "session_id", "data", "context_percentage"]
    assert line["type"] == "pause_started"
    assert line["timestamp"] == "2026-01-06T12:00:00Z"
    assert line["data"] == {"context_percentage": 0.9, "initial_state": {}, "schema": 1}


def test_a_second_start_fails_and_changes_nothing(started):
    assert not started.start(first("session-20260106-120001"))
    assert started.read().session_id == ID


def test_an_action_gets_the_id_of_its_pause(started):
    action = started.append("tool_call", {"tool": "Read"}, 0.91, AT)
    assert action.session_id == ID
    assert [each.type for each in started.read().actions] == ["pause_started", "tool_call"]


def test_the_id_is_read_from_a_first_line_of_any_length(pause):
    pause.start(first(big="x" * 100_000))
    assert pause.append("user_message", {"message": "m"}, 0.9, AT).session_id == ID


def test_nothing_is_recorded_without_a_pause(pause):
    """Neither by us nor by the fast hook: a late line must not start another pause."""
    assert pause.append("tool_call", {}, 0.9, AT) is None
    pause.path.parent.mkdir(parents=True)
    assert not fast.append_line(str(pause.path), b"{}\n", str(pause.lock), creating=0)
    assert not pause.is_active()
    assert (pause.read(), pause.finish(lambda _: 1), pause.discard()) == (None, None, None)


def test_the_fast_hook_takes_the_same_lock(started):
    """While another process holds it, the fast hook gives up after a tenth of a second."""
    line = PauseAction(
        "tool_call", "t", ID, {"tool": "Bash", "call_id": "c", "offset": 7}, 0.91
    ).to_json_line()
    with locks.hold(started.lock):
        assert not fast.append_line(str(started.path), line.encode() + b"\n", str(started.lock), creating=0)
    assert fast.append_line(str(started.path), line.encode() + b"\n", str(started.lock), creating=0)
    assert started.read().actions[-1].data["offset"] == 7


def test_nothing_is_recorded_while_a_pause_is_being_finished(started):
    """The lock is held until the file is gone."""

    def deliver(recorded: Recording) -> int:
        with pytest.raises(LockTimeoutError), locks.hold(started.lock, timeout_seconds=0.05):
            pass
        return len(recorded.actions)

    assert started.finish(deliver) == 1
    assert not started.is_active()


def test_a_failed_delivery_leaves_the_pause_running(started):
    """Nothing is lost if the snapshot cannot be written."""
    before = started.path.read_bytes()

    def fail(recorded: Recording) -> None:
        raise StorageError("the disk is full")

    with pytest.raises(StorageError):
        started.finish(fail)
    assert started.path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"\x00\xff garbage",
        b"[1, 2]\n",
        b'{"type": "pause_started", "timest',
        b'{"type": "tool_call", "timestamp": "t", "session_id": "../../evil", "data": {}, "context_percentage": 1}\n',
        b'{"type": "tool_call", "timestamp": "t", "session_id": "s", "data": {}, "context_percentage": NaN}\n',
    ],
)
def test_a_file_of_bad_lines_can_be_read_continued_finished_and_discarded(pause, content):
    """Bad lines are counted; the id comes from the file's time, and the next action uses it."""
    pause.path.parent.mkdir(parents=True)
    pause.path.write_bytes(content)
    os.utime(pause.path, (1_767_700_800, 1_767_700_800))
    recorded = pause.read()
    assert recorded.actions == []
    assert recorded.bad_lines == bool(content.strip())
    assert recorded.session_id == "session-20260106-120000-000000-recovered"
    assert recorded.first_data == {}
    assert pause.append("tool_call", {}, 0.9, AT).session_id == recorded.session_id
    assert pause.read().session_id == recorded.session_id
    assert pause.finish(lambda found: found.bad_lines) == bool(content.strip())
    pause.path.write_bytes(content)
    assert pause.discard().bad_lines == bool(content.strip())
    assert pause.start(first())


def test_a_line_with_half_a_surrogate_pair_is_read(started):
    """orjson refuses such a line, but json reads it."""
    with started.path.open("ab") as file:
        file.write(
            b'{"type": "user_message", "timestamp": "t", "session_id": "s", "data": {"message": "\\ud83d"}, '
            b'"context_percentage": 0.9}\n'
        )
    assert started.read().actions[-1].data == {"message": "\ufffd"}


def test_a_torn_line_is_counted_and_the_next_one_starts_a_new_line(started):
    with started.path.open("ab") as file:
        file.write(b'{"type": "tool_call", "timest')
    started.append("user_message", {"message": "after"}, 0.92, AT)
    recorded = started.read()
    assert recorded.bad_lines == 1
    assert [action.type for action in recorded.actions] == ["pause_started", "user_message"]


def test_without_its_first_line_a_pause_keeps_its_id(started):
    """Every other line has the id too."""
    started.append("tool_call", {"tool": "Read"}, 0.91, AT)
    lines = started.path.read_bytes().splitlines(keepends=True)
    started.path.write_bytes(lines[0][:30] + b"\n" + lines[1])
    assert started.read().session_id == ID
    assert started.append("tool_call", {"tool": "Edit"}, 0.92, AT).session_id == ID


def test_a_link_in_place_of_the_file_is_not_followed(pause, tmp_path):
    """A link is neither read nor written; discarding removes the link and keeps its target."""
    victim = tmp_path / "victim"
    victim.write_text("mine\n", encoding="utf-8")
    pause.path.parent.mkdir()
    pause.path.symlink_to(victim)
    assert pause.is_active()
    assert not pause.start(first())
    with pytest.raises(StorageError, match="a link and not a file"):
        pause.read()
    with pytest.raises(StorageError):
        pause.append("tool_call", {}, 0.9, AT)
    assert pause.discard().lines == ()
    assert victim.read_text("utf-8") == "mine\n"
    assert pause.start(first())


def test_a_folder_in_place_of_the_file_is_reported(pause):
    """An empty one can be discarded; one with contents stays, with what to do."""
    (pause.path / "mine").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"a folder that is not empty.*rm -r"):
        pause.discard()
    with pytest.raises(StorageError, match="a folder is where a file should be"):
        pause.append("tool_call", {}, 0.9, AT)
    (pause.path / "mine").rmdir()
    assert pause.discard().lines == ()
    assert not pause.path.exists()


def test_a_folder_without_permission_is_an_error(unprivileged_folder, run_python):
    code = (
        "import os, sys; from pathlib import Path; from leftoff.errors import StorageError\n"
        "from leftoff.pause.journal import PauseFile; from leftoff.platform import clock; drop()\n"
        "folder = Path(sys.argv[1]) / 'sessions'; folder.mkdir(); pause = PauseFile.at(folder / 'x.jsonl')\n"
        "(folder / 'x.jsonl').write_text('{}', 'utf-8'); os.chmod(folder / 'x.jsonl', 0)\n"
        "def ask(question):\n"
        "    try: question()\n"
        "    except StorageError as error: print(error)\n"
        "ask(pause.read)\n"
        "ask(lambda: pause.append('tool_call', {}, 0.9, clock.now()))\n"
        "os.chmod(folder, 0)\n"
        "[ask(each) for each in (pause.is_active, pause.read, pause.discard)]\n"
    )
    output = run_python(code, unprivileged_folder).stdout.splitlines()
    assert len(output) == 5
    assert all(": no permission" in line for line in output)


def test_the_file_and_its_folder_are_private(started):
    assert started.path.stat().st_mode & 0o777 == 0o600
    assert started.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_line_can_be_synced_to_disk(started):
    assert started.append("tool_call", {"n": 1}, 0.9, AT, sync=True) is not None
    assert started.read().actions[-1].data == {"n": 1}


def test_extending_never_creates_a_file(tmp_path):
    assert not files.extend_file(tmp_path / "none", lambda head: b"x\n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match="a folder is"):
        files.extend_file(tmp_path / "folder", lambda head: b"x\n")


# Any interleaving of two parties, against what a simple model says

_OPERATIONS = st.lists(
    st.sampled_from(["start", "append", "fast", "tear", "finish", "fail", "discard", "empty"]), max_size=40
)


class Model:
    """What should be there: the good lines of the running pause, or None."""

    def __init__(self) -> None:
        self.running: list[int] | None = None
        self.finished: list[list[int]] = []
        self.count = 0

    def note(self, number: int) -> None:
        if self.running is not None:
            self.running.append(number)


@given(_OPERATIONS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_of_calls_matches_a_simple_model(tmp_path_factory, operations):
    """Nothing is lost or duplicated, and no call raises."""
    pause = PauseFile.at(tmp_path_factory.mktemp("p") / ACTIVE_NAME)
    model, kept = Model(), []
    for operation in operations:
        perform(operation, pause, model, kept)
    assert kept == model.finished
    assert pause.is_active() == (model.running is not None)
    found = pause.read()
    assert (found and numbers(found)) == model.running
    assert (pause.discard() is None) == (model.running is None)
    assert pause.start(first())


def perform(operation: str, pause: PauseFile, model: Model, kept: list[list[int]]) -> None:
    match operation:
        case "start":
            assert pause.start(first()) == (model.running is None)
            model.running = [] if model.running is None else model.running
        case "append" | "fast":
            model.count += 1
            assert record(operation, pause, model.count) == (model.running is not None)
            model.note(model.count)
        case "tear" | "empty" if pause.is_active():
            damage(operation, pause)
        case "finish":
            if pause.finish(lambda found: kept.append(numbers(found)) or True):
                model.finished.append(model.running)
            model.running = None
        case "fail" if model.running is not None:
            with pytest.raises(StorageError):
                pause.finish(refuse)
        case "discard":
            assert bool(pause.discard()) == (model.running is not None)
            model.running = None


def damage(operation: str, pause: PauseFile) -> None:
    with pause.path.open("ab") as file:
        file.write(b'{"torn' if operation == "tear" else b"\n")


def record(way: str, pause: PauseFile, number: int) -> bool:
    if way == "append":
        return pause.append("tool_call", {"n": number}, 0.9, AT) is not None
    line = PauseAction("tool_call", "t", ID, {"n": number}, 0.9).to_json_line().encode() + b"\n"
    return fast.append_line(str(pause.path), line, str(pause.lock), creating=0)


def refuse(recorded: Recording) -> None:
    raise StorageError("no")


def numbers(recorded: Recording) -> list[int]:
    return [action.data["n"] for action in recorded.actions if action.type == "tool_call"]


@given(st.binary(max_size=400))
def test_any_bytes_can_be_read(data):
    assert all(line.raw for line in read_lines(data))
