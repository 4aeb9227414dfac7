"""How long ``leftoff`` needs on a terminal until its list of sessions can be seen, with many sessions on the machine.

Wall time says little while others use the machine, so the CPU time of the whole run is measured too, with what quitting takes.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.measuring import scratch_environment
from leftoff.agents.registry import agent_by_id
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript

_LINES, _COLUMNS = 24, 80
_LAST_WORDS = b"q quit"  # at the bottom of the picker: when they are written, everything above is
_MOST_SECONDS = 60


class Paint(NamedTuple):
    """The first screen of one start: milliseconds until it was whole, CPU time of the program until it had quit, and the screen."""

    wall_ms: float
    cpu_ms: float
    screen: bytes


def first_paints(sessions: int, rounds: int) -> Iterator[Paint]:
    """Yield the first screens of several starts, after one start that fills the catalogue."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        environment = scratch_environment(Path(folder), "XDG_", "LEFTOFF_", "CLAUDE_", "CODEX_")
        write_sessions(Path(environment["HOME"]) / ".claude" / "projects", sessions, str(folder))
        _first_paint(environment, folder)
        for _ in range(rounds):
            yield _first_paint(environment, folder)


def describe(paints: Sequence[Paint]) -> str:
    """Return the medians and the smallest values, with the load of the machine."""
    wall, cpu = ([getattr(each, field) for each in paints] for field in ("wall_ms", "cpu_ms"))
    return (
        f"{median(wall):.0f} ms (smallest {min(wall):.0f}; goal 400), "
        f"CPU {median(cpu):.0f} ms (smallest {min(cpu):.0f}), load {os.getloadavg()[0]:.1f}"
    )


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


def _first_paint(environment: dict[str, str], folder: str) -> Paint:
    started = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-m", "leftoff"], {**environment, "TERM": "xterm"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, _COLUMNS, 0, 0))
    try:
        shown = _read_screen(terminal)
        seconds = time.perf_counter() - started
        os.write(terminal, b"q")
        _, _, used = os.wait4(pid, 0)
        return Paint(seconds * 1000, (used.ru_utime + used.ru_stime) * 1000, shown)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(terminal)


def _read_screen(terminal: int) -> bytes:
    """Read until the last words of the screen; RuntimeError if the program ends before, or shows nothing for a minute."""
    shown = b""
    while _LAST_WORDS not in shown:
        piece = b""
        if select.select([terminal], [], [], _MOST_SECONDS)[0]:
            with suppress(OSError):  # the program has ended
                piece = os.read(terminal, 65536)
        if not piece:
            raise RuntimeError(f"no list of sessions, but: {shown[-400:]!r}")
        shown += piece
    return shown
