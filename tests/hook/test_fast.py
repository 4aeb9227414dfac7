"""The fast path: light as a bare interpreter, and at one with the full program about every byte it writes."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff.errors import StorageError
from leftoff.hook import fast
from leftoff.system import files, locks

Append = Callable[[Path, bytes], bool]


def _by_the_fast_path(path: Path, line: bytes) -> bool:
    return fast.append_line(str(path), line, str(path.parent / files.LOCK_NAME))


def _by_the_full_program(path: Path, line: bytes) -> bool:
    try:
        files.append_lines(path, line)
    except StorageError:
        return False
    return True


@pytest.fixture(params=[_by_the_fast_path, _by_the_full_program], ids=["fast", "full"])
def append(request: pytest.FixtureRequest) -> Append:
    """Either of the two, which must not differ."""
    function: Append = request.param
    return function


def test_a_line_is_added_to_a_private_file(tmp_path: Path, append: Append) -> None:
    """Made when it is not there, as is the lock."""
    assert append(tmp_path / "x", b"1\n")
    assert append(tmp_path / "x", b"2\n")
    assert (tmp_path / "x").read_bytes() == b"1\n2\n"
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("x", ".lock")} == {0o600}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"new\n"),
        (b"old\n", b"old\nnew\n"),
        (b"to", b"to\nnew\n"),
        (b"a\nto", b"a\nto\nnew\n"),
        (b"\n", b"\nnew\n"),
    ],
)
def test_a_torn_end_is_mended_first(tmp_path: Path, append: Append, before: bytes, after: bytes) -> None:
    """The damage stays in the one line that was torn (L12)."""
    (tmp_path / "x").write_bytes(before)
    assert append(tmp_path / "x", b"new\n")
    assert (tmp_path / "x").read_bytes() == after


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path, append: Append) -> None:
    """Nothing is written to what it names, nor made there."""
    (tmp_path / "victim").write_bytes(b"old\n")
    for name, target in (("link", "victim"), ("dangling", "nowhere")):
        (tmp_path / name).symlink_to(tmp_path / target)
        assert not append(tmp_path / name, b"new\n")
    assert (tmp_path / "victim").read_bytes() == b"old\n"
    assert not (tmp_path / "nowhere").exists()


def test_trouble_is_an_answer_and_leaves_the_file_as_it_was(tmp_path: Path, append: Append) -> None:
    """No folder, a folder in the file's place, a limit on sizes in the middle of the line and at its start."""
    (tmp_path / "folder").mkdir()
    assert not append(tmp_path / "nowhere" / "x", b"1\n")
    assert not append(tmp_path / "folder", b"1\n")
    (tmp_path / "x").write_bytes(b"to")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for limit in (100, 2):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            assert not append(tmp_path / "x", b"n" * 200 + b"\n")
            assert (tmp_path / "x").read_bytes() == b"to"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert append(tmp_path / "x", b"n\n")


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x" * 5000, ""])
def test_no_path_makes_the_fast_path_raise(tmp_path: Path, path: str) -> None:
    """Parts of it come from an event; a hook must not harm the agent."""
    assert fast.append_line(path, b"x\n", str(tmp_path / ".lock")) is False
    assert fast.append_line(str(tmp_path / "x"), b"x\n", path) is False


def test_it_gives_up_within_a_tenth_of_a_second(tmp_path: Path) -> None:
    """A held lock costs the agent 100 ms and no more; nothing is written."""
    with locks.held(tmp_path / ".lock"):
        began = time.monotonic()
        assert not fast.append_line(str(tmp_path / "x"), b"x\n", str(tmp_path / ".lock"))
        assert 0.1 <= time.monotonic() - began < 0.5  # a busy machine may oversleep
    assert not (tmp_path / "x").exists()


def test_it_waits_for_a_lock_that_is_let_go_in_time(tmp_path: Path) -> None:
    """A writer that is nearly done does not cost the line."""
    code = (
        "import sys, time; from pathlib import Path; from leftoff.system import locks\n"
        "with locks.held(Path(sys.argv[1])): print('held', flush=True); time.sleep(0.04)\n"
    )
    lock = tmp_path / ".lock"
    with subprocess.Popen([sys.executable, "-c", code, lock], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert fast.append_line(str(tmp_path / "x"), b"x\n", str(lock))


# Light


def bare(code: str, *arguments: object) -> str:
    """What the code prints in an interpreter as the hook starts it."""
    command = [sys.executable, "-I", "-S", "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout


def test_it_loads_no_module_that_a_bare_interpreter_has_not_but_three(tmp_path: Path) -> None:
    """fcntl, errno and time, all in C; counted, because milliseconds cannot be compared."""
    listing = "import sys; print(*sorted(sys.modules))"
    run = (
        "import sys\n"
        "with open(sys.argv[1], 'rb') as file: exec(compile(file.read(), sys.argv[1], 'exec'))\n"
        "assert append_line(sys.argv[2], b'x\\n', sys.argv[3])\n"
        "print(*sorted(sys.modules))"
    )
    loaded = {*bare(run, fast.__file__, tmp_path / "x", tmp_path / ".lock").split()}
    assert loaded - {*bare(listing).split()} <= {"fcntl", "errno", "time"}
    assert (tmp_path / "x").read_bytes() == b"x\n"


def test_it_runs_as_a_file_of_its_own_without_the_package(tmp_path: Path) -> None:
    """Copied out of the package and run as the hook runs it, it does nothing and says nothing."""
    copy = tmp_path / "fast.py"
    copy.write_bytes(Path(fast.__file__).read_bytes())
    done = subprocess.run(
        [sys.executable, "-I", "-S", copy], capture_output=True, check=False, timeout=30, env={}, cwd="/"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
