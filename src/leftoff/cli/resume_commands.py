"""The commands ``leftoff resume``, ``run``, ``rollover``, ``pin``, ``pins`` and ``unpin``."""

from __future__ import annotations

import re
import shlex
import sys
from datetime import datetime

import click

from leftoff.cli import arguments, output, shrink_commands
from leftoff.core.quantities import ago, count
from leftoff.core.session_ids import short_id
from leftoff.errors import UsageError
from leftoff.platform import clock, paths, process
from leftoff.resume import next_session
from leftoff.resume.resume import (
    HOWS,
    Continuation,
    ResumePoint,
    find_resume_point,
    prepare_continuation,
    start_agent,
)
from leftoff.resume_logs import pins as resume_log_pins
from leftoff.resume_logs.pins import MAX_TOKENS
from leftoff.sessions.find import LATEST
from leftoff.shrink.rollover import PlannedRollover, RolloverOptions, preview_rollover, roll_over
from leftoff.workspace import Workspace

_ROOMY_LINES = 34  # of a terminal; on a lower one the card has fewer items and no blank lines
_LOW_ITEMS = 2
_LISTED = ("In progress: ", "To do: ")  # how the steps of the agent's own list begin
_FENCE = re.compile(r"```\w*\s?")
_HOWS = {
    "as-is": "as it is",
    "trim": "in a trimmed copy",
    "smart-trim": "in a smart-trimmed copy",
    "rollover": "in a fresh session",
}


@click.command(epilog="Example: leftoff resume --run")
@click.argument("session", default=LATEST, type=arguments.SESSION)
@click.option(
    "--print", "only_text", is_flag=True, help="Print the text that a fresh session would be given."
)
@click.option("--run", is_flag=True, help="Start the agent on it, in the session's folder.")
@click.option("--here", is_flag=True, help="Copy the session into this folder, and continue here.")
@click.option(
    "--how",
    type=click.Choice(HOWS),
    help="Continue the session as it is, or a smaller copy.  [default: what leftoff advise says]",
)
@click.option(
    "--remote",
    is_flag=True,
    help="Fetch the log from your storage backend, to continue another machine's work.",
)
@arguments.with_json
def resume(
    *, session: str, only_text: bool, run: bool, here: bool, how: str | None, remote: bool, as_json: bool
) -> int:
    """Pick up where SESSION left off: shows what was done and what comes next, or starts the agent on it.

    Default: what was left off in this project. SESSION may also be a pause that you finished by hand.
    """
    wanted = run or here or how is not None
    if only_text and wanted:
        raise UsageError("--print only prints: leave out --run, --here and --how.")
    workspace = Workspace.open()
    where = (
        _fetch_remote(session, workspace, as_json=as_json)
        if remote
        else find_resume_point(session, workspace)
    )
    way = _prepare(where, how, workspace, here=here, run=run and not as_json) if wanted else None
    if as_json:
        output.as_json(where.to_dict() | ({} if way is None else {"way": way.to_dict()}))
        return 0
    if where.mark:
        output.say(f"{output.visible(where.mark)}\n")
    if only_text:
        output.say(output.visible(where.text))
        return 0
    _draw_card(where, clock.now())
    if way is not None:
        output.say(f"Continuing {_HOWS[way.how]}: {output.visible(way.why)}.")
        shrink_commands.show_not_copied(way.derived.left_behind if way.derived else ())
        if run:
            return start_agent(way)
        shrink_commands.show_resume_command(way.command, way.folder, where.session_id)
        return 0
    again = "leftoff resume" if session == LATEST else f"leftoff resume {short_id(where.session_id)}"
    if where.command is not None:
        output.say(f"To start the agent on it: {again} --run")
    output.say(f"To see what a fresh session would be given: {again} --print")
    return 0


def _prepare(
    where: ResumePoint, how: str | None, workspace: Workspace, *, here: bool, run: bool
) -> Continuation:
    """Prepare the session to continue in; first check that the agent is there to be run, so that no copy is left behind."""
    if run and where.command is not None:
        process.require_program(where.command[0])
    return prepare_continuation(where, how, workspace, here=here)


def _fetch_remote(session: str, workspace: Workspace, *, as_json: bool) -> ResumePoint:
    from leftoff.resume.remote_resume import resume_remote

    output.hint("Asking the remote …")
    found = resume_remote(session, workspace)
    if found.rewritten and not as_json:
        words = f"Fetched from the remote: {count(found.rewritten, 'path')} under {found.old_root} rewritten to this checkout.\n"
        output.say(output.visible(words))
    if found.copies and not as_json:
        kept = ", ".join(str(path) for path in found.copies)
        output.say(output.visible(f"Your own changes to the log that was here are kept: {kept}\n"))
    if found.kept_own is not None:
        away = shlex.join(["mv", str(found.kept_own), f"{found.kept_own}.mine"])
        words = (
            "This machine wrote a log of this session itself, and that is the one below. The remote's is newer. "
            f"To take that one: {away} && leftoff resume --remote {found.point.session_id}"
        )
        click.echo(f"{output.visible(words)}\n", err=True)
    return found.point


def _draw_card(where: ResumePoint, now: datetime) -> None:
    """Draw the welcome-back card, on one screen of a terminal, with symbols only there."""
    pretty = sys.stdout.isatty()
    pin, tick, turn = ("📍 ", "✅", "🔄") if pretty else ("", "-", "-")
    is_low = pretty and output.height() < _ROOMY_LINES
    rule = ("━" if pretty else "-") * min(output.RULE_WIDTH, output.width() - 1)
    most = _LOW_ITEMS if is_low else None
    line = max(30, output.width() - 8)
    session = short_id(where.session_id)
    done, opened = where.done, where.open
    next_task, *later = _steps_by_use(where) or ["none noted"]
    parts = [
        [f"{pin}CURRENT STATE", rule, f"Project: {output.visible(where.folder.name)}"],
        [
            f"Last Session: {ago(now, where.last_session)} ({session})",
            f"Progress: {done} done, {opened} open",
        ],
        [
            "Current Location:",
            *(f"  {output.one_line(text, line)}" for text in _requests(where)),
            f"  Next Task: {output.one_line(next_task, line - 11)}",
            *([f"  Since then: {output.one_line(where.drift, line - 12)}"] if where.drift else []),
        ],
        [
            "Recent Progress:",
            *(
                f"  {tick} {output.one_line(_plain(text, where), line)}"
                for text in where.recent[-most if most else 0 :]
            ),
            *(f"  {turn} {output.one_line(text, line)}" for text in later[:_LOW_ITEMS]),
        ],
        [
            "Key Context:",
            *(f"  - {output.one_line(_plain(text, where), line)}" for text in where.key_context[:most]),
        ],
        [rule, "Ready to continue, or would you like to:", *_other_ways(where, session)],
    ]
    output.say("Welcome back! Picking up where we left off:")
    for lines in parts:
        if len(lines) == 1:
            continue  # nothing below its heading
        if not is_low and lines is not parts[1]:
            output.say("")
        for each in lines:
            output.say(
                each, {"bold": True} if each.endswith(("STATE", ":")) and not each.startswith(" ") else None
            )


def _requests(where: ResumePoint) -> list[str]:
    """Return what was asked first and last, in the user's own words."""
    asked = [text for text in where.mission.split("\n\n") if text.strip()] or ["not known"]
    words = [*dict.fromkeys(_plain(output.without_opening(text), where) for text in (asked[0], asked[-1]))]
    titles = ("Request:",) if len(words) == 1 else ("First request:", "Latest request:")
    return [f"{title} {text}" for title, text in zip(titles, words, strict=True)]


def _steps_by_use(where: ResumePoint) -> list[str]:
    """Return the open steps in one line each: what is on a list of things to do comes before what the agent said at the end."""
    steps = where.open_steps or ((where.next_step,) if where.next_step else ())
    listed = [step for step in steps if step.startswith(_LISTED)]
    first = [step for step in listed if step.startswith(_LISTED[0])]
    ordered = dict.fromkeys([*first, *listed, *steps])
    return [_plain(step, where).removeprefix(_LISTED[1]) for step in ordered]


def _plain(text: str, where: ResumePoint) -> str:
    """Return text of a log as a person reads it on a card: without marks of Markdown, and paths as seen from the project."""
    return _FENCE.sub("", text).replace("**", "").replace(f"{where.folder}/", "")


def _other_ways(where: ResumePoint, session: str) -> list[str]:
    if where.is_pause:
        return [
            f"1. Review what was recorded first: leftoff pause status {where.session_id}",
            "2. Pick up an agent's session: leftoff sessions",
        ]
    return [
        f"1. Review completed work first: leftoff log show {session}",
        f"2. Change what is carried over: leftoff log edit {session}",
        "3. Pick up another session: leftoff sessions",
    ]


@click.command(
    epilog="Example: leftoff run claude --model opus",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@arguments.with_json
@click.argument("agent", type=arguments.AGENT)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def run(*, agent: str, flags: tuple[str, ...], as_json: bool) -> int:
    """Start AGENT with FLAGS here. When you exit after >trim yes or >handoff, it continues in the new session.

    Put a prompt last; it is sent once. --json before AGENT prints only the exit code, as JSON.
    """
    code = next_session.run_agent(
        agent, flags, paths.working_folder(), lambda words: click.echo(words, err=True)
    )
    if as_json:
        output.as_json({"agent": agent, "exit_code": code})
    return code


@click.command(epilog="Example: leftoff rollover latest --with-summary")
@click.argument("session", default=LATEST, type=arguments.SESSION)
@click.option("--with-summary", is_flag=True, help="Add a summary by the summariser of your settings.")
@click.option(
    "--to", type=arguments.AGENT, metavar="AGENT", help="Continue with this agent. Default: the same one."
)
@click.option("--dry-run", is_flag=True, help="Show what the fresh session would begin with; write nothing.")
@click.option("--force", is_flag=True, help="Even if it frees nothing.")
@arguments.with_json
def rollover(
    *, session: str, with_summary: bool, to: str | None, dry_run: bool, force: bool, as_json: bool
) -> int:
    """Write a fresh session that continues SESSION: its first message is the resume log.

    The resume log is saved first. The session itself is not changed.
    """
    wanted = RolloverOptions(to=to, with_summary=with_summary, force=force)
    workspace = Workspace.open()
    if dry_run:
        planned = preview_rollover(session, workspace, wanted)
        output.as_json(planned.to_dict()) if as_json else _draw_rollover(planned)
        return (
            output.NOTHING_TO_DO
            if planned.nothing_to_gain and wanted.is_only_to_save_tokens(planned.ref)
            else 0
        )
    written = roll_over(session, workspace, wanted)
    output.as_json(written.to_dict()) if as_json else shrink_commands.show_derived(written)
    return 0


def _draw_rollover(planned: PlannedRollover) -> None:
    output.say(output.visible(planned.message))
    output.say("")
    if planned.nothing_to_gain:
        output.say(f"Nothing to gain: {planned.describe_sizes()} Nothing was written.")
        return
    output.say(
        f"A fresh session of {planned.to.name} with these {len(planned.message):,} characters: {planned.savings} fewer. "
        "Nothing was written."
    )


@click.command(epilog='Example: leftoff pin "never push to main"')
@click.argument("text", nargs=-1, required=True)
@arguments.with_json
def pin(*, text: tuple[str, ...], as_json: bool) -> int:
    """Pin TEXT, a rule or a fact: every resume log of this project has it word for word."""
    kept = resume_log_pins.pin(" ".join(text), Workspace.open())
    if as_json:
        output.as_json(kept._asdict() | {"most_tokens": MAX_TOKENS})
        return 0
    output.say(f"Pinned as number {kept.number}: {output.visible(kept.text)}")
    if kept.redacted:
        output.say(
            f"Taken out before it was written: {', '.join(kept.redacted)}. A pin that names no secret says as much."
        )
    output.say(f"The pins of this project take {kept.used_tokens:,} of {MAX_TOKENS:,} tokens.")
    return 0


@click.command(epilog="Example: leftoff pins")
@arguments.with_json
def pins(*, as_json: bool) -> int:
    """List the pins of this project, with the numbers that unpin takes."""
    listed = resume_log_pins.list_pins(Workspace.open())
    if as_json:
        output.as_json(
            [
                {"number": number, "text": each.text, "at": each.at and clock.format_rfc3339(each.at)}
                for number, each in enumerate(listed, start=1)
            ]
        )
        return 0 if listed else output.NOTHING_TO_DO
    for number, each in enumerate(listed, start=1):
        output.say(f"{number:>3}  {output.visible(each.text)}")
    if not listed:
        output.say('Nothing is pinned in this project. Try: leftoff pin "never push to main"')
    return 0 if listed else output.NOTHING_TO_DO


@click.command(epilog="Example: leftoff unpin 2")
@click.argument("number", type=arguments.WholeNumber(min=1))
@arguments.with_json
def unpin(*, number: int, as_json: bool) -> int:
    """Remove pin NUMBER, as leftoff pins lists it."""
    gone = resume_log_pins.unpin(number, Workspace.open())
    if as_json:
        output.as_json(gone._asdict())
    else:
        output.say(f"No longer pinned: {output.visible(gone.text)}")
    return 0
