"""``leftoff pause``: the incremental pause."""

from __future__ import annotations

import json
from datetime import datetime

import click

from leftoff.cli import display
from leftoff.cli.ages import ago
from leftoff.cli.commands import pause_end, pause_lists
from leftoff.errors import UsageError
from leftoff.flows import pause_record, pause_start, pause_status
from leftoff.model.wire import JsonObject
from leftoff.pauses.summary import sparkline
from leftoff.pauses.words import described
from leftoff.system import clock, paths

_WIDTH = 40


@click.group(epilog="Example: leftoff pause status")
def pause() -> None:
    """Record the wind-down of a session, from 90 % of its window on, and keep it as a snapshot.

    Hooks do this by themselves; here it is done, looked at and cleaned up by hand.
    """


@pause.command(epilog="Example: leftoff pause start --context 0.9")
@click.option(
    "--context",
    "context_percentage",
    type=float,
    help="How full the window is, 0-1; default: that of the project's latest session.",
)
@display.with_json
def start(*, context_percentage: float | None, as_json: bool) -> int:
    """Begin to record a pause of this project; 3 when one is running already."""
    started = pause_start.start_here(paths.working_folder(), context_percentage)
    if as_json:
        display.as_json(
            {
                "session_id": started.session_id,
                "path": str(started.path),
                "context_percentage": started.context_percentage,
            }
        )
        return 0
    display.say(f"Recording {started.session_id} from {started.context_percentage:.0%} on.")
    display.say(
        'Next: leftoff pause record user_message "what was said"; leftoff pause finalize keeps it all.'
    )
    return 0


@pause.command(epilog="Example: leftoff pause record tool_call --tool Read src/main.py")
@click.argument("action_type", metavar="TYPE", type=click.Choice(pause_record.RECORDABLE))
@click.argument("text", nargs=-1)
@click.option("--tool", help="The tool that was called.")
@click.option("--data", "data_json", default="{}", help="More to keep, as a JSON object.")
@click.option(
    "--context", "context_percentage", type=float, help="How full the window is, 0-1; default: as last said."
)
@display.with_json
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
    action = pause_record.record_here(
        paths.working_folder(),
        action_type,
        " ".join(text),
        tool=tool,
        data=_object(data_json),
        context_percentage=context_percentage,
    )
    if as_json:
        display.as_json(json.loads(action.to_json_line()))
    else:
        display.say(f"Recorded: {display.one_line(described(action), 90)}")
    return 0


@pause.command(epilog="Example: leftoff pause status --json")
@click.argument("pause_name", metavar="[PAUSE]", required=False)
@display.with_json
def status(*, pause_name: str | None, as_json: bool) -> int:
    """Show PAUSE, by number, id or a part of it: its length, its actions, and how the window filled up.

    Without PAUSE: the running one of this project.
    """
    found = pause_end.picked(pause_name, pause_status.pause_status, as_json=as_json)
    if as_json:
        display.as_json(found.to_dict())
    else:
        _draw(found, clock.now())
    return 0


def _draw(found: pause_status.PauseStatus, now: datetime) -> None:
    summary, listed = found.summary, found.listed
    display.say(f"{summary.session_id}  {listed.standing}, last touched {ago(now, listed.at)}")
    if listed.standing == "unreadable":
        display.say(f"  {display.visible(listed.note or '')}")
        return
    minutes = summary.duration_seconds / 60
    display.say(
        f"  {summary.action_count} actions, {summary.tool_calls} of them tool calls, in {minutes:.0f} min"
    )
    if summary.context_range is not None:
        first, last = summary.context_range
        line = sparkline(summary.fractions, max(10, min(_WIDTH, display.width() - 20)))
        display.say(f"  {first:.0%} {line} {last:.0%}")
    if summary.bad_lines:
        display.say(f"  {summary.bad_lines} lines cannot be read; they are kept as they are")
    for action in found.last_actions:
        words = display.one_line(described(action), max(20, display.width() - 24))
        display.say(f"  {display.one_line(action.type, 18):<18} {words}")
    if listed.running:
        display.say("leftoff pause finalize keeps it, leftoff pause discard throws it away.")


def _object(data_json: str) -> JsonObject:
    try:
        data = json.loads(data_json)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--data is not JSON: {error}.") from error
    if not isinstance(data, dict):
        raise UsageError('--data takes a JSON object, for example: --data \'{"path": "src/main.py"}\'')
    return data


for _command in (pause_end.finalize, pause_end.discard, pause_end.recover):
    pause.add_command(_command)
for _command in (pause_lists.list_, pause_lists.stats, pause_lists.compress):
    pause.add_command(_command)
