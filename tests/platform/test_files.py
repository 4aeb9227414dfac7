"""Writing a file, a file that must be new, and lines, also on full and read-only disks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff.errors import StorageError
from leftoff.platform import files

Run = Callable[..., subprocess.CompletedProcess[str]]


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


# One file


def test_a_written_file_holds_its_bytes_and_is_private(tmp_path: Path) -> None:
    """The file has the given content and mode 0600, and no other file is left beside it."""
    files.write_file(tmp_path / "f" / "x", b"one")
    files.write_file(tmp_path / "f" / "x", b"two")
    assert (tmp_path / "f" / "x").read_bytes() == b"two"
    assert mode(tmp_path / "f" / "x") == 0o600
    assert names_in(tmp_path / "f") == {"x"}


def test_created_parent_folders_are_private_too(tmp_path: Path) -> None:
    """With the most generous umask, every created folder is for this user alone."""
    before = os.umask(0)
    try:
        files.write_file(tmp_path / "a" / "b" / "c" / "x", b"")
    finally:
        os.umask(before)
    assert [mode(tmp_path / each) for each in ("a", "a/b", "a/b/c", "a/b/c/x")] == [0o700] * 3 + [0o600]


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(tmp_path: Path) -> None:
    """Writing over a symbolic link leaves its target alone."""
    (tmp_path / "victim").write_bytes(b"old")
    (tmp_path / "x").symlink_to(tmp_path / "victim")
    files.write_file(tmp_path / "x", b"new")
    assert (tmp_path / "victim").read_bytes() == b"old"
    assert not (tmp_path / "x").is_symlink()


def test_a_folder_in_the_place_of_a_file_is_an_error_with_words(tmp_path: Path) -> None:
    """The message names the path and what is there."""
    (tmp_path / "x").mkdir()
    with pytest.raises(StorageError, match=r"x: not written: a folder is where a file should be\."):
        files.write_file(tmp_path / "x", b"new")
    assert names_in(tmp_path) >= {"x"}
    assert not [name for name in names_in(tmp_path) if name.endswith(".tmp")]


def test_a_file_in_the_place_of_a_folder_is_an_error_with_words(tmp_path: Path) -> None:
    """A file anywhere in the path of a folder is reported."""
    (tmp_path / "x").write_bytes(b"")
    for path in (tmp_path / "x" / "y", tmp_path / "x" / "y" / "z"):
        with pytest.raises(StorageError, match="a file is where a folder should be"):
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
from leftoff.platform import files
who = sys.argv[1]
while not Path("go").exists(): pass
print(sum(files.create_file(Path(f"f/{n}"), who.encode() * 1000) for n in range(50)))
"""


def test_of_many_that_create_the_same_name_one_wins(tmp_path: Path) -> None:
    """Four processes race for 50 names, and each is created once and completely."""
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
        "from pathlib import Path; from leftoff.platform import files;"
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


# Lines


def test_lines_must_be_whole(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="whole lines"):
        files.append_lines(tmp_path / "x", b"half")


def test_several_lines_go_in_together_and_can_be_synced(tmp_path: Path) -> None:
    files.append_lines(tmp_path / "x", b"1\n2\n")
    files.append_lines(tmp_path / "x", b"3\n", sync=True)
    assert (tmp_path / "x").read_bytes() == b"1\n2\n3\n"


# Disks that are full or read-only, and folders of other users

_TRY_ALL = """
import json, os, sys
from pathlib import Path
from leftoff.errors import StorageError
from leftoff.live import fast
from leftoff.platform import file_sets, files, locks
folder = Path(sys.argv[1])
big = b"x" * 400_000 + b"\\n"
SETUP
said = {}
def attempt(name, call):
    try: said[name] = repr(call())
    except StorageError as error: said[name] = str(error)
attempt("write_file", lambda: files.write_file(folder / "file", big))
attempt("create_file", lambda: files.create_file(folder / "new", big))
attempt("write_set", lambda: file_sets.write_set(folder, {"a": big, "b": big}))
attempt("append_lines", lambda: files.append_lines(folder / "lines", big))
attempt("make_folder", lambda: files.make_folder(folder / "deep" / "er"))
attempt("fast", lambda: fast.append_line(str(folder / "lines"), big, str(folder / ".lock")))
attempt("read_set", lambda: file_sets.read_set(folder, ["a", "b"]))
print(json.dumps([said, {each.name: each.read_text("utf-8") for each in folder.iterdir() if each.is_file()}]))
"""
_OLD = {"file": "old", "a": "old", "b": "old", "lines": "old\n"}
_FILL = """
files.write_file(folder / "file", b"old")
file_sets.write_set(folder, {"a": b"old", "b": b"old"})
files.append_lines(folder / "lines", b"old\\n")
"""


def _tried(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Return what each call reported; the old content must be there, and nothing else."""
    reports, left = json.loads(done.stdout)
    left.pop(".lock", None)
    assert left == _OLD
    assert reports.pop("read_set") == "{'a': b'old', 'b': b'old'}"
    assert reports.pop("fast") == "False"
    return dict(reports)


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
    """On a full file system of 256 KB each way of writing reports it, and old content is kept."""
    mount = tmp_path / "small"
    mount.mkdir()
    done = _in_namespace(
        'mount -t tmpfs -o size=256k none "$1" && exec "$2" -c "$3" "$1"',
        mount,
        sys.executable,
        _TRY_ALL.replace("SETUP", _FILL),
    )
    reports = _tried(done)
    reports.pop("make_folder")  # there is still space for a folder
    for name, words in reports.items():
        assert "not written: the disk is full. Free some space and try again." in words, name
        assert words.endswith("What was there is intact."), name


def test_a_completely_full_disk(tmp_path: Path) -> None:
    """No temporary file or folder can be created, and nothing that was there is lost."""
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


def test_a_read_only_file_system_is_an_error(tmp_path: Path) -> None:
    """Reading a set still works there, without a lock of our own making."""
    mount = tmp_path / "small"
    mount.mkdir()
    done = _in_namespace(
        'mount -t tmpfs none "$1" && "$2" -c "$3" "$1" && mount -o remount,ro "$1" && exec "$2" -c "$4" "$1"',
        mount,
        sys.executable,
        "import sys; from pathlib import Path; from leftoff.platform import file_sets, files; folder = Path(sys.argv[1])"
        + _FILL,
        _TRY_ALL.replace("SETUP", ""),
    )
    for name, words in _tried(done).items():
        assert "the file system is read-only" in words, name


def test_a_read_only_folder_is_an_error(unprivileged_folder: Path, run_python: Run) -> None:
    """Without root rights, writing is refused, old files are intact and reading works."""
    folder = unprivileged_folder / "f"
    setup = (
        "import ruamel.yaml\ndrop()\nos.mkdir(folder)\n"
        + _FILL
        + "\n[each.chmod(0o400) for each in folder.iterdir()]\nos.chmod(folder, 0o500)"
    )
    reports = _tried(run_python(_TRY_ALL.replace("SETUP", setup), folder))
    for name, words in reports.items():
        assert "no permission" in words, name


def test_a_limit_on_file_sizes_takes_a_line_back(tmp_path: Path, run_python: Run) -> None:
    """A write that is taken only in part leaves the file as it was."""
    setup = _FILL + "\nimport resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
    reports = _tried(run_python(_TRY_ALL.replace("SETUP", setup), tmp_path / "f"))
    assert "the disk is full" in reports["append_lines"]
    assert "the file would grow beyond what this system allows" in reports["write_file"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_device_that_is_always_full_is_a_full_disk(tmp_path: Path) -> None:
    """The error is the first one, not that of cleaning up after it."""
    with pytest.raises(StorageError, match=r"/dev/full: not written: the disk is full"):
        files.append_lines(Path("/dev/full"), b"x\n", lock=tmp_path / ".lock")
