"""``leftoff bench retention --strategy``."""

import json

import pytest

from leftoff.cli.commands.bench_retention import retention


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = retention.main([*arguments], prog_name="leftoff bench retention", standalone_mode=False)
    return code, capsys.readouterr().out


def test_the_table_says_what_is_saved_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the goals, on the bundled session; trim loses some support, and --misses names it."""
    code, out = run(capsys, "--strategy", "trim", "--verbose", "--misses", "--strict")
    assert code == 0
    assert "support kept" in out
    assert "≥ 40%" in out
    assert "live, " in out
    assert "  lost bundled.jsonl:" in out
    assert "All goals reached." in out


def test_json_holds_every_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """For scripts."""
    code, out = run(capsys, "--strategy", "smart-trim", "--json")
    said = json.loads(out)
    assert code == 0
    assert said["strategy"] == "smart-trim"
    assert len(said["cuts"]) == 4
    assert said["agents"][0]["saved_share"] > 0.25
    assert said["goals_missed"] == []
