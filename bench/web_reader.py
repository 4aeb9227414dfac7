"""How soon the reader of ``leftoff web`` shows any line of a large session, and how much memory its server takes."""

from __future__ import annotations

import http.client
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from bench.generate import generate
from bench.measuring import scratch_environment
from leftoff.agents.registry import agent_by_id
from leftoff.web.library import key_of
from tests.support.transcripts import write_transcript

_LINES = 40  # asked for, anywhere in the session
_TIMEOUT_SECONDS = 120


class Server:
    """``leftoff web`` as a process of its own, with one session."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        parts = urlsplit(address)
        self.port = parts.port or 0
        self._cookie = f"leftoff-{self.port}={parts.query.partition('=')[2]}"

    def ask(self, path: str) -> tuple[float, float, str, str]:
        """Return the milliseconds to the first byte and to the last, the text, and where a redirect leads."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_TIMEOUT_SECONDS)
        started = time.perf_counter()
        connection.request("GET", path, headers={"Cookie": self._cookie})
        answer = connection.getresponse()
        first = answer.read(1)
        to_first = time.perf_counter() - started
        text = (first + answer.read()).decode()
        to_last = time.perf_counter() - started
        connection.close()
        if answer.status not in {200, 303}:
            raise RuntimeError(f"{path}: {answer.status}: {text[:200]}")
        return to_first * 1000, to_last * 1000, text, answer.getheader("Location") or ""

    def cpu_ms(self) -> float:
        """Return the processor time that the server has had: what a busy machine does not change."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    def peak_mb(self) -> float:
        """Return the most memory that the server has had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def reader_rows(size_bytes: int) -> Iterator[tuple[str, str, str]]:
    """Yield what was measured, the number and the goal."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        environment = scratch_environment(Path(folder))
        transcript = (
            Path(environment["HOME"])
            / ".claude"
            / "projects"
            / "-p"
            / "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11.jsonl"
        )
        transcript.parent.mkdir(parents=True)
        write_transcript(agent_by_id("claude"), generate(seed=7, size_bytes=size_bytes), transcript)
        size = f"{transcript.stat().st_size / 1e6:.0f} MB"
        address = f"/session/{key_of(str(transcript))}/read"
        with _serve(environment, folder) as server:
            yield from _measure(server, address, size)


def _measure(server: Server, address: str, size: str) -> Iterator[tuple[str, str, str]]:
    before = server.cpu_ms()
    to_first, _, _, _ = server.ask(address)
    cpu = server.cpu_ms() - before
    yield f"{size}: first page of the reader, first byte", f"{to_first:.0f} ms (CPU {cpu:.0f})", "300 ms"
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while "more than" in (page := server.ask(address)[2]) and time.monotonic() < deadline:
        pass
    total = int(re.findall(r'id="total">([\d,]+)', page)[0].replace(",", ""))
    rng = random.Random(1)
    before = server.cpu_ms()
    times = [server.ask(f"{address}?line={rng.randrange(1, total)}")[1] for _ in range(_LINES)]
    cpu = (server.cpu_ms() - before) / _LINES
    yield (
        f"{size}: any of {total:,} lines, median of {_LINES}",
        f"{median(times):.0f} ms (CPU {cpu:.0f})",
        "300 ms",
    )
    yield f"{size}: any of {total:,} lines, slowest of {_LINES}", f"{max(times):.0f} ms", "300 ms"
    for mark in ("prompt", "error", "edit"):
        yield (
            f"{size}: jump to the next {mark}",
            f"{server.ask(f'{address}/jump?to={mark}&from={total // 2}')[1]:.0f} ms",
            "",
        )
    yield f"{size}: memory of the server, at most", f"{server.peak_mb():.0f} MB", "100 MB"


@contextmanager
def _serve(environment: dict[str, str], folder: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "leftoff", "web"]
    with subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Server(process, process.stdout.readline().strip())
        finally:
            process.terminate()
