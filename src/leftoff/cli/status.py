"""How full a session's window is, for a person and for scripts: comes in before the command line is loaded.

The short way understands a session and ``--json``; all else is for the command line, which shows the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from leftoff.cli import gauge, plain, short
from leftoff.cli.visible import visible
from leftoff.flows import status as flow
from leftoff.flows.choose import LATEST
from leftoff.flows.status import Status
from leftoff.model.context_metrics import Level
from leftoff.system import paths


def run(arguments: Sequence[str]) -> int | None:
    """Show it; the exit code. None: this is for the command line, and nothing was done."""
    typed = short.understood(arguments, [short.AS_JSON])
    if typed is None or len(typed.words) > 1 or any(word.startswith("-") for word in typed.words):
        return None
    session = typed.words[0] if typed.words else LATEST
    return short.run(lambda: show(session, as_json="as_json" in typed.values))


def show(session: str, *, as_json: bool) -> int:
    """Look and print."""
    found = flow.status(session, paths.working_folder())
    if as_json:
        plain.as_json(found.to_dict())
    else:
        draw(found)
    return 0


def draw(found: Status) -> None:
    """The gauge and what it means."""
    width = max(20, min(60, plain.width() - 4))
    marks = ", ".join(_mark(found, threshold.level) for threshold in found.thresholds.in_order)
    title = f"{found.agent} {found.session_id}  {visible(found.model or 'model unknown')}"
    plain.say(plain.wrapped(title, indent=""))
    plain.say(f"  {gauge.bar(found.metrics, found.thresholds, width)}", gauge.style(found.level))
    for line in (
        f"{gauge.words(found.metrics)} ({_basis(found)})",
        f"level {found.level or 'unknown'}; {marks}",
        found.advice,
    ):
        plain.say(plain.wrapped(line, indent="  "))


def _mark(found: Status, level: Level) -> str:
    turns = found.turns_left[level]
    left = "?" if turns is None else "crossed" if turns == 0 else f"~{turns} turns"
    return f"{level.value} {left}"


def _basis(found: Status) -> str:
    metrics = found.metrics
    window = "?" if metrics.window_tokens is None else f"{metrics.window_tokens:,}"
    return f"{metrics.basis}; window {window}, {metrics.window_basis}"
