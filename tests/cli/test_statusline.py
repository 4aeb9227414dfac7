"""``leftoff statusline``: one line, always exit code 0, and nothing loaded that it does not need."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leftoff.cli.agent_statusline import line
from leftoff.config.load import thresholds
from leftoff.config.settings import Settings
from leftoff.core.metrics import ContextMetrics, Level
from leftoff.live.status_line import StatusLine
from leftoff.platform import log, paths
from leftoff.testing.builders import Story
from tests.support.fixtures import CLAUDE_ID

pytestmark = pytest.mark.measured

NOW = datetime(2026, 1, 6, 12, tzinfo=UTC)


@pytest.fixture
def client_json(home):
    """What the client passes in a session with 120,000 tokens in its window."""
    story = Story(session_id=CLAUDE_ID, project=str(Path.cwd()), model="claude-sonnet-4-5")
    return {
        "session_id": CLAUDE_ID,
        "transcript_path": str(home.claude(story.asked("Go").replied("Done.", used=120_000))),
        "workspace": {},
        "context_window": {"context_window_size": 200000},
    }


def run_statusline(raw, *arguments, program=("-m", "leftoff"), **environment):
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


def build_status(used=120_000, *, saved=None, turns=4, level=Level.CAUTION, ahead=Level.WARNING):
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
            build_status(saved=timedelta(minutes=5)),
            "█████████░┊┊ 75% caution · ~4 turns to warning · saved 5 min ago",
        ),
        (
            build_status(turns=1, saved=timedelta(seconds=3)),
            "█████████░┊┊ 75% caution · ~1 turn to warning · saved just now",
        ),
        (build_status(turns=None), "█████████░┊┊ 75% caution"),
        (
            build_status(146_000, level=Level.AUTO_PAUSE, ahead=Level.CRITICAL),
            "██████████┊┊ 91% pause · ~4 turns to critical",
        ),
        (
            build_status(170_000, level=Level.CRITICAL, ahead=None, turns=None),
            "████████████ 106% critical",
        ),
        (build_status(None, level=None, turns=None), "leftoff: the gauge starts with the next reply"),
    ],
)
def test_the_line_says_gauge_level_turns_and_save(status, expected):
    """Parts of the line that are not known are left out."""
    assert line(status, coloured=False) == expected


def test_a_window_that_is_not_known_is_reported_as_such():
    """Question marks would not help the user."""
    metrics = ContextMetrics(
        total_budget=None, used_tokens=12_000, stop_reason="", model="m", basis="reported"
    )
    text = line(build_status(level=None, turns=None)._replace(metrics=metrics), coloured=True)
    assert text == "leftoff: 12,000 tokens used of a window that is not known"


def test_colours_are_of_the_level_and_only_the_bar_has_them():
    text = line(build_status(), coloured=True)
    assert text.startswith("\x1b[33m█████████░┊┊\x1b[0m 75%")
    assert text.count("\x1b") == 2
    assert "\x1b" not in line(build_status(None, level=None), coloured=True)


def test_one_line_comes_out(client_json):
    """Coloured, although standard output is a pipe; plain with NO_COLOR or a dumb terminal."""
    coloured = run_statusline(client_json, TERM="xterm")
    assert coloured.count("\n") == 1
    assert "\x1b[33m" in coloured
    assert coloured.endswith("71% caution\n")
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in run_statusline(client_json, **{"TERM": "xterm", **plain})


@pytest.mark.parametrize(
    "raw", [b"", b"garbage", b"\xff\xfe", b"[" * 100_000, b'{"session_id": "../x", "workspace": {}}']
)
def test_trouble_shows_nothing_and_is_noted(raw):
    """leftoff's own errors do not belong on the agent's screen."""
    assert run_statusline(raw) == ""
    assert "statusline: " in log.log_path().read_text(encoding="utf-8")


def test_switched_off_it_shows_nothing(client_json):
    assert run_statusline(client_json, LEFTOFF_DISABLE="1") == ""


def test_the_same_numbers_as_json(client_json):
    """Scripts and bug reports use them; the exit code is still always 0."""
    data = json.loads(run_statusline(client_json, "--json"))
    assert (data["used_tokens"], data["window_tokens"], data["level"]) == (120_000, 200_000, "caution")
    assert json.loads(run_statusline({}, "--json")) == {}
    assert "error" in json.loads(run_statusline(b"garbage", "--json"))


def test_the_command_line_knows_it_too(client_json):
    """``leftoff statusline`` on the command line gives the same line."""
    code = "import sys; from leftoff.cli.main import run; sys.exit(run(sys.argv[1:]))"
    assert "71% caution" in run_statusline(client_json, program=("-c", code))


def test_nothing_of_the_command_line_is_loaded(without_coverage, client_json):
    """The agent asks again and again: neither click nor rich nor another agent's adapter."""
    code = (
        "import sys, json; sys.argv = ['leftoff', 'statusline']\n"
        "from leftoff.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert ended.code == 0\n"
        "print(json.dumps([*sys.modules]), file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(client_json),
        capture_output=True,
        text=True,
        check=True,
    )
    modules = json.loads(ended.stderr)
    assert "leftoff.live.status_line" in modules
    heavy = ("click", "rich", "ruamel", "importlib.metadata", "subprocess", "sqlite3", "leftoff.agents.codex")
    assert [name for name in heavy if name in modules] == []
    assert Path(__file__).name not in modules
