"""Work that no turn waits for, in processes of their own: one at a time per session, at low priority, ending by themselves.

fold       new records into the extraction, so that a compaction finds little left to read
save       the log of a session whose window fills up
end        all that the end of a session wants, when the agent gives its hooks too little time
library    what is new into the library, the finished session into the archive
catch-up   the log of the project's newest session, where that ended without one
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

from leftoff.errors import LockTimeoutError
from leftoff.flows import watch_states
from leftoff.model.watch_state import WatchState
from leftoff.system import locks, process

MOST_SECONDS = 300
# -E -P: a project's own folder called leftoff must never be what runs, whatever PYTHONPATH says.
PROGRAM = ("-E", "-P", "-m", "leftoff", "hook")


class Task(NamedTuple):
    """Where it is, imported by the process that does it; and how long that waits for another one to end."""

    dotted: str
    patience_seconds: float


TASKS: Mapping[str, Task] = {
    "fold": Task("leftoff.flows.watch_saving:fold", 0.0),
    "save": Task("leftoff.flows.watch_saving:save", 60.0),
    "end": Task("leftoff.flows.watch_saving:end_session", 120.0),
    "library": Task("leftoff.flows.library_tend:after_session", 120.0),
    "catch-up": Task("leftoff.flows.watch_saving:catch_up", 0.0),
}


def spawn(agent_id: str, task: str, session_id: str) -> int:
    """Start it; whoever asks for it does not wait. Its process."""
    return process.detach([sys.executable, *PROGRAM, agent_id, task, session_id])


def run(agent_id: str, task: str, session_id: str) -> None:
    """Do it, in the process that was started for it."""
    process.humble(most_seconds=MOST_SECONDS)
    module, _, name = TASKS[task].dotted.partition(":")
    work: Callable[[WatchState], None] = getattr(importlib.import_module(module), name)
    own = watch_states.path_of(agent_id, session_id)
    try:
        with locks.held(watch_states.task_lock(own), timeout_seconds=TASKS[task].patience_seconds):
            work(watch_states.state_of(agent_id, session_id))
    except LockTimeoutError:
        return  # another one is at it
