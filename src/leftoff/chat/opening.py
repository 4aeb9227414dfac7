"""Which console a chat gets: the line editor at a terminal, plain lines anywhere else, and where prompt_toolkit is missing."""

from __future__ import annotations

import sys

from leftoff.chat.console import Console, Looks, PlainConsole
from leftoff.errors import StorageError
from leftoff.flows.chat_session import ChatPlace
from leftoff.system import files, paths

_HISTORY = "chat-history"


def console_here(place: ChatPlace, *, looks: Looks | None = None, agree: bool = False) -> Console:
    """The best there is. Nothing of the line editor is loaded where there is no terminal."""
    looks = looks or Looks()
    environment = paths.environment()
    if (
        sys.stdin is None
        or not (sys.stdin.isatty() and sys.stdout.isatty())
        or environment.get("TERM") == "dumb"
    ):
        return PlainConsole(looks=looks, agree=agree)
    try:
        from leftoff.chat.line_editor import LineEditor  # noqa: PLC0415 - see above
    except ImportError:
        plain = PlainConsole(looks=looks, agree=agree)
        plain.say("For history, completion and drawn Markdown: pip install 'leftoff[chat]'")
        return plain
    history = paths.state_folder() / _HISTORY
    try:
        files.create_file(history, b"")  # private from its first line on
    except StorageError:
        return LineEditor(None, place.clean, looks=looks, agree=agree, colour="NO_COLOR" not in environment)
    return LineEditor(history, place.clean, looks=looks, agree=agree, colour="NO_COLOR" not in environment)
