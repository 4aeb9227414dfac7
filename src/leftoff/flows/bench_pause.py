"""The measures of the pause, run as a process of its own with a scratch HOME: a snapshot is noted in the user's register.

``python -m leftoff.flows.bench_pause FOLDER ROUNDS`` prints one JSON object: seconds of each round, ours and theirs. Theirs is
what nobody can do without: making the JSON and one bare write, and making and syncing the same files plainly.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from ruamel.yaml import YAML

from leftoff.flows.capture import capture_here
from leftoff.flows.pause_finalize import Ending, Finalized, finalize
from leftoff.flows.pause_homes import hand_driven
from leftoff.flows.pause_record import record
from leftoff.flows.pause_start import start
from leftoff.hook import fast
from leftoff.model.wire import JsonObject
from leftoff.system import clock, process

_ACTIONS = 1000
_DATA: JsonObject = {
    "tool": "Read",
    "args": {"file_path": "/home/dev/shop/src/limits/bucket.py"},
    "result_summary": "def allow(self, user): " * 6,
}


class Pairs(TypedDict):
    """Seconds of each round, ours and theirs."""

    hook: list[tuple[float, float]]
    append: list[tuple[float, float]]
    finalise: list[tuple[float, float]]
    finalise_in_git: list[tuple[float, float]]


def measured(folder: Path, rounds: int) -> Pairs:
    """All rounds, outside git and inside."""
    plain, tracked = folder / "plain", folder / "tracked"
    for project in (plain, tracked):
        project.mkdir()
    process.run(["git", "init", "--quiet"], folder=tracked, timeout_seconds=60)
    finalise_once(plain)  # what is loaded once is loaded now
    ready = _bare_line()
    return {
        "hook": [(hook_append(plain), bare_append(plain, lambda: ready)) for _ in range(rounds)],
        "append": [(append(plain), bare_append(plain, _bare_line)) for _ in range(rounds)],
        "finalise": [finalise_once(plain) for _ in range(rounds)],
        "finalise_in_git": [finalise_once(tracked) for _ in range(rounds)],
    }


def append(project: Path) -> float:
    """A thousand actions recorded as everybody records them: checked, without credentials, under the lock."""
    home, capture = hand_driven(project), capture_here(project)
    start(home, 0.9, {}, capture=capture)
    seconds = _timed(
        lambda: [record(home, "tool_call", _DATA, 0.91, capture=capture) for _ in range(_ACTIONS)]
    )
    home.file.discard()
    return seconds


def hook_append(project: Path) -> float:
    """A thousand lines added as the fast path does, under the pause's lock."""
    home = hand_driven(project)
    start(home, 0.9, {}, capture=capture_here(project))
    path, lock, line = str(home.file.path), str(home.file.lock), _bare_line()
    seconds = _timed(lambda: [fast.append_line(path, line, lock, creating=0) for _ in range(_ACTIONS)])
    home.file.discard()
    return seconds


def bare_append(project: Path, line_of: Callable[[], bytes]) -> float:
    """The same lines without id, lock or mending."""
    path = str(project / "bare.jsonl")

    def write() -> None:
        for _ in range(_ACTIONS):
            line = line_of()
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(fd, line)
            os.close(fd)

    return _timed(write)


def _bare_line() -> bytes:
    line = {
        "type": "tool_call",
        "timestamp": "2026-01-06T12:00:00Z",
        "session_id": "session-1",
        "data": _DATA,
    }
    return json.dumps(line).encode() + b"\n"


def finalise_once(project: Path) -> tuple[float, float]:
    """A pause of a thousand actions made a snapshot, against the same files made and synced without any care."""
    home = hand_driven(project)
    start(home, 0.9, {}, capture=capture_here(project))
    for _ in range(_ACTIONS):
        home.file.append("tool_call", _DATA, 0.91, clock.now())
    ended: list[Finalized | None] = []
    ours = _timed(lambda: ended.append(finalize(home, Ending())))
    assert ended[0] is not None
    contents = [path.read_bytes() for path in ended[0].files]
    return ours, _timed(lambda: _plainly(project, contents))


def _plainly(project: Path, contents: list[bytes]) -> None:
    """Read the lines, write the state as JSON and YAML, and sync each file."""
    lines, page, _, state_text = contents
    actions = [json.loads(line) for line in lines.splitlines()]
    state = json.loads(state_text)
    out = io.StringIO()
    YAML(typ="safe", pure=True).dump(state, out)
    texts = ["\n".join(map(json.dumps, actions)), page.decode(), out.getvalue(), json.dumps(state, indent=2)]
    for number, text in enumerate(texts):
        with (project / f"plain-{number}").open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measured(Path(sys.argv[1]), int(sys.argv[2]))))
