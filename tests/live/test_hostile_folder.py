"""Modules that a cloned project brings are never run by the hook, its full program or the status line, whatever PYTHONPATH says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.core.hook_settings import statusline_command
from leftoff.live import fast, saving

PWNED = "PWNED"


@pytest.fixture(params=["", ".", ":/opt/lib", "/opt/lib:", "/opt/lib:."])
def clone(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A clone with modules in it that would be taken for ours, and an environment in which its folder is searched."""
    folder = tmp_path / "clone"
    (folder / "leftoff").mkdir(parents=True)
    trap = f"import pathlib; pathlib.Path({PWNED!r}).touch()\n"
    for name in (
        "leftoff/__init__.py",
        "leftoff/__main__.py",
        "orjson.py",
        "click.py",
        "json.py",
        "sitecustomize.py",
    ):
        (folder / name).write_text(trap, encoding="utf-8")
    return folder, {"PATH": os.defpath, "HOME": str(tmp_path), "PYTHONPATH": request.param}


def run(command: list[str], clone: tuple[Path, dict[str, str]], event: dict[str, object]) -> str:
    folder, environment = clone
    done = subprocess.run(
        command,
        input=json.dumps(event),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert not (folder / PWNED).exists()
    return done.stdout


def test_the_full_program_is_ours(clone: tuple[Path, dict[str, str]]) -> None:
    """The full program notes the session that begins; the clone's package would not."""
    folder, environment = clone
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s-1", "cwd": str(folder)}
    run([sys.executable, "-I", "-S", fast.__file__, "claude"], clone, event)
    assert (Path(environment["HOME"]) / ".local/state/leftoff/watch/claude-s-1.json").exists()


def test_detached_work_is_ours(clone: tuple[Path, dict[str, str]]) -> None:
    """An unknown task is one line in our own log."""
    environment = clone[1]
    run([sys.executable, *saving.PROGRAM, "claude", "no-such-task", "s-1"], clone, {})
    log = Path(environment["HOME"]) / ".local/state/leftoff/leftoff.log"
    assert "no-such-task" in log.read_text(encoding="utf-8")


def test_the_status_line_is_ours(clone: tuple[Path, dict[str, str]]) -> None:
    event = {
        "session_id": "s-1",
        "workspace": {},
        "model": {"id": "claude-sonnet-4-5"},
        "context_window": {"context_window_size": 200000, "current_usage": {"input_tokens": 120000}},
    }
    assert "leftoff: the gauge starts" in run(["sh", "-c", statusline_command(sys.executable)], clone, event)
