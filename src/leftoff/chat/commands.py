"""What of the lines that are typed is for the loop and not for the agent.

``#compact`` is always a command. ``compact`` is one when it can be nothing else: alone on its line, or with the number or id of
a chat behind it, so that "show me the code" and "resume the work on auth" go to the agent.
"""

from __future__ import annotations

from collections.abc import Mapping

from leftoff.conversations import names
from leftoff.model.values import dataclass

SIGN = "#"
# Name → what it takes and does, as help shows it.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "compact": ("", "save with a summary and go on in a new session, with the agent's history emptied"),
    "resume": ("N|ID", "go on from the summary of a saved session"),
    "sessions": ("", "list the saved sessions of this folder"),
    "show": ("N|ID", "read one"),
    "export": ("N|ID", "write a session and all it goes back to as one document"),
    "delete": ("N|ID", "take one away for good"),
    "save": ("", "save now, with a summary"),
    "help": ("", "this list"),
    "exit": ("", "save with a summary and leave (also: quit, Ctrl-D)"),
}
_OTHER_NAMES = {"quit": "exit", "bye": "exit"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command and what it was given."""

    name: str
    argument: str | None = None


def parse(line: str) -> Command | None:
    """The command in a line; None when the line is for the agent."""
    words = line.strip().removeprefix(SIGN).split()
    is_signed = line.strip().startswith(SIGN)
    if not words or len(words) > 2 or "\n" in line.strip():
        return None
    name = _OTHER_NAMES.get(words[0].lower(), words[0].lower())
    if name not in COMMANDS:
        return None
    argument = words[1] if len(words) > 1 else None
    takes_one = bool(COMMANDS[name][0])
    if argument is None:
        return Command(name=name) if is_signed or not takes_one else None
    if not takes_one or not (is_signed or argument.isdecimal() or names.looks_like_id(argument)):
        return None
    return Command(name=name, argument=argument)
