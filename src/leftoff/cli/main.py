"""The command line: which commands there are, and how every ending becomes an exit code and one clear sentence.

0 done, 1 failed, 2 wrong usage, 3 nothing to do, 130 interrupted. With ``--json`` an error is ``{"error": …}`` on standard output. A
reader that closes the pipe has read enough, which is not an error.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import click

from leftoff.cli import output
from leftoff.errors import AmbiguousSessionError, ConfigWarning, LeftoffError
from leftoff.version import VERSION

# The whole command line on one screen: each command and where it is. Only the one that runs is imported.
COMMANDS: Mapping[str, str] = {
    "demo": "leftoff.cli.diagnose_commands:demo",
    "sessions": "leftoff.cli.session_commands:sessions",
    "status": "leftoff.cli.session_commands:status",
    "show": "leftoff.cli.session_commands:show",
    "search": "leftoff.cli.search_commands:search",
    "archive": "leftoff.cli.search_commands:archive",
    "forget": "leftoff.cli.forget_command:forget",
    "install": "leftoff.cli.setup_commands:install",
    "uninstall": "leftoff.cli.setup_commands:uninstall",
    "hook": "leftoff.cli.agent_commands:hook",
    "statusline": "leftoff.cli.agent_commands:statusline",
    "pause": "leftoff.cli.pause_commands:pause",
    "log": "leftoff.cli.log_commands:log",
    "resume": "leftoff.cli.resume_commands:resume",
    "run": "leftoff.cli.resume_commands:run",
    "advise": "leftoff.cli.shrink_commands:advise",
    "trim": "leftoff.cli.shrink_commands:trim",
    "smart-trim": "leftoff.cli.shrink_commands:smart_trim",
    "rollover": "leftoff.cli.resume_commands:rollover",
    "expand": "leftoff.cli.shrink_commands:expand",
    "untrim": "leftoff.cli.shrink_commands:untrim",
    "lineage": "leftoff.cli.shrink_commands:lineage",
    "export": "leftoff.cli.session_commands:export",
    "pin": "leftoff.cli.resume_commands:pin",
    "pins": "leftoff.cli.resume_commands:pins",
    "unpin": "leftoff.cli.resume_commands:unpin",
    "chat": "leftoff.cli.chat_command:chat",
    "project": "leftoff.cli.project_commands:project",
    "report": "leftoff.cli.diagnose_commands:report",
    "trust": "leftoff.cli.setup_commands:trust",
    "doctor": "leftoff.cli.diagnose_commands:doctor",
}
_LAST_STREAM = 2  # the number of standard error
_SIGNALLED = 128


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit code."""
    as_json = "--json" in arguments
    _reopen_closed_streams()
    output.prepare_output()
    with _name_config_mistakes() as mistakes:
        try:
            code = cli.main([*arguments], prog_name="leftoff", standalone_mode=False)
            sys.stdout.flush()
        except AmbiguousSessionError as ambiguous:
            return _run_with_choice(arguments, ambiguous, as_json=as_json)
        except (Exception, KeyboardInterrupt, SystemExit) as ending:  # every ending becomes an exit code
            mistakes.discard(str(ending))  # named already
            return exit_code(ending, as_json=as_json)
    return code if isinstance(code, int) else 0


@contextmanager
def _name_config_mistakes() -> Iterator[set[str]]:
    """Collect the mistakes in the settings, and write each to standard error when the command has shown its result."""
    found: set[str] = set()

    def keep(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, ConfigWarning):
            found.add(str(message))
        else:
            show(message, category, *place, **more)

    with warnings.catch_warnings():
        show = warnings.showwarning
        warnings.simplefilter("always", ConfigWarning)
        warnings.showwarning = cast("Any", keep)
        yield found
    for mistake in sorted(found):
        output.error(mistake, as_json=False)


def _run_with_choice(arguments: Sequence[str], ambiguous: AmbiguousSessionError, *, as_json: bool) -> int:
    """Let the user choose on a terminal, and run the command again as if that had been typed; else show the choices.

    A command looks up what its arguments name before it changes anything, so it can be run again.
    """
    selector = ambiguous.selector
    is_typed = selector is None or selector in arguments
    if as_json or not is_typed or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return exit_code(ambiguous, as_json=as_json)
    try:
        chosen = output.choose(f"{ambiguous.subject}:", ambiguous.choices)
    except (click.Abort, KeyboardInterrupt) as ending:
        return exit_code(ending, as_json=as_json)
    if selector is None:
        return run([*arguments, chosen.selector])
    at = len(arguments) - 1 - [*reversed(arguments)].index(selector)
    return run([*arguments[:at], chosen.selector, *arguments[at + 1 :]])


def _reopen_closed_streams() -> None:
    """Connect closed standard streams to the null device.

    Otherwise the next file that is opened would get the number of a closed stream, and a child process would write into it.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _LAST_STREAM:
        os.set_inheritable(opened, True)  # noqa: FBT003 - the system's own signature
    os.close(opened)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - until the process ends
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def exit_code(ending: BaseException, *, as_json: bool) -> int:
    """Show how the command ended and return its exit code; if standard output cannot be written, use standard error."""
    try:
        return _show_ending(ending, as_json=as_json)
    except OSError:
        _discard_output()
        return _show_ending(ending, as_json=False)


def _show_ending(ending: BaseException, *, as_json: bool) -> int:
    match ending:
        case click.exceptions.Exit():
            return ending.exit_code
        case click.Abort() | KeyboardInterrupt():
            output.error("Interrupted.", as_json=as_json)
            return 130
        case click.ClickException():
            return _show_usage_error(ending, as_json=as_json)
        case SystemExit(code=int(code)) if code > _SIGNALLED:  # a signal ended us after our children
            return code
        case (
            BrokenPipeError() | SystemExit()
        ):  # click raises SystemExit when the pipe of a help text is closed
            return _discard_output()
        case LeftoffError():
            output.error(ending.message, as_json=as_json)
            return ending.exit_code
        case OSError():
            return _show_os_error(ending, as_json=as_json)
        case _:
            return _show_bug(ending, as_json=as_json)


def _show_usage_error(error: click.ClickException, *, as_json: bool) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "leftoff"
    message = error.format_message()
    stop = "" if message.endswith((".", "?", "!")) else "."
    output.error(f"{message}{stop} Try: {command} --help", as_json=as_json)
    return 2


def _discard_output() -> int:
    """Send further output to the null device, or the interpreter would complain about the same pipe as it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _show_os_error(error: OSError, *, as_json: bool) -> int:
    """Show an error of the system that no feature handles: a full disk behind standard output, a deleted folder."""
    what = f"{error.filename}: " if error.filename else ""
    message = f"{what}{error.strerror or error}."
    try:
        sys.stdout.flush()
        output.error(message, as_json=as_json)
    except OSError:  # of standard output itself
        _discard_output()
        output.error(f"Standard output could not be written: {message}", as_json=False)
    return 1


def _show_bug(bug: BaseException, *, as_json: bool) -> int:
    place = bug.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f"{Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else "?"
    output.error(
        f"This is a bug in leftoff, sorry: {type(bug).__name__}: {bug} ({where}). Nothing you have was changed by it. "
        "Please report it with the output of: leftoff doctor --json",
        as_json=as_json,
    )
    return 1


class LazyGroup(click.Group):
    """A group that imports a command when it is called, so that no command waits for another's imports."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for a mistyped one suggest the nearest, which click can do only for imported commands."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return all names, in the order of the table."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import the command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Example: leftoff status",
)
@click.version_option(VERSION, prog_name="leftoff", message="%(prog)s %(version)s")
@output.with_json
@click.pass_context
def cli(context: click.Context, *, as_json: bool) -> int:
    """Pick up where you left off: keep an AI coding agent's work going past the end of its context window.

    Without a command: this project at a glance.
    """
    if context.invoked_subcommand is not None:
        return 0
    from leftoff.cli.session_commands import glance

    return glance(as_json=as_json)
