"""How long ``leftoff search`` takes in generated sessions of any size, as a whole process, beside ripgrep in the same files.

A word, a phrase and a beginning are looked for by both, a question by leftoff alone. What counts is a quiet machine; CPU time says
more on a busy one. ripgrep uses every core, and the files should be in memory, as they are after the index was built.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.generate import generate
from bench.measuring import scratch_environment
from leftoff.agents.registry import agent_by_id
from leftoff.errors import ProcessError
from tests.support.transcripts import write_transcript

_SESSION_BYTES = 2_000_000
_SEARCH = (sys.executable, "-m", "leftoff", "search")
_RIPGREP = ("rg", "--ignore-case", "--count")


class Spent(NamedTuple):
    """Milliseconds of a process: by the clock, and of CPU."""

    clock_ms: float
    cpu_ms: float


class Searched(NamedTuple):
    """One measure; ``ripgrep`` is None where it cannot answer or is not installed."""

    what: str
    leftoff: Spent
    ripgrep: Spent | None = None


def measure(home: Path, megabytes: int, rounds: int) -> Iterator[Searched]:
    """Yield the build of the index, then each search. The sessions of an earlier run in ``home`` are used again."""
    projects = home / ".claude/projects"
    if not projects.is_dir():
        _write_sessions(projects, megabytes)
    environment = scratch_environment(home, "XDG_", "LEFTOFF_")
    size = sum(path.stat().st_size for path in projects.rglob("*.jsonl")) / 1e6
    built = _time([*_SEARCH, "--update"], environment)
    yield Searched(f"index of {size:,.0f} MB", built)
    words = _prompt_words(projects)
    rare, phrase = max(words, key=len), " ".join(words[:2])
    searches: list[tuple[str, str, str | None]] = [
        (f"a word: {rare}", rare, rare),
        ("a common word: test", "test", "test"),
        (f"a phrase: {phrase}", f'"{phrase}"', phrase),
        (f"a beginning: {rare[:5]}*", f"{rare[:5]}*", rf"\b{rare[:5]}\w*"),
        ("a question", f"why did the {' '.join(words[:6])} fail", None),
    ]
    ripgrep = shutil.which("rg")
    for what, query, pattern in searches:
        ours = [_time([*_SEARCH, query], environment) for _ in range(rounds)]
        theirs = [
            _time([*_RIPGREP, pattern, str(projects)], environment)
            for _ in range(rounds)
            if ripgrep and pattern
        ]
        yield Searched(what, _smallest(ours), _smallest(theirs) if theirs else None)


def _write_sessions(projects: Path, megabytes: int) -> None:
    agent = agent_by_id("claude")
    for number in range(max(2, megabytes * 1_000_000 // _SESSION_BYTES)):
        script = generate(seed=number, size_bytes=_SESSION_BYTES)
        place = projects / script.project.replace("/", "-") / f"{script.session_id}.jsonl"
        place.parent.mkdir(parents=True, exist_ok=True)
        write_transcript(agent, script, place)


def _prompt_words(projects: Path) -> list[str]:
    """Return the long words of the first prompt of a session, as a person might search for them."""
    entry = agent_by_id("claude").entry(min(projects.rglob("*.jsonl")))
    return re.findall(r"[a-z]{4,}", (entry.first_prompt or "the limiter forgets requests").lower())


def _time(command: Sequence[str], environment: Mapping[str, str]) -> Spent:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in {0, 1, 3}:  # 1 and 3: nothing was found
        raise ProcessError(f"{' '.join(command)}: ended with {done.returncode}.")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(seconds * 1000, cpu * 1000)


def _smallest(spent: Sequence[Spent]) -> Spent:
    return Spent(min(each.clock_ms for each in spent), min(each.cpu_ms for each in spent))
