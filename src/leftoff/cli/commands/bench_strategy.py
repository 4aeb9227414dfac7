"""``leftoff bench retention --strategy``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leftoff.cli import display
from leftoff.flows import bench_strategy as flow
from leftoff.model.trim_plan import Strategy

_HEADINGS = ("agent", "cuts", "live characters", "saved", "goal", "edits", "support kept", "goal")


def show(
    files: Sequence[Path],
    strategy: Strategy,
    *,
    threshold: int,
    verbose: bool,
    misses: bool,
    strict: bool,
    as_json: bool,
) -> int:
    """Measure, and show the table."""
    measured = [*flow.measure(files, strategy, threshold=threshold)]
    totals = flow.totals(measured, strategy)
    missed = [*flow.goals_missed(totals, strategy, threshold)]
    if as_json:
        display.as_json(_json(measured, totals, missed, strategy))
    else:
        display.table(_HEADINGS, [_row(each, strategy, threshold) for each in totals], title=strategy)
        _say_cuts(measured, verbose=verbose, misses=misses)
        for words in missed or ["All goals reached."]:
            display.say(f"MISSED {words}" if missed else words)
    return 1 if strict and missed else 0


def _say_cuts(measured: Sequence[flow.Shrunk], *, verbose: bool, misses: bool) -> None:
    for each in measured:
        if verbose:
            display.say(display.visible(_line(each)))
        for old in each.lost if misses else ():
            lost = f"  lost {each.source.name}:{each.line}  {display.one_line(old, 160)}"
            display.say(display.visible(lost))


def _row(each: flow.Savings, strategy: Strategy, threshold: int) -> tuple[str, ...]:
    goals = flow.goals(strategy, threshold, reads_apart=each.reads_apart)
    return (
        each.agent,
        str(each.cuts),
        f"{each.live_chars:,}",
        _share(each.saved_share),
        _goal(goals.get("saved")),
        str(each.needed),
        _share(each.support_share),
        _goal(goals.get("support")),
    )


def _line(each: flow.Shrunk) -> str:
    saved = _share(each.saved_chars / each.live_chars if each.live_chars else None)
    return f"  {each.source.name}:{each.line}  {each.live_chars:,} live, {saved} saved, {each.kept} of {each.needed} edits"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _goal(goal: float | None) -> str:
    return "" if goal is None else f"≥ {goal:.0%}"


def _json(
    measured: Sequence[flow.Shrunk], totals: Sequence[flow.Savings], missed: Sequence[str], strategy: Strategy
) -> dict[str, Any]:
    return {
        "strategy": strategy,
        "agents": [
            {
                "agent": each.agent,
                "cuts": each.cuts,
                "live_chars": each.live_chars,
                "saved_chars": each.saved_chars,
                "saved_share": each.saved_share,
                "edits": each.needed,
                "support_share": each.support_share,
            }
            for each in totals
        ],
        "cuts": [
            {
                "transcript": str(each.source),
                "line": each.line,
                "live_chars": each.live_chars,
                "saved_chars": each.saved_chars,
                "edits": each.needed,
                "kept": each.kept,
            }
            for each in measured
        ],
        "goals_missed": [*missed],
    }
