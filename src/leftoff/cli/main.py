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
from typing import Any, NamedTuple, cast

import click
from click.shell_completion import CompletionItem

from leftoff.cli import arguments, output
from leftoff.errors import AmbiguousSessionError, ConfigWarning, LeftoffError
from leftoff.version import VERSION


class Entry(NamedTuple):
    """Where a command is, what it does in one line, and whether ``leftoff --help`` leaves it to ``leftoff help all``."""

    place: str
    summary: str
    is_rare: bool = False


# The whole command line on one screen. Only the command that runs is imported; the help needs none of them.
GROUPS: Mapping[str, Mapping[str, Entry]] = {
    "Daily": {
        "status": Entry("session_commands:status", "how full the context window is, and what to do"),
        "resume": Entry("resume_commands:resume", "pick up where a session left off"),
        "run": Entry("resume_commands:run", "start an agent and follow it into smaller sessions"),
        "report": Entry("diagnose_commands:report", "what compactions lost, and what leftoff keeps"),
    },
    "Sessions": {
        "sessions": Entry("session_commands:sessions", "list the sessions of all agents"),
        "search": Entry("search_commands:search", "find anything in any session"),
        "web": Entry("web_command:web", "see what happened to a context window, in the browser"),
        "show": Entry("session_commands:show", "read a session"),
        "export": Entry("session_commands:export", "write a session as Markdown"),
        "why": Entry("history_commands:why", "which session changed a file or a line, and why"),
        "history": Entry("history_commands:history", "what sessions did to a file", is_rare=True),
        "lineage": Entry("shrink_commands:lineage", "what a session came from, and its copies"),
        "archive": Entry("archive_commands:archive", "sessions that their agent has deleted", is_rare=True),
        "forget": Entry("forget_command:forget", "erase a session, project or text everywhere", is_rare=True),
    },
    "Logs": {
        "log": Entry("log_commands:log", "save, read, edit and check resume logs"),
        "pin": Entry("resume_commands:pin", "keep a rule or fact in every resume log"),
        "pins": Entry("resume_commands:pins", "list what is pinned in this project"),
        "unpin": Entry("resume_commands:unpin", "remove a pin", is_rare=True),
        "pause": Entry("pause_commands:pause", "record the last steps before the window is full"),
    },
    "Shrink": {
        "advise": Entry("shrink_commands:advise", "compare the ways to make a session smaller"),
        "trim": Entry("shrink_commands:trim", "copy a session with long tool results shortened"),
        "smart-trim": Entry("shrink_commands:smart_trim", "copy a session without outdated content"),
        "rollover": Entry("resume_commands:rollover", "start a fresh session from the resume log"),
        "untrim": Entry("shrink_commands:untrim", "put everything back that a trim removed"),
        "expand": Entry("shrink_commands:expand", "print what a placeholder replaced", is_rare=True),
    },
    "Projects": {
        "project": Entry("project_commands:project", "plans with steps, and where each one stopped"),
    },
    "Chat": {
        "chat": Entry("chat_command:chat", "talk to your own agent, with save and resume"),
    },
    "Setup": {
        "install": Entry("setup_commands:install", "connect leftoff to an agent"),
        "uninstall": Entry("setup_commands:uninstall", "disconnect it again"),
        "config": Entry("config_command:config", "show and change settings"),
        "doctor": Entry("diagnose_commands:doctor", "check the installation"),
        "demo": Entry("diagnose_commands:demo", "see it work on a bundled session"),
        "help": Entry("help_command:help_", "explain a command; help all lists every one"),
        "completion": Entry("help_command:completion", "set up Tab completion", is_rare=True),
        "trust": Entry("setup_commands:trust", "allow documents from a cloned repository", is_rare=True),
        "hook": Entry("setup_commands:hook", "what agents call at their events", is_rare=True),
        "in-place": Entry("setup_commands:in_place", "what leftoff's mod calls to compact", is_rare=True),
        "mcp": Entry("history_commands:mcp", "three recall tools, for agents that speak MCP", is_rare=True),
        "statusline": Entry("setup_commands:statusline", "what agents show as status line", is_rare=True),
    },
}
COMMANDS: Mapping[str, Entry] = {name: entry for group in GROUPS.values() for name, entry in group.items()}
# What people type who know other tools.
_MEANT = {
    "ls": "sessions",
    "list": "sessions",
    "version": "--version",
    "settings": "config",
    "restore": "resume",
    "continue": "resume",
    "compact": "rollover",
    "handoff": "rollover",
    "stats": "report",
    "logs": "log",
    "blame": "why",
}
_LAST_STREAM = 2  # the number of standard error
_SIGNALLED = 128
_LEAST_HELP_COLUMNS = 52


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
    message = " ".join(error.format_message().split())  # click lists choices in lines of their own
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        message = f"{error.message} Did you mean {error.possibilities[0]!r}?"  # the nearest is the first
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
        f"This is a bug in leftoff: {type(bug).__name__}: {bug} ({where}). Your files were not changed. "
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
        if args[0] not in COMMANDS and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            arguments.refuse_command(ctx, args[0], COMMANDS, _MEANT)
        return super().resolve_command(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Let help texts fit terminals that are narrower than the 50 columns at which click stops."""
        columns = output.width()
        if columns < _LEAST_HELP_COLUMNS:
            extra["terminal_width"] = columns - 2
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return all names, in the order of the table."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import the command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].place.partition(":")
        command = getattr(importlib.import_module(f"leftoff.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands for every day, by group."""
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{name:<10}", entry.summary) for name, entry in group.items() if not entry.is_rare]
                )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command from the table: importing all of them would take too long."""
        named = [
            CompletionItem(name, help=entry.summary)
            for name, entry in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]


def _show_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: ARG001, FBT001 - click's
    if value and not context.resilient_parsing:
        from leftoff.platform.commit import commit

        built_from = commit()
        output.say(f"leftoff {VERSION}" + (f" (commit {built_from})" if built_from else ""))
        context.exit()


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="\b\nOne:     leftoff COMMAND --help\nAll:     leftoff help all\nExample: leftoff status",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@arguments.with_json
@click.pass_context
def cli(context: click.Context, *, as_json: bool) -> int:
    """Pick up where you left off, when the context window of your coding agent is full.

    Without a command: this project at a glance.
    """
    if context.invoked_subcommand is not None:
        return 0
    if not as_json and output.is_interactive():
        from leftoff.cli.picker import pick

        return pick()
    from leftoff.cli.overview import show_overview

    return show_overview(as_json=as_json)
