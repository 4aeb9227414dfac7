"""The status line: what an agent asks for again and again, so it comes in before the command line is loaded.

One line on standard output and always exit code 0. Whatever goes wrong is one line in leftoff's own log.
"""

from __future__ import annotations

import sys

from leftoff.cli import gauge
from leftoff.cli.ages import age
from leftoff.flows.statusline import StatusLine, status_line
from leftoff.model.context_metrics import Level
from leftoff.system import own_log, paths

_BAR_COLUMNS = 12
_COLOURS = {
    Level.OK: "32",
    Level.CAUTION: "33",
    Level.WARNING: "38;5;208",
    Level.AUTO_PAUSE: "31",
    Level.CRITICAL: "1;31",
}
_NAMES = {Level.AUTO_PAUSE: "pause"}


def run() -> int:
    """Read what the agent says, print our line."""
    try:
        found = status_line(sys.stdin.buffer.read())
        if found is not None:
            sys.stdout.buffer.write(f"{line(found, coloured=_may_colour())}\n".encode())
            sys.stdout.buffer.flush()
    except Exception as trouble:  # an agent's screen is no place for our troubles
        own_log.note(f"statusline: {type(trouble).__name__}: {trouble}")
    return 0


def line(found: StatusLine, *, coloured: bool) -> str:
    """``████████┊░┊┊ 72% caution · ~4 turns to warning · saved 5 min ago``."""
    metrics = found.metrics
    if metrics.used_tokens is None:  # before the first reply, or right after a compaction
        return " · ".join(["leftoff: no reply to measure yet", _saved(found)])
    bar = gauge.bar(metrics, found.thresholds, _BAR_COLUMNS)
    if coloured and found.level is not None:
        bar = f"\x1b[{_COLOURS[found.level]}m{bar}\x1b[0m"
    if metrics.percentage_used is None:
        used = f"leftoff: {metrics.used_tokens:,} tokens used of a window that is not known"
        return " · ".join([used, _saved(found)])
    share = f"{int(metrics.percentage_used)}%"
    mark = "~" if metrics.basis == "estimated" else ""
    level = "" if found.level is None else f" {_name(found.level)}"
    return " · ".join([f"{bar} {mark}{share}{level}", *_ahead(found), _saved(found)])


def _ahead(found: StatusLine) -> list[str]:
    if found.turns_left is None or found.next_level is None:
        return []
    turns = "1 turn" if found.turns_left == 1 else f"{found.turns_left} turns"
    return [f"~{turns} to {_name(found.next_level)}"]


def _saved(found: StatusLine) -> str:
    if found.saved_at is None:
        return "not saved yet"
    since = age(found.at, found.saved_at)
    return "saved now" if since == "now" else f"saved {since} ago"


def _name(level: Level) -> str:
    return _NAMES.get(level, level.value)


def _may_colour() -> bool:
    """The agent draws the line on its terminal, although ours is a pipe."""
    environment = paths.environment()
    return not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
