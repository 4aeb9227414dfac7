"""A sample of the fuzz runs: deterministic, so a failure here is the same everywhere. ``make fuzz RUNS=10000`` runs many."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.mutations import MUTATIONS, mutate

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(100, marks=pytest.mark.slow),
        pytest.param(3000, marks=[pytest.mark.stress, pytest.mark.timeout(7200)]),
    ],
)
def test_no_damaged_transcript_breaks_a_command(runs: int) -> None:
    """A process of its own, because each command is a fork, and pytest has threads."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.run", "--runs", str(runs)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-2000:]


def test_what_happens_to_a_transcript_depends_on_its_number_alone() -> None:
    data = (ROOT / "tests/golden/transcripts/claude-1.0.71-task-sidechain.jsonl").read_bytes()
    once, again = (mutate(data, random.Random(7)) for _ in range(2))
    assert once == again


@pytest.mark.parametrize("name", [*MUTATIONS])
@pytest.mark.parametrize("data", [b"", b"\n", b"not json", b'{"a":1}', b'[1]\n"x"\n{"type":"user"}\n'])
def test_every_mutation_takes_any_file(name: str, data: bytes) -> None:
    for seed in range(5):
        assert isinstance(MUTATIONS[name](data, random.Random(seed)), bytes)
