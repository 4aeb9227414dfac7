"""What all measures of speed share: a row of the table, ratios, and child processes with a scratch home."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from leftoff.errors import ProcessError
from leftoff.platform import paths, process


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measure: ``ratio`` against ``limit``, at most or at least. ``is_judged`` is False if too little was measured."""

    what: str
    against: str
    ratio: float
    limit: float
    at_most: bool = True
    note: str = ""
    is_judged: bool = True

    @property
    def reached(self) -> bool | None:
        """Whether the goal is met in this run; None if it was not judged."""
        if not self.is_judged:
            return None
        return self.ratio <= self.limit if self.at_most else self.ratio >= self.limit


_ROOT = Path(__file__).resolve().parents[1]
_STATUS = Path("/proc/self/status")
_PEAK = "VmHWM:"


def peak_bytes() -> int:
    """Return the peak resident memory since the program began.

    On Linux ``getrusage`` includes what the parent process had before the program was loaded, so /proc is read instead.
    """
    try:
        lines = _STATUS.read_text("ascii").splitlines()
    except OSError:
        return _from_usage()
    found = next((line.split() for line in lines if line.startswith(_PEAK)), None)
    return _from_usage() if found is None else int(found[1]) * 1024


def _from_usage() -> int:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def ratio(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return the median of our time divided by theirs over the rounds, and our median seconds."""
    ratios, seconds = [], []
    for _ in range(rounds):
        mine, other = time_call(ours), time_call(theirs)
        ratios.append(mine / other)
        seconds.append(mine)
    return median(ratios), median(seconds)


def time_call(work: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def run_child(
    module: str, *arguments: object, environment: Mapping[str, str], folder: Path | None = None
) -> Any:
    """Run a module of the bench in its own process, with that environment, and return the JSON that it prints."""
    found_in = [str(_ROOT), environment.get("PYTHONPATH", "")]
    done = process.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        timeout_seconds=3600,
        folder=folder,
        environment={**environment, "PYTHONPATH": os.pathsep.join(filter(None, found_in))},
    )
    if done.exit_code:
        raise ProcessError(f"{module} failed: {done.complaint}.")
    return json.loads(done.stdout)


def scratch_environment(home: Path, *without: str) -> dict[str, str]:
    """Return this process's environment with another home, without variables that begin with ``without``."""
    kept = {name: value for name, value in paths.environment().items() if not name.startswith(without)}
    return kept | {"HOME": str(home)}
