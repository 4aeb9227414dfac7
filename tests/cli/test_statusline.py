"""``leftoff statusline``: one line, always exit code 0, and nothing loaded that it does not need."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leftoff.cli.statusline import line
from leftoff.config.layers import thresholds
from leftoff.config.settings import Settings
from leftoff.flows.statusline import StatusLine
from leftoff.model.context_metrics import ContextMetrics, Level
from leftoff.system import own_log, paths

pytestmark = pytest.mark.measured

NOW = datetime(2026, 1, 6, 12, tzinfo=UTC)
SAID = {
    "session_id": "0c712d1c-a758-4b93-8967-1be809d58c86",
    "workspace": {},
    "model": {"id": "claude-sonnet-4-5"},
    "context_window": {"context_window_size": 200000, "current_usage": {"input_tokens": 120000}},
}


def shown(raw, *arguments, program=("-m", "leftoff"), **environment):
    ended = subprocess.run(
        [sys.executable, *program, "statusline", *arguments],
        input=raw if isinstance(raw, bytes) else json.dumps(raw).encode(),
        capture_output=True,
        check=False,
        env={**paths.environment(), **environment},
    )
    assert ended.returncode == 0, ended
    assert ended.stderr == b""
    return ended.stdout.decode()


def found(used=120_000, *, saved=None, turns=4, level=Level.CAUTION, ahead=Level.WARNING):
    budget = None if used is None else 160_000
    metrics = ContextMetrics(
        total_budget=budget,
        used_tokens=used,
        stop_reason="",
        model="m",
        basis="unknown" if used is None else "reported",
    )
    return StatusLine(
        session_id="s",
        metrics=metrics,
        level=level,
        thresholds=thresholds(Settings()),
        next_level=ahead,
        turns_left=turns,
        saved_at=saved and NOW - saved,
        at=NOW,
    )


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            found(saved=timedelta(minutes=5)),
            "█████████░┊┊ 75% caution · ~4 turns to warning · saved 5 min ago",
        ),
        (
            found(turns=1, saved=timedelta(seconds=3)),
            "█████████░┊┊ 75% caution · ~1 turn to warning · saved now",
        ),
        (found(turns=None), "█████████░┊┊ 75% caution · not saved yet"),
        (
            found(146_000, level=Level.AUTO_PAUSE, ahead=Level.CRITICAL),
            "██████████┊┊ 91% pause · ~4 turns to critical · not saved yet",
        ),
        (
            found(170_000, level=Level.CRITICAL, ahead=None, turns=None),
            "████████████ 106% critical · not saved yet",
        ),
        (found(None, level=None, turns=None), "leftoff: no reply to measure yet · not saved yet"),
    ],
)
def test_the_line_says_gauge_level_turns_and_save(status, expected):
    """And leaves out what is not known."""
    assert line(status, coloured=False) == expected


def test_a_window_that_is_not_known_is_said_to_be_so():
    """Question marks tell nobody anything."""
    metrics = ContextMetrics(
        total_budget=None, used_tokens=12_000, stop_reason="", model="m", basis="reported"
    )
    text = line(replace(found(level=None, turns=None), metrics=metrics), coloured=True)
    assert text == "leftoff: 12,000 tokens used of a window that is not known · not saved yet"


def test_colours_are_of_the_level_and_only_the_bar_has_them():
    """The agent draws it on its terminal."""
    text = line(found(), coloured=True)
    assert text.startswith("\x1b[33m█████████░┊┊\x1b[0m 75%")
    assert text.count("\x1b") == 2
    assert "\x1b" not in line(found(None, level=None), coloured=True)


def test_one_line_comes_out():
    """Coloured, although standard output is a pipe; plain with NO_COLOR or a dumb terminal."""
    coloured = shown(SAID, TERM="xterm")
    assert coloured.count("\n") == 1
    assert "\x1b[33m" in coloured
    assert "71% caution · not saved yet" in coloured
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in shown(SAID, **{"TERM": "xterm", **plain})


@pytest.mark.parametrize(
    "raw", [b"", b"garbage", b"\xff\xfe", b"[" * 100_000, b'{"session_id": "../x", "workspace": {}}']
)
def test_trouble_shows_nothing_and_is_noted(raw):
    """An agent's screen is no place for our troubles."""
    assert shown(raw) == ""
    assert "statusline: " in own_log.path().read_text(encoding="utf-8")


def test_switched_off_it_shows_nothing():
    """Nor in a summariser that we started ourselves."""
    assert shown(SAID, LEFTOFF_DISABLE="1") == ""


def test_the_same_numbers_as_json():
    """For scripts, and for a bug report; still always 0."""
    said = json.loads(shown(SAID, "--json"))
    assert (said["used_tokens"], said["window_tokens"], said["level"]) == (120_000, 200_000, "caution")
    assert json.loads(shown({}, "--json")) == {}
    assert "error" in json.loads(shown(b"garbage", "--json"))


def test_the_command_line_knows_it_too():
    """`leftoff statusline` through the door gives the same line."""
    code = "import sys; from leftoff.cli.main import run; sys.exit(run(sys.argv[1:]))"
    assert "71% caution" in shown(SAID, program=("-c", code))


def test_nothing_of_the_command_line_is_loaded(unmeasured):
    """The agent asks again and again: neither click nor rich nor another agent's adapter."""
    code = (
        "import sys, json; sys.argv = ['leftoff', 'statusline']\n"
        "from leftoff.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert ended.code == 0\n"
        "print(json.dumps([*sys.modules]), file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(SAID), capture_output=True, text=True, check=True
    )
    modules = json.loads(ended.stderr)
    assert "leftoff.flows.statusline" in modules
    heavy = ("click", "rich", "ruamel", "importlib.metadata", "subprocess", "sqlite3", "leftoff.agents.codex")
    assert [name for name in heavy if name in modules] == []
    assert Path(__file__).name not in modules
