"""The door: which commands there are, and how every ending becomes an exit code and one clear sentence.

0 done, 1 could not, 2 wrong usage, 3 nothing to do, 130 interrupted. With ``--json`` an error is ``{"error": …}`` on
standard output. A reader that closes the pipe has had enough, which is no error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

import leftoff
from leftoff.cli import display, plain
from leftoff.cli.lazy_group import lazy_group
from leftoff.errors import LeftoffError

# The whole command line on one screen: name → where its command is.
COMMANDS: Mapping[str, str] = {
    "demo": "leftoff.cli.commands.demo:demo",
    "sessions": "leftoff.cli.commands.sessions:sessions",
    "status": "leftoff.cli.commands.status:status",
    "show": "leftoff.cli.commands.show:show",
    "search": "leftoff.cli.commands.search:search",
    "archive": "leftoff.cli.commands.archive:archive",
    "forget": "leftoff.cli.commands.forget:forget",
    "install": "leftoff.cli.commands.install:install",
    "uninstall": "leftoff.cli.commands.uninstall:uninstall",
    "hook": "leftoff.cli.commands.hook:hook",
    "statusline": "leftoff.cli.commands.statusline:statusline",
    "pause": "leftoff.cli.commands.pause:pause",
    "log": "leftoff.cli.commands.log:log",
    "resume": "leftoff.cli.commands.resume:resume",
    "run": "leftoff.cli.commands.run:run",
    "advise": "leftoff.cli.commands.advise:advise",
    "trim": "leftoff.cli.commands.trim:trim",
    "smart-trim": "leftoff.cli.commands.trim:smart_trim",
    "rollover": "leftoff.cli.commands.rollover:rollover",
    "expand": "leftoff.cli.commands.expand:expand",
    "untrim": "leftoff.cli.commands.untrim:untrim",
    "lineage": "leftoff.cli.commands.lineage:lineage",
    "export": "leftoff.cli.commands.export:export",
    "pin": "leftoff.cli.commands.pins:pin",
    "pins": "leftoff.cli.commands.pins:pins",
    "unpin": "leftoff.cli.commands.pins:unpin",
    "chat": "leftoff.cli.commands.chat:chat",
    "project": "leftoff.cli.commands.project:project",
    "report": "leftoff.cli.commands.report:report",
    "trust": "leftoff.cli.commands.trust:trust",
    "doctor": "leftoff.cli.commands.doctor:doctor",
    "bench": "leftoff.cli.commands.bench:bench",
}

_LAST_STREAM = 2  # the number of standard error
_SIGNALLED = 128


@click.group(
    cls=lazy_group(COMMANDS),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Example: leftoff status",
)
@click.version_option(leftoff.__version__, prog_name="leftoff", message="%(prog)s %(version)s")
@display.with_json
@click.pass_context
def cli(context: click.Context, *, as_json: bool) -> int:
    """Pick up where you left off: keep an AI coding agent's work going past the end of its context window.

    Without a command: this project at a glance.
    """
    if context.invoked_subcommand is not None:
        return 0
    from leftoff.cli.commands.glance import glance

    return glance(as_json=as_json)


def run(arguments: Sequence[str]) -> int:
    """Run the command line; the exit code."""
    as_json = "--json" in arguments
    _open_what_is_closed()
    plain.make_ready()
    try:
        code = cli.main([*arguments], prog_name="leftoff", standalone_mode=False)
        sys.stdout.flush()
    except (
        Exception,
        KeyboardInterrupt,
        SystemExit,
    ) as how:  # every ending becomes a number and a sentence
        return ended(how, as_json=as_json)
    return code if isinstance(code, int) else 0


def _open_what_is_closed() -> None:
    """Who starts us with a closed stream wants to hear nothing.

    Its number must not go to the next file that is opened: what a child says would be written there.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _LAST_STREAM:
        os.set_inheritable(opened, True)  # noqa: FBT003 - the system's own signature
    os.close(opened)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - until the process ends
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def ended(how: BaseException, *, as_json: bool) -> int:
    """What a process ends with that ended so, after it was said; on standard error where standard output takes nothing."""
    try:
        return _told(how, as_json=as_json)
    except OSError:
        _pipe_closed()
        return _told(how, as_json=False)


def _told(how: BaseException, *, as_json: bool) -> int:
    match how:
        case click.exceptions.Exit():
            return how.exit_code
        case click.Abort() | KeyboardInterrupt():
            display.error("Interrupted.", as_json=as_json)
            return 130
        case click.ClickException():
            return _wrong_usage(how, as_json=as_json)
        case SystemExit(code=int(code)) if (
            code > _SIGNALLED
        ):  # we were told to end, and what we began has ended
            return code
        case (
            BrokenPipeError() | SystemExit()
        ):  # click ends the process when the pipe of a help text is closed
            return _pipe_closed()
        case _:
            return _failed(how, as_json=as_json)


def _wrong_usage(wrong: click.ClickException, *, as_json: bool) -> int:
    context = getattr(wrong, "ctx", None)
    command = context.command_path if context is not None else "leftoff"
    display.error(f"{wrong.format_message()} Try: {command} --help", as_json=as_json)
    return 2


def _pipe_closed() -> int:
    """Keep the interpreter from complaining about the same pipe once more on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _failed(error: BaseException, *, as_json: bool) -> int:
    if isinstance(error, LeftoffError):
        display.error(error.message, as_json=as_json)
        return error.exit_code
    return _no_way(error, as_json=as_json) if isinstance(error, OSError) else _bug(error, as_json=as_json)


def _no_way(error: OSError, *, as_json: bool) -> int:
    """The system refused something that no room expects: a full disk behind standard output, a folder that is gone."""
    what = f"{error.filename}: " if error.filename else ""
    words = f"{what}{error.strerror or error}."
    try:
        sys.stdout.flush()
        display.error(words, as_json=as_json)
    except OSError:  # standard output itself: nobody can read it there
        _pipe_closed()
        display.error(f"Standard output could not be written: {words}", as_json=False)
    return 1


def _bug(bug: BaseException, *, as_json: bool) -> int:
    place = bug.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f"{Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else "?"
    display.error(
        f"This is a bug in leftoff, sorry: {type(bug).__name__}: {bug} ({where}). Nothing you have was changed by it. "
        "Please report it with the output of: leftoff doctor --json",
        as_json=as_json,
    )
    return 1
