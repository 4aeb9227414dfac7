"""``leftoff resume``."""

from __future__ import annotations

import shlex
import sys
from datetime import datetime

import click

from leftoff.cli import display, made
from leftoff.cli.ages import ago
from leftoff.flows import resume as flow
from leftoff.flows.choose import LATEST
from leftoff.flows.resume import Welcome
from leftoff.system import clock, paths

_WIDTH = 51


@click.command(epilog="Example: leftoff resume --run")
@click.argument("session", default=LATEST)
@click.option("--run", is_flag=True, help="Start the agent on it, in the session's folder.")
@click.option("--here", is_flag=True, help="Re-home a copy into this folder, and go on there.")
@click.option(
    "--how",
    type=click.Choice(flow.HOWS),
    help="Go on in the session as it is, or in a smaller copy.  [what leftoff advise says]",
)
@click.option(
    "--remote", is_flag=True, help="Fetch the log from the storage backend: another machine's work."
)
@display.with_json
def resume(*, session: str, run: bool, here: bool, how: str | None, remote: bool, as_json: bool) -> int:
    """Pick up where SESSION left off: a welcome-back screen, then the text for a fresh session to go on from.

    Without SESSION: what was left off in this project.
    """
    folder = paths.working_folder()
    where = _fetched(session, as_json=as_json) if remote else flow.welcome(session, folder)
    wanted = run or here or how is not None
    way = flow.way_on(where, how, here=folder if here else None) if wanted else None
    if as_json:
        display.as_json(where.to_dict() | ({} if way is None else {"way": way.to_dict()}))
        return 0
    _draw(where, clock.now())
    if way is not None:
        display.say(f"Going on {way.how}: {display.visible(way.why)}.")
        made.say_left_behind(way.made.left_behind if way.made else ())
        if run:
            return flow.go_on(way)
        made.say_command(way.command, way.folder, where.session_id)
        return 0
    if where.command is not None:
        display.say(f"leftoff resume --run starts it: {shlex.join(where.command)}")
    display.say("")
    display.say(display.visible(where.text))
    return 0


def _fetched(session: str, *, as_json: bool) -> Welcome:
    from leftoff.flows.remote_resume import resume_remote

    display.hint("Asking the remote …")
    found = resume_remote(session, paths.working_folder())
    if found.rewritten and not as_json:
        words = f"Fetched from the remote: {found.rewritten} paths under {found.old_root} now stand under this checkout.\n"
        display.say(display.visible(words))
    if found.copies and not as_json:
        kept = ", ".join(str(path) for path in found.copies)
        display.say(display.visible(f"Your own changes to the log that was here are kept: {kept}\n"))
    if found.kept_own is not None:
        away = shlex.join(["mv", str(found.kept_own), f"{found.kept_own}.mine"])
        words = (
            "This machine wrote a log of this session itself, and that is the one below. The remote's is newer. "
            f"To take that one: {away} && leftoff resume --remote {found.welcome.session_id}"
        )
        click.echo(f"{display.visible(words)}\n", err=True)
    return found.welcome


def _draw(where: Welcome, now: datetime) -> None:
    """The screen of 001; its signs only on a terminal."""
    pretty = sys.stdout.isatty()
    pin, tick, turn = ("📍 ", "✅", "🔄") if pretty else ("", "-", "-")
    rule = ("━" if pretty else "-") * min(_WIDTH, display.width() - 1)
    line = max(30, display.width() - 8)
    display.say("Welcome back! Picking up where we left off:\n")
    display.say(f"{pin}CURRENT STATE", {"bold": True})
    display.say(rule)
    display.say(f"Project: {display.visible(where.folder.name)}")
    display.say(f"Last Session: {ago(now, where.last_session)} ({where.session_id[:8]})")
    display.say(f"Progress: {where.done} done, {where.open} open")
    display.say("\nCurrent Location:")
    display.say(f"  {display.one_line(where.mission or 'not known', line)}")
    display.say(f"  Next Task: {display.one_line(where.next_step or 'nothing is noted', line - 12)}")
    if where.drift:
        display.say(f"  Since then: {display.one_line(where.drift, line - 13)}")
    display.say("\nRecent Progress:")
    for text in where.recent:
        display.say(f"  {tick} {display.one_line(text, line)}")
    if where.next_step:
        display.say(f"  {turn} {display.one_line(where.next_step, line)}")
    if where.key_context:
        display.say("\nKey Context:")
        for text in where.key_context:
            display.say(f"  - {display.one_line(text, line)}")
    display.say(rule)
    display.say("\nReady to continue, or would you like to:")
    display.say(f"1. Review completed work first: leftoff log show {where.session_id}")
    display.say(f"2. Change what is carried on: leftoff log edit {where.session_id}")
    display.say("3. Take up another session: leftoff sessions\n")
