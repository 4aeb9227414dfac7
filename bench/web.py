"""How long ``leftoff web`` lets a person wait: from its start to the first page, for a long list, and for a very large session."""

from __future__ import annotations

import http.client
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile
from typing import NamedTuple

from bench.generate import generate
from bench.measuring import scratch_environment
from bench.picker import write_sessions
from leftoff.agents.registry import agent_by_id
from leftoff.platform import paths
from leftoff.web.library import key_of
from tests.support.transcripts import write_transcript

_MEGABYTE = 1_000_000
_REAL_BYTES = 36 * _MEGABYTE
_ROUNDS = 5
_LINES = 40


class Wait(NamedTuple):
    """One measure: milliseconds or megabytes, and the goal. ``cpu_ms``: of the server meanwhile, which says more on a busy machine."""

    what: str
    amount: float
    unit: str
    goal: float
    cpu_ms: float | None = None


def waits(sessions: int, large_megabytes: int) -> Iterator[Wait]:
    """Yield each measure. The real sessions are those of LEFTOFF_TRANSCRIPTS; without them theirs is left out."""
    real = paths.environment().get("LEFTOFF_TRANSCRIPTS")
    if real and Path(real).is_dir():
        yield from _with_real_sessions(Path(real))
    yield from _with_many_sessions(sessions)
    yield from _with_large_session(large_megabytes)


def _with_real_sessions(real: Path) -> Iterator[Wait]:
    with _machine() as (environment, projects):
        megabytes = _copy_real(real, projects)
        started = time.perf_counter()
        with _server(environment) as server:
            server.first_byte("/")
            what = f"start to first page, {megabytes:.0f} MB of real sessions"
            yield Wait(what, _since(started), "ms", 2000, server.cpu_ms())


def _with_many_sessions(sessions: int) -> Iterator[Wait]:
    with _machine() as (environment, projects):
        write_sessions(projects, sessions, str(projects))
        with _server(environment) as server:
            server.first_byte("/")  # fills the catalogue
        with _server(environment) as server:
            yield server.wait(f"first list of {sessions:,} sessions", "/", 300)
            again = [server.wait("the list again", "/", 300) for _ in range(_ROUNDS)]
            yield sorted(again, key=lambda each: each.amount)[_ROUNDS // 2]
            yield Wait("memory of the server with that list", server.megabytes(), "MB", 100)


def _with_large_session(large_megabytes: int) -> Iterator[Wait]:
    with _machine() as (environment, projects):
        transcript = projects / "-p" / "large.jsonl"
        transcript.parent.mkdir(parents=True)
        script = generate(seed=7, size_bytes=large_megabytes * _MEGABYTE)
        write_transcript(agent_by_id("claude"), script, transcript)
        address = f"/session/{key_of(str(transcript))}"
        megabytes = transcript.stat().st_size / _MEGABYTE
        with _server(environment) as server:
            server.first_byte("/")
            yield server.wait(f"first byte of a session of {megabytes:.0f} MB", address, 300)
            yield server.wait("the first page of its transcript", f"{address}/read", 300)
            yield _slowest_line(server, f"{address}/read", transcript)
            yield server.wait("its curve, when the page is there", f"{address}/curve", 10_000)
            yield Wait("memory of the server after that", server.megabytes(), "MB", 100)


def _slowest_line(server: _Server, address: str, transcript: Path) -> Wait:
    with transcript.open("rb") as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(_MEGABYTE), b""))
    rng = random.Random(1)
    asked = [server.wait("", f"{address}?line={rng.randrange(1, lines)}", 300) for _ in range(_LINES)]
    what = f"any of its {lines:,} lines, slowest of {_LINES}"
    return max(asked, key=lambda each: each.amount)._replace(what=what)


@contextmanager
def _machine() -> Iterator[tuple[dict[str, str], Path]]:
    """Give an environment with a scratch HOME, and the folder of its transcripts."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        environment = scratch_environment(Path(folder))
        yield environment, Path(environment["HOME"]) / ".claude" / "projects"


def _copy_real(source: Path, projects: Path) -> float:
    """Copy the smaller half of the real sessions first, up to the size that the closest peer was measured with."""
    copied = 0
    for file in sorted(source.rglob("claude*.jsonl"), key=lambda each: each.stat().st_size):
        if copied >= _REAL_BYTES:
            break
        folder = projects / f"-p{file.stat().st_size % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        copyfile(file, folder / file.name)
        copied += file.stat().st_size
    return copied / _MEGABYTE


class _Server(NamedTuple):
    process: subprocess.Popen[str]
    port: int
    token: str

    def first_byte(self, path: str) -> float:
        """Return the milliseconds until the answer begins, after reading all of it."""
        return self._ask(path)[0]

    def wait(self, what: str, path: str, goal_ms: float) -> Wait:
        """Measure until the answer is complete."""
        cpu_ms = self.cpu_ms()
        whole = self._ask(path)[1]
        return Wait(what, whole, "ms", goal_ms, self.cpu_ms() - cpu_ms)

    def _ask(self, path: str) -> tuple[float, float]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        started = time.perf_counter()
        connection.request("GET", path, headers={"Cookie": f"leftoff-{self.port}={self.token}"})
        answer = connection.getresponse()
        answer.read(1)
        first = _since(started)
        answer.read()
        whole = _since(started)
        connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{path}: {answer.status}")
        return first, whole

    def cpu_ms(self) -> float:
        """Return the processor time that the server has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Return the memory that the server holds now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024 / _MEGABYTE


@contextmanager
def _server(environment: dict[str, str]) -> Iterator[_Server]:
    command = [sys.executable, "-m", "leftoff", "web"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.match(r"http://127\.0\.0\.1:(\d+)/\?token=(.+)\n", process.stdout.readline())
        assert found, "leftoff web did not start"
        try:
            yield _Server(process, int(found[1]), found[2])
        finally:
            os.kill(process.pid, signal.SIGINT)
            process.wait(60)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
