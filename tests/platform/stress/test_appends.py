"""Many processes append to one file, half of the lines through the fast path: no line torn, none lost.

Ten processes: eight that write, tearing a line now and then as a crash would, and two whose writes the system refuses, in
part or whole, once the file has reached a size. With the lock switched off (each has a lock of its own) the same run fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

APPENDER = Path(__file__).with_name("appender.py")
WRITERS, POOR = 8, 2
Note = Callable[[str], None]


@dataclass
class Outcome:
    """What the file holds, against what the writers said."""

    reported: int = 0
    found: int = 0
    lost: int = 0
    twice: int = 0
    never_said: int = 0
    damaged: int = 0
    torn_on_purpose: int = 0
    torn_found: int = 0
    refused: int = 0
    size_bytes: int = 0
    seconds: float = 0.0

    @property
    def is_sound(self) -> bool:
        return (
            not (self.lost or self.twice or self.never_said or self.damaged)
            and self.torn_found == self.torn_on_purpose
        )


def run_appenders(folder: Path, *, each: int, own_locks: bool) -> Outcome:
    """``each`` lines from each of the writers; the limit of the poor lies at a tenth of what they will write."""
    file = folder / "lines.jsonl"
    limit = WRITERS * each * 117_000 // 10
    (folder / "go").touch()
    began = time.monotonic()
    running = [
        subprocess.Popen(
            [
                *(sys.executable, APPENDER, file, folder / (f".lock{who}" if own_locks else ".lock")),
                *(str(who), str(each), str(limit if who >= WRITERS else 0)),
            ],
            stdout=subprocess.PIPE,
            cwd=folder,
        )
        for who in range(WRITERS + POOR)
    ]
    reports = [json.loads(process.communicate(timeout=900)[0]) for process in running[:WRITERS]]
    (folder / "go").unlink()
    reports += [json.loads(process.communicate(timeout=60)[0]) for process in running[WRITERS:]]
    outcome = compare(file, reports)
    outcome.seconds = round(time.monotonic() - began, 1)
    return outcome


def compare(file: Path, reports: list[dict[str, list[int] | int]]) -> Outcome:
    reported = Counter((who, n) for who, report in enumerate(reports) for n in report["written"])
    found: Counter[tuple[int, int]] = Counter()
    outcome = Outcome(
        reported=sum(reported.values()),
        refused=sum(report["refused"] for report in reports),
        torn_on_purpose=sum(report["torn"] for report in reports),
        size_bytes=file.stat().st_size,
    )
    with file.open("rb") as lines:
        for line in lines:
            identity = identified(line)
            if identity:
                found[identity] += 1
            elif line.startswith(b'{"torn":') and line.rstrip(b"\n").endswith(b',"bo') and len(line) < 20:
                outcome.torn_found += 1
            else:
                outcome.damaged += 1
    outcome.found = len(found)
    outcome.lost = len(reported - found)
    outcome.never_said = len(found.keys() - reported.keys())
    outcome.twice = sum(times > 1 for times in found.values())
    return outcome


def identified(line: bytes) -> tuple[int, int] | None:
    """Return the writer and number of a line if every byte of it is intact."""
    try:
        record = json.loads(line)
        body = record["body"].encode()
        return (record["who"], record["n"]) if zlib.crc32(body) == record["sum"] else None
    except (ValueError, KeyError, TypeError):
        return None


@pytest.mark.slow
def test_no_line_is_torn_or_lost(tmp_path: Path, note: Note) -> None:
    """500 lines of 200 bytes to 1 MB from 8 processes, every one accounted for by its checksum."""
    outcome = run_appenders(tmp_path, each=63, own_locks=False)
    note(str(outcome))
    assert outcome.is_sound
    assert outcome.reported >= 500


@pytest.mark.slow
def test_without_the_lock_lines_are_lost(tmp_path: Path, note: Note) -> None:
    """Each process has its own lock here, which shows what the shared lock is for."""
    outcome = run_appenders(tmp_path, each=63, own_locks=True)
    note(str(outcome))
    assert not outcome.is_sound
    assert outcome.lost


@pytest.mark.stress
@pytest.mark.parametrize("own_locks", [False, True])
def test_ten_thousand_appends(tmp_path: Path, note: Note, own_locks: bool) -> None:
    """All 10,000 lines are intact with the shared lock, and some are not without it."""
    outcome = run_appenders(tmp_path, each=1250, own_locks=own_locks)
    note(str(outcome))
    assert outcome.is_sound is not own_locks
    assert outcome.reported >= 10_000
    (tmp_path / "lines.jsonl").unlink()  # a gigabyte
