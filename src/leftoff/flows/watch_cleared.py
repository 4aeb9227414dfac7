"""``/clear``: which session the one that has just begun was cleared from.

No agent writes that into either file, but its hooks see both in one process: the one ends with the reason ``clear``, the other begins with
that source. It is noted where just one session of that very process was cleared and nobody came after it since; else nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

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
    if before is None or watched.event.transcript is None:
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


class _Before(NamedTuple):
    session_id: str
    transcript: str


def _before(watched: Watched) -> _Before | None:
    state = watched.state
    if state.client_pid is None or state.client_begun is None:  # a number alone is given away again
        return None
    noted = family_here().cleared
    if state.session_id in noted:
        return None
    found = [
        _Before(each.session_id, each.transcript)
        for each in watch_states.cleared_in(state)
        if each.project == state.project and each.transcript is not None and not _is_followed(each, noted)
    ]
    return _used(found[0], noted) if len(found) == 1 else None


def _is_followed(cleared: WatchState, noted: Mapping[str, Derived]) -> bool:
    """Whether a session came after it since it was last cleared: one that was resumed may be cleared again."""
    followed = [each.at for each in noted.values() if each.parent_id == cleared.session_id]
    ended = clock.from_rfc3339(cleared.ended_at) if cleared.ended_at else None
    moments = [moment for at in followed if (moment := clock.from_rfc3339(at)) is not None]
    return bool(followed) if ended is None else any(moment >= ended for moment in moments)


def _used(before: _Before, noted: Mapping[str, Derived]) -> _Before | None:
    """The session itself; for one that was cleared before anything was said in it, which has no file, the one before that."""
    left = {**noted}  # each is passed once, whatever the registry says
    while not Path(before.transcript).is_file():
        entry = left.pop(before.session_id, None)
        if entry is None:
            return None
        before = _Before(entry.parent_id, entry.parent_transcript)
    return before
