"""What a strategy saves and keeps: a cut knows nothing of the future, and shares are of added counts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import strategies
from bench.strategies import CutResult, Savings, goals, goals_missed, measure, totals
from leftoff.agents.registry import agent_by_id
from leftoff.core.trim_plan import TrimLevel
from leftoff.errors import NothingToDoError
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript


def line(number: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content} | (
        {"id": f"m{number}", "model": "claude-x"} if kind == "assistant" else {}
    )
    return {
        "type": kind,
        "message": message,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "s",
        "timestamp": f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}.000Z",
    } | more


def session(tmp_path: Path, calls: list[tuple[str, dict[str, Any], str]]) -> Path:
    lines = [line(0, "user", "Go.")]
    for number, (tool, tool_input, answer) in enumerate(calls):
        ask = [{"type": "tool_use", "id": f"t{number}", "name": tool, "input": tool_input}]
        lines.append(line(2 * number + 1, "assistant", ask))
        result = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": answer}]
        lines.append(line(2 * number + 2, "user", result))
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    return path


def read(path: str, words: str) -> tuple[str, dict[str, Any], str]:
    text = "\n".join(f"{n}\t{words} {n} and something more to fill the line" for n in range(1, 101))
    return "Read", {"file_path": path}, text


def edit(path: str, words: str, n: int) -> tuple[str, dict[str, Any], str]:
    old = f"{words} {n} and something more to fill the line\n{words} {n + 1} and something more"
    return "Edit", {"file_path": path, "old_string": old, "new_string": "x"}, "ok"


def test_an_edit_matches_lines_with_or_without_numbers(tmp_path: Path) -> None:
    """Trim leaves two ends, so the middle is lost; text that was never visible does not count."""
    calls = [read("/a.py", "alpha"), *([("Bash", {"command": "true"}, "ok")] * 4)]
    calls += [
        edit("/a.py", "alpha", 50),
        edit("/a.py", "nowhere", 50),
        *([("Bash", {"command": "true"}, "ok")] * 2),
    ]
    found = [*measure([session(tmp_path, calls)], "trim")]
    assert [(each.needed, each.kept) for each in found] == [(1, 0), (1, 0), (0, 0), (0, 0)]
    assert found[0].lost[0].startswith("alpha 50 and")
    assert found[0].saved_chars > 0.8 * found[0].live_chars
    assert [each.line for each in found] == sorted(each.line for each in found)


def test_smart_trim_keeps_the_basis_of_the_next_edit(tmp_path: Path) -> None:
    """The file in use stays; the old search goes."""
    calls = [
        ("Grep", {"pattern": "x"}, "hit\n" * 400),
        read("/a.py", "alpha"),
        *([("Bash", {"command": "true"}, "ok")] * 8),
    ]
    calls += [edit("/a.py", "alpha", 50)] * 4
    found = [*measure([session(tmp_path, calls)], "smart-trim")]
    assert found[1].needed == found[1].kept > 0
    assert found[1].saved_chars > 1000


def test_a_rollover_keeps_the_log_alone(tmp_path: Path) -> None:
    """Only large sessions count for a rollover."""
    calls = [read(f"/{n}.py", f"alpha{n}") for n in range(40)]
    found = [*measure([session(tmp_path, calls)], "rollover")]
    large = totals(found, "rollover")
    assert large[0].cuts == sum(each.live_chars >= 100_000 for each in found) < len(found)
    assert (large[0].saved_share or 0) > 0.9


def test_a_session_without_calls_is_an_error(tmp_path: Path) -> None:
    """A session without calls has no cut."""
    with pytest.raises(NothingToDoError, match="bench strategy"):
        [*measure([session(tmp_path, [])], "trim")]


def shrunk(agent: str, live: int, saved: int, needed: int, kept: int) -> CutResult:
    return CutResult(
        agent=agent, source=Path("a"), line=1, live_chars=live, saved_chars=saved, needed=needed, kept=kept
    )


def test_shares_are_of_counts_added_up() -> None:
    """Shares are not averaged, and are ``None`` if there is nothing to take a share of."""
    found = totals(
        [shrunk("claude", 100, 90, 1, 0), shrunk("claude", 900, 110, 3, 3), shrunk("codex", 0, 0, 0, 0)],
        "trim",
    )
    assert [(each.agent, each.cuts, each.saved_share, each.support_share) for each in found] == [
        ("claude", 2, 0.2, 0.75),
        ("codex", 1, None, None),
    ]


def test_goals_are_compared_with_shares() -> None:
    """A miss is reported with both numbers; what could not be measured does not count."""
    assert goals("trim", 1000, reads_apart=True) == {"saved": 0.40}
    assert goals("trim", 500, reads_apart=True) == {"saved": 0.50}
    assert goals("rollover", 1000, reads_apart=False) == {"saved": 0.90}
    assert goals("smart-trim", 1000, reads_apart=False) == {"saved": 0.15, "support": 0.97}
    low = Savings(
        agent="claude", cuts=1, live_chars=100, saved_chars=24, needed=0, kept=0, own_reads=2, shell_reads=1
    )
    assert [*goals_missed([low], "smart-trim", 1000)] == ["claude: saved 24.0%, goal ≥ 25%"]
    assert [*goals_missed([replace(low, shell_reads=2)], "smart-trim", 1000)] == []


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_the_bench_sees_whether_files_are_read_with_a_tool_for_that(tmp_path: Path, agent_id: str) -> None:
    """One agent has such a tool, the other reads files by commands: its goal is lower."""
    story = Story(session_id="01a1e0be-dee8-7b23-ae31-94e0123734a3")
    for number in range(8):
        story.asked("Go on").replied("Looking.", call("read", {"path": f"{number}.py"}, "words\n" * 300))
    transcript = tmp_path / "rollout-2026-01-06T12-00-00-01a1e0be-dee8-7b23-ae31-94e0123734a3.jsonl"
    write_transcript(agent_by_id(agent_id), story.script(), transcript)
    (found,) = totals(measure([transcript], "smart-trim"), "smart-trim")
    assert found.own_reads + found.shell_reads > 0
    assert found.reads_apart is (agent_id == "claude")


def point(level: TrimLevel, saved: int, kept: int) -> Savings:
    return Savings(
        agent="any", cuts=1, live_chars=1000, saved_chars=saved, needed=100, kept=kept, level=level
    )


def test_what_is_saved_at_a_support_is_read_off_the_line_between_two_levels() -> None:
    curve = [point("careful", 100, 99), point("normal", 200, 98), point("strong", 300, 96)]
    assert strategies.saved_at_support(curve, 0.97) == pytest.approx((0.25, 0.25))
    assert strategies.saved_at_support(curve, 0.98) == pytest.approx((0.2, 0.2))
    assert strategies.saved_at_support(curve[:2], 0.97) == pytest.approx((0.2, 0.2))  # it is not continued
    assert strategies.saved_at_support(curve[2:], 0.97) is None


def test_every_level_is_measured_at_every_cut_and_a_stronger_one_saves_no_less() -> None:
    found = totals(strategies.measure_levels([]), "smart-trim")
    assert [each.level for each in found] == ["careful", "normal", "strong"]
    assert len({each.cuts for each in found}) == 1
    saved = [each.saved_chars for each in found]
    assert saved == sorted(saved)
    assert saved[0] > 0
