"""The end of a session: the pause becomes a snapshot, the log is saved, and why it ended is noted.

Agents give their hooks little time here, so a process of its own does it; it is waited for a moment, because usually a moment
is enough, and a machine may be switched off right afterwards.
"""

from __future__ import annotations

import time
from dataclasses import replace

from leftoff.flows import watch_states, watch_tasks
from leftoff.flows.watched import Watched
from leftoff.model.hook_event import NOTHING, Saying
from leftoff.model.watch_state import WatchState
from leftoff.system import clock, liveness

_MOST_SECONDS = 1.2
_NAP_SECONDS = 0.02


def on_end(watched: Watched) -> Saying:
    """Note it, start the work, wait a little."""
    watched.update(lambda state: _ended(watched, state, watched.event.reason or "unknown"))
    worker = watch_tasks.spawn(watched.agent.id, "end", watched.event.session_id)
    begun, deadline = liveness.begun(worker), time.monotonic() + _MOST_SECONDS
    while time.monotonic() < deadline and liveness.is_alive(worker, begun):
        time.sleep(_NAP_SECONDS)
    watch_tasks.spawn(watched.agent.id, "library", watched.event.session_id)
    return NOTHING


def end_cleared(watched: Watched) -> None:
    """The session that was cleared for this one, where the agent ends it without a word: the only other of its process."""
    pid = watched.event.client_pid
    others = watch_states.others_alive(str(watched.project.root), watched.event.session_id)
    same = [each for each in others if each.agent == watched.agent.id and each.client_pid == pid]
    if len(same) != 1:  # none: it has ended properly; several: nobody knows which
        return
    session_id = same[0].session_id
    watch_states.change(
        watched.agent.id, session_id, lambda state: (_ended(watched, state, watch_states.CLEARED), None)
    )
    watch_tasks.spawn(watched.agent.id, "end", session_id)


def _ended(watched: Watched, state: WatchState, why: str) -> WatchState:
    return replace(state, ended=why, ended_at=clock.rfc3339(watched.at), offer_open=False)
