"""``python -m bench``."""

import json

import pytest

from bench import __main__ as command_line


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = command_line.run(arguments)
    return code, capsys.readouterr().out


def test_the_table_shows_what_is_saved_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the goals, for the bundled session; trim loses some support, and --misses names it."""
    code, out = run(capsys, "strategy", "trim", "--verbose", "--misses", "--strict")
    assert code == 0
    assert "support kept" in out
    assert "≥ 40%" in out
    assert "live, " in out
    assert "  lost 5b0e6f0a-" in out
    assert "All goals reached." in out


def test_json_contains_every_cut(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "strategy", "smart-trim", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["strategy"] == "smart-trim"
    assert len(data["cuts"]) == 4
    assert data["agents"][0]["saved_share"] > 0.25
    assert data["goals_missed"] == []


def test_wrong_usage_is_an_exit_code_and_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code and message are like those of leftoff's own commands."""
    assert command_line.run(["strategy", "shrink"]) == 2
    assert "shrink" in capsys.readouterr().err
