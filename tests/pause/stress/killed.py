"""Run as a process of its own: again and again makes a child that records and finalises pauses, and kills it somewhere.

Children are forked, so that one costs milliseconds. What a child said it had done is printed as JSON; a line on standard
input lets the next one run.
"""

import json
import os
import random
import signal
import sys
import time
import zlib
from pathlib import Path

import ruamel.yaml  # noqa: F401 - loaded now, so that no child is killed while it loads it

from leftoff.pause.finalize import Ending, archive_only, finalize
from leftoff.pause.folders import manual_pause
from leftoff.pause.lifecycle import record, start, this_process
from leftoff.workspace import Workspace

folder, seed, runs, longest_seconds = (
    Path(sys.argv[1]),
    int(sys.argv[2]),
    int(sys.argv[3]),
    float(sys.argv[4]),
)
dice = random.Random(seed)
text = "".join(dice.choices("xyz ", k=300_000))  # letters in which redaction can find no credential by chance


def record_until_killed(number: int, pipe: int) -> None:
    """Every line on the pipe is written after what it tells of is done."""
    home = manual_pause(Workspace.open(folder / f"run-{number}", {"redaction.enabled": "false"}))
    done = 0
    while True:
        if not home.file.is_active():
            start(home, 0.9, {}, process=this_process())
        body = text[: dice.choice((200, 2_000, 20_000, 300_000))]
        data = {"n": done, "sum": zlib.crc32(body.encode()), "body": body}
        record(home, "tool_call", data, 0.91)
        os.write(pipe, b"%d\n" % done)
        done += 1
        if dice.random() < 0.4:
            (finalize if dice.random() < 0.7 else archive_only)(home, Ending())


for number in range(runs):
    (folder / f"run-{number}").mkdir()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        dice.seed(seed + number)
        record_until_killed(number, writing)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        first = pipe.read(1)
        time.sleep(dice.uniform(0, longest_seconds))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        reported = (first + pipe.readall()).split()
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    sys.stdout.write(json.dumps({"killed": killed, "said": [*map(int, reported)]}) + "\n")
    sys.stdout.flush()
    sys.stdin.readline()
