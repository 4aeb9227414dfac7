"""``leftoff`` without a command, and the commands that read sessions: status, sessions, show, export."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leftoff.cli import gauge, output
from leftoff.core.metrics import Level
from leftoff.core.quantities import age, ago, count, size
from leftoff.core.session import SessionEntry, short_id
from leftoff.platform import clock
from leftoff.sessions import status as session_status
from leftoff.sessions.find import LATEST
from leftoff.sessions.listing import remember_numbers, require_folder
from leftoff.sessions.status import MAX_COUNTED, ListedSession, Status, list_sessions
from leftoff.workspace import Workspace

if TYPE_CHECKING:
    from leftoff.resume_logs.restore import Candidate
    from leftoff.sessions.show import ShownRecord

_WATCH_SECONDS = 2.0
_WIDE_COLUMNS = 80


@click.command(epilog="Example: leftoff status --watch")
@click.argument("session", default=LATEST)
@click.option("--watch", is_flag=True, help="Draw it again every two seconds, until Ctrl-C.")
@output.with_json
def status(*, session: str, watch: bool, as_json: bool) -> int:
    """Show how full the window of SESSION is and how many turns are left; SESSION is the latest of this project."""
    found = session_status.status(session, Workspace.open())
    if as_json:
        output.as_json(found.to_dict())
    elif watch:
        _watch(session, found)
    else:
        draw_status(found)
    return 0


def _watch(session: str, found: Status) -> None:
    while True:
        click.clear()
        draw_status(found)
        time.sleep(_WATCH_SECONDS)
        found = session_status.status(session, Workspace.open())


def draw_status(found: Status) -> None:
    """Draw the gauge and say what it means."""
    title = f"{found.agent} {found.session_id}  {output.visible(found.model or 'model unknown')}"
    output.say(output.wrap(title, indent=""))
    lines = [found.advice]
    if found.metrics.used_tokens is not None:
        lines = [f"{gauge.describe(found.metrics)} ({_describe_basis(found)})", *lines]
    if found.level is not None:
        width = max(20, min(60, output.width() - 4))
        output.say(f"  {gauge.bar(found.metrics, found.thresholds, width)}", gauge.style(found.level))
        marks = [_turns_to(found, level) for level, turns in found.turns_left.items() if turns is not None]
        if None in found.turns_left.values():
            marks.append("turns left: not known yet")
        lines.insert(1, f"level {found.level}; {', '.join(marks)}")
    for line in lines:
        output.say(output.wrap(line, indent="  "))


def _turns_to(found: Status, level: Level) -> str:
    turns = found.turns_left[level]
    left = "?" if turns is None else "crossed" if turns == 0 else f"~{count(turns, 'turn')}"
    return f"{level.value} {left}"


def _describe_basis(found: Status) -> str:
    metrics = found.metrics
    window = "?" if metrics.window_tokens is None else f"{metrics.window_tokens:,}"
    return f"{metrics.basis}; window {window}, {metrics.window_basis}"


def glance(*, as_json: bool) -> int:
    """Show this project: its latest session, the gauge, its pause, and what to type next."""
    from leftoff.pause.folders import list_running
    from leftoff.resume.resume import latest_pause
    from leftoff.resume_logs.restore import logs_to_offer

    workspace, now = Workspace.open(), clock.now()
    found = session_status.project_overview(workspace)
    paused = latest_pause(workspace)
    if paused is not None and found.latest is not None and paused.paused_at <= found.latest.modified_at:
        paused = None  # work went on after it
    running = {pause.status for pause in list_running(workspace, now)}
    left_off = next(iter(logs_to_offer(workspace).offered), None)
    if as_json:
        output.as_json(
            {
                "project": str(found.root),
                "branch": found.branch,
                "sessions": found.sessions,
                "latest": found.status.to_dict() if found.status else None,
                "left_off": left_off
                and {
                    "session_id": left_off.session_id,
                    "mission": left_off.mission,
                    "left_at": clock.format_rfc3339(left_off.left_at),
                },
                "recording": "running" in running,
                "paused": paused and {"session_id": paused.session_id, "message": paused.message},
            }
        )
        return 0
    branch = f" ({output.visible(found.branch)})" if found.branch else ""
    output.say(f"{output.visible(str(found.root))}{branch}")
    if found.latest is None or found.status is None:
        output.say(
            "No session of any agent here yet. leftoff sessions lists those of other projects; leftoff demo plays one."
        )
    else:
        prompt = output.one_line(_first_words(found.latest), 70)
        many = f"{MAX_COUNTED}+ sessions"
        number = count(found.sessions, "session") if found.sessions < MAX_COUNTED else many
        output.say(f"{number}; the latest ({ago(now, found.latest.modified_at)}) began with: {prompt}")
        draw_status(found.status)
    _say_what_was_left_off(left_off, now)
    if "running" in running:
        output.say("A pause is being recorded: leftoff pause status shows it.")
    if "orphaned" in running:
        output.say("A pause was left behind: leftoff pause recover settles it.")
    if paused is not None:
        note = f": {output.one_line(paused.message, 70)}" if paused.message else ""
        output.say(f"Paused {ago(now, paused.paused_at)}{note}. leftoff resume picks it up.")
    if found.latest is not None:
        output.say("leftoff show reads it, leftoff status --watch keeps looking.")
    return 0


def _say_what_was_left_off(left_off: Candidate | None, now: datetime) -> None:
    if left_off is not None:
        about = output.one_line(left_off.mission, 70)
        output.say(f"Left off {ago(now, left_off.left_at)}: {about}\nleftoff resume picks it up.")


@click.command(epilog="Example: leftoff sessions --limit 5")
@click.option("--agent", help="Only sessions of this agent.")
@click.option(
    "--project", type=click.Path(path_type=Path), help="Only sessions of the project in this folder."
)
@click.option("--all", "everything", is_flag=True, help="No limit.")
@click.option(
    "--limit", type=output.WholeNumber(min=1), default=20, show_default=True, help="How many at most."
)
@output.with_json
def sessions(*, agent: str | None, project: Path | None, everything: bool, limit: int, as_json: bool) -> int:
    """List the sessions of all agents, newest first; the numbers can be used wherever a SESSION is asked for."""
    listed = [*islice(list_sessions(Workspace.open(), agent, project), None if everything else limit)]
    remember_numbers([each.entry.transcript for each in listed])
    if not listed:
        require_folder(project)
    if as_json:
        output.as_json([each.to_dict() for each in listed])
    elif listed:
        _draw_sessions(listed, clock.now())
    else:
        output.say("No sessions found. leftoff doctor shows where it looked.")
    return 0 if listed else output.NOTHING_TO_DO


def _draw_sessions(listed: list[ListedSession], now: datetime) -> None:
    room = output.width()
    rows = [
        (
            str(number),
            each.entry.agent,
            output.one_line(Path(each.entry.project).name if each.entry.project else "?", 20),
            output.one_line(_first_words(each.entry), max(18, min(46, room - 60))),
            size(each.entry.size_bytes),
            _usage(each, with_bar=room >= _WIDE_COLUMNS),
            age(now, each.entry.modified_at),
        )
        for number, each in enumerate(listed, start=1)
    ]
    headings = ["", "agent", "project", "first prompt", "size", "used", "age"]
    output.table(headings, rows, spare=["size", "agent", "project"])


def _first_words(entry: SessionEntry) -> str:
    """Return the first prompt; of a fresh session without one, which session it continues."""
    if entry.first_prompt is None and entry.parent is not None and entry.parent.session_id is not None:
        return f"(continues {short_id(entry.parent.session_id)})"
    return entry.first_prompt or ""


def _usage(each: ListedSession, *, with_bar: bool) -> str:
    metrics = each.status.metrics
    if metrics.shown_percentage is None:
        return "?"
    share = f"{int(metrics.shown_percentage):3} %"
    return f"{share} {gauge.bar(metrics, each.status.thresholds, 10)}" if with_bar else share


@click.command(epilog="Example: leftoff show latest --at 120")
@click.argument("session", default=LATEST)
@click.option(
    "--at", "at_line", type=output.WholeNumber(min=1), help="This line of the transcript and those around it."
)
@click.option("--full", is_flag=True, help="Shorten nothing.")
@output.with_json
def show(*, session: str, at_line: int | None, full: bool, as_json: bool) -> int:
    """Read SESSION: prompts, replies, tool calls and answers, line by line; paged on a terminal.

    A session that goes on from another begins with that one's part.
    """
    from leftoff.sessions import show as session_show  # `status` does not need it

    shown: Iterable[ShownRecord]
    if at_line is None:
        shown = session_show.show(session, Workspace.open(), full=full)
    else:
        shown = session_show.show_around(session, Workspace.open(), at_line, full=full)
    if as_json:
        output.as_json_list(map(dataclasses.asdict, shown))
    else:
        click.echo_via_pager(_record_lines(shown))
    return 0


def _record_lines(shown: Iterable[ShownRecord]) -> Iterator[str]:
    transcript = None
    for each in shown:
        if each.transcript != transcript:
            transcript = each.transcript
            yield f"{output.visible(transcript)}\n\n"
        who = f" ({output.visible(each.actor)})" if each.actor else ""
        yield f"{each.line:>6}  {each.kind}{who}  {each.at or ''}\n"
        for line in output.visible(each.text).splitlines():
            yield f"        {line}\n"
        yield "\n"


@click.command(epilog="Example: leftoff export latest --chain --out session.md")
@click.argument("session", default=LATEST)
@click.option("--chain", is_flag=True, help="Its ancestors too, the oldest first.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Into this new file.")
@output.with_json
def export(*, session: str, chain: bool, out: Path | None, as_json: bool) -> int:
    """Write SESSION as Markdown, without credentials: prompts, replies, tool calls and what they answered."""
    from leftoff.sessions import show as session_show

    pieces = session_show.export(session, Workspace.open(), chain=chain)
    if out is not None:
        size = session_show.write_export(pieces, out)
        output.as_json({"file": str(out), "size_bytes": size}) if as_json else output.say(
            f"Wrote {output.visible(str(out))} ({size:,} bytes)."
        )
    elif as_json:
        output.as_json({"markdown": "".join(pieces)})
    else:
        for piece in pieces:
            click.echo(output.visible(piece), nl=False)
    return 0
