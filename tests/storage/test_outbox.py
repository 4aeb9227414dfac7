"""The outbox: one complete file for each log, and only what was sent is deleted."""

import json
import os
from pathlib import Path

import pytest

from leftoff.core.resume_log import ResumeLog
from leftoff.core.wire import SCHEMAS
from leftoff.errors import DocumentError, InvalidIdError, StorageError
from leftoff.platform import locks
from leftoff.storage.outbox import SENDING_LOCK, Entry, Outbox
from leftoff.testing.store_promises import a_log

GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "outbox_entry.v1.json"


@pytest.fixture
def box(tmp_path):
    return Outbox(tmp_path / "outbox")


def entry(session_id="s", mission="m", saved_ns=1, root="/project"):
    return Entry(log=a_log(session_id, mission), root=root, saved_ns=saved_ns)


def test_an_entry_is_read_as_it_was_added(box):
    """A removed entry is gone, and removing it again is harmless."""
    path = box.put(entry())
    assert box.waiting() == [path]
    assert box.read(path).to_dict() == entry().to_dict()
    box.remove(path)
    box.remove(path)
    assert box.waiting() == []
    assert box.read(path) is None


def test_a_newer_log_of_a_session_replaces_the_older(box):
    """Only a log of the same project is replaced."""
    box.put(entry(saved_ns=5))
    box.put(entry(saved_ns=7, mission="newer"))
    box.put(entry(saved_ns=1, root="/another"))
    box.put(entry("t", saved_ns=9))
    waiting = [box.read(path) for path in box.waiting()]
    assert [(each.log.session_id, each.root, each.saved_ns) for each in waiting] == [
        ("s", "/another", 1),
        ("s", "/project", 7),
        ("t", "/project", 9),
    ]


def test_a_clock_that_was_set_back_does_not_hide_a_save(box):
    """The later save has the later moment, whether the one before still waits or was sent; a torn memory costs nothing."""
    box.remove(box.put(entry(saved_ns=7, mission="sent")))
    box.put(entry(saved_ns=6, mission="later"))
    (waiting,) = [box.read(path) for path in box.waiting()]
    assert (waiting.log.mission_summary, waiting.saved_ns) == ("later", 8)
    (last,) = box.folder.glob("*.last")
    last.write_text("torn", encoding="utf-8")
    box.put(entry(saved_ns=9))
    assert [box.read(path).saved_ns for path in box.waiting()] == [9]


def test_the_number_of_remembered_times_is_limited(box, monkeypatch):
    """The newest sessions' are."""
    monkeypatch.setattr("leftoff.storage.outbox._MAX_LAST_TIMES", 2)
    for number in range(4):
        box.put(entry(f"s{number}", saved_ns=number + 1))
    assert sorted(path.name.split(".")[1] for path in box.folder.glob("*.last")) == ["s2", "s3"]


def test_only_one_sender_is_started(box):
    """Another sender is started only after the first has ended or has failed to start."""
    box.put(entry())
    assert box.needs_sender()
    assert not box.needs_sender()
    with locks.hold(box.folder / SENDING_LOCK):
        box.clear_start_mark()
        assert not box.needs_sender()
    assert box.needs_sender()
    os.utime(box.folder / ".sender", (1, 1))
    assert box.needs_sender()


def test_an_entry_added_during_sending_stays(box):
    """Taking away what was sent does not touch what was put in meanwhile."""
    first = box.put(entry(saved_ns=5))
    second = box.put(entry("t", saved_ns=7))
    box.remove(first)
    assert box.waiting() == [second]


def test_an_empty_outbox_is_not_created(box):
    assert box.waiting() == []
    assert box.trouble() is None
    assert not box.folder.exists()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"schema": 1}', '{"schema": 99}', '{"schema": 1, "log": {}}']
)
def test_a_broken_entry_is_named_and_hides_no_other(box, content):
    """The file is."""
    good, bad = box.put(entry("good")), box.put(entry("bad"))
    bad.write_text(content, encoding="utf-8")
    with pytest.raises(DocumentError, match="outbox"):
        box.read(bad)
    assert box.read(good) is not None


def test_the_entries_of_one_session_can_be_found(box):
    """Forgetting a session deletes these entries."""
    mine = {box.put(entry("s", saved_ns=1)), box.put(entry("s", root="/b"))}
    box.put(entry("other"))
    assert {*box.of_session("s")} == mine


def test_a_bad_id_is_refused(box):
    """A bad id is refused before anything is written."""
    with pytest.raises(InvalidIdError):
        box.put(Entry(log=ResumeLog("../x", a_log("x").context_metrics), root="/p", saved_ns=1))
    assert not box.folder.exists()


def test_the_last_error_is_remembered_until_sending_works(box):
    """The doctor reports the last error."""
    box.put(entry())
    box.note_trouble("no answer.")
    assert box.trouble() == "no answer."
    box.note_trouble("")
    assert box.trouble() is None
    box.note_trouble("")


def test_the_file_format_is_the_golden_one():
    """The golden file must be readable as long as the schema number is the same."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["schema"] == SCHEMAS["outbox_entry"]
    assert Entry.from_dict(golden, where="golden").to_dict() == golden


def test_a_log_is_saved_after_one_fetched_from_a_clock_ahead_of_ours(box):
    """What is put in after it is later; an older moment changes nothing."""
    box.note_fetched("/project", "s", 50)
    assert box.last_time_ns("/project", "s") == 50
    box.note_fetched("/project", "s", 20)
    box.put(entry(saved_ns=7))
    box.put(entry(saved_ns=7, root="/another"))
    assert [box.read(path).saved_ns for path in box.waiting()] == [7, 51]
    assert box.last_time_ns("/project", "nobody") == 0
    with pytest.raises(InvalidIdError):
        box.note_fetched("/project", "../x", 1)


def test_a_file_that_cannot_be_read_or_deleted_is_named(box):
    """A folder in place of the file is reported."""
    path = box.put(entry())
    path.unlink()
    (path / "inside").mkdir(parents=True)
    for ask in (box.read, box.remove):
        with pytest.raises(StorageError, match=f"{path.name}: .*Look at it, and move it away"):
            ask(path)


def test_a_broken_file_is_set_aside_or_named(box):
    """A folder may be in the way; a file that is gone already is not an error."""
    path = box.put(entry())
    aside = path.with_suffix(".broken")
    (aside / "inside").mkdir(parents=True)
    with pytest.raises(StorageError, match="cannot be put aside"):
        box.set_aside(path)
    (aside / "inside").rmdir()
    aside.rmdir()
    box.set_aside(path)
    assert aside.is_file()
    box.set_aside(path)


def test_an_unreadable_folder_is_an_error(unprivileged_folder, run_python):
    """The error says what to type; a missing folder holds nothing."""
    code = (
        "import sys; from pathlib import Path; from leftoff.errors import StorageError\n"
        "from leftoff.storage.outbox import Outbox; drop()\n"
        "box = Outbox(Path(sys.argv[1]) / 'my outbox'); print(box.waiting())\n"
        "box.folder.mkdir(mode=0)\n"
        "try: box.waiting()\n"
        "except StorageError as error: print(error)\n"
    )
    nothing, message = run_python(code, unprivileged_folder).stdout.splitlines()
    folder = unprivileged_folder / "my outbox"
    assert nothing == "[]"
    assert message.startswith(f"{folder}: the logs that wait to be sent cannot be read: no permission.")
    assert message.endswith(f"chmod u+rwx '{folder}'")
