"""Codex' daemon, which runs the sessions of all screens unless Codex is started with ``--no-daemon`` (0.166).

Hooks are then children of the daemon. A session that the user has left stays loaded for about a minute before SessionEnd runs,
and for as long as its turn takes; nothing says meanwhile whether a screen still shows it.
"""

from __future__ import annotations

from pathlib import Path

from leftoff.agents.jsonl import newest_first, table, text
from leftoff.errors import TranscriptError
from leftoff.platform import process

_DAEMON = "app-server"
_WITHOUT_SCREEN_OR_DAEMON = frozenset({_DAEMON, "exec", "--no-daemon"})
_TURN_BEGINS = "task_started"
_TURN_ENDS = frozenset({"task_complete", "turn_aborted"})


def open_screens(client_pid: int, project: Path) -> int | None:
    """Return how many screens of the daemon are known to be open in the project; None if the process is not a daemon."""
    if _DAEMON not in process.command_of(client_pid):
        return None
    commands = process.commands_on_terminals(project)
    return sum(
        Path(command[0]).name == "codex" and _WITHOUT_SCREEN_OR_DAEMON.isdisjoint(command)
        for command in commands
        if command
    )


def is_at_work(rollout: Path) -> bool:
    """Return whether the last turn has begun and not ended."""
    try:
        for piece in newest_first(rollout):
            kind = text(table(piece.value or {}, "payload"), "type")
            if kind in _TURN_ENDS or kind == _TURN_BEGINS:
                return kind == _TURN_BEGINS
    except TranscriptError:
        pass  # it is gone
    return False
