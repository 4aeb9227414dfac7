"""``leftoff bench retention``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from leftoff.cli import display
from leftoff.cli.commands import bench_strategy
from leftoff.flows import bench_retention as flow
from leftoff.flows.retention_score import MEASURES, Measure, Part, Score
from leftoff.model.trim_plan import Strategy

_HEADINGS = ("document", "chars", *MEASURES)


@click.command(epilog="Example: leftoff bench retention session.jsonl --misses")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--at", type=click.IntRange(min=2), metavar="LINE", help="Cut before this line instead of at compactions."
)
@click.option("--every", is_flag=True, help="Cut after 50, 65, 80 and 95 % of the tool calls instead.")
@click.option("--quick", is_flag=True, help="The last cut of each file only.")
@click.option("--verbose", is_flag=True, help="One table more: every cut by itself.")
@click.option(
    "--misses", is_flag=True, help="Name what each of our documents lacked, and what is stale in it."
)
@click.option(
    "--strategy",
    type=click.Choice(["trim", "smart-trim", "rollover"]),
    help="Measure what a strategy saves, and what of the next edits' support it keeps.",
)
@click.option(
    "--threshold", type=click.IntRange(min=1), default=1000, help="Of trim, in characters (default 1000)."
)
@click.option("--strict", is_flag=True, help="Exit with 1 when a goal is missed.")
@display.with_json
def retention(
    *,
    files: tuple[Path, ...],
    at: int | None,
    every: bool,
    quick: bool,
    verbose: bool,
    misses: bool,
    strategy: Strategy | None,
    threshold: int,
    strict: bool,
    as_json: bool,
) -> int:
    """Measure how much of what was needed after a compaction stands in a log made before it.

    FILES are transcripts; without one, the bundled session is measured. With --strategy, they are cut after 50, 65, 80 and
    95 % of their live tool calls, and made smaller there.
    """
    if strategy is not None:
        return bench_strategy.show(
            files,
            strategy,
            threshold=threshold,
            verbose=verbose,
            misses=misses,
            strict=strict,
            as_json=as_json,
        )
    if at is not None and every:
        raise click.UsageError("--at and --every are two ways to cut: give one.")
    wanted = flow.Wanted(transcripts=files, at=at, every=every, last_only=quick)
    measured = [*flow.measure(wanted)]
    totals = flow.totals(measured)
    missed = [*flow.goals_missed(totals)]
    if as_json:
        display.as_json(_json(measured, totals, missed))
    else:
        _draw(measured, totals, verbose=verbose, misses=misses)
        _say_sources(measured)
        _verdict(missed)
    return 1 if strict and missed else 0


def _draw(
    measured: Sequence[flow.Measured], totals: Mapping[str, Score], *, verbose: bool, misses: bool
) -> None:
    cuts = max(score.cuts for score in totals.values())
    display.table(_HEADINGS, _rows(totals), title=f"{cuts} cuts" if cuts > 1 else "1 cut")
    if verbose:
        cells = ((f"{each.source.name}:{each.line}  {each.document}", each.score) for each in measured)
        display.table(_HEADINGS, [_row(display.visible(name), score) for name, score in cells])
    if misses:
        for each in measured:
            if each.document in flow.GOALS:
                _say_misses(each)


def _say_sources(measured: Sequence[flow.Measured]) -> None:
    checked = [each.sourced for each in measured if each.sourced]
    if checked:
        without, items = sum(len(each.without) for each in checked), sum(each.items for each in checked)
        display.say(f"Items without a valid source: {without} of {items:,} (goal 0)")


def _verdict(missed: Sequence[flow.GoalMissed]) -> None:
    for each in missed:
        display.say(
            f"MISSED {each.document}: {each.measure} {_words(each.found)}, goal {_sign(each.measure)} {each.goal:.0%}"
        )
    if not missed:
        display.say("All goals reached.")


def _rows(totals: Mapping[str, Score]) -> Iterator[tuple[str, ...]]:
    """Each document, and below ours what it should reach."""
    for name, score in totals.items():
        yield _row(name, score)
        if goals := flow.GOALS.get(name):
            shown = (
                f"{_sign(measure)} {goals[measure]:.0%}" if measure in goals else "" for measure in MEASURES
            )
            yield ("  goal", "", *shown)


def _row(name: str, score: Score) -> tuple[str, ...]:
    parts = score.parts()
    return (
        name,
        f"{score.characters // score.cuts:,}",
        *(_words(parts[measure]) for measure in MEASURES),
    )


def _words(part: Part) -> str:
    return "-" if part.share is None else f"{part.share:.1%}"


def _sign(measure: Measure) -> str:
    return "≤" if measure in flow.AT_MOST else "≥"


def _say_misses(each: flow.Measured) -> None:
    display.say(display.visible(f"\n{each.source.name}:{each.line}  {each.document}"))
    for title, lacking in (("next calls", each.score.missed), ("summary", each.score.not_agreed)):
        for mention in lacking:
            display.say(f"  {title:10} {mention.kind:8} {display.one_line(mention.text, 200)}")
    for item in each.sourced.without if each.sourced else ():
        display.say(f"  no source  {display.one_line(item, 200)}")
    for stale in each.score.stale_items:
        display.say(f"  stale      {display.one_line(f'{stale.why}: {stale.item}', 200)}")


def _json(
    measured: Sequence[flow.Measured], totals: Mapping[str, Score], missed: Sequence[flow.GoalMissed]
) -> dict[str, Any]:
    return {
        "documents": [{"document": name, **score.to_dict()} for name, score in totals.items()],
        "cuts": [
            {
                "without_source": [*each.sourced.without] if each.sourced else None,
                "document": each.document,
                "transcript": str(each.source),
                "line": each.line,
                **each.score.to_dict(),
            }
            for each in measured
        ],
        "goals": {name: dict(goals) for name, goals in flow.GOALS.items()},
        "goals_missed": [{"document": each.document, "measure": each.measure} for each in missed],
    }
