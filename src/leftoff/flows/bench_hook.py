"""The measures of the hooks: real processes, called as agents call them, with a scratch HOME.

Sides are taken in turn within each round. A large transcript is a small one with a long middle, so that two of different size
differ by that alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from leftoff.errors import ProcessError
from leftoff.flows import fast_path
from leftoff.hook import fast
from leftoff.model.protocols import Agent
from leftoff.model.values import dataclass
from leftoff.samples.generate import generate
from leftoff.system import ids, paths, process

Pairs = Mapping[str, list[tuple[float, float]]]
_BARE = (sys.executable, "-I", "-S", "-c", "pass")
_TIMES = 10  # a single start of an interpreter says little
_LINE_BYTES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Live:
    """A session as its hooks see it, and the environment that they run in."""

    fast: Path
    agent: str
    session_id: str
    transcript: Path
    project: Path
    environment: Mapping[str, str]

    def call(self, name: str) -> float:
        """Seconds that a hook takes at the event."""
        event = {
            "hook_event_name": name,
            "session_id": self.session_id,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "tool_name": "Read",
            "tool_use_id": "call-1",
        }
        command = (sys.executable, "-I", "-S", str(self.fast), self.agent)
        return _seconds(command, self.environment, json.dumps(event).encode())


def measured(agent: Agent, folder: Path, rounds: int, large_bytes: int, small_bytes: int) -> Pairs:
    """Seconds of each round, ours and theirs: ``fast`` against a bare interpreter, the rest a large file against a small one."""
    kept = {
        name: value
        for name, value in paths.environment().items()
        if not name.startswith(("XDG_", "LEFTOFF_"))
    }
    environment = kept | {"HOME": str(folder)}
    (folder / fast_path.NAME).write_bytes(fast_path.content())  # as it is installed
    pattern = folder / "pattern.jsonl"
    agent.transcribe(generate(seed=4, size_bytes=small_bytes), pattern)
    small = _live(agent, pattern, folder / "small", 0, environment)
    large = _live(agent, pattern, folder / "large", large_bytes, environment)
    for each in (small, large):  # the state is made, the log saved once, and what is loaded once is loaded
        for name in (fast.TOOLS[0], "PreCompact", fast.TOOLS[0]):
            each.call(name)
    return {
        "fast": _rounds(
            rounds, lambda: small.call(fast.TOOLS[0]), lambda: _seconds(_BARE, environment), _TIMES
        ),
        "large": _rounds(
            rounds, lambda: large.call(fast.TOOLS[0]), lambda: small.call(fast.TOOLS[0]), _TIMES
        ),
        "save": _rounds(rounds, lambda: large.call("PreCompact"), lambda: small.call("PreCompact"), 1),
    }


def _rounds(
    rounds: int, ours: Callable[[], float], theirs: Callable[[], float], times: int
) -> list[tuple[float, float]]:
    """Ours and theirs one after the other, so that a busy machine slows both."""
    found = []
    for _ in range(rounds):
        pairs = [(ours(), theirs()) for _ in range(times)]
        found.append((sum(mine for mine, _ in pairs) / times, sum(other for _, other in pairs) / times))
    return found


def _live(
    agent: Agent, pattern: Path, folder: Path, size_bytes: int, environment: Mapping[str, str]
) -> _Live:
    """The session of the pattern under an id and in a folder of its own, made as large as asked for."""
    folder.mkdir()
    session_id = ids.uuid4()
    transcript = folder / f"{session_id}.jsonl"
    text = pattern.read_bytes().replace(agent.open(pattern).session_id.encode(), session_id.encode())
    head, _, rest = text.partition(b"\n")
    filler = json.dumps({"type": "filler", "text": "x" * _LINE_BYTES}).encode() + b"\n"
    with transcript.open("wb") as file:
        file.write(head + b"\n")
        for _ in range(max(0, size_bytes - len(rest)) // len(filler)):
            file.write(filler)
        file.write(rest)
    return _Live(
        fast=folder.parent / fast_path.NAME,
        agent=agent.id,
        session_id=session_id,
        transcript=transcript,
        project=folder,
        environment=environment,
    )


def _seconds(command: tuple[str, ...], environment: Mapping[str, str], stdin: bytes = b"") -> float:
    begun = time.perf_counter()
    ended = process.run(command, timeout_seconds=300, stdin=stdin, environment=environment)
    seconds = time.perf_counter() - begun
    if ended.exit_code != 0:
        raise ProcessError(f"{' '.join(command)}: {ended.complaint}")
    return seconds
