"""How long ``leftoff`` needs on a terminal until its list of sessions can be seen, with many sessions on the machine."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import tempfile
import termios
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.measuring import scratch_environment
from leftoff.agents.registry import agent_by_id
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript

_LINES, _COLUMNS = 24, 80
_LAST_WORDS = b"q quit"  # at the bottom of the picker: when they are written, everything above is
_MOST_SECONDS = 60


def first_paints(sessions: int, rounds: int) -> Iterator[float]:
    """Yield the milliseconds from the start of the program to a whole screen, after one start that fills the catalogue."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        environment = scratch_environment(Path(folder))
        write_sessions(Path(environment["HOME"]) / ".claude" / "projects", sessions, str(folder))
        _seconds_to_paint(environment, folder)
        for _ in range(rounds):
            yield _seconds_to_paint(environment, folder) * 1000


def middle_of(paints: Iterator[float]) -> tuple[float, float]:
    """Return the median and the smallest."""
    known = [*paints]
    return median(known), min(known)


def write_sessions(projects: Path, count: int, project: str) -> None:
    """Write small sessions: one is written properly, and the others are its copies under other ids."""
    agent = agent_by_id("claude")
    source = projects / "-p" / "source.jsonl"
    source.parent.mkdir(parents=True)
    source_id = str(uuid.uuid4())
    story = Story(session_id=source_id, project=project).asked("Fix the login").replied("Done.", used=30_000)
    write_transcript(agent, story.script(), source)
    text = source.read_text(encoding="utf-8")
    source.unlink()
    for number in range(count):
        session_id = str(uuid.UUID(int=number + (number << 96), version=4))
        file = projects / f"-p{number % 50}" / f"{session_id}.jsonl"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.replace(source_id, session_id), encoding="utf-8")


def _seconds_to_paint(environment: dict[str, str], folder: str) -> float:
    started = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-m", "leftoff"], {**environment, "TERM": "xterm"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, _COLUMNS, 0, 0))
    try:
        shown = b""
        while _LAST_WORDS not in shown:
            if not select.select([terminal], [], [], _MOST_SECONDS)[0]:
                raise TimeoutError(f"no list after {_MOST_SECONDS} s: {shown[-400:]!r}")
            shown += os.read(terminal, 65536)
        return time.perf_counter() - started
    finally:
        os.write(terminal, b"q")
        os.waitpid(pid, 0)
        os.close(terminal)
