"""How agents are wired to call us: the commands in their settings, and what we changed there so that it can be taken back.

A command of ours is told by its shape, whatever interpreter and folder it names: what an older leftoff wrote is ours too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Literal

from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject

Scope = Literal["user", "project"]
Origin = Literal["settings", "plugin"]
SCOPES: tuple[Scope, ...] = ("user", "project")
PLUGIN_NAME = "leftoff"

_HOOK = re.compile(r"\[ -r .*/leftoff/fast\.py'? \] \|\| exit 0; .+ -I -S .+ \|\| exit 0", re.DOTALL)
_STATUSLINE = re.compile(r".* -P -m leftoff statusline( \|\| exit 0)?", re.DOTALL)
# The old command reads the same input and comes first; nothing in it, not even `exit`, reaches what stands behind it.
_AFTER = (
    'I=$(cat); O=$(printf %s "$I" | (eval ',
    ')); [ -z "$O" ] || printf \'%s\\n\' "$O"; printf %s "$I" | ',
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What an agent shall call: at its events, and for its status line. ``hook`` None: a plugin of ours calls already."""

    hook: str | None
    statusline: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A command that an agent calls at an event. ``source`` is the file that says so; None ``origin``: somebody else's.

    ``group`` and ``index`` are its place among the event's; ``entry`` is all that stands there.
    """

    event: str
    command: str
    source: str
    group: int
    index: int
    entry: JsonObject
    origin: Origin | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEdit:
    """One change of a text: from ``start`` on, in characters, ``inserted`` took the place of ``removed``."""

    start: int
    removed: str
    inserted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What is remembered of a change: the edits, one after the other, and the names of what was not there before."""

    edits: tuple[TextEdit, ...]
    made: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """A settings text with our entries in it. ``notes`` are for the user: what was left as it is, and why."""

    text: str
    trace: Trace
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HookTrouble:
    """Why an agent does not call the hooks that stand in its settings, and what the user does about it."""

    words: str
    mend: str


def hook_command(python: str, fast_path: str, agent_id: str) -> str:
    """Harms nothing when the file or the interpreter is gone: an agent takes exit code 2 for a veto."""
    file = shlex.quote(fast_path)
    return f"[ -r {file} ] || exit 0; {shlex.quote(python)} -I -S {file} {agent_id} || exit 0"


def statusline_command(python: str) -> str:
    """Prints our line; nothing when we are gone. -E -P: a project's own modules must not be what runs."""
    return f"{shlex.quote(python)} -E -P -m leftoff statusline || exit 0"


def composed(statusline: str, old: str) -> str:
    """A status line that shows what ``old`` prints, and ours below it."""
    return shlex.quote(old).join(_AFTER) + statusline


def composed_with(command: str) -> str | None:
    """The command that a status line of ours shows first; None when there is none."""
    before, after = _AFTER
    if not command.startswith(before) or after not in command:
        return None
    words = _words(command[len(before) : command.rindex(after)])
    return words[0] if len(words) == 1 else None


def is_hook_command(command: str) -> bool:
    """Whether it is ours."""
    return _HOOK.fullmatch(command) is not None


def is_statusline_command(command: str) -> bool:
    """Whether it is ours, alone or composed."""
    return _STATUSLINE.fullmatch(command) is not None


def interpreter_of(command: str) -> str | None:
    """The interpreter that a command of ours names; None when it names none that can be read."""
    words = _words(command)
    for place in range(len(words) - 1, 0, -1):
        if words[place : place + 2] == ["-I", "-S"]:
            return words[place - 1]
        if words[place : place + 3] == ["-P", "-m", "leftoff"]:  # older commands have no -E before it
            return words[place - 2] if words[place - 1] == "-E" else words[place - 1]
    return None


def fast_path_of(command: str) -> str | None:
    """The file that a hook command of ours runs; None for any other command."""
    words = _words(command) if is_hook_command(command) else []
    return words[2] if words else None


def _words(command: str) -> list[str]:
    """As a shell takes it apart; none when it cannot."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def reverted(text: str, edits: Iterable[TextEdit]) -> str:
    """The text before the edits."""
    for edit in reversed([*edits]):
        text = text[: edit.start] + edit.removed + text[edit.start + len(edit.inserted) :]
    return text
