"""SIGKILL in the middle of writing: old or new, never mixed, and nothing lost that was said to be written."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from leftoff.platform import file_sets

WRITER = Path(__file__).with_name("set_writer.py")
NAMES = ("a", "b", "c")


@dataclass
class Tally:
    """What was found after the kills."""

    kills: int = 0
    journals: int = 0
    mixed_to_a_plain_reader: int = 0
    sets: int = 0
    temporaries_left: int = 0


@pytest.fixture(params=["memory", "disk"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Return a folder; in memory syncing costs nothing, so far more kills fall between two renames."""
    if request.param == "disk" or not Path("/dev/shm").is_dir():
        yield tmp_path / "s"
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder) / "s"


def generations(contents: dict[str, bytes]) -> set[int]:
    """The numbers found in the files; every file must be uniform in itself."""
    found = {name: {*data.split()} for name, data in contents.items()}
    assert all(len(numbers) == 1 for numbers in found.values())
    return {int(number) for numbers in found.values() for number in numbers}


def kill_once(folder: Path, number: int, dice: random.Random, tally: Tally) -> int:
    """Start a writer after generation ``number``, kill it somewhere, and return the generation on disk."""
    writer = subprocess.Popen(
        [sys.executable, WRITER, folder, str(number), "1000000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # what a buffer held back would count as never reported
    )
    assert writer.stdout is not None
    first = writer.stdout.readline()
    time.sleep(dice.uniform(0, 0.02))
    writer.kill()
    rest, complaint = writer.communicate(timeout=60)
    assert writer.returncode == -signal.SIGKILL, complaint.decode()
    reported = int((first + rest).split()[-1])
    tally.kills += 1
    tally.journals += (folder / ".journal").exists()
    plain = generations({name: (folder / name).read_bytes() for name in NAMES})
    tally.mixed_to_a_plain_reader += len(plain) > 1
    (standing,) = generations(file_sets.read_set(folder, NAMES))
    assert reported <= standing <= reported + 1
    if (
        folder / "single"
    ).exists():  # uniform too; how old it may be depends on when the writers before were killed
        assert max(generations({"single": (folder / "single").read_bytes()})) <= reported
    tally.sets += standing - number
    tally.temporaries_left = len([*folder.glob(".*.tmp")])
    return standing


def kill(folder: Path, times: int, note: Callable[[str], None]) -> Tally:
    seed = random.randrange(1 << 32)
    dice, tally, number = random.Random(seed), Tally(), 0
    try:
        for _ in range(times):
            number = kill_once(folder, number, dice, tally)
    finally:
        note(f"seed {seed}: {tally}")
    return tally


@pytest.mark.slow
@pytest.mark.parametrize("place", ["memory"], indirect=True)
def test_twenty_kills_leave_one_generation(place: Path, note: Callable[[str], None]) -> None:
    """Whenever the writer dies, ``read_set`` gives one generation, at least the last one reported."""
    assert kill(place, 20, note).kills == 20


@pytest.mark.stress
def test_two_hundred_kills_leave_one_generation(place: Path, note: Callable[[str], None]) -> None:
    """Two hundred kills in memory and on disk leave one generation and no old temporary files."""
    assert kill(place, 200, note).kills == 200
    for each in place.glob(".*.tmp"):
        os.utime(each, (0, 0))
    file_sets.write_set(place, dict.fromkeys(NAMES, b"0\n"))
    assert not [*place.glob(".*.tmp")]


# The calls that a set consists of, in order: each file written and synced, the journal too; its rename, the folder synced;
# three renames, the folder synced, the journal removed. Before the journal has its name the old set is valid.
_RENAME, _UNLINK = "?rename,?renameat,?renameat2", "?unlink,?unlinkat"
_OLD = [
    ("write", 1),
    ("fsync", 1),
    ("write", 2),
    ("fsync", 2),
    ("write", 3),
    ("fsync", 3),
    ("write", 4),
    ("fsync", 4),
]
_OLD += [(_RENAME, 1)]
_NEW = [("fsync", 5), (_RENAME, 2), (_RENAME, 3), (_RENAME, 4), ("fsync", 6), (_UNLINK, 1)]


@pytest.mark.slow
def test_a_kill_at_every_call_of_a_set_leaves_one_generation(tmp_path: Path) -> None:
    """strace kills the writer at each system call in turn; twice a reader without ``read_set`` would see a mixture."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: apt-get install strace")
    standing: list[int] = []
    mixed = 0
    for call, time_of_call in (*_OLD, *_NEW):
        folder = tmp_path / f"{call}{time_of_call}"
        file_sets.write_set(folder, dict.fromkeys(NAMES, b"1\n"))
        kill = f"inject={call}:signal=KILL:when={time_of_call}"
        done = subprocess.run(
            ["strace", "-qq", "-o", "/dev/null", "-e", kill, sys.executable, WRITER, folder, "1", "2"],
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (-signal.SIGKILL, b""), kill
        mixed += len(generations({name: (folder / name).read_bytes() for name in NAMES})) > 1
        standing += generations(file_sets.read_set(folder, NAMES))
    assert standing == [1] * len(_OLD) + [2] * len(_NEW)
    assert mixed == 2
