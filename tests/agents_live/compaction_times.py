"""Measure how long a compaction in place takes in the real client, and where the time goes: `make compactions`.

An invented session of about 200,000 tokens is resumed in Claude Code, and /compact is answered by leftoff once the client has started
and does nothing else. The client's own figure is the one that counts: it is in the transcript, and includes everything from the
command to the new messages. Two cases: leftoff has never read the session, or its hooks have kept up with it, as in any session that
is in use. Afterwards the same request is sent to the program alone, to see what of the time is whose. The numbers mean something on a
machine that does nothing else: the load is printed with them.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import clients
from drive import Agent
from installation import fast_path, install, run_leftoff
from replays import MODEL
from sandbox import Sandbox
from scenario import AGENTS
from turn_times import conversation, print_line, wait_until_idle

from bench.generate import generate
from bench.generated_project import Mix
from leftoff.agents.registry import agent_by_id
from tests.support.transcripts import write_transcript

SIZE_BYTES = 1_500_000  # as a transcript: just below 200,000 tokens
LIMIT_MS = 500
NEVER_READ, KEPT_UP = "never read", "kept up with"
IN_CLIENT = "/compact in the client"
REQUEST = "request.json"
# Keeps the request in $HOME and passes it on.
KEEPING_SCRIPT = """\
#!/bin/sh
tee "$HOME/request.json" | sh "$(dirname "$0")/program.sh" "$@"
"""
# Runs a program on a request, and prints the milliseconds and the processor's share of them.
TIMING_CODE = """\
import resource, subprocess, sys, time
request, *command = sys.argv[1:]
started = time.perf_counter()
with open(request, "rb") as file:
    subprocess.run(command, stdin=file, stdout=subprocess.DEVNULL, check=True)
seconds, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
print(seconds * 1000, (used.ru_utime + used.ru_stime) * 1000)
"""


def main() -> int:
    options = arguments()
    agent = AGENTS["claude"]
    clients.ensure_installed(agent.name)
    with tempfile.TemporaryDirectory(prefix="leftoff-times-") as scratch:
        transcript = options.transcript or write_session(Path(scratch))
        load = os.getloadavg()[0]
        for case in (NEVER_READ, KEPT_UP):
            rows = measure(agent, transcript, case, options.rounds)
            print_line(
                f"\n{case}: {options.rounds} rounds, load {load:.1f} before and {os.getloadavg()[0]:.1f} after\n"
            )
            print_line(format_table(rows))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7, help="compactions of each kind (default 7)")
    parser.add_argument(
        "--transcript", type=Path, help="a session of Claude Code instead of the invented one"
    )
    return parser.parse_args()


def write_session(folder: Path) -> Path:
    script = generate(seed=1, size_bytes=SIZE_BYTES, options=Mix(compactions=False, images=0))
    transcript = folder / f"{script.session_id}.jsonl"
    write_transcript(agent_by_id("claude"), script, transcript)
    return transcript


def measure(agent: Agent, transcript: Path, case: str, rounds: int) -> Mapping[str, list[float]]:
    """Return the milliseconds of each row of the table; the compaction before the first round keeps the request."""
    with prepared(agent, transcript, case) as (sandbox, placed):
        keep_request(sandbox)
        compact(agent, sandbox, placed)
        request = (sandbox.home / REQUEST).read_bytes()
    rows: dict[str, list[float]] = {}
    for _ in range(rounds):
        with prepared(agent, transcript, case) as (sandbox, placed):
            rows.setdefault(IN_CLIENT, []).append(compact(agent, sandbox, placed))
        with prepared(agent, transcript, case) as (sandbox, placed):
            (sandbox.home / REQUEST).write_bytes(request)
            python = (sys.executable, "-E", "-P")
            for row, *command in (
                ("the interpreter alone", *python, "-c", "pass"),
                ("and its modules", *python, "-c", "import gc; gc.disable(); import leftoff.live.in_place"),
                ("the whole program", *python, "-m", "leftoff", "in-place", agent.name),
            ):
                wait_until_idle()
                took_ms, processor_ms = run_timed(sandbox, *command)
                rows.setdefault(row, []).append(took_ms)
                rows.setdefault(f"{row}, processor time", []).append(processor_ms)
    return rows


@contextmanager
def prepared(agent: Agent, transcript: Path, case: str) -> Iterator[tuple[Sandbox, Path]]:
    """Open a sandbox with leftoff installed, a repository as the project, and the session in its place."""
    with Sandbox(agent) as sandbox:
        install(agent, sandbox)
        result = sandbox.run_program("git", "init", "--quiet")
        assert result.code == 0, result
        moved = transcript.read_text(encoding="utf-8").replace(
            project_of(transcript), str(sandbox.path_inside(sandbox.project))
        )
        source = sandbox.root / transcript.name
        source.write_text(moved, encoding="utf-8")
        placed = agent.install_transcript(sandbox, source)
        if case == KEPT_UP:
            run_leftoff(sandbox, "log", "save", placed.stem)
        yield sandbox, placed


def project_of(transcript: Path) -> str:
    """Return the folder in which the session ran: it becomes the sandbox's, because leftoff also looks at its files."""
    project = agent_by_id("claude").open(transcript).project
    assert project is not None, transcript
    return project


def keep_request(sandbox: Sandbox) -> None:
    script = next(fast_path(sandbox).parent.rglob("hooks/leftoff.sh"))
    script.rename(script.with_name("program.sh"))
    script.write_text(KEEPING_SCRIPT, encoding="utf-8")


def compact(agent: Agent, sandbox: Sandbox, placed: Path) -> float:
    """Start the client with the session, let it answer /compact when it is idle, and return the milliseconds it reports."""
    with conversation(agent, sandbox, "--resume", placed.stem, *MODEL) as session:
        wait_until_idle()
        session.turn("/compact")
    assert not sandbox.conversation(), "the client compacted by itself"
    boundaries = [
        line for line in placed.read_text(encoding="utf-8").splitlines() if '"compact_boundary"' in line
    ]
    return float(json.loads(boundaries[-1])["compactMetadata"]["durationMs"])


def run_timed(sandbox: Sandbox, *command: str) -> tuple[float, float]:
    """Run a program on the request and return its milliseconds, and those of the processor."""
    result = sandbox.run_python(TIMING_CODE, str(sandbox.path_inside(sandbox.home / REQUEST)), *command)
    assert result.code == 0, result
    took_ms, processor_ms = map(float, result.stdout.split())
    return took_ms, processor_ms


def format_table(rows: Mapping[str, list[float]]) -> str:
    lines = ["| | smallest | median | largest | at most |", "|---|---|---|---|---|"]
    for row, times in rows.items():
        figures = " | ".join(f"{each:.0f} ms" for each in (min(times), statistics.median(times), max(times)))
        lines.append(f"| {row} | {figures} | {f'{LIMIT_MS} ms' if row == IN_CLIENT else ''} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
