"""Run as a process of its own: takes its part in rounds of starting, recording, finalising and discarding one pause.

Each line of standard input is a folder; for each the worker records its share of actions, half of them as the fast
path does, with starts, ends and discards in between, and says what it wrote and what it threw away. A second argument gives
it a lock of its own, which is to say none.
"""

import json
import math
import random
import sys
import zlib
from dataclasses import replace
from pathlib import Path

from leftoff.errors import LeftoffError, NotFoundError, NothingToDoError
from leftoff.live import fast
from leftoff.pause.finalize import Ending, archive_only, finalize
from leftoff.pause.folders import PauseHome, manual_pause
from leftoff.pause.journal import PauseAction, PauseFile
from leftoff.pause.lifecycle import record, start
from leftoff.workspace import Workspace

who, count = int(sys.argv[1]), int(sys.argv[2])
own_lock = len(sys.argv) > 3
SMALLEST, LARGEST = 200, 1_000_000
MOST_TRIES = 4000
dice = random.Random(who)
text = "".join(dice.choices("xyz ", k=LARGEST))  # letters in which redaction can find no credential by chance


def home_of(folder: str) -> PauseHome:
    home = manual_pause(Workspace.open(Path(folder), {"redaction.enabled": "false"}))
    if not own_lock:
        return home
    lock = home.file.path.with_name(f".lock-of-{who}")
    return replace(home, file=PauseFile(path=home.file.path, lock=lock))


def body(number: int) -> dict[str, object]:
    size = int(math.exp(dice.uniform(math.log(SMALLEST), math.log(LARGEST))))
    words = text[dice.randrange(LARGEST - size + 1) :][: max(1, size - 60)]
    return {"who": who, "n": number, "sum": zlib.crc32(words.encode()), "body": words}


def append(home: PauseHome, number: int) -> bool:
    data = body(number)
    if number % 2:
        recorded = PauseAction("tool_call", "2026-01-06T12:00:00Z", "session-of-the-fast-path", data, 0.9)
        line = recorded.to_json_line().encode() + b"\n"
        return fast.append_line(str(home.file.path), line, str(home.file.lock), creating=0)
    try:
        record(home, "tool_call", data, 0.91)
    except NotFoundError:
        return False
    return True


def begin(home: PauseHome, report: dict[str, list]) -> None:
    try:
        report["started"].append(start(home, 0.9, {}))
    except NothingToDoError:
        report["lost_starts"].append(1)


def end(home: PauseHome, report: dict[str, list]) -> None:
    ended = (finalize if dice.random() < 0.5 else archive_only)(home, Ending())
    if ended is not None:
        report["finalized"].append(ended.session_id)


def throw_away(home: PauseHome, report: dict[str, list]) -> None:
    gone = home.file.discard()
    if gone is None:
        return
    report["discarded_ids"].append(gone.session_id)
    for line in gone.lines:
        if line.action is None:
            report["torn"].append(line.raw[:80].decode("utf-8", "replace"))
        elif line.action.type == "tool_call":
            report["discarded"].append([line.action.data["who"], line.action.data["n"]])


def play(folder: str) -> dict[str, list]:
    names = ("written", "started", "lost_starts", "finalized", "discarded_ids", "discarded", "torn", "errors")
    report: dict[str, list] = {name: [] for name in names}
    home, number = home_of(folder), 0
    for _ in range(MOST_TRIES):
        if number == count:
            break
        roll = dice.random()
        try:
            if roll < 0.08:
                end(home, report)
            elif roll < 0.14:
                throw_away(home, report)
            elif roll < 0.24 or not home.file.is_active():
                begin(home, report)
            elif append(home, number):
                report["written"].append([who, number])
                number += 1
        except (LeftoffError, OSError) as error:
            report["errors"].append(f"{type(error).__name__}: {error}")
    return report


for folder in sys.stdin:
    sys.stdout.write(json.dumps(play(folder.strip())) + "\n")
    sys.stdout.flush()
