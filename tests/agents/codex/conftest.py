"""Codex under a home of its own, and rollouts made line by line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.codex import Codex

Lines = Iterable[dict[str, Any] | bytes]
CLIENTS = Path(__file__).parents[2] / "golden" / "clients"
THREAD = "01a1e0be-dee8-7b23-ae31-94e0123734a3"  # made on 2026-11-15


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Codex's home."""
    return tmp_path / "codex"


@pytest.fixture
def codex(home: Path) -> Codex:
    """The adapter under test."""
    return Codex(home)


@pytest.fixture
def rollout(home: Path) -> Callable[..., Path]:
    """Writes a rollout where Codex would: ``rollout(lines, thread)``. An object is a line, bytes are taken as they are."""

    def write(lines: Lines, thread: str = THREAD, folder: str = "sessions/2026/11/15") -> Path:
        path = home / folder / f"rollout-2026-11-15T19-46-07-{thread}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(_bytes(line) for line in lines))
        return path

    return write


def _bytes(line: dict[str, Any] | bytes) -> bytes:
    return line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() + b"\n"


@pytest.fixture(params=["exec-basic", "fork", "hooks-autocompact", "remote-compaction"])
def sample(request: pytest.FixtureRequest) -> Path:
    """A rollout that the real client wrote against a local API."""
    return CLIENTS / f"codex-0.166.0-{request.param}.jsonl"


@pytest.fixture(
    params=["0.142-compacted", "0.2alpha-fork-dec2025", "0.34-no-turn-context", "0.63-exec", "old-header-cjk"]
)
def real(request: pytest.FixtureRequest, real_transcripts: Path) -> Path:
    """A rollout of real work."""
    return real_transcripts / f"codex-{request.param}.jsonl"
