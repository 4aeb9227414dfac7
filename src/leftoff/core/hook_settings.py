"""What leftoff puts into agents' settings: the commands of hooks, status line and MCP server, and how to take them out again.

A command is recognised as leftoff's by its shape, whatever interpreter and folder it names, so that commands written by older
versions are recognised too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from leftoff.core.wire import JsonObject

Scope = Literal["user", "project"]
Origin = Literal["settings", "plugin"]
SCOPES: tuple[Scope, ...] = ("user", "project")
PLUGIN_NAME = "leftoff"
_HOOK_COMMAND = r"(?s)\[ -r .*/leftoff/fast\.py'? \] \|\| exit 0; .+ -I -S .+ \|\| exit 0|[^\s;&|]*/leftoff/fast\.py \S+ \|\| exit 0"
_LONGEST_FIRST_LINE = 120  # of a script; Linux reads 127 characters of it
_STATUSLINE_COMMAND = r"(?s).* -P -m leftoff statusline( \|\| exit 0)?"
# The old command reads the same input and prints first. It runs in a subshell, so that not even `exit` in it stops leftoff.
_WRAPPER = (
    'I=$(cat); O=$(printf %s "$I" | (eval ',
    ')); [ -z "$O" ] || printf \'%s\\n\' "$O"; printf %s "$I" | ',
)


class AgentCommands(NamedTuple):
    """The commands to install for an agent. ``hook``: None if leftoff's plugin already provides the hooks.

    ``brief_hook`` does the same as ``hook``, for events whose command the agent shows on screen; None if there is no short form.
    ``plugin`` is the folder of the plugin that runs inside the agent; None if the settings must not name it.
    """

    hook: str | None
    statusline: str
    brief_hook: str | None = None
    plugin: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A command that an agent runs at an event, as configured in the file ``source``.

    ``origin``: None for a command that is not leftoff's. ``group`` and ``index`` locate the hook among those of its
    event; ``entry`` is its whole configuration.
    """

    event: str
    command: str
    source: str
    group: int
    index: int
    entry: JsonObject
    origin: Origin | None


class TextEdit(NamedTuple):
    """One change of a text: at the character offset ``start``, ``inserted`` replaced ``removed``."""

    start: int
    removed: str
    inserted: str


class EditTrace(NamedTuple):
    """The edits made to a settings file, in order, and the names of the entries they created, so that they can be undone."""

    edits: tuple[TextEdit, ...]
    created: tuple[str, ...]


class WiredSettings(NamedTuple):
    """A settings text that contains leftoff's entries. ``notes`` tell the user what was left unchanged, and why."""

    text: str
    trace: EditTrace
    notes: tuple[str, ...] = ()


class HookProblem(NamedTuple):
    """Why an agent does not run the hooks in its settings, and what the user can do about it."""

    problem: str
    fix: str


def hook_command(python: str, fast_path: str, agent_id: str) -> str:
    """Return the hook command. It does nothing if the file is gone, because exit code 2 would block the agent."""
    file = shlex.quote(fast_path)
    return f"[ -r {file} ] || exit 0; {shlex.quote(python)} -I -S {file} {agent_id} || exit 0"


def brief_hook_command(python: str, fast_path: str, home: str, agent_id: str) -> str | None:
    """Return the hook command in its shortest form, which runs the script by its first line; None if that cannot name Python.

    If the file is gone or may not be run, the shell says so on standard error, and the command ends with 0 all the same.
    """
    script = (
        f"~{fast_path.removeprefix(home)}" if home != "/" and fast_path.startswith(f"{home}/") else fast_path
    )
    if any(" " in each for each in (python, script)) or len(python) > _LONGEST_FIRST_LINE:
        return None
    return f"{script} {agent_id} || exit 0" if shlex.quote(script.removeprefix("~")) in script else None


def statusline_command(python: str) -> str:
    """Return the status line command. -E and -P keep a project's own modules from being run in place of leftoff's."""
    return f"{shlex.quote(python)} -E -P -m leftoff statusline || exit 0"


def mcp_command(python: str) -> tuple[str, ...]:
    """Return the command of the MCP server, with the same options."""
    return (python, "-E", "-P", "-m", "leftoff", "mcp")


def is_mcp_command(arguments: Sequence[str]) -> bool:
    """Return whether the arguments of a server's command are those of leftoff's."""
    return [*arguments[-3:]] == ["-m", "leftoff", "mcp"]


def compose_statusline(statusline: str, old: str) -> str:
    """Return a command that prints the output of ``old`` and below it leftoff's line."""
    return shlex.quote(old).join(_WRAPPER) + statusline


def wrapped_statusline(command: str) -> str | None:
    """Return the user's command inside a composed status line; None without one."""
    before, after = _WRAPPER
    if not command.startswith(before) or after not in command:
        return None
    words = _split(command[len(before) : command.rindex(after)])
    return words[0] if len(words) == 1 else None


def is_hook_command(command: str) -> bool:
    """Return whether a hook command is leftoff's."""
    return re.fullmatch(_HOOK_COMMAND, command) is not None


def is_statusline_command(command: str) -> bool:
    """Return whether a status line command is leftoff's, alone or composed with another."""
    return re.fullmatch(_STATUSLINE_COMMAND, command) is not None


def interpreter_of(command: str) -> str | None:
    """Return the Python interpreter in one of leftoff's commands; None if the command cannot be parsed."""
    words = _split(command)
    for place in range(len(words) - 1, 0, -1):
        if words[place : place + 2] == ["-I", "-S"]:
            return words[place - 1]
        if words[place : place + 3] == ["-P", "-m", "leftoff"]:  # older versions wrote no -E
            return words[place - 2] if words[place - 1] == "-E" else words[place - 1]
    return None


def fast_path_of(command: str) -> str | None:
    """Return the script that one of leftoff's hook commands runs, perhaps with ``~`` for home; None for any other command."""
    words = _split(command) if is_hook_command(command) else []
    if not words:
        return None
    return words[2] if words[0] == "[" else words[0]


def _split(command: str) -> list[str]:
    """Split a command as a shell does; return an empty list if its quoting is broken."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def revert_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Undo the edits and return the original text."""
    for edit in reversed([*edits]):
        text = text[: edit.start] + edit.removed + text[edit.start + len(edit.inserted) :]
    return text
