"""Sets of files: readers see all of a set or nothing, whatever happens to the writer, and whatever journal is there."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff.errors import StorageError
from leftoff.platform import file_sets, locks

Run = Callable[..., subprocess.CompletedProcess[str]]
NAMES = ("a.json", "b.yaml", "c.md")
HEX = "0123456789ab"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "s"


def generation(number: int) -> dict[str, bytes]:
    return {name: f"{number} {name}".encode() for name in NAMES}


def plain_read(folder: Path) -> dict[str, bytes]:
    """Return what a reader sees who does not use ``consistent_set``."""
    return {name: (folder / name).read_bytes() for name in NAMES if (folder / name).exists()}


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def half_written(folder: Path, done: int) -> None:
    """Create the state after a crash: generation 1 in place, the journal of generation 2 written, ``done`` renames made."""
    file_sets.write_set(folder, generation(1))
    renames = {name: f".{name}.{HEX}.tmp" for name in NAMES}
    for name, data in generation(2).items():
        (folder / renames[name]).write_bytes(data)
    (folder / ".journal").write_text(json.dumps(renames), encoding="utf-8")
    for name in NAMES[:done]:
        (folder / renames[name]).replace(folder / name)


def test_a_set_is_written_whole_and_private(tmp_path: Path) -> None:
    """All files have mode 0600, and only the lock is beside them."""
    file_sets.write_set(tmp_path / "s", generation(1))
    file_sets.write_set(tmp_path / "s", generation(2))
    assert file_sets.read_set(tmp_path / "s", NAMES) == generation(2)
    assert names_in(tmp_path / "s") == {*NAMES, ".lock"}
    assert {mode(tmp_path / "s" / name) for name in (*NAMES, ".lock")} == {0o600}


def test_reading_a_set_gives_what_exists(tmp_path: Path) -> None:
    """Absence is not an error: of a file, of all, of the folder."""
    file_sets.write_set(tmp_path / "s", {"a.json": b"1"})
    assert file_sets.read_set(tmp_path / "s", NAMES) == {"a.json": b"1"}
    assert file_sets.read_set(tmp_path / "nowhere", NAMES) == {}
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("done", range(len(NAMES) + 1))
def test_a_set_left_half_renamed_is_finished_by_the_reader(folder: Path, done: int) -> None:
    """Once the journal exists the set counts as written, however many renames were made. A plain read sees a mixture."""
    half_written(folder, done)
    mixed = len({data.split()[0] for data in plain_read(folder).values()}) > 1
    assert mixed == (0 < done < len(NAMES))
    assert file_sets.read_set(folder, NAMES) == generation(2)
    assert plain_read(folder) == generation(2)
    assert names_in(folder) == {*NAMES, ".lock"}


@pytest.mark.parametrize("done", range(len(NAMES) + 1))
def test_a_set_left_half_renamed_is_finished_by_the_next_writer(folder: Path, done: int) -> None:
    """A writer of other names first finishes what it finds."""
    half_written(folder, done)
    file_sets.write_set(folder, {"other": b"3"})
    assert plain_read(folder) == generation(2)


def test_a_writer_that_dies_while_a_reader_waits_leaves_no_mixture(folder: Path) -> None:
    """The journal is looked for under the lock: here it appears while the reader is waiting for that lock."""
    file_sets.write_set(folder, generation(1))
    seen: list[dict[str, bytes]] = []
    reader = threading.Thread(target=lambda: seen.append(file_sets.read_set(folder, NAMES)))
    with locks.hold(folder / ".lock"):
        reader.start()
        time.sleep(0.2)  # it has looked, and waits now
        renames = {name: f".{name}.{HEX}.tmp" for name in NAMES}
        for name, data in generation(2).items():
            (folder / renames[name]).write_bytes(data)
        (folder / ".journal").write_text(json.dumps(renames), encoding="utf-8")
        (folder / renames["a.json"]).replace(folder / "a.json")
    reader.join(timeout=60)
    assert seen == [generation(2)]


def test_a_set_without_its_journal_never_happened(folder: Path) -> None:
    """The old set is read if the writer was killed before its journal was written."""
    file_sets.write_set(folder, generation(1))
    (folder / f".a.json.{HEX}.tmp").write_bytes(b"2 a.json")
    assert file_sets.read_set(folder, NAMES) == generation(1)


def test_temporaries_of_the_killed_are_swept_up(folder: Path) -> None:
    """The next writer of a set removes them after an hour; younger files and other files stay."""
    folder.mkdir()
    ours, fresh, foreign = f".a.json.{HEX}.tmp", f".b.{HEX}.tmp", ".user.tmp"
    for name in (ours, fresh, foreign):
        (folder / name).write_bytes(b"")
    for name in (ours, foreign):
        os.utime(folder / name, (0, 0))
    file_sets.write_set(folder, generation(1))
    assert {ours, fresh, foreign} & names_in(folder) == {fresh, foreign}


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc/x", ".lock", ".journal", "a\0b"])
def test_a_set_takes_names_only(folder: Path, name: str) -> None:
    """Names that lead elsewhere and leftoff's own bookkeeping files are refused."""
    with pytest.raises(ValueError, match="cannot be a file of a set"):
        file_sets.write_set(folder, {name: b""})
    with pytest.raises(ValueError, match="cannot be a file of a set"):
        file_sets.read_set(folder, [name])
    assert not folder.exists()


def test_a_folder_that_has_a_name_of_the_set_stops_it_before_it_begins(folder: Path) -> None:
    """The other files are untouched, and the folder can still be used."""
    file_sets.write_set(folder, {"a.json": b"1"})
    (folder / "b.yaml").mkdir()
    with pytest.raises(StorageError, match="a folder is where a file should be"):
        file_sets.write_set(folder, generation(2))
    assert file_sets.read_set(folder, NAMES) == {"a.json": b"1"}
    assert names_in(folder) == {"a.json", "b.yaml", ".lock"}
    file_sets.write_set(folder, {"c.md": b"3"})


def test_a_link_in_a_set_is_not_read(tmp_path: Path, folder: Path) -> None:
    """A file that a clone made a link to somewhere else does not exist for us."""
    (tmp_path / "secret").write_bytes(b"secret")
    file_sets.write_set(folder, {"a.json": b"1"})
    (folder / "b.yaml").symlink_to(tmp_path / "secret")
    assert file_sets.read_set(folder, NAMES) == {"a.json": b"1"}


# A journal that came with a cloned repository

_PLANTED = {
    "up": {"a.json": "../../victim", "../../victim": f".a.json.{HEX}.tmp"},
    "absolute": {"/tmp/leftoff-planted": f".a.json.{HEX}.tmp"},
    "parent": {"..": "..", "a.json": "..", ".": "."},
    "lock": {"a.json": ".lock", "b.yaml": ".gitignore"},
    "other name": {"b.yaml": f".a.json.{HEX}.tmp"},
    "surrogate": {"\ud800": f".\ud800.{HEX}.tmp"},
    "nul": {"a\0": f".a\0.{HEX}.tmp"},
    "slash inside": {"x/y": f".x/y.{HEX}.tmp"},
    "types": {"a.json": 7, "b.yaml": None, "c.md": ["x"]},
    "link": {"link": f".link.{HEX}.tmp"},
    "folder": {"folder": f".folder.{HEX}.tmp"},
}


@pytest.mark.parametrize("planted", [*_PLANTED.values()], ids=[*_PLANTED])
def test_a_planted_journal_moves_nothing(tmp_path: Path, planted: object) -> None:
    """Only a temporary file of leftoff is moved, to its own name; anything else is ignored."""
    folder = tmp_path / "clone" / "logs"
    (tmp_path / "victim").write_bytes(b"victim")
    file_sets.write_set(folder, generation(1))
    (folder / ".gitignore").write_bytes(b"*\n")
    (folder / f".a.json.{HEX}.tmp").write_bytes(b"evil")
    (folder / f".link.{HEX}.tmp").symlink_to(tmp_path / "victim")
    (folder / f".folder.{HEX}.tmp").mkdir()
    (folder / ".journal").write_text(json.dumps(planted), encoding="utf-8")
    before = {
        path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != ".journal"
    }
    assert file_sets.read_set(folder, NAMES) == generation(1)
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before
    assert not Path("/tmp/leftoff-planted").exists()
    file_sets.write_set(folder, generation(2))
    assert file_sets.read_set(folder, NAMES) == generation(2)


def _as_fifo(journal: Path) -> None:
    os.mkfifo(journal)


_ODD_JOURNALS: dict[str, Callable[[Path], object]] = {
    "empty": lambda journal: journal.write_bytes(b""),
    "not JSON": lambda journal: journal.write_bytes(b"\xff\xfe{"),
    "a list": lambda journal: journal.write_bytes(b"[1]"),
    "deep": lambda journal: journal.write_bytes(b"[" * 200_000),
    "large": lambda journal: os.truncate(_touched(journal), 1 << 40),
    "a link to the outside": lambda journal: journal.symlink_to("/dev/zero"),
    "a dangling link": lambda journal: journal.symlink_to("nowhere"),
    "a pipe": _as_fifo,
}


def _touched(path: Path) -> Path:
    path.touch()
    return path


# In a process with limits: following the link to /dev/zero would exhaust the memory.
_READ_AND_WRITE = """
import resource, sys
from pathlib import Path
from leftoff.platform import file_sets
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
print(file_sets.read_set(Path(sys.argv[1]), ["a.json"]))
file_sets.write_set(Path(sys.argv[1]), {"a.json": b"2"})
print(file_sets.read_set(Path(sys.argv[1]), ["a.json"]))
"""


@pytest.mark.parametrize("plant", [*_ODD_JOURNALS.values()], ids=[*_ODD_JOURNALS])
def test_an_invalid_journal_is_ignored(
    folder: Path, plant: Callable[[Path], object], run_python: Run
) -> None:
    """Reading and writing continue without waiting, and nothing large is read."""
    file_sets.write_set(folder, {"a.json": b"1"})
    plant(folder / ".journal")
    assert run_python(_READ_AND_WRITE, folder).stdout == "{'a.json': b'1'}\n{'a.json': b'2'}\n"


def test_a_folder_in_place_of_the_journal_is_an_error(tmp_path: Path) -> None:
    """Reading still works, and the error of a write names what is in the way."""
    file_sets.write_set(tmp_path, generation(1))
    (tmp_path / ".journal").mkdir()
    assert file_sets.read_set(tmp_path, NAMES) == generation(1)
    with pytest.raises(StorageError, match="a folder is where a file should be"):
        file_sets.write_set(tmp_path, generation(2))
    assert plain_read(tmp_path) == generation(1)


def test_an_unreadable_file_of_a_set_is_an_error(unprivileged_folder: Path, run_python: Run) -> None:
    """An unreadable file is not treated as missing."""
    code = (
        "import os, sys; from pathlib import Path; from leftoff.errors import StorageError\n"
        "import json; from leftoff.platform import file_sets; drop()\n"
        "folder = Path(sys.argv[1]) / 'f'; file_sets.write_set(folder, {'a': b'1'}); os.chmod(folder / 'a', 0)\n"
        "try: file_sets.read_set(folder, ['a'])\n"
        "except StorageError as error: print(error)\n"
    )
    assert "a: cannot be read: no permission." in run_python(code, unprivileged_folder).stdout
