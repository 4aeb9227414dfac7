"""``/clear``: which session the one that has just begun was cleared from.

No agent writes that into either file, but its hooks see both in one process: the one ends with the reason ``clear``, the other begins with
that source. It is noted where just one session of that very process was cleared and nobody came after it; else nobody knows.
"""

from __future__ import annotations

from pathlib import Path

from leftoff.flows import watch_states
from leftoff.flows.ancestry import family_here
from leftoff.flows.watched import Watched
from leftoff.lineage.fingerprint import fingerprint
from leftoff.lineage.registry import CLEARED, Derived
from leftoff.model.watch_state import WatchState
from leftoff.system import clock


def note_cleared(watched: Watched) -> None:
    """Keep it in the registry; what cannot be known is not kept."""
    before = _before(watched)
    if before is None or before.transcript is None or watched.event.transcript is None:
        return
    family_here().registry.add(
        Derived(
            session_id=watched.event.session_id,
            transcript=watched.event.transcript,
            agent=watched.agent.id,
            parent_id=before.session_id,
            parent_transcript=before.transcript,
            parent_fingerprint=fingerprint(Path(before.transcript)),
            derivation=CLEARED,
            at=clock.rfc3339(watched.at),
        )
    )


def _before(watched: Watched) -> WatchState | None:
    state = watched.state
    if state.client_pid is None or state.client_begun is None:  # a number alone is given away again
        return None
    noted = family_here().cleared
    if state.session_id in noted:
        return None
    passed = {each.parent_id for each in noted.values()}
    found = [
        each
        for each in watch_states.cleared_in(state)
        if each.project == state.project and each.session_id not in passed
    ]
    return found[0] if len(found) == 1 else None
