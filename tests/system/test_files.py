"""Writing: one file, a file that must be new, a set, lines; with everything a disk and a stranger can do to it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff.errors import StorageError
from leftoff.system import files, locks

Run = Callable[..., subprocess.CompletedProcess[str]]
NAMES = ("a.json", "b.yaml", "c.md")
HEX = "0123456789ab"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "s"


def generation(number: int) -> dict[str, bytes]:
    return {name: f"{number} {name}".encode() for name in NAMES}


def plain_read(folder: Path) -> dict[str, bytes]:
    """What somebody sees who does not go through ``settled``."""
    return {name: (folder / name).read_bytes() for name in NAMES if (folder / name).exists()}


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def half_written(folder: Path, done: int) -> None:
    """The state after a crash: generation 1 in place, the journal of generation 2 standing, ``done`` renames made."""
    files.write_set(folder, generation(1))
    renames = {name: f".{name}.{HEX}.tmp" for name in NAMES}
    for name, data in generation(2).items():
        (folder / renames[name]).write_bytes(data)
    (folder / ".journal").write_text(json.dumps(renames), encoding="utf-8")
    for name in NAMES[:done]:
        (folder / renames[name]).replace(folder / name)


# One file


def test_a_written_file_holds_its_bytes_and_is_private(tmp_path: Path) -> None:
    """Content as given, mode 0600, nothing beside it."""
    files.write_file(tmp_path / "f" / "x", b"one")
    files.write_file(tmp_path / "f" / "x", b"two")
    assert (tmp_path / "f" / "x").read_bytes() == b"two"
    assert mode(tmp_path / "f" / "x") == 0o600
    assert names_in(tmp_path / "f") == {"x"}


def test_folders_made_on_the_way_are_private_too(tmp_path: Path) -> None:
    """With the most generous umask, every folder that was missing is for this user alone."""
    before = os.umask(0)
    try:
        files.write_file(tmp_path / "a" / "b" / "c" / "x", b"")
    finally:
        os.umask(before)
    assert [mode(tmp_path / each) for each in ("a", "a/b", "a/b/c", "a/b/c/x")] == [0o700] * 3 + [0o600]


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(tmp_path: Path) -> None:
    """Writing over a symbolic link leaves alone what it names."""
    (tmp_path / "victim").write_bytes(b"old")
    (tmp_path / "x").symlink_to(tmp_path / "victim")
    files.write_file(tmp_path / "x", b"new")
    assert (tmp_path / "victim").read_bytes() == b"old"
    assert not (tmp_path / "x").is_symlink()


def test_a_folder_in_the_place_of_a_file_is_an_error_with_words(tmp_path: Path) -> None:
    """The message names the path and what stands there."""
    (tmp_path / "x").mkdir()
    with pytest.raises(StorageError, match=r"x: not written: a folder stands where a file should be\."):
        files.write_file(tmp_path / "x", b"new")
    assert names_in(tmp_path) >= {"x"}
    assert not [name for name in names_in(tmp_path) if name.endswith(".tmp")]


def test_a_file_in_the_place_of_a_folder_is_an_error_with_words(tmp_path: Path) -> None:
    """Wherever in the path it stands."""
    (tmp_path / "x").write_bytes(b"")
    for path in (tmp_path / "x" / "y", tmp_path / "x" / "y" / "z"):
        with pytest.raises(StorageError, match="a file stands where a folder should be"):
            files.write_file(path, b"new")


# A file that must be new


def test_create_file_never_overwrites(tmp_path: Path) -> None:
    """A taken name is False, and what has it stays; a dangling link takes a name too."""
    assert files.create_file(tmp_path / "x", b"one")
    assert not files.create_file(tmp_path / "x", b"two")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert not files.create_file(tmp_path / "link", b"three")
    assert (tmp_path / "x").read_bytes() == b"one"
    assert not (tmp_path / "nowhere").exists()
    assert not [name for name in names_in(tmp_path) if name.endswith(".tmp")]


_CREATE = """
import sys
from pathlib import Path
from leftoff.system import files
who = sys.argv[1]
while not Path("go").exists(): pass
print(sum(files.create_file(Path(f"f/{n}"), who.encode() * 1000) for n in range(50)))
"""


def test_of_many_that_create_the_same_name_one_wins(tmp_path: Path) -> None:
    """Four processes race for 50 names: each is made once, and whole."""
    racers = [
        subprocess.Popen([sys.executable, "-c", _CREATE, who], stdout=subprocess.PIPE) for who in "1234"
    ]
    Path("go").touch()
    won = [int(racer.communicate(timeout=60)[0]) for racer in racers]
    assert sum(won) == 50
    contents = [Path(f"f/{n}").read_bytes() for n in range(50)]
    assert all(content == content[:1] * 1000 for content in contents)
    assert sorted(won) == sorted(sum(c[:1] == who for c in contents) for who in (b"1", b"2", b"3", b"4"))


def test_create_file_works_where_there_are_no_hard_links(tmp_path: Path) -> None:
    """A stick or a share refuses link(2): the name is still taken exclusively."""
    code = (
        "from pathlib import Path; from leftoff.system import files;"
        "print(files.create_file(Path('x'), b'one'), files.create_file(Path('x'), b'two'))"
    )
    inject = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "inject=?link,?linkat:error=EPERM"]
    done = subprocess.run(
        [*_strace(inject), sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "True False\n"
    assert Path("x").read_bytes() == b"one"
    assert names_in(Path.cwd()) == {"x"}


def _strace(command: list[str]) -> list[str]:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: apt-get install strace")
    return command


# A set


def test_a_set_is_written_whole_and_private(tmp_path: Path) -> None:
    """All files, mode 0600, and only the lock beside them."""
    files.write_set(tmp_path / "s", generation(1))
    files.write_set(tmp_path / "s", generation(2))
    assert files.read_set(tmp_path / "s", NAMES) == generation(2)
    assert names_in(tmp_path / "s") == {*NAMES, ".lock"}
    assert {mode(tmp_path / "s" / name) for name in (*NAMES, ".lock")} == {0o600}


def test_reading_a_set_gives_what_exists(tmp_path: Path) -> None:
    """Absence is not an error: of a file, of all, of the folder."""
    files.write_set(tmp_path / "s", {"a.json": b"1"})
    assert files.read_set(tmp_path / "s", NAMES) == {"a.json": b"1"}
    assert files.read_set(tmp_path / "nowhere", NAMES) == {}
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("done", range(len(NAMES) + 1))
def test_a_set_left_half_renamed_is_finished_by_the_reader(folder: Path, done: int) -> None:
    """Once the journal stands the set counts as written, however many renames were made. A plain read sees a mixture."""
    half_written(folder, done)
    mixed = len({data.split()[0] for data in plain_read(folder).values()}) > 1
    assert mixed == (0 < done < len(NAMES))
    assert files.read_set(folder, NAMES) == generation(2)
    assert plain_read(folder) == generation(2)
    assert names_in(folder) == {*NAMES, ".lock"}


@pytest.mark.parametrize("done", range(len(NAMES) + 1))
def test_a_set_left_half_renamed_is_finished_by_the_next_writer(folder: Path, done: int) -> None:
    """A writer of other names first finishes what it finds."""
    half_written(folder, done)
    files.write_set(folder, {"other": b"3"})
    assert plain_read(folder) == generation(2)


def test_a_writer_that_dies_while_a_reader_waits_leaves_no_mixture(folder: Path) -> None:
    """The journal is looked for under the lock: here it appears while the reader is waiting for that lock."""
    files.write_set(folder, generation(1))
    seen: list[dict[str, bytes]] = []
    reader = threading.Thread(target=lambda: seen.append(files.read_set(folder, NAMES)))
    with locks.held(folder / ".lock"):
        reader.start()
        time.sleep(0.2)  # it has looked, and waits now
        renames = {name: f".{name}.{HEX}.tmp" for name in NAMES}
        for name, data in generation(2).items():
            (folder / renames[name]).write_bytes(data)
        (folder / ".journal").write_text(json.dumps(renames), encoding="utf-8")
        (folder / renames["a.json"]).replace(folder / "a.json")
    reader.join(timeout=10)
    assert seen == [generation(2)]


def test_a_set_without_its_journal_never_happened(folder: Path) -> None:
    """Killed before the journal stood: the old set is what there is."""
    files.write_set(folder, generation(1))
    (folder / f".a.json.{HEX}.tmp").write_bytes(b"2 a.json")
    assert files.read_set(folder, NAMES) == generation(1)


def test_temporaries_of_the_killed_are_swept_up(folder: Path) -> None:
    """After an hour, by the next writer of a set; what somebody may still be writing, and what is not ours, stays."""
    folder.mkdir()
    ours, fresh, foreign = f".a.json.{HEX}.tmp", f".b.{HEX}.tmp", ".user.tmp"
    for name in (ours, fresh, foreign):
        (folder / name).write_bytes(b"")
    for name in (ours, foreign):
        os.utime(folder / name, (0, 0))
    files.write_set(folder, generation(1))
    assert {ours, fresh, foreign} & names_in(folder) == {fresh, foreign}


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc/x", ".lock", ".journal", "a\0b"])
def test_a_set_takes_names_only(folder: Path, name: str) -> None:
    """Nothing that leads elsewhere, and none of the files that hold the set together."""
    with pytest.raises(ValueError, match="cannot be a file of a set"):
        files.write_set(folder, {name: b""})
    with pytest.raises(ValueError, match="cannot be a file of a set"):
        files.read_set(folder, [name])
    assert not folder.exists()


def test_a_folder_that_has_a_name_of_the_set_stops_it_before_it_begins(folder: Path) -> None:
    """A clear error, the other files untouched, and the folder usable afterwards."""
    files.write_set(folder, {"a.json": b"1"})
    (folder / "b.yaml").mkdir()
    with pytest.raises(StorageError, match="a folder stands where a file should be"):
        files.write_set(folder, generation(2))
    assert files.read_set(folder, NAMES) == {"a.json": b"1"}
    assert names_in(folder) == {"a.json", "b.yaml", ".lock"}
    files.write_set(folder, {"c.md": b"3"})


def test_a_link_in_a_set_is_not_read(tmp_path: Path, folder: Path) -> None:
    """A file that a clone made a link to somewhere else does not exist for us."""
    (tmp_path / "secret").write_bytes(b"secret")
    files.write_set(folder, {"a.json": b"1"})
    (folder / "b.yaml").symlink_to(tmp_path / "secret")
    assert files.read_set(folder, NAMES) == {"a.json": b"1"}


# A journal that came with somebody's repository

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
    """Only a temporary of ours may go to the name it was made for; anything else is passed over, and work goes on."""
    folder = tmp_path / "clone" / "logs"
    (tmp_path / "victim").write_bytes(b"victim")
    files.write_set(folder, generation(1))
    (folder / ".gitignore").write_bytes(b"*\n")
    (folder / f".a.json.{HEX}.tmp").write_bytes(b"evil")
    (folder / f".link.{HEX}.tmp").symlink_to(tmp_path / "victim")
    (folder / f".folder.{HEX}.tmp").mkdir()
    (folder / ".journal").write_text(json.dumps(planted), encoding="utf-8")
    before = {
        path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != ".journal"
    }
    assert files.read_set(folder, NAMES) == generation(1)
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before
    assert not Path("/tmp/leftoff-planted").exists()
    files.write_set(folder, generation(2))
    assert files.read_set(folder, NAMES) == generation(2)


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


# In a process with limits: who follows the link to /dev/zero would take the whole machine along.
_READ_AND_WRITE = """
import resource, sys
from pathlib import Path
from leftoff.system import files
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
print(files.read_set(Path(sys.argv[1]), ["a.json"]))
files.write_set(Path(sys.argv[1]), {"a.json": b"2"})
print(files.read_set(Path(sys.argv[1]), ["a.json"]))
"""


@pytest.mark.parametrize("plant", [*_ODD_JOURNALS.values()], ids=[*_ODD_JOURNALS])
def test_a_journal_that_is_none_stops_nobody(
    folder: Path, plant: Callable[[Path], object], run_python: Run
) -> None:
    """Reading and writing go on; nothing is waited for, nothing large is read."""
    files.write_set(folder, {"a.json": b"1"})
    plant(folder / ".journal")
    assert run_python(_READ_AND_WRITE, folder).stdout == "{'a.json': b'1'}\n{'a.json': b'2'}\n"


def test_a_folder_named_as_the_journal_is_said(tmp_path: Path) -> None:
    """It cannot be written over; reading goes on and writing says what is in the way."""
    files.write_set(tmp_path, generation(1))
    (tmp_path / ".journal").mkdir()
    assert files.read_set(tmp_path, NAMES) == generation(1)
    with pytest.raises(StorageError, match="a folder stands where a file should be"):
        files.write_set(tmp_path, generation(2))
    assert plain_read(tmp_path) == generation(1)


# Lines


def test_lines_must_be_whole(tmp_path: Path) -> None:
    """Half a line is a mistake of the caller."""
    with pytest.raises(ValueError, match="whole lines"):
        files.append_lines(tmp_path / "x", b"half")


def test_several_lines_go_in_together_and_can_be_synced(tmp_path: Path) -> None:
    """One call, any number of lines."""
    files.append_lines(tmp_path / "x", b"1\n2\n")
    files.append_lines(tmp_path / "x", b"3\n", sync=True)
    assert (tmp_path / "x").read_bytes() == b"1\n2\n3\n"


# Disks that are full, read-only, or somebody else's

_TRY_ALL = """
import json, os, sys
from pathlib import Path
from leftoff.errors import StorageError
from leftoff.hook import fast
from leftoff.system import files, locks
folder = Path(sys.argv[1])
big = b"x" * 400_000 + b"\\n"
SETUP
said = {}
def attempt(name, call):
    try: said[name] = repr(call())
    except StorageError as error: said[name] = str(error)
attempt("write_file", lambda: files.write_file(folder / "file", big))
attempt("create_file", lambda: files.create_file(folder / "new", big))
attempt("write_set", lambda: files.write_set(folder, {"a": big, "b": big}))
attempt("append_lines", lambda: files.append_lines(folder / "lines", big))
attempt("make_folder", lambda: files.make_folder(folder / "deep" / "er"))
attempt("fast", lambda: fast.append_line(str(folder / "lines"), big, str(folder / ".lock")))
attempt("read_set", lambda: files.read_set(folder, ["a", "b"]))
print(json.dumps([said, {each.name: each.read_text("utf-8") for each in folder.iterdir() if each.is_file()}]))
"""
_OLD = {"file": "old", "a": "old", "b": "old", "lines": "old\n"}
_FILL = """
files.write_file(folder / "file", b"old")
files.write_set(folder, {"a": b"old", "b": b"old"})
files.append_lines(folder / "lines", b"old\\n")
"""


def _tried(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """What each call said; the old content must stand, and nothing else."""
    said, left = json.loads(done.stdout)
    left.pop(".lock", None)
    assert left == _OLD
    assert said.pop("read_set") == "{'a': b'old', 'b': b'old'}"
    assert said.pop("fast") == "False"
    return dict(said)


def _in_namespace(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A shell in a mount namespace of its own, as root or as the root of a user namespace."""
    alone = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if (
        not shutil.which("unshare")
        or subprocess.run(
            [*alone, "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("no mount namespaces here (unshare -m): a full disk cannot be made")
    command = [*alone, "sh", "-c", script, "sh", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)


def test_a_full_disk_is_an_error_and_the_old_files_stay(tmp_path: Path) -> None:
    """On a real file system of 256 KB: each way of writing says that the disk is full; old content, no debris."""
    mount = tmp_path / "small"
    mount.mkdir()
    done = _in_namespace(
        'mount -t tmpfs -o size=256k none "$1" && exec "$2" -c "$3" "$1"',
        mount,
        sys.executable,
        _TRY_ALL.replace("SETUP", _FILL),
    )
    said = _tried(done)
    said.pop("make_folder")  # there is room for a folder
    for name, words in said.items():
        assert "not written: the disk is full. Free some space and try again." in words, name
        assert words.endswith("What was there is intact."), name


def test_a_disk_without_room_for_a_single_byte_more(tmp_path: Path) -> None:
    """Not even a temporary can be begun or a folder made; nothing that was there is lost."""
    mount = tmp_path / "small"
    mount.mkdir()
    fill = (
        _FILL
        + "\ntry: open(sys.argv[1] + '/../full/ballast', 'wb', 0).write(b'x' * (1 << 20))\nexcept OSError: pass\n"
    )
    fill += "[open(f'{sys.argv[1]}/../full/{n}', 'w') for n in range(100)]\n".join(
        ["try:\n    ", "except OSError: pass\n"]
    )
    done = _in_namespace(
        'mount -t tmpfs -o size=256k,nr_inodes=24 none "$1" && mkdir "$1/f" "$1/full" && exec "$2" -c "$3" "$1/f"',
        mount,
        sys.executable,
        _TRY_ALL.replace("SETUP", fill),
    )
    assert {name for name, words in _tried(done).items() if "disk is full" not in words} == set()


def test_a_read_only_file_system_is_said(tmp_path: Path) -> None:
    """Reading a set still works there, without a lock of our own making."""
    mount = tmp_path / "small"
    mount.mkdir()
    done = _in_namespace(
        'mount -t tmpfs none "$1" && "$2" -c "$3" "$1" && mount -o remount,ro "$1" && exec "$2" -c "$4" "$1"',
        mount,
        sys.executable,
        "import sys; from pathlib import Path; from leftoff.system import files; folder = Path(sys.argv[1])"
        + _FILL,
        _TRY_ALL.replace("SETUP", ""),
    )
    for name, words in _tried(done).items():
        assert "the file system is read-only" in words, name


def test_a_read_only_folder_is_said(ordinary_folder: Path, run_python: Run) -> None:
    """For a user without root's privileges: no permission, old files intact, reading goes on."""
    folder = ordinary_folder / "f"
    setup = (
        "import ruamel.yaml\ndrop()\nos.mkdir(folder)\n"
        + _FILL
        + "\n[each.chmod(0o400) for each in folder.iterdir()]\nos.chmod(folder, 0o500)"
    )
    said = _tried(run_python(_TRY_ALL.replace("SETUP", setup), folder))
    for name, words in said.items():
        assert "no permission" in words, name


def test_a_limit_on_file_sizes_takes_a_line_back(tmp_path: Path, run_python: Run) -> None:
    """A write that is taken only in part leaves the file as it was."""
    setup = _FILL + "\nimport resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
    said = _tried(run_python(_TRY_ALL.replace("SETUP", setup), tmp_path / "f"))
    assert "the disk is full" in said["append_lines"]
    assert "the file would grow beyond what this system allows" in said["write_file"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_device_that_is_always_full_is_a_full_disk(tmp_path: Path) -> None:
    """The error is the first one, not that of cleaning up after it."""
    with pytest.raises(StorageError, match=r"/dev/full: not written: the disk is full"):
        files.append_lines(Path("/dev/full"), b"x\n", lock=tmp_path / ".lock")


def test_an_unreadable_file_of_a_set_is_said(ordinary_folder: Path, run_python: Run) -> None:
    """Not passed over as if it did not exist."""
    code = (
        "import os, sys; from pathlib import Path; from leftoff.errors import StorageError\n"
        "import json; from leftoff.system import files; drop()\n"
        "folder = Path(sys.argv[1]) / 'f'; files.write_set(folder, {'a': b'1'}); os.chmod(folder / 'a', 0)\n"
        "try: files.read_set(folder, ['a'])\n"
        "except StorageError as error: print(error)\n"
    )
    assert "a: cannot be read: no permission." in run_python(code, ordinary_folder).stdout
