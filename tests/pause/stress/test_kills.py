"""SIGKILL while a pause is recorded or finalised: everything recorded before is there, and recovery works each time."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from leftoff.pause.folders import find_orphans, manual_pause
from leftoff.pause.lifecycle import recover
from leftoff.pause.snapshot import LATEST_NAME
from leftoff.pause.snapshot_store import list_finished, read_archive
from leftoff.workspace import Workspace

KILLED = Path(__file__).with_name("killed.py")
LONGEST_SECONDS = 0.25


@dataclass
class Tally:
    """What was found after the kills."""

    kills: int = 0
    recorded: int = 0
    left_running: int = 0
    both_kept_and_running: int = 0
    torn_lines: int = 0
    snapshots: int = 0
    archives: int = 0


def check(folder: Path, reported: list[int], tally: Tally) -> None:
    """Recover what the dead process left, then look for every line it had recorded."""
    home = manual_pause(Workspace.open(folder))
    kept_before = {each.session_id for each in list_finished(home.sessions)}
    orphans = find_orphans(Workspace.open(folder))
    assert len(orphans) == home.file.is_active()
    tally.left_running += len(orphans)
    tally.both_kept_and_running += sum(each.summary.session_id in kept_before for each in orphans)
    tally.torn_lines += sum(each.summary.bad_lines for each in orphans)
    if orphans:
        (settled,) = recover(None, Workspace.open(folder), lambda _: "finalize")
        assert settled.finalized is not None
    assert not home.file.is_active()
    found = Counter(number for kept in list_finished(home.sessions) for number in numbers(kept))
    assert [number for number in reported if found[number] != 1] == []
    assert len(found) - len(reported) in {0, 1}  # the kill may come between a line and the word about it
    pointed = (home.sessions / LATEST_NAME).read_text("utf-8").strip() if orphans else None
    assert pointed is None or (home.sessions / f"{pointed}.json").exists()
    tally.kills += 1
    tally.recorded += len(reported)


def numbers(kept) -> list[int]:
    recorded = read_archive(kept)
    assert recorded is not None
    assert kept.note is None or set(kept.files) == {"-incremental.jsonl"}
    actions = [action for action in recorded.actions if action.type == "tool_call"]
    assert all(zlib.crc32(action.data["body"].encode()) == action.data["sum"] for action in actions)
    return [action.data["n"] for action in actions]


def kill(folder: Path, times: int, note: Callable[[str], None]) -> Tally:
    seed = random.randrange(1 << 32)
    tally = Tally()
    command = [sys.executable, KILLED, folder, str(seed), str(times), str(LONGEST_SECONDS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killer:
        assert killer.stdin is not None
        assert killer.stdout is not None
        try:
            for number in range(times):
                report = json.loads(killer.stdout.readline())
                assert report["killed"]
                check(folder / f"run-{number}", report["said"], tally)
                finished = list_finished(manual_pause(Workspace.open(folder / f"run-{number}")).sessions)
                tally.snapshots += sum(".json" in each.files for each in finished)
                tally.archives += len(finished)
                killer.stdin.write("\n")
                killer.stdin.flush()
        finally:
            note(f"seed {seed}: {tally}")
    return tally


@pytest.mark.slow
def test_forty_kills_lose_nothing_that_was_recorded(
    tmp_path: Path, note: Callable[[str], None], without_coverage
) -> None:
    """Each time the pause that was left is recovered as of its last action."""
    assert kill(tmp_path, 40, note).kills == 40


@pytest.mark.stress
def test_five_hundred_kills_lose_nothing_that_was_recorded(
    tmp_path: Path, note: Callable[[str], None], without_coverage
) -> None:
    assert kill(tmp_path, 500, note).kills == 500
