"""``leftoff statusline`` as agents run it, again and again: without loading the command line. The exit code is always 0."""

from __future__ import annotations

import sys

from leftoff.cli import gauge
from leftoff.cli.agent_hook import log_error
from leftoff.core.metrics import Level
from leftoff.core.quantities import ago, count
from leftoff.live.status_line import StatusLine, status_line
from leftoff.platform import paths

_BAR_COLUMNS = 12
_COLOURS = {
    Level.OK: "32",
    Level.CAUTION: "33",
    Level.WARNING: "38;5;208",
    Level.AUTO_PAUSE: "31",
    Level.CRITICAL: "1;31",
}
_NAMES = {Level.AUTO_PAUSE: "pause"}


def run_statusline() -> int:
    """Read what the agent says on standard input and print the status line."""
    try:
        found = status_line(sys.stdin.buffer.read())
        if found is not None:
            sys.stdout.buffer.write(f"{line(found, coloured=_may_colour())}\n".encode())
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        pass  # the client was closed while the line was made
    except Exception as error:  # the agent's screen is not the place for our errors
        log_error(f"statusline: {type(error).__name__}: {error}")
    return 0


def line(found: StatusLine, *, coloured: bool) -> str:
    """Return ``████████┊░┊┊ 72% caution · ~4 turns to warning · saved 5 min ago``.

    What is not known is left out. The client may show the line long after it was made, so it never says that nothing is saved.
    """
    metrics = found.metrics
    if metrics.used_tokens is None:  # before the first reply, or right after a compaction
        return " · ".join(["leftoff: the gauge starts with the next reply", *_describe_saved(found)])
    bar = gauge.bar(metrics, found.thresholds, _BAR_COLUMNS)
    if coloured and found.level is not None:
        bar = f"\x1b[{_COLOURS[found.level]}m{bar}\x1b[0m"
    if metrics.shown_percentage is None:
        used = f"leftoff: {metrics.used_tokens:,} tokens used of a window that is not known"
        return " · ".join([used, *_describe_saved(found)])
    share = f"{int(metrics.shown_percentage)}%"
    mark = "~" if metrics.basis == "estimated" else ""
    level = "" if found.level is None else f" {_level_name(found.level)}"
    return " · ".join([f"{bar} {mark}{share}{level}", *_turns_ahead(found), *_describe_saved(found)])


def _turns_ahead(found: StatusLine) -> list[str]:
    if found.turns_left is None or found.next_level is None:
        return []
    return [f"~{count(found.turns_left, 'turn')} to {_level_name(found.next_level)}"]


def _describe_saved(found: StatusLine) -> list[str]:
    return [] if found.saved_at is None else [f"saved {ago(found.at, found.saved_at)}"]


def _level_name(level: Level) -> str:
    return _NAMES.get(level, level.value)


def _may_colour() -> bool:
    """Return whether the agent's terminal shows colours; our own standard output is a pipe."""
    environment = paths.environment()
    return not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
