"""``leftoff report``."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from leftoff.cli import display
from leftoff.cli.ages import age
from leftoff.flows import report as flow
from leftoff.system import clock


@click.command(epilog="Example: leftoff report --days 7 --verbose")
@click.option(
    "--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="How far to look back."
)
@click.option("--agent", help="Only sessions of this agent.")
@click.option(
    "--project", type=click.Path(path_type=Path), help="Only sessions of the project in this folder."
)
@click.option("--verbose", is_flag=True, help="Name what each summary lost.")
@display.with_json
def report(*, days: int, agent: str | None, project: Path | None, verbose: bool, as_json: bool) -> int:
    """Show the compactions of the last 30 days: what each lost, and what leftoff would have kept."""
    now = clock.now()
    found = flow.begin(now, days=days)
    sessions = flow.sessions_since(found.since, agent, project)
    for session in display.progress(sessions, total=len(sessions), words="Reading"):
        found.add(session)
    if as_json:
        display.as_json(_json(found, days))
    else:
        _draw(found, now, days, verbose=verbose)
    return 0


def _draw(found: flow.Report, now: datetime, days: int, *, verbose: bool) -> None:
    listed = found.newest_first()
    for path, reason in found.unreadable:
        display.say(display.visible(f"Not read: {path}: {reason}"))
    counted = f"{_counted(found.sessions, 'session')}, {_counted(len(listed), 'compaction')}"
    display.say(f"The last {_counted(days, 'day')}: {counted}.")
    if not listed:
        return
    rows = [_row(each, now) for each in listed]
    headings = ["age", "agent", "project", "session", "the summary lost", "leftoff would have kept"]
    display.table(headings, rows, spare=["agent", "project", "age"])
    _say_totals(found)
    if verbose:
        for each in listed:
            _say_lost(each)
    else:
        display.say("leftoff report --verbose names what was lost.")


def _row(each: flow.Compacted, now: datetime) -> tuple[str, ...]:
    lost = [line for line in each.receipt.lines if line.lost]
    if each.receipt.is_opaque:
        lost_words = "cannot be read"
    else:
        lost_words = _listed(f"{len(line.lost)} of {line.total} {line.kind}" for line in lost) or "nothing"
    return (
        age(now, each.at) if each.at else "?",
        each.agent,
        display.one_line(Path(each.project).name if each.project else "?", 20),
        each.session_id[:8],
        lost_words,
        _listed(f"{len(line.put_back)} {line.kind}" for line in lost if line.put_back) or "-",
    )


def _say_totals(found: flow.Report) -> None:
    lost = {kind: tally for kind, tally in found.totals().items() if tally.lost}
    if lost:
        words = _listed(f"{tally.lost} of {tally.total} {kind}" for kind, tally in lost.items())
        kept = _listed(f"{tally.would_have_kept} {kind}" for kind, tally in lost.items())
        display.say(f"Together the summaries lost {words}. leftoff would have kept {kept}.")


def _say_lost(each: flow.Compacted) -> None:
    display.say(display.visible(f"\n{each.transcript}, line {each.line}"))
    for line in each.receipt.lines:
        for item in line.lost:
            kept = "kept" if item in line.put_back else "    "
            display.say(f"  {kept}  {line.kind:9} {display.one_line(item, 160)}")


def _counted(count: int, what: str) -> str:
    return f"no {what}" if count == 0 else f"1 {what}" if count == 1 else f"{count:,} {what}s"


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _json(found: flow.Report, days: int) -> dict[str, Any]:
    return {
        "days": days,
        "since": clock.rfc3339(found.since),
        "sessions": found.sessions,
        "compactions": [each.to_dict() for each in found.newest_first()],
        "totals": {
            kind: {"total": tally.total, "lost": tally.lost, "would_have_kept": tally.would_have_kept}
            for kind, tally in found.totals().items()
        },
        "unreadable": [{"transcript": str(path), "reason": reason} for path, reason in found.unreadable],
    }
