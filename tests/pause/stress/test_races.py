"""Eight processes start, record, finalise and discard the same pause in random order: every line is accounted for.

A line reported as written is in exactly one pause that was finalised, in one that was discarded, or in the one that is
still running. With the lock switched off (each process has one of its own) the same run fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from leftoff.pause.finalize import Ending, archive_only
from leftoff.pause.folders import manual_pause
from leftoff.pause.journal import Recording
from leftoff.pause.lifecycle import discard, start
from leftoff.pause.snapshot_store import list_finished, read_archive
from leftoff.workspace import Workspace

WORKER = Path(__file__).with_name("worker.py")
WORKERS = 8
Identity = tuple[int, int]


@dataclass
class Outcome:
    """What was found, against what the workers said, over all rounds."""

    rounds: int = 0
    written: int = 0
    finalized: int = 0
    discarded: int = 0
    lost_starts: int = 0
    bytes_kept: int = 0
    lost: int = 0
    twice: int = 0
    never_said: int = 0
    torn: int = 0
    stuck: int = 0
    ended_twice: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        troubles = (self.lost, self.twice, self.never_said, self.torn, self.stuck, self.ended_twice)
        return not any(troubles) and not self.errors


@contextmanager
def workers(each: int, *, own_locks: bool) -> Iterator[list[subprocess.Popen[str]]]:
    extra = ["own lock"] if own_locks else []
    running = [
        subprocess.Popen(
            [sys.executable, WORKER, str(who), str(each), *extra],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in range(WORKERS)
    ]
    try:
        yield running
    finally:
        for process in running:
            process.communicate(timeout=60)


def one_round(folder: Path, running: list[subprocess.Popen[str]], outcome: Outcome) -> None:
    folder.mkdir()
    for process in running:
        assert process.stdin is not None
        process.stdin.write(f"{folder}\n")
        process.stdin.flush()
    reports = [json.loads(process.stdout.readline()) for process in running if process.stdout]
    reported = Counter(tuple(each) for report in reports for each in report["written"])
    gone = Counter(tuple(each) for report in reports for each in report["discarded"])
    left = finish_what_is_left(folder, outcome)
    found = gone + kept_lines(folder, outcome) + left
    outcome.rounds += 1
    outcome.written += reported.total()
    outcome.lost += (reported - found).total()
    outcome.never_said += len(found.keys() - reported.keys())
    outcome.twice += sum(times > 1 for times in found.values())
    ended = Counter(
        each for report in reports for name in ("finalized", "discarded_ids") for each in report[name]
    )
    outcome.ended_twice += sum(times > 1 for times in ended.values())
    for report in reports:
        outcome.finalized += len(report["finalized"])
        outcome.discarded += len(report["discarded_ids"])
        outcome.lost_starts += len(report["lost_starts"])
        outcome.torn += len(report["torn"])
        outcome.errors += report["errors"]


def finish_what_is_left(folder: Path, outcome: Outcome) -> Counter[Identity]:
    """End the pause, begin it again and discard it, whatever state the round left; all lines are archived."""
    home = manual_pause(Workspace.open(folder))
    if home.file.is_active():
        archive_only(home, Ending())
    start(home, 0.9, {})
    outcome.stuck += discard(home) is None or home.file.is_active()
    return Counter()


def kept_lines(folder: Path, outcome: Outcome) -> Counter[Identity]:
    found: Counter[Identity] = Counter()
    for kept in list_finished(manual_pause(Workspace.open(folder)).sessions):
        recorded = read_archive(kept)
        assert recorded is not None
        assert kept.archive is not None
        outcome.bytes_kept += kept.archive.stat().st_size
        found += identities(recorded, outcome)
    return found


def identities(recorded: Recording, outcome: Outcome) -> Counter[Identity]:
    outcome.torn += recorded.bad_lines
    found: Counter[Identity] = Counter()
    for action in recorded.actions:
        if action.type == "tool_call":
            assert zlib.crc32(action.data["body"].encode()) == action.data["sum"]
            found[action.data["who"], action.data["n"]] += 1
    return found


def run(folder: Path, *, rounds: int, each: int, own_locks: bool) -> Outcome:
    outcome = Outcome()
    with workers(each, own_locks=own_locks) as running:
        for number in range(rounds):
            one_round(folder / f"round-{number}", running, outcome)
            if own_locks and not outcome.is_sound:
                break
    return outcome


@pytest.mark.slow
def test_no_line_of_a_pause_is_lost_between_eight_processes(
    tmp_path: Path, note: Callable[[str], None]
) -> None:
    """Six rounds of some 50 actions of 200 bytes to 1 MB, with starts, ends and discards among them."""
    outcome = run(tmp_path, rounds=6, each=7, own_locks=False)
    note(str(outcome))
    assert outcome.is_sound
    assert outcome.written == 6 * 7 * WORKERS
    assert outcome.finalized > 0
    assert outcome.discarded > 0


@pytest.mark.slow
def test_with_the_lock_switched_off_it_goes_wrong(tmp_path: Path, note: Callable[[str], None]) -> None:
    """With one lock per process something is lost, torn or doubled, which shows what the lock is for."""
    outcome = run(tmp_path, rounds=40, each=7, own_locks=True)
    note(str(outcome)[:400])
    assert not outcome.is_sound


@pytest.mark.stress
def test_two_hundred_rounds(tmp_path: Path, note: Callable[[str], None]) -> None:
    """Some 11,000 actions of 200 bytes to 1 MB in 200 rounds: none lost, none torn, nothing stuck."""
    outcome = run(tmp_path, rounds=200, each=7, own_locks=False)
    note(str(outcome))
    assert outcome.is_sound
    assert outcome.written >= 10_000
