"""``recover_orphaned_pause`` (004): what to do about a pause that somebody left behind."""

from __future__ import annotations

import sys
from pathlib import Path

from leftoff.errors import UsageError
from leftoff.flows.pause_discard import discard
from leftoff.flows.pause_homes import Running, hand_driven, running_here
from leftoff.flows.pause_recover import finalize_orphan, take_over
from leftoff.system import clock, paths

__all__ = ["recover_orphaned_pause"]
_CHOICES = {"f": "finalize", "d": "discard", "c": "continue"}


def recover_orphaned_pause(project_path: Path | None = None, choice: str | None = None) -> Path | None:
    """Finalise (f), discard (d) or continue (c) the project's pause; the snapshot's JSON where one was made.

    Without ``choice`` the question is put on a terminal. Where there is none, a pause whose process has died is finalised
    as of its last action, and any other left alone.
    """
    folder = Path(project_path) if project_path else paths.working_folder()
    if choice is not None and choice not in {*_CHOICES, *_CHOICES.values()}:
        raise UsageError(f"{choice!r} is no choice. There are: f (finalize), d (discard), c (continue).")
    home = hand_driven(folder)
    found = [each for each in running_here(folder, clock.now()) if each.home.file.path == home.file.path]
    if not found:
        return None
    wanted = _CHOICES.get(choice or "", choice) or _asked(found[0])
    if wanted == "finalize":
        ended = finalize_orphan(found[0])
        return ended.main if ended else None
    if wanted == "discard":
        discard(home)
    elif wanted == "continue":
        take_over(home)
    return None


def _asked(found: Running) -> str:
    if not sys.stdin.isatty():
        return "finalize" if found.standing == "orphaned" else "leave alone"
    summary = found.summary
    sys.stdout.write(
        f"Found incomplete pause session: {summary.session_id}\n"
        f"  - {summary.action_count} actions recorded\n"
        f"  - Started: {summary.pause_started_at}\n"
    )
    return _CHOICES.get(input("Finalize (f), discard (d), or continue (c)? ").strip().lower()[:1], "continue")
