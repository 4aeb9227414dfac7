"""``python -m bench`` measures leftoff on this machine. Run it from the repository's root, in the project's environment."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bench import journeys as bench_journeys
from bench import retention as log_retention
from bench import speed as speed_measures
from bench import strategies
from bench.measuring import Row
from bench.scoring import MEASURES, Measure, Part, Score
from leftoff.cli import output
from leftoff.cli.main import exit_code
from leftoff.core.trim_plan import Strategy

_VERDICTS = {True: "reached", False: "MISSED", None: "too small to tell"}


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]}, epilog="Example: python -m bench speed --quick"
)
def bench() -> None:
    """Measure leftoff on this machine."""


@bench.command(epilog="Example: python -m bench speed --quick")
@click.option("--quick", is_flag=True, help="Small files and few rounds: seconds instead of minutes.")
@click.option("--strict", is_flag=True, help="Exit with 1 when a goal is missed.")
@output.with_json
def speed(*, quick: bool, strict: bool, as_json: bool) -> int:
    """Show each measure of speed as a ratio in one run, beside its goal."""
    rows = [*speed_measures.measures(quick=quick)]
    if as_json:
        output.as_json([dataclasses.asdict(row) | {"reached": row.reached} for row in rows])
    else:
        output.table(["measure", "against", "ratio", "goal", ""], [_speed_row(row) for row in rows])
    return 1 if strict and any(row.reached is False for row in rows) else 0


def _speed_row(row: Row) -> tuple[str, str, str, str, str]:
    sign = "≤" if row.at_most else "≥"
    verdict = _VERDICTS[row.reached]
    return (
        row.what,
        row.against,
        f"{row.ratio:.2f}",
        f"{sign} {row.limit:g}",
        f"{verdict} {row.note}".strip(),
    )


@bench.command(epilog="Example: python -m bench journeys")
@click.option(
    "--source",
    type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    help="The src folder of another checkout.",
)
@output.with_json
def journeys(*, source: Path | None, as_json: bool) -> int:
    """Count the modules and functions that run in five journeys, on a real transcript of LEFTOFF_TRANSCRIPTS."""
    counted = [*(bench_journeys.journeys(source) if source else bench_journeys.journeys())]
    if as_json:
        output.as_json([each._asdict() for each in counted])
    else:
        rows = [(each.name, str(each.modules), str(each.functions), str(each.loaded)) for each in counted]
        output.table(["journey", "modules run", "functions", "modules loaded"], rows)
    return 0


_RETENTION_HEADINGS = ("document", "chars", *MEASURES)


@bench.command(epilog="Example: python -m bench retention session.jsonl --misses")
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
@click.option("--strict", is_flag=True, help="Exit with 1 when a goal is missed.")
@output.with_json
def retention(
    *,
    files: tuple[Path, ...],
    at: int | None,
    every: bool,
    quick: bool,
    verbose: bool,
    misses: bool,
    strict: bool,
    as_json: bool,
) -> int:
    """Measure how much of what was needed after a compaction is in a log made before it.

    FILES are transcripts; without one, the bundled session is measured.
    """
    if at is not None and every:
        raise click.UsageError("--at and --every are two ways to cut: give one.")
    selection = log_retention.Selection(transcripts=files, at=at, every=every, last_only=quick)
    measured = [*log_retention.measure(selection)]
    totals = log_retention.totals(measured)
    missed = [*log_retention.goals_missed(totals)]
    if as_json:
        output.as_json(_retention_json(measured, totals, missed))
    else:
        _draw_retention(measured, totals, verbose=verbose, misses=misses)
        _show_sources(measured)
        _show_verdict(missed)
    return 1 if strict and missed else 0


def _draw_retention(
    measured: Sequence[log_retention.DocumentScore],
    totals: Mapping[str, Score],
    *,
    verbose: bool,
    misses: bool,
) -> None:
    cuts = max(score.cuts for score in totals.values())
    output.table(_RETENTION_HEADINGS, _retention_rows(totals), title=f"{cuts} cuts" if cuts > 1 else "1 cut")
    if verbose:
        cells = ((f"{each.source.name}:{each.line}  {each.document}", each.score) for each in measured)
        output.table(
            _RETENTION_HEADINGS, [_retention_row(output.visible(name), score) for name, score in cells]
        )
    if misses:
        for each in measured:
            if each.document in log_retention.GOALS:
                _show_misses(each)


def _show_sources(measured: Sequence[log_retention.DocumentScore]) -> None:
    checked = [each.sources for each in measured if each.sources]
    if checked:
        without, items = sum(len(each.without) for each in checked), sum(each.items for each in checked)
        output.say(f"Items without a valid source: {without} of {items:,} (goal 0)")


def _show_verdict(missed: Sequence[log_retention.GoalMissed]) -> None:
    for each in missed:
        output.say(
            f"MISSED {each.document}: {each.measure} {_format_share(each.found)}, goal {_sign(each.measure)} {each.goal:.0%}"
        )
    if not missed:
        output.say("All goals reached.")


def _retention_rows(totals: Mapping[str, Score]) -> Iterator[tuple[str, ...]]:
    """Yield each document, and its goals below leftoff's own."""
    for name, score in totals.items():
        yield _retention_row(name, score)
        if goals := log_retention.GOALS.get(name):
            shown = (
                f"{_sign(measure)} {goals[measure]:.0%}" if measure in goals else "" for measure in MEASURES
            )
            yield ("  goal", "", *shown)


def _retention_row(name: str, score: Score) -> tuple[str, ...]:
    parts = score.parts()
    return (
        name,
        f"{score.characters // score.cuts:,}",
        *(_format_share(parts[measure]) for measure in MEASURES),
    )


def _format_share(part: Part) -> str:
    return "-" if part.share is None else f"{part.share:.1%}"


def _sign(measure: Measure) -> str:
    return "≤" if measure in log_retention.AT_MOST else "≥"


def _show_misses(each: log_retention.DocumentScore) -> None:
    output.say(output.visible(f"\n{each.source.name}:{each.line}  {each.document}"))
    for title, lacking in (("next calls", each.score.missed), ("summary", each.score.not_agreed)):
        for mention in lacking:
            output.say(f"  {title:10} {mention.kind:8} {output.one_line(mention.text, 200)}")
    for item in each.sources.without if each.sources else ():
        output.say(f"  no source  {output.one_line(item, 200)}")
    for stale in each.score.stale_items:
        output.say(f"  stale      {output.one_line(f'{stale.why}: {stale.item}', 200)}")


def _retention_json(
    measured: Sequence[log_retention.DocumentScore],
    totals: Mapping[str, Score],
    missed: Sequence[log_retention.GoalMissed],
) -> dict[str, Any]:
    return {
        "documents": [{"document": name, **score.to_dict()} for name, score in totals.items()],
        "cuts": [
            {
                "without_source": [*each.sources.without] if each.sources else None,
                "document": each.document,
                "transcript": str(each.source),
                "line": each.line,
                **each.score.to_dict(),
            }
            for each in measured
        ],
        "goals": {name: dict(goals) for name, goals in log_retention.GOALS.items()},
        "goals_missed": [{"document": each.document, "measure": each.measure} for each in missed],
    }


_STRATEGY_HEADINGS = ("agent", "cuts", "live characters", "saved", "goal", "edits", "support kept", "goal")


@bench.command("strategy", epilog="Example: python -m bench strategy smart-trim session.jsonl --misses")
@click.argument("strategy", type=click.Choice(["trim", "smart-trim", "rollover"]))
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--threshold", type=click.IntRange(min=1), default=1000, help="Of trim, in characters (default 1000)."
)
@click.option("--verbose", is_flag=True, help="One line more for every cut.")
@click.option("--misses", is_flag=True, help="Name what the next edits were made from and the copy lacks.")
@click.option("--strict", is_flag=True, help="Exit with 1 when a goal is missed.")
@output.with_json
def measure_strategy(
    *,
    strategy: Strategy,
    files: tuple[Path, ...],
    threshold: int,
    verbose: bool,
    misses: bool,
    strict: bool,
    as_json: bool,
) -> int:
    """Measure what a strategy saves, and what of the next edits' support it keeps.

    FILES are transcripts; without one, the bundled session is measured. They are cut after 50, 65, 80 and 95 % of their
    live tool calls, and made smaller there.
    """
    measured = [*strategies.measure(files, strategy, threshold=threshold)]
    totals = strategies.totals(measured, strategy)
    missed = [*strategies.goals_missed(totals, strategy, threshold)]
    if as_json:
        output.as_json(_strategy_json(measured, totals, missed, strategy))
    else:
        output.table(
            _STRATEGY_HEADINGS, [_strategy_row(each, strategy, threshold) for each in totals], title=strategy
        )
        _show_cuts(measured, verbose=verbose, misses=misses)
        for words in missed or ["All goals reached."]:
            output.say(f"MISSED {words}" if missed else words)
    return 1 if strict and missed else 0


def _show_cuts(measured: Sequence[strategies.CutResult], *, verbose: bool, misses: bool) -> None:
    for each in measured:
        if verbose:
            output.say(output.visible(_line(each)))
        for old in each.lost if misses else ():
            lost = f"  lost {each.source.name}:{each.line}  {output.one_line(old, 160)}"
            output.say(output.visible(lost))


def _strategy_row(each: strategies.Savings, strategy: Strategy, threshold: int) -> tuple[str, ...]:
    goals = strategies.goals(strategy, threshold, reads_apart=each.reads_apart)
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


def _line(each: strategies.CutResult) -> str:
    saved = _share(each.saved_chars / each.live_chars if each.live_chars else None)
    return f"  {each.source.name}:{each.line}  {each.live_chars:,} live, {saved} saved, {each.kept} of {each.needed} edits"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _goal(goal: float | None) -> str:
    return "" if goal is None else f"≥ {goal:.0%}"


def _strategy_json(
    measured: Sequence[strategies.CutResult],
    totals: Sequence[strategies.Savings],
    missed: Sequence[str],
    strategy: Strategy,
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


def run(arguments: Sequence[str]) -> int:
    """Run a measure and return the exit code."""
    output.prepare_output()
    try:
        code = bench.main([*arguments], prog_name="python -m bench", standalone_mode=False)
    except (Exception, KeyboardInterrupt, SystemExit) as how:
        return exit_code(how, as_json="--json" in arguments)
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
