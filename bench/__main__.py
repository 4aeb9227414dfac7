"""``python -m bench`` measures leftoff on this machine. Run it from the repository's root, in the project's environment."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

import click

from bench import found_again, precision, quiz, recall, searching, strategies
from bench import in_place as bench_in_place
from bench import journeys as bench_journeys
from bench import picker as bench_picker
from bench import retention as guard
from bench import speed as speed_measures
from bench import web as bench_web
from bench.measuring import Row
from leftoff.cli import arguments, output
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
@arguments.with_json
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


@bench.command(epilog="Example: python -m bench picker --sessions 1000")
@click.option("--sessions", default=10_000, show_default=True, type=click.IntRange(min=1))
@click.option("--rounds", default=7, show_default=True, type=click.IntRange(min=1))
def picker(*, sessions: int, rounds: int) -> int:
    """Show how long `leftoff` on a terminal of 80 x 24 takes until its list is there; on a machine that does nothing else."""
    paints = [*bench_picker.first_paints(sessions, rounds)]
    output.say(f"first screen with {sessions:,} sessions: {bench_picker.describe(paints)}")
    return 0


@bench.command("recall", epilog="Example: python -m bench recall ../locomo10.json --only 6,7,8,9,10")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--transcripts", type=click.Path(path_type=Path, exists=True, file_okay=False), help="The sessions."
)
@click.option("--only", default="", help="Only the conversations of these numbers, such as 1,2,3.")
@arguments.with_json
def measure_recall(*, file: Path, transcripts: Path | None, only: str, as_json: bool) -> int:
    """Show how often a search finds the session that answers a question.

    FILE is LoCoMo's locomo10.json, or our own: {"queries": [{"query": "…", "answers": ["name", …]}, …]}, where a name is the
    path of a transcript below the folder of --transcripts, without its ending. With "sessions": {"name": ["prompt", "reply",
    …]} in the file there is no folder.
    """
    found = [*recall.measure(file, transcripts, [int(number) for number in only.split(",") if number])]
    if as_json:
        output.as_json([dataclasses.asdict(each) for each in found])
        return 0
    rows = [
        (each.how, f"{each.share(1):.1%}", f"{each.share(5):.1%}", f"{each.nothing / len(each.places):.1%}")
        for each in found
    ]
    output.table([f"{len(found[0].places):,} questions", "first", "among five", "nothing found"], rows)
    return 0


@bench.command("search", epilog="Example: python -m bench search --megabytes 4000")
@click.option("--megabytes", default=400, show_default=True, type=click.IntRange(min=4))
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
    help="A scratch HOME to keep for another run. Default: one that is deleted.",
)
def measure_search(*, megabytes: int, rounds: int, home: Path | None) -> int:
    """Show how long `leftoff search` takes in so many megabytes, beside ripgrep; on a machine that does nothing else."""
    with TemporaryDirectory(dir=Path.cwd(), prefix="leftoff-search-") as scratch:
        measured = [*searching.measure(home or Path(scratch), megabytes, rounds)]
    output.table(
        ["smallest of the rounds", "leftoff", "CPU", "ripgrep", "CPU", "ratio", "of CPU"],
        [_searched_row(each) for each in measured],
    )
    return 0


def _searched_row(each: searching.Searched) -> tuple[str, ...]:
    ours, theirs = each.leftoff, each.ripgrep
    row = (each.what, f"{ours.clock_ms:,.0f} ms", f"{ours.cpu_ms:,.0f} ms")
    if theirs is None:
        return (*row, "", "", "", "")
    return (
        *row,
        f"{theirs.clock_ms:,.0f} ms",
        f"{theirs.cpu_ms:,.0f} ms",
        f"{ours.clock_ms / theirs.clock_ms:.2f}",
        f"{ours.cpu_ms / theirs.cpu_ms:.2f}",
    )


@bench.command(epilog="Example: python -m bench web --sessions 1000")
@click.option("--sessions", default=10_000, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--megabytes", default=200, show_default=True, type=click.IntRange(min=1), help="Of the large session."
)
def web(*, sessions: int, megabytes: int) -> int:
    """Show how long the pages of `leftoff web` take, and its memory; on a machine that does nothing else."""
    waits = [*bench_web.waits(sessions, megabytes)]
    rows = [
        (
            each.what,
            f"{each.amount:,.0f} {each.unit}",
            "" if each.cpu_ms is None else f"{each.cpu_ms:,.0f} ms",
            f"{each.goal:,.0f} {each.unit}",
            _VERDICTS[each.amount <= each.goal],
        )
        for each in waits
    ]
    output.table(["measure", "", "CPU", "goal", ""], rows)
    return 0


@bench.command(epilog="Example: python -m bench journeys")
@click.option(
    "--source",
    type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    help="The src folder of another checkout.",
)
@arguments.with_json
def journeys(*, source: Path | None, as_json: bool) -> int:
    """Count the modules and functions that run in five journeys, on a real transcript of LEFTOFF_TRANSCRIPTS."""
    counted = [*(bench_journeys.journeys(source) if source else bench_journeys.journeys())]
    if as_json:
        output.as_json([each._asdict() for each in counted])
    else:
        rows = [(each.name, str(each.modules), str(each.functions), str(each.loaded)) for each in counted]
        output.table(["journey", "modules run", "functions", "modules loaded"], rows)
    return 0


@bench.command("in-place", epilog="Example: python -m bench in-place --questions ../quiz 1 2")
@click.argument("numbers", nargs=-1, type=click.IntRange(min=0))
@click.option(
    "--questions",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The folder of questions. Default: LEFTOFF_QUIZ.",
)
@arguments.with_json
def in_place(*, numbers: tuple[int, ...], questions: Path | None, as_json: bool) -> int:
    """Compact the sessions of the quiz in place, beside the agent's own compaction of each."""
    measured = [*bench_in_place.measure(questions, numbers)]
    if as_json:
        output.as_json([dataclasses.asdict(each) for each in measured])
        return 0
    rows = [bench_in_place.table_row(each) for each in (*measured, *bench_in_place.totals(measured))]
    output.table([*bench_in_place.HEADINGS], rows)
    return 0


@bench.command("quiz", epilog="Example: python -m bench quiz --questions ../quiz 1 2 12")
@click.argument("numbers", nargs=-1, type=click.IntRange(min=0))
@click.option(
    "--questions",
    type=click.Path(path_type=Path),
    help="The folder of questions (default: LEFTOFF_QUIZ); it is not part of the repository.",
)
@click.option(
    "--dump", type=click.Path(path_type=Path), help="Write every document into this folder, for reading."
)
@arguments.with_json
def ask_quiz(*, numbers: tuple[int, ...], questions: Path | None, dump: Path | None, as_json: bool) -> int:
    """Show how many questions about real sessions our logs answer, beside the agent's own summary.

    NUMBERS are sessions of the folder; all of them when left out. Answers are found by key phrases, which is only a proxy.
    """
    measured = [*quiz.measure(questions, numbers)]
    if dump is not None:
        dump.mkdir(parents=True, exist_ok=True)
        for each in measured:
            (dump / f"{each.session}-{each.document.replace(' ', '-')}.md").write_text(each.text, "utf-8")
    if as_json:
        output.as_json([_answers_json(each) for each in measured])
        return 0
    for agent in dict.fromkeys(each.agent for each in measured):
        some = [each for each in measured if each.agent == agent]
        documents = [*dict.fromkeys(each.document for each in some)]
        output.table([agent, *documents], [*_quiz_rows(some, documents)])
    return 0


def _quiz_rows(measured: Sequence[quiz.Answers], documents: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each session, all of them, the size and the bare lists, then each kind of question."""
    columns = [[each for each in measured if each.document == document] for document in documents]
    for session in dict.fromkeys(each.session for each in measured):
        yield (
            f"session {session}",
            *(_share(quiz.answered_share(e for e in column if e.session == session)) for column in columns),
        )
    yield "all", *(_share(quiz.answered_share(column)) for column in columns)
    yield "characters", *(f"{sum(len(each.text) for each in column) // len(column):,}" for column in columns)
    yield (
        f"bare lists, goal ≤ {quiz.BARE_LISTS_GOAL:.0%}",
        *(_share(quiz.bare_share(column)) for column in columns),
    )
    for kind in sorted({kind for each in measured for kind in each.by_kind}):
        yield kind, *(_share(quiz.answered_share_of_kind(column, kind)) for column in columns)


def _answers_json(each: quiz.Answers) -> dict[str, Any]:
    found = dataclasses.asdict(each)
    return {**found, "text": None, "characters": len(each.text)}


@bench.command(epilog="Example: python -m bench retention session.jsonl --misses")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--misses", is_flag=True, help="Name every file and command that the agent did not have.")
@click.option("--strict", is_flag=True, help="Exit with 1 when a goal is missed.")
@arguments.with_json
def retention(*, files: tuple[Path, ...], misses: bool, strict: bool, as_json: bool) -> int:
    """Check that after a compaction the agent has the files and commands that it uses next.

    FILES are transcripts; without one, the bundled session is measured.
    """
    measured = [*guard.measure(files)]
    missed = [*guard.goals_missed(measured)]
    if as_json:
        output.as_json({"compactions": [_compaction_json(each) for each in measured], "goals_missed": missed})
    else:
        output.table(["compactions", "", "files", "commands"], [*_retention_rows(measured)])
        for each in measured if misses else ():
            for mention in each.missed:
                named = f"{each.source.name}:{each.line}  {mention.kind:8}  {mention.text}"
                output.say(output.one_line(named, 300))
        for words in missed or ["All goals reached."]:
            output.say(f"MISSED {words}" if missed else words)
    return 1 if strict and missed else 0


@bench.command("found-again", epilog="Example: python -m bench found-again session.jsonl --misses")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--misses", is_flag=True, help="Name everything that was not found, with its query.")
@click.option("--strict", is_flag=True, help="Exit with 1 when the goal is missed.")
def find_again(*, files: tuple[Path, ...], misses: bool, strict: bool) -> int:
    """Show how much of what compactions lost two calls of the recall tools find; FILES are transcripts."""
    measured = [*found_again.measure(files, files)]
    for each in measured:
        if misses and each.calls is None:
            named = (
                f"{each.source.name}:{each.line}  {each.mention.kind:8}  {each.mention.text}  <- {each.query}"
            )
            output.say(output.one_line(named, 300))
    once, twice, of = found_again.share(measured)
    reached = twice / of >= found_again.GOAL
    output.say(
        f"found with one call: {once} of {of} ({once / of:.1%}); with at most two: {twice} ({twice / of:.1%})"
    )
    output.say(f"goal ≥ {found_again.GOAL:.0%}: {_VERDICTS[reached]}")
    return 1 if strict and not reached else 0


def _retention_rows(measured: Sequence[guard.CompactionResult]) -> Iterator[tuple[str, ...]]:
    for has_summary, what in (True, "summary and our text"), (False, "our text; the summary is not readable"):
        some = [each for each in measured if each.has_summary is has_summary]
        shares = (guard.share(some, kind) for kind in guard.GOALS)
        yield str(len(some)), what, *(f"{_share(held / of if of else None)} of {of}" for held, of in shares)
    yield "", "goal", *(f"≥ {goal:.0%}" for goal in guard.GOALS.values())


def _compaction_json(each: guard.CompactionResult) -> dict[str, Any]:
    return {
        "transcript": str(each.source),
        "line": each.line,
        "has_summary": each.has_summary,
        "needed": [mention._asdict() for mention in each.needed],
        "missed": [mention._asdict() for mention in each.missed],
    }


@bench.command("precision", epilog="Example: python -m bench precision --labels ../labels")
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    required=True,
    help="A folder with a JSON file of labels for each session.",
)
@click.option(
    "--verdicts",
    type=click.File(encoding="utf-8"),
    help='A reader\'s JSON file: {"text of an item": "right" or "wrong"}.',
)
@arguments.with_json
def measure_precision(*, labels: Path, verdicts: TextIO | None, as_json: bool) -> int:
    """Show how much of what our logs state is right, by labels, and name what no label decides."""
    judged = [*precision.measure(labels, json.load(verdicts) if verdicts else {})]
    if as_json:
        output.as_json([dataclasses.asdict(each) for each in judged])
        return 0
    output.table(["", "right", "wrong", "unjudged", "shown", "goal"], [*_precision_rows(judged)])
    for each in judged:
        if each.verdict != "right":
            output.say(output.visible(f"{each.verdict}  {each.measure}  {each.session}\n    {each.text}"))
    return 0


def _precision_rows(judged: Sequence[precision.Judged]) -> Iterator[tuple[str, ...]]:
    for name, goal in precision.GOALS.items():
        verdicts = [each.verdict for each in judged if each.measure == name]
        counts = [verdicts.count(verdict) for verdict in ("right", "wrong", "unjudged")]
        shown = f"{len(verdicts)} ({_share(counts[0] / len(verdicts) if verdicts else None)} right)"
        yield name, *map(str, counts), shown, _goal(goal)


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
@arguments.with_json
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


_CURVE_HEADINGS = ("agent", "level", "cuts", "saved", "without thinking", "edits", "support kept")
_SUPPORT_GOAL = 0.97


@bench.command("curve", epilog="Example: python -m bench curve session.jsonl")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@arguments.with_json
def measure_curve(*, files: tuple[Path, ...], as_json: bool) -> int:
    """Measure smart-trim at every level: what is saved against the support that is kept, as `bench strategy` defines them."""
    measured = [*strategies.measure_levels(files)]
    totals = strategies.totals(measured, "smart-trim")
    points = {
        agent: strategies.saved_at_support([each for each in totals if each.agent == agent], _SUPPORT_GOAL)
        for agent in dict.fromkeys(each.agent for each in totals)
    }
    if as_json:
        output.as_json(
            {
                "levels": [
                    dataclasses.asdict(each)
                    | {
                        "saved_share": each.saved_share,
                        "saved_share_without_thinking": each.saved_share_without_thinking,
                        "support_share": each.support_share,
                    }
                    for each in totals
                ],
                "saved_at_97_percent_support": points,
                "cuts": [
                    {
                        "transcript": str(each.source),
                        "level": each.level,
                        "live_chars": each.live_chars,
                        "saved_chars": each.saved_chars,
                        "edits": each.needed,
                        "kept": each.kept,
                    }
                    for each in measured
                ],
            }
        )
        return 0
    output.table(_CURVE_HEADINGS, [_curve_row(each) for each in totals], title="smart-trim")
    for agent, point in points.items():
        saved = (
            "nothing: support stays below"
            if point is None
            else f"{point[0]:.1%} ({point[1]:.1%} without thinking)"
        )
        output.say(f"{agent}: saved at {_SUPPORT_GOAL:.0%} support: {saved}")
    return 0


def _curve_row(each: strategies.Savings) -> tuple[str, ...]:
    return (
        each.agent,
        each.level or "",
        str(each.cuts),
        _share(each.saved_share),
        _share(each.saved_share_without_thinking),
        str(each.needed),
        _share(each.support_share),
    )


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
