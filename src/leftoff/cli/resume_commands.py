"""The commands ``leftoff resume``, ``run``, ``rollover``, ``pin``, ``pins`` and ``unpin``."""

from __future__ import annotations

import shlex
import sys
from datetime import datetime

import click

from leftoff.cli import output, shrink_commands
from leftoff.core.quantities import ago, count
from leftoff.core.session import short_id
from leftoff.platform import clock, paths
from leftoff.resume import next_session
from leftoff.resume.resume import HOWS, ResumePoint, find_resume_point, prepare_continuation, start_agent
from leftoff.resume_logs import pins as resume_log_pins
from leftoff.resume_logs.pins import MAX_TOKENS
from leftoff.sessions.find import LATEST
from leftoff.shrink.rollover import PlannedRollover, RolloverOptions, preview_rollover, roll_over
from leftoff.workspace import Workspace


@click.command(epilog="Example: leftoff resume --run")
@click.argument("session", default=LATEST)
@click.option("--print", "only_text", is_flag=True, help="Print only the text for a fresh session.")
@click.option("--run", is_flag=True, help="Start the agent on it, in the session's folder.")
@click.option("--here", is_flag=True, help="Re-home a copy into this folder, and go on there.")
@click.option(
    "--how",
    type=click.Choice(HOWS),
    help="Go on in the session as it is, or in a smaller copy.  [what leftoff advise says]",
)
@click.option(
    "--remote", is_flag=True, help="Fetch the log from the storage backend: another machine's work."
)
@output.with_json
def resume(
    *, session: str, only_text: bool, run: bool, here: bool, how: str | None, remote: bool, as_json: bool
) -> int:
    """Pick up where SESSION left off: a welcome-back screen, then the text for a fresh session to go on from.

    Without SESSION: what was left off in this project. SESSION may also be a pause that you finished by hand.
    """
    workspace = Workspace.open()
    where = (
        _fetch_remote(session, workspace, as_json=as_json)
        if remote
        else find_resume_point(session, workspace)
    )
    wanted = run or here or how is not None
    way = prepare_continuation(where, how, workspace, here=here) if wanted else None
    if as_json:
        output.as_json(where.to_dict() | ({} if way is None else {"way": way.to_dict()}))
        return 0
    if where.mark:
        output.say(f"{output.visible(where.mark)}\n")
    if only_text and way is None:
        output.say(output.visible(where.text))
        return 0
    _draw_card(where, clock.now())
    if way is not None:
        output.say(f"Going on {way.how}: {output.visible(way.why)}.")
        shrink_commands.show_not_copied(way.derived.left_behind if way.derived else ())
        if run:
            return start_agent(way)
        shrink_commands.show_resume_command(way.command, way.folder, where.session_id)
        return 0
    if where.command is not None:
        output.say(f"leftoff resume --run starts it: {shlex.join(where.command)}")
    output.say("")
    output.say(output.visible(where.text))
    return 0


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
    """Draw the welcome-back screen, with symbols only on a terminal."""
    pretty = sys.stdout.isatty()
    pin, tick, turn = ("📍 ", "✅", "🔄") if pretty else ("", "-", "-")
    rule = ("━" if pretty else "-") * min(output.RULE_WIDTH, output.width() - 1)
    line = max(30, output.width() - 8)
    output.say("Welcome back! Picking up where we left off:\n")
    output.say(f"{pin}CURRENT STATE", {"bold": True})
    output.say(rule)
    output.say(f"Project: {output.visible(where.folder.name)}")
    output.say(f"Last Session: {ago(now, where.last_session)} ({short_id(where.session_id)})")
    output.say(f"Progress: {where.done} done, {where.open} open")
    output.say("\nCurrent Location:")
    output.say(f"  {output.one_line(where.mission or 'not known', line)}")
    output.say(f"  Next Task: {output.one_line(where.next_step or 'nothing is noted', line - 12)}")
    if where.drift:
        output.say(f"  Since then: {output.one_line(where.drift, line - 13)}")
    output.say("\nRecent Progress:")
    for text in where.recent:
        output.say(f"  {tick} {output.one_line(text, line)}")
    if where.next_step:
        output.say(f"  {turn} {output.one_line(where.next_step, line)}")
    if where.key_context:
        output.say("\nKey Context:")
        for text in where.key_context:
            output.say(f"  - {output.one_line(text, line)}")
    output.say(rule)
    output.say("\nReady to continue, or would you like to:")
    if where.is_pause:
        output.say(f"1. Review what was recorded first: leftoff pause status {where.session_id}")
        output.say("2. Take up an agent's session: leftoff sessions\n")
        return
    output.say(f"1. Review completed work first: leftoff log show {where.session_id}")
    output.say(f"2. Change what is carried on: leftoff log edit {where.session_id}")
    output.say("3. Take up another session: leftoff sessions\n")


@click.command(
    epilog="Example: leftoff run AGENT --model opus",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@output.with_json
@click.argument("agent")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def run(*, agent: str, flags: tuple[str, ...], as_json: bool) -> int:
    """Start AGENT with FLAGS here; after >trim yes or >handoff and exit it goes on by itself in the new session.

    A prompt among the flags stands last and is said once. --json before AGENT: only the exit code, as JSON.
    """
    code = next_session.run_agent(
        agent, flags, paths.working_folder(), lambda words: click.echo(words, err=True)
    )
    if as_json:
        output.as_json({"agent": agent, "exit_code": code})
    return code


@click.command(epilog="Example: leftoff rollover latest --with-summary")
@click.argument("session", default=LATEST)
@click.option("--with-summary", is_flag=True, help="Add a summary by the summariser of your settings.")
@click.option("--to", metavar="AGENT", help="Go on with this agent; the same one when left out.")
@click.option("--dry-run", is_flag=True, help="Show what the fresh session would begin with; write nothing.")
@click.option("--force", is_flag=True, help="Also where there is nothing to gain.")
@output.with_json
def rollover(
    *, session: str, with_summary: bool, to: str | None, dry_run: bool, force: bool, as_json: bool
) -> int:
    """Write a fresh session that goes on from SESSION: its first message is what the resume log holds.

    The resume log is saved first; the session itself is not touched.
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
@output.with_json
def pin(*, text: tuple[str, ...], as_json: bool) -> int:
    """Fix TEXT, a rule or a fact: every resume log of this project carries it word for word."""
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
@output.with_json
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
@click.argument("number", type=output.WholeNumber(min=1))
@output.with_json
def unpin(*, number: int, as_json: bool) -> int:
    """Take pin NUMBER out; leftoff pins lists the numbers."""
    gone = resume_log_pins.unpin(number, Workspace.open())
    if as_json:
        output.as_json(gone._asdict())
    else:
        output.say(f"No longer pinned: {output.visible(gone.text)}")
    return 0
