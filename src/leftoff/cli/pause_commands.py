"""The commands of ``leftoff pause``, and the list from which a pause is chosen on a terminal."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

import click

from leftoff.cli import arguments, output
from leftoff.core.metrics import whole_percentage
from leftoff.core.quantities import ago, count
from leftoff.core.wire import JsonObject
from leftoff.errors import NothingToDoError, UsageError
from leftoff.pause import lifecycle, list_pauses, pause_stats
from leftoff.pause.finalize import Ending, FinalizedPause, end_selected
from leftoff.pause.folders import RunningPause
from leftoff.pause.lifecycle import CHOICE_LETTERS, Choice, RecoveredPause
from leftoff.pause.list_pauses import ListedPause
from leftoff.pause.texts import describe_action, sparkline
from leftoff.platform import clock
from leftoff.workspace import Workspace

_WIDTH = 40
Result = TypeVar("Result")
_DONE = {"finalize": "Finalised", "discard": "Discarded", "continue": "Still running", None: "Not changed"}
_MOST_TOOLS = 10


@click.group(cls=arguments.OrderedGroup, epilog="Example: leftoff pause status")
def pause() -> None:
    """Record what happens in a session from 90 % of its window on, and keep it as a snapshot.

    Hooks do this automatically; these commands do it by hand.
    """


@pause.command(epilog="Example: leftoff pause start --context 0.9")
@click.option(
    "--context",
    "context_percentage",
    type=arguments.Fraction(0, lifecycle.HIGHEST_FRACTION),
    help="How full the window is, 0-1. Default: as in the project's latest session.",
)
@arguments.with_json
def start(*, context_percentage: float | None, as_json: bool) -> int:
    """Start recording a pause of this project. Exits with 3 if one is running already."""
    started = lifecycle.start_manually(Workspace.open(), context_percentage)
    if as_json:
        output.as_json(
            {
                "session_id": started.session_id,
                "path": str(started.path),
                "context_percentage": started.context_percentage,
            }
        )
        return 0
    output.say(
        f"Recording {started.session_id}; the window is {whole_percentage(started.context_percentage)} % full."
    )
    output.say(
        'Next: leftoff pause record user_message "what was said"; leftoff pause finalize keeps it all.'
    )
    return 0


@pause.command(epilog="Example: leftoff pause record tool_call --tool Read src/main.py")
@click.argument("action_type", metavar="TYPE", type=click.Choice(lifecycle.RECORDABLE))
@click.argument("text", nargs=-1)
@click.option("--tool", help="The tool that was called.")
@click.option("--data", "data_json", default="{}", help="More to keep, as a JSON object.")
@click.option(
    "--context",
    "context_percentage",
    type=arguments.Fraction(0, lifecycle.HIGHEST_FRACTION),
    help="How full the window is, 0-1. Default: the last value.",
)
@arguments.with_json
def record(
    *,
    action_type: str,
    text: tuple[str, ...],
    tool: str | None,
    data_json: str,
    context_percentage: float | None,
    as_json: bool,
) -> int:
    """Record one action in the running pause of this project: TEXT is what was said, a tool's input, or an event."""
    action = lifecycle.record_manually(
        Workspace.open(),
        action_type,
        " ".join(text),
        tool=tool,
        data=_parse_object(data_json),
        context_percentage=context_percentage,
    )
    if as_json:
        output.as_json(json.loads(action.to_json_line()))
    else:
        output.say(f"Recorded: {output.one_line(describe_action(action), 90)}")
    return 0


@pause.command(epilog="Example: leftoff pause status --json")
@click.argument("pause_name", metavar="[PAUSE]", required=False)
@arguments.with_json
def status(*, pause_name: str | None, as_json: bool) -> int:
    """Show PAUSE, by number, id or a part of it: its length, its actions, and how the window filled up.

    Without PAUSE: the running one of this project.
    """
    found = list_pauses.pause_status(pause_name, Workspace.open())
    if as_json:
        output.as_json(found.to_dict())
    else:
        _draw_status(found, clock.now())
    return 0


def _draw_status(found: list_pauses.PauseStatus, now: datetime) -> None:
    summary, listed = found.summary, found.listed
    output.say(f"{summary.session_id}  {listed.status}, last action {ago(now, listed.at)}")
    if listed.status == "unreadable":
        output.say(f"  {output.visible(listed.note or '')}")
        return
    minutes = summary.duration_seconds / 60
    calls = count(summary.tool_calls, "tool call") if summary.tool_calls else "no tool call"
    output.say(f"  {count(summary.action_count, 'action')} ({calls}) in {minutes:.0f} min")
    if summary.context_range is not None:
        first, last = summary.context_range
        line = sparkline(summary.fractions, max(10, min(_WIDTH, output.width() - 20)))
        output.say(f"  {whole_percentage(first)}% {line} {whole_percentage(last)}%")
    if summary.bad_lines:
        output.say(f"  {count(summary.bad_lines, 'line')} cannot be read; nothing is deleted")
    for action in found.last_actions:
        words = output.one_line(describe_action(action), max(20, output.width() - 24))
        output.say(f"  {output.one_line(action.type, 18):<18} {words}")
    if listed.running:
        output.say("To keep it: leftoff pause finalize   To delete it: leftoff pause discard")


def _parse_object(data_json: str) -> JsonObject:
    try:
        data = json.loads(data_json)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--data is not JSON: {error}.") from error
    if not isinstance(data, dict):
        raise UsageError('--data takes a JSON object, for example: --data \'{"path": "src/main.py"}\'')
    return data


@click.command(epilog="Example: leftoff pause finalize --message 'stopped before the migration'")
@click.argument("pause_name", metavar="[PAUSE]", required=False)
@click.option("--message", "-m", help="A note for the next session.")
@click.option("--archive-only", is_flag=True, help="Keep the recorded actions without a snapshot.")
@click.option("--commit", is_flag=True, help="Commit the snapshot's own files to git, and nothing else.")
@arguments.with_json
def finalize(
    *, pause_name: str | None, message: str | None, archive_only: bool, commit: bool, as_json: bool
) -> int:
    """Finish the running PAUSE (number, id or part of it) and keep it as a snapshot: JSON, YAML, Markdown and archive."""
    ending = Ending(reason="by command", message=message, commit=True if commit else None)
    ended = end_selected(pause_name, Workspace.open(), ending, with_snapshot=not archive_only)
    if as_json:
        output.as_json(_finalized_to_dict(ended))
        return 1 if ended.trouble else 0
    output.say(f"Kept {ended.session_id}: {count(ended.summary.action_count, 'action')}.")
    for path in ended.files:
        output.say(f"  {output.near_path(path)}")
    if ended.commit:
        output.say(f"Committed as {ended.commit[:12]}.")
    if ended.warning:
        output.error(ended.warning, as_json=False)
    if ended.trouble:
        output.error(f"The snapshot is written, but git did not commit it: {ended.trouble}", as_json=False)
    return 1 if ended.trouble else 0


@click.command(epilog="Example: leftoff pause discard")
@click.argument("pause_name", metavar="[PAUSE]", required=False)
@arguments.with_json
def discard(*, pause_name: str | None, as_json: bool) -> int:
    """Delete the running PAUSE (number, id or part of it). Finished ones stay."""
    gone = lifecycle.discard_selected(pause_name, Workspace.open())
    if as_json:
        output.as_json({"session_id": gone.session_id, "action_count": gone.action_count})
    else:
        output.say(f"Discarded {gone.session_id} with {count(gone.action_count, 'action')}.")
    return 0


@click.command(epilog="Example: leftoff pause recover --finalize")
@click.argument("pause_name", metavar="[PAUSE]", required=False)
@click.option(
    "--finalize", "choice", flag_value="finalize", help="Keep each as a snapshot, as of its last action."
)
@click.option("--discard", "choice", flag_value="discard", help="Delete each.")
@click.option("--continue", "choice", flag_value="continue", help="Leave each running.")
@click.option("--all", "everywhere", is_flag=True, help="In all projects, not only in this one.")
@arguments.with_json
def recover(*, pause_name: str | None, choice: Choice | None, everywhere: bool, as_json: bool) -> int:
    """Find pauses whose process ended before they were finished, and finalize, discard or continue each.

    On a terminal you are asked; elsewhere use a flag. With PAUSE: only that one, even if its process still runs.
    """
    asks = choice is None and not as_json and sys.stdin.isatty()
    decide = _ask if asks else lambda _: choice
    settled = lifecycle.recover(pause_name, Workspace.open(), decide, everywhere=everywhere)
    if as_json:
        output.as_json([each.to_dict() for each in settled])
        return 0
    for each in settled:
        _show_recovered(each, asked=asks)
    if choice is None and not asks:
        output.say("Next: leftoff pause recover --finalize, --discard or --continue")
    return 0


def _ask(found: RunningPause) -> Choice:
    _describe(found)
    letter = click.prompt(
        "Finalize (f), discard (d), or continue (c)?",
        type=click.Choice([*CHOICE_LETTERS]),
        show_choices=False,
        prompt_suffix=" ",
    )
    return CHOICE_LETTERS[letter]


def _describe(found: RunningPause) -> None:
    output.say(f"Found incomplete pause session: {found.summary.session_id}")
    output.say(f"  - {count(found.summary.action_count, 'action')} recorded")
    output.say(f"  - Started: {found.summary.pause_started_at}")
    output.say(f"  - Project: {output.short_path(found.home.project.root)}")


def _show_recovered(each: RecoveredPause, *, asked: bool) -> None:
    if not asked:
        _describe(each.pause)
    where = f": {output.short_path(each.finalized.main)}" if each.finalized else ""
    output.say(f"  {_DONE[each.choice]}{where}")


def _finalized_to_dict(ended: FinalizedPause) -> dict[str, object]:
    return {
        "session_id": ended.session_id,
        "path": str(ended.main),
        "files": [str(path) for path in ended.files],
        "action_count": ended.summary.action_count,
        "bad_lines": ended.summary.bad_lines,
        "commit": ended.commit,
        "trouble": ended.trouble,
        "warning": ended.warning,
    }


@click.command("list", epilog="Example: leftoff pause list")
@arguments.with_json
def list_(*, as_json: bool) -> int:
    """List the pauses of this project, newest first. The numbers can be typed as PAUSE."""
    workspace = Workspace.open()
    listed = list_pauses.list_pauses(workspace)
    list_pauses.save_numbering(listed)
    if as_json:
        output.as_json([each.to_dict() for each in listed])
    elif listed:
        draw_list(listed)
    else:
        _say_that_there_is_none(workspace)
    return 0 if listed else output.NOTHING_TO_DO


def _say_that_there_is_none(workspace: Workspace) -> None:
    discarded = lifecycle.count_discarded(workspace.project.root)
    gone = f" (discarded: {discarded})" if discarded else ""
    output.say(f"No pause in this project{gone}. To start one: leftoff pause start")
    if workspace.settings.pause.enabled:
        output.say(
            "Hooks start one when the context window is nearly full. To see how full it is: leftoff status"
        )


def draw_list(listed: Sequence[ListedPause]) -> None:
    """Draw the list as a table."""
    now = clock.now()
    rows = [_pause_row(number, each, now) for number, each in enumerate(listed, start=1)]
    headings = ["", "age", "state", "actions", "context", "id", "note"]
    output.table(headings, rows, spare=["context", "actions", "note"])


def _pause_row(number: int, each: ListedPause, now: datetime) -> tuple[str, ...]:
    span = each.context_range
    return (
        str(number),
        ago(now, each.at),
        each.status,
        "?" if each.action_count is None else str(each.action_count),
        "?" if span is None else f"{whole_percentage(span[0])}% → {whole_percentage(span[1])}%",
        each.session_id,
        output.one_line((each.note or "").replace(f"{each.path.parent}{os.sep}", ""), 60),
    )


for _command in (finalize, discard, recover):
    pause.add_command(_command)


@click.command(epilog="Example: leftoff pause stats --json")
@arguments.with_json
def stats(*, as_json: bool) -> int:
    """Count this project's pauses: actions by kind and tool, minutes from 90 % to the end, how often discarded."""
    found = pause_stats.project_statistics(Workspace.open())
    if as_json:
        output.as_json(found.to_dict())
        return 0
    sums = found.statistics
    share = f" ({sums.discarded_fraction:.0%} of all)" if sums.discarded_fraction else ""
    output.say(f"Pauses finished: {sums.finished}; discarded: {sums.discarded}{share}.")
    if sums.median_minutes is not None:
        output.say(
            f"From 90 % to the end: {_minutes(sums.median_minutes)} (median), {_minutes(sums.longest_minutes)} at most."
        )
    if found.without_lines:
        output.say(f"Without readable actions: {found.without_lines}. To see which: leftoff pause list")
    _draw_counts("action", sums.kinds)
    _draw_counts("tool", sums.tools)
    return 0


def _minutes(minutes: float | None) -> str:
    return "less than a minute" if not minutes or minutes < 1 else f"{minutes:.0f} min"


def _draw_counts(what: str, counts: Mapping[str, int]) -> None:
    if counts:
        rows = [(output.one_line(name, 40), str(times)) for name, times in [*counts.items()][:_MOST_TOOLS]]
        output.table([what, "times"], rows)


@click.command(epilog="Example: leftoff pause compress --older-than 30")
@click.option(
    "--older-than",
    "days",
    type=arguments.WholeNumber(min=0),
    default=30,
    show_default=True,
    help="Days since the pause ended.",
)
@arguments.with_json
def compress(*, days: int, as_json: bool) -> int:
    """Compress old pauses of this project. Every command can still read them."""
    done = pause_stats.compress_archives(Workspace.open(), timedelta(days=days))
    if not done.archives and not done.troubles:
        raise NothingToDoError(f"No uncompressed archive of this project is older than {count(days, 'day')}.")
    if as_json:
        output.as_json(dataclasses.asdict(done))
    else:
        output.say(f"Archives compressed: {done.archives}; saved: {count(done.saved_bytes, 'byte')}.")
        for trouble in done.troubles:
            output.error(trouble, as_json=False)
    return 1 if done.troubles else 0


for _command in (list_, stats, compress):
    pause.add_command(_command)
