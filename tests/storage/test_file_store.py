"""The default storage backend: pairs of files that a crash, a bad neighbour or a second process cannot break."""

import gzip
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from leftoff.core.resume_log import ResumeLog
from leftoff.errors import DocumentError, InvalidIdError, OutsideFolderError, StorageError
from leftoff.platform import file_sets, paths
from leftoff.platform.register import Register
from leftoff.storage import file_store
from leftoff.storage.file_store import FileStore
from leftoff.testing.store_promises import StorePromises, a_log


class TestFileStore(StorePromises):
    """Every promise of a storage backend."""

    def make_store(self, folder):
        return FileStore(folder / "logs", register=Register(folder=folder / "data"))

    def spoil(self, store, identifier):
        store.path_of(identifier, ".json").write_text('{"session_id": "x", "cont', encoding="utf-8")


@pytest.fixture
def store(tmp_path):
    return FileStore(tmp_path / "logs", register=Register(folder=tmp_path / "data"))


def names(store):
    return sorted(path.name for path in store.folder.iterdir() if not path.name.startswith("."))


def test_a_log_is_a_pair_of_private_files(store):
    """Markdown for people and agents, JSON for programs; only the user can read them."""
    log = a_log("20251101_115000")
    assert store.save(log) == "20251101_115000"
    assert names(store) == ["session-20251101_115000.json", "session-20251101_115000.md"]
    assert store.path_of("20251101_115000").read_text(encoding="utf-8") == log.to_markdown()
    assert json.loads(store.path_of("20251101_115000", ".json").read_bytes()) == log.to_dict()
    assert {path.stat().st_mode & 0o777 for path in store.folder.glob("session-*")} == {0o600}


def test_the_markdown_keeps_the_budget_of_the_settings(tmp_path):
    """The budget of the settings applies, even if it is smaller than the maximum."""
    small = FileStore(tmp_path / "logs", max_tokens=600)
    small.save(ResumeLog("s", a_log("s").context_metrics, mission_summary="word " * 9000))
    text = small.path_of("s").read_text(encoding="utf-8")
    assert 500 < ResumeLog.estimate_tokens(text) <= 600
    loaded = small.load("s")
    assert loaded is not None
    assert len(loaded.mission_summary) == 45_000, "the JSON holds everything"


@pytest.mark.parametrize("name", ["my-session-1", "session-1", "a.json", "x.md", "y.gz", "1", "A_b.c"])
def test_the_id_is_exactly_what_was_saved(store, name):
    """Prefixes and endings are removed once, and only where they are ours."""
    store.save(a_log(name))
    assert store.list() == [name]
    assert store.load(name).session_id == name
    assert store.delete(name) is True
    assert store.list() == []


def test_one_bad_file_hides_no_other(store):
    """Null dates, half pairs, foreign names, folders, links, junk: all logs that can be listed are."""
    store.save(a_log("good"))
    folder = store.folder
    (folder / "session-null-date.json").write_text(
        json.dumps({"session_id": "null-date", "created_at": None, "context_metrics": {"timestamp": None}}),
        encoding="utf-8",
    )
    (folder / "session-only-text.md").write_text("# Session Resume Log: only-text\n", encoding="utf-8")
    (folder / "session-broken.json").write_bytes(b"\xff\xfe{")
    (folder / "session-deep.json").write_text("[" * 100_000, encoding="utf-8")
    (folder / "session-.md").touch()
    (folder / "session-a b.md").touch()
    (folder / "notes.txt").touch()
    (folder / "session-folder.md").mkdir()
    (folder / "session-link.json").symlink_to("/etc/hostname")
    assert set(store.list()) == {"good", "null-date", "only-text", "broken", "deep"}
    assert store.load("null-date").context_metrics.used_tokens is None
    assert store.load("good") is not None
    for bad in ("only-text", "broken", "deep"):
        with pytest.raises(DocumentError, match=f"session-{bad}"):
            store.load(bad)
    assert store.find("only-text").text() == "# Session Resume Log: only-text\n"


def test_a_log_without_its_markdown_is_complete(store):
    """The text is made from the JSON."""
    log = a_log("s")
    store.save(log)
    store.path_of("s").unlink()
    assert store.load("s").to_dict() == log.to_dict()
    found = store.find("s")
    assert found.markdown is None
    assert found.path.suffix == ".json"
    assert found.text() == log.to_markdown()


def test_a_missing_folder_is_empty_and_is_not_created(store):
    assert store.list() == []
    assert store.load("x") is None
    assert store.delete("x") is False
    assert store.compress("x") is False
    assert store.remove(lambda ids: ids) == []
    assert not store.folder.exists()


def test_a_link_in_place_of_the_folder_is_refused(tmp_path):
    """The folder of a cloned repository could point anywhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "logs").symlink_to(tmp_path / "elsewhere")
    store = FileStore(tmp_path / "logs")
    with pytest.raises(OutsideFolderError, match="symbolic link"):
        store.list()
    with pytest.raises(OutsideFolderError, match="symbolic link"):
        store.save(a_log("s"))
    assert not [*(tmp_path / "elsewhere").glob("session-*")]


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "logs").touch()
    with pytest.raises(StorageError, match="a file is where a folder should be"):
        file_store.list_log_files(tmp_path / "logs")


def test_saves_of_one_instant_keep_their_order(store):
    """The clock of the file system may tick only every few milliseconds, or may have been ahead."""
    future = 4_000_000_000
    store.save(a_log("ahead"))
    for part in (".md", ".json"):
        os.utime(store.path_of("ahead", part), (future, future))
    for number in range(30):
        store.save(a_log(f"s{number}"))
    assert store.list() == [*(f"s{number}" for number in reversed(range(30))), "ahead"]


def test_both_documents_are_in_the_register(store, tmp_path):
    """Registered documents may be restored automatically, also after an edit; what was unpacked over them may not."""
    register = Register(folder=tmp_path / "data")
    store.save(a_log("s"))
    assert [register.standing(store.path_of("s", part)) for part in (".md", ".json")] == ["written"] * 2
    store.path_of("s").write_text("changed\n", encoding="utf-8")
    assert register.standing(store.path_of("s")) == "edited"
    store.path_of("s").write_text("unpacked\n", encoding="utf-8")
    os.utime(store.path_of("s"), (0, 0))
    assert register.standing(store.path_of("s")) == "foreign"


def test_a_compressed_log_is_read_like_any_other(store, tmp_path):
    """The log keeps its place and standing, and the next save writes it uncompressed."""
    log = a_log("old")
    store.save(log)
    store.save(a_log("new"))
    assert store.compress("old") is True
    assert names(store) == [
        "session-new.json",
        "session-new.md",
        "session-old.json.gz",
        "session-old.md.gz",
    ]
    assert store.list() == ["new", "old"]
    assert store.load("old").to_dict() == log.to_dict()
    found = store.find("old")
    assert found.is_compressed
    assert found.text() == log.to_markdown()
    assert found.log().to_dict() == log.to_dict()
    assert Register(folder=tmp_path / "data").standing(found.json) == "written"
    assert store.compress("old") is False
    store.save(log)
    assert "session-old.json.gz" not in names(store)
    assert store.list() == ["old", "new"]
    assert store.delete("old")


def test_compressing_takes_less_space(store):
    store.save(ResumeLog("s", a_log("s").context_metrics, mission_summary="the same words again " * 3000))
    before = store.find("s").size_bytes
    store.compress("s")
    assert store.find("s").size_bytes < before / 5


@pytest.mark.slow
def test_a_save_during_compression_wins(store):
    """The last save is loaded, whichever thread is faster."""
    store.save(a_log("s", "save 0"))
    done = threading.Event()

    def compress():
        while not done.is_set():
            store.compress("s")

    compressor = threading.Thread(target=compress)
    compressor.start()
    try:
        for number in range(1, 60):
            store.save(a_log("s", f"save {number}"))
            assert store.load("s").mission_summary == f"save {number}"
    finally:
        done.set()
        compressor.join()
    assert store.load("s").mission_summary == "save 59"
    assert store.find("s").text() == a_log("s", "save 59").to_markdown()


def test_a_log_that_is_compressed_during_its_save_is_kept(store):
    """Between the writing of a set and what a save does afterwards, another process may pack the very log."""

    class Overtaken(FileStore):
        @contextmanager
        def _alone(self):
            store.compress("s")
            with super()._alone():
                yield

    Overtaken(store.folder).save(a_log("s", "new"))
    assert store.load("s").mission_summary == "new"
    assert store.find("s").text() == a_log("s", "new").to_markdown()


def test_lone_surrogates_can_be_saved(store):
    """In every field, what UTF-8 cannot hold is shown as U+FFFD."""
    half = "cut \ud83d"
    log = ResumeLog(
        "s",
        a_log("s").context_metrics,
        mission_summary=half,
        next_steps=[half, "whole"],
        decisions=[{"decision": half, "rationale": half}],
        critical_context={"names": [half], "pairs": {half: half}, half: 1},
        metadata={half: half},
    )
    store.save(log)
    assert store.load("s") == log
    assert store.load("s").decisions == [{"decision": "cut \ufffd", "rationale": "cut \ufffd"}]


def test_half_a_pair_is_compressed_as_it_is(store):
    """Only the file that exists is compressed."""
    store.save(a_log("s"))
    store.path_of("s", ".json").unlink()
    assert store.compress("s") is True
    assert names(store) == ["session-s.md.gz"]
    assert store.find("s").text() == a_log("s").to_markdown()


@pytest.mark.parametrize(
    "data", [b"", b"no gzip", gzip.compress(b"{}")[:-5], b"\x1f\x8b\x08\x00" + b"\0" * 30]
)
def test_a_damaged_compressed_log_is_named(store, data):
    """A damaged log does not hide the others."""
    store.save(a_log("good"))
    (store.folder / "session-bad.json.gz").write_bytes(data)
    with pytest.raises(DocumentError, match=r"session-bad.json.gz: (cannot be unpacked|not JSON)"):
        store.load("bad")
    assert set(store.list()) == {"good", "bad"}


def test_a_decompression_bomb_is_refused(store):
    """A repository can hold a few kilobytes that become gigabytes."""
    store.save(a_log("good"))
    (store.folder / "session-bomb.json.gz").write_bytes(gzip.compress(b" " * 5_000_001, 1))
    with pytest.raises(DocumentError, match="unpacks to more than 5 MB"):
        store.load("bomb")


def test_updates_of_one_log_do_not_lose_each_other(store):
    """Twenty updates at once each add a step to what they find."""

    def add(number):
        store.update(
            "s",
            lambda there: ResumeLog(
                "s",
                a_log("s").context_metrics,
                next_steps=[*(there.next_steps if there else ()), str(number)],
            ),
        )

    threads = [threading.Thread(target=add, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(store.load("s").next_steps, key=int) == [str(number) for number in range(20)]


def test_a_broken_log_is_replaced_by_the_next_save(store):
    """An update finds nothing there, and replaces it."""
    store.save(a_log("s"))
    store.path_of("s", ".json").write_text("torn", encoding="utf-8")
    seen = []
    store.update("s", lambda there: seen.append(there) or a_log("s", "new"))
    assert seen == [None]
    assert store.load("s").mission_summary == "new"


def test_chosen_logs_are_removed_with_no_save_in_between(store):
    """One path for each log, the newest first in what the choice is given."""
    for name in ("a", "b", "c"):
        store.save(a_log(name))
    store.compress("a")
    seen = []
    gone = store.remove(lambda ids: seen.append([*ids]) or ids[1:])
    assert seen == [["c", "b", "a"]]
    assert [path.name for path in gone] == ["session-b.md", "session-a.md.gz"]
    assert store.list() == ["c"]


def test_a_save_during_a_cleanup_is_kept(store):
    """Many processes save and clean at once: in the end the last save of the saver is there."""
    for number in range(5):
        store.save(a_log(f"old{number}"))
    code = (
        "import sys; from pathlib import Path; from leftoff.storage.file_store import FileStore\n"
        "store = FileStore(Path(sys.argv[1]))\n"
        "for _ in range(40): store.remove(lambda ids: ids[1:])\n"
    )
    cleaners = [subprocess.Popen([sys.executable, "-c", code, str(store.folder)]) for _ in range(2)]
    for number in range(40):
        store.save(a_log("busy", f"save {number}"))
        loaded = store.load("busy")
        assert loaded is not None
        assert loaded.mission_summary == f"save {number}"
    assert [cleaner.wait(timeout=60) for cleaner in cleaners] == [0, 0]


def test_a_set_left_by_a_killed_writer_is_finished_before_anything_is_deleted(store):
    """Otherwise the journal would bring the deleted log back."""
    store.save(a_log("s"))
    temporary = ".session-s.json.0123456789ab.tmp"
    (store.folder / temporary).write_bytes(store.path_of("s", ".json").read_bytes())
    (store.folder / file_sets.JOURNAL_NAME).write_text(
        json.dumps({"session-s.json": temporary}), encoding="utf-8"
    )
    assert store.delete("s") is True
    assert store.list() == []


def test_a_log_that_cannot_be_deleted_is_an_error(unprivileged_folder, run_python):
    """The error gives the reason."""
    ended = run_python(
        """
import sys, os
from pathlib import Path
from leftoff.errors import StorageError
from leftoff.storage.file_store import FileStore
from leftoff.testing.store_promises import a_log
drop()
store = FileStore(Path(sys.argv[1]) / "logs")
store.save(a_log("s"))
store.folder.chmod(0o500)
try:
    store.delete("s")
except StorageError as error:
    print(error)
(store.folder / "session-s.json").chmod(0)
try:
    store.load("s")
except StorageError as error:
    print(error)
store.folder.chmod(0)
try:
    store.list()
except StorageError as error:
    print(error)
store.folder.chmod(0o700)
""",
        unprivileged_folder,
    )
    deleting, loading, listing = ended.stdout.splitlines()
    assert deleting.endswith("not deleted: no permission.")
    assert loading.endswith("cannot be read: no permission.")
    assert listing.endswith("cannot be read: no permission.")


def test_bad_ids_are_refused_by_every_method(store):
    """An id is refused before any file is touched."""
    for call in (
        lambda: store.find("../x"),
        lambda: store.path_of("../x"),
        lambda: store.compress("../x"),
        lambda: store.update("../x", lambda there: a_log("y")),
    ):
        with pytest.raises(InvalidIdError):
            call()
    assert not store.folder.exists()


def test_the_built_in_store_is_that_of_this_project():
    """The store ``files`` of the registry is opened for the current project."""
    store = file_store.open_project_store()
    store.save(a_log("s"))
    assert Path(".leftoff/resume-logs/session-s.md").is_file()
    assert Register(folder=paths.data_folder()).standing(store.path_of("s")) == "written"


def test_listing_survives_concurrent_saves_and_deletes(store):
    """While another process saves and deletes, the other logs are always listed, and nothing is raised."""
    store.save(a_log("stays"))
    done = threading.Event()

    def come_and_go():
        while not done.is_set():
            store.save(a_log("comes"))
            for part in (".md", ".json"):  # without the lock, as a foreign hand would
                store.path_of("comes", part).unlink(missing_ok=True)

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        for _ in range(200):
            assert "stays" in {log.session_id for log in file_store.list_log_files(store.folder)}
            assert "stays" in store.list()
    finally:
        done.set()
        other.join()


def test_a_log_that_is_too_large_is_named_and_hides_no_other(store):
    """A sparse file of a gigabyte costs its sender nothing."""
    store.save(a_log("good"))
    with (store.folder / "session-huge.json").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(DocumentError, match=r"session-huge.json: cannot be read: it is larger than 5 MB"):
        store.load("huge")
    assert set(store.list()) == {"good", "huge"}
    assert store.load("good") is not None
