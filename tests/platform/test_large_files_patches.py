"""Changes of a large file are complete or not made, however the writer ends, and never overwrite other changes."""

import os
import signal
import subprocess
import sys

import pytest

from leftoff.errors import StorageError
from leftoff.platform import large_files
from leftoff.platform.large_files import Patch

BEFORE = b"count: 1\nbody\nold tail\n"
AFTER = b"count: 2\nbody\nmore body\nnew tail\n"
CHANGE = [Patch(at=7, data=b"2"), Patch(at=14, data=b"more body\nnew tail\n")]
SHORTER = [Patch(at=7, data=b"2"), Patch(at=14, data=b"x\n")]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "chats" / "chat.md"
    path.parent.mkdir()
    path.write_bytes(BEFORE)
    return path


def beside(file):
    return file.with_name(f".{file.name}.patch")


def names(file):
    return {each.name for each in file.parent.iterdir()}


def recorded(file, change=CHANGE):
    """Leaves the file as it is when the writer is killed right after the change stood beside it."""
    content = file.read_bytes()
    patches = [(each.at, each.data) for each in change]
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom leftoff.platform import large_files\n"
        "os.pwrite = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"patches = [large_files.Patch(at=at, data=data) for at, data in {patches!r}]\n"
        f"large_files.apply_patches(Path(sys.argv[1]), {len(content)}, patches)"
    )
    done = subprocess.run([sys.executable, "-c", code, file], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert file.read_bytes() == content
    assert large_files.has_unfinished_patch(file)


@pytest.mark.parametrize(("change", "after"), [(CHANGE, AFTER), (SHORTER, b"count: 2\nbody\nx\n")])
def test_a_change_is_whole_and_leaves_nothing_beside_it(file, change, after):
    """The new content may be longer or shorter than the old."""
    assert large_files.apply_patches(file, len(BEFORE), change)
    assert file.read_bytes() == after
    assert names(file) == {file.name}


def test_a_file_of_another_size_or_none_is_not_changed(file):
    """The caller then reads it again."""
    assert not large_files.apply_patches(file, len(BEFORE) + 1, CHANGE)
    assert file.read_bytes() == BEFORE
    file.unlink()
    assert not large_files.apply_patches(file, len(BEFORE), CHANGE)
    assert names(file) == set()


_KILLED = """
import os, signal, sys
from pathlib import Path
from leftoff.platform import large_files
left = int(sys.argv[2])
def dying(name):
    real = getattr(os, name)
    def call(*arguments, **named):
        global left
        left -= 1
        if left < 0:
            if name == "pwrite":
                real(arguments[0], bytes(arguments[1])[:7], arguments[2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    setattr(os, name, call)
for name in ("open", "pwrite", "replace", "fsync", "ftruncate", "unlink", "close"):
    dying(name)
assert large_files.apply_patches(Path(sys.argv[1]), %d, [large_files.Patch(at=7, data=b"2"), large_files.Patch(at=14, data=%r)])
os._exit(0)
""" % (len(BEFORE), CHANGE[1].data)  # noqa: UP031 - braces are the program's own


@pytest.mark.slow
def test_a_kill_at_any_step_leaves_the_file_before_or_after(file):
    """A real process is killed at each step; once the change is recorded beside the file, it is never lost."""
    for step in range(60):
        file.write_bytes(BEFORE)
        done = subprocess.run(
            [sys.executable, "-c", _KILLED, file, str(step)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode in {0, -signal.SIGKILL}, done.stderr
        was_told = large_files.has_unfinished_patch(file)
        large_files.finish_patch(file)
        assert not beside(file).exists()
        assert file.read_bytes() in ({AFTER} if was_told else {BEFORE, AFTER})
        large_files.discard_patch(file)
        assert names(file) == {file.name}
        if done.returncode == 0:
            break
    assert (step > 10, file.read_bytes()) == (True, AFTER)


def test_everything_is_synced_before_the_next_step_relies_on_it(file, monkeypatch):
    """The change beside the file and its name; then the file; only then the change is taken away."""
    steps = []
    for name in ("fsync", "replace", "pwrite", "ftruncate", "unlink"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *arguments, _name=name, _real=real: steps.append(_name) or _real(*arguments)
        )
    assert large_files.apply_patches(file, len(BEFORE), CHANGE)
    assert steps == ["fsync", "replace", "fsync", "pwrite", "pwrite", "ftruncate", "fsync", "unlink"]


def test_a_recorded_change_counts_as_written(file, run_python):
    """A file that cannot grow now is completed later; the caller must not write it twice."""
    code = f"""
import resource, signal, sys
from pathlib import Path
from leftoff.errors import StorageError
from leftoff.platform import files, large_files
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
path.write_bytes({BEFORE * 100!r})
real = files.write_file
def tightening(where, data, **options):
    real(where, data)
    resource.setrlimit(resource.RLIMIT_FSIZE, ({len(BEFORE) * 100 + 5}, resource.RLIM_INFINITY))
files.write_file = tightening
print(large_files.apply_patches(path, {len(BEFORE) * 100}, [large_files.Patch(at={len(BEFORE) * 100}, data=b"x" * 50)]))
try:
    large_files.finish_patch(path)
except StorageError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
large_files.finish_patch(path)
print(path.read_bytes() == {BEFORE * 100!r} + b"x" * 50)
"""
    applied, trouble, finished = run_python(code, file).stdout.splitlines()
    assert (applied, finished) == ("True", "True")
    assert "a change of it is written but not all in place" in trouble


@pytest.mark.parametrize("change", [CHANGE, SHORTER])
def test_a_change_that_was_torn_at_any_byte_is_finished(file, change):
    """A torn change is finished even if new blocks of the disk are still empty."""
    recorded(file, change)
    record = beside(file).read_bytes()
    new = change[1].data
    for written in range(len(new) + 1):
        for grown in (b"", b"\0" * max(len(new) - max(written, 9), 0)):
            old = BEFORE[14:]
            file.write_bytes(BEFORE[:7] + b"2" + BEFORE[8:14] + new[:written] + old[written:] + grown)
            beside(file).write_bytes(record)
            large_files.finish_patch(file)
            assert file.read_bytes() == BEFORE[:7] + b"2" + BEFORE[8:14] + new


@pytest.mark.parametrize(
    "edited",
    [
        BEFORE + b"a note of mine\n",
        BEFORE + b"mine\n",
        b"count: 1\nbody, mended\nold tail\n",
        b"count: 1\nbody\nold tall\n",
        b"count: 9\nbody\nold tail\n",
        b"",
    ],
)
def test_a_file_that_was_edited_meanwhile_is_not_changed(file, edited):
    """What was to be added is kept beside it, under a name of its own, and that is said once."""
    for name in ("chat.md.unsaved", "chat.md.unsaved-2"):
        file.write_bytes(BEFORE)
        recorded(file)
        file.write_bytes(edited)
        with pytest.raises(
            StorageError, match=f"it was changed while it was being saved.* is in {name}, beside it"
        ):
            large_files.finish_patch(file)
        assert file.read_bytes() == edited
        assert file.with_name(name).read_bytes() == CHANGE[1].data
        assert file.with_name(name).stat().st_mode & 0o777 == 0o600
        large_files.finish_patch(file)


def test_a_recorded_change_is_finished_before_the_next(file):
    """The second change was meant for the file as it was before the first one."""
    recorded(file)
    assert not large_files.apply_patches(file, len(BEFORE), SHORTER)
    assert file.read_bytes() == AFTER


def test_an_edit_elsewhere_of_the_same_length_stays(file):
    """Only the places of the change are compared, because only they are written."""
    recorded(file)
    file.write_bytes(BEFORE.replace(b"body", b"BODY"))
    large_files.finish_patch(file)
    assert file.read_bytes() == AFTER.replace(b"body", b"BODY", 1)


def test_a_file_that_is_gone_does_not_take_the_change_along(file):
    """The change is kept in a file of its own."""
    recorded(file)
    file.unlink()
    with pytest.raises(StorageError, match=r"chat\.md\.unsaved"):
        large_files.finish_patch(file)
    assert names(file) == {"chat.md.unsaved"}


@pytest.mark.parametrize(
    "invalid",
    [
        b"nonsense",
        b"",
        b"[]\n",
        b'{"changes": []}\n',
        b'{"changes": [[-4, 1, 1]]}\nxx',
        b'{"changes": [[0, 1, 1]]}\nx',
        b'{"changes": [[0, 0, 1]]}\nxyz',
        b'{"changes": [[0, 1, 2], [14, 0, 0]]}\nxxx',
        b'{"changes": [["a", null, 1]]}\nx',
    ],
)
def test_an_invalid_record_of_a_change_is_dropped(file, invalid):
    """The record may have come with a cloned repository."""
    beside(file).write_bytes(invalid)
    large_files.finish_patch(file)
    assert file.read_bytes() == BEFORE
    assert names(file) == {file.name}


def test_a_change_never_makes_a_hole(file):
    """A change beyond the end of the file is refused."""
    beside(file).write_bytes(b'{"changes": [[99999999999, 0, 4]]}\nevil')
    with pytest.raises(StorageError):
        large_files.finish_patch(file)
    assert file.read_bytes() == BEFORE


@pytest.mark.parametrize("kind", ["device", "folder", "large", "pipe"])
def test_a_record_that_is_not_a_regular_file_is_not_read(file, kind):
    """A link to a device would never end; the change is then refused, and the caller writes the whole file."""
    if kind == "device":
        beside(file).symlink_to("/dev/zero")
    elif kind == "folder":
        (beside(file) / "inside").mkdir(parents=True)
    elif kind == "pipe":
        os.mkfifo(beside(file))
    else:
        with beside(file).open("wb") as large:
            large.truncate(64 * 1024 * 1024 + 1)
    assert not large_files.has_unfinished_patch(file)
    large_files.finish_patch(file)
    assert large_files.apply_patches(file, len(BEFORE), CHANGE) == (kind != "folder")
    assert file.read_bytes() == (BEFORE if kind == "folder" else AFTER)


def test_a_change_that_is_too_large_is_refused(file):
    """The caller then writes the whole file."""
    assert not large_files.apply_patches(file, len(BEFORE), [Patch(at=14, data=bytes(64 * 1024 * 1024))])
    assert names(file) == {file.name}


def test_a_file_behind_a_link_is_not_written(file):
    """A link is followed neither by a new change nor by an unfinished one."""
    outside = file.with_name("outside")
    file.rename(outside)
    file.symlink_to(outside)
    assert not large_files.apply_patches(file, len(BEFORE), CHANGE)
    assert outside.read_bytes() == BEFORE


def test_forgetting_takes_everything_of_that_file_and_nothing_of_others(file):
    """The change, temporaries of killed writers, what was kept aside."""
    recorded(file)
    for name in (
        ".chat.md.0123456789ab.tmp",
        "..chat.md.patch.0123456789ab.tmp",
        "chat.md.unsaved",
        "chat.md.unsaved-2",
        ".other.md.0123456789ab.tmp",
        ".other.md.patch",
    ):
        file.with_name(name).write_bytes(b"x")
    large_files.discard_patch(file)
    assert names(file) == {file.name, ".other.md.0123456789ab.tmp", ".other.md.patch"}
