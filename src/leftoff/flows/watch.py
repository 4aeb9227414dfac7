"""What happens live: an agent calls at each event of a session, and is answered. The whole path on one screen.

    start               offer what was left off; after a compaction put back what it lost       watch_start
    prompt              typed triggers; the log that the first prompt asks for; warnings        watch_prompt
    tools, stop         the gauge, each threshold once per crossing; the running pause          watch_tools
    before_compaction   end the pause, save the log, tell the summariser what to keep           watch_compaction
    after_compaction    the receipt: what the summary lost, and what was put back               watch_compaction
    end                 end the pause, save the log, note why                                   watch_end

The fast path (``leftoff.hook.fast``) stands before all this and lets through only what needs more than a look at the gauge.
Promises: subagents are recorded and never spoken to; what nobody can hear at one event is kept for the next that reaches
them; no lock is waited for longer than a tenth of a second. Trouble is the caller's: a hook never fails (``cli/hook.py``).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path

from leftoff.errors import StorageError, UsageError
from leftoff.flows import watch_states
from leftoff.flows.agents import agent_called
from leftoff.flows.settings import settings_here
from leftoff.flows.watched import Watched
from leftoff.model.hook_event import NOTHING, EventKind, HookEvent, Saying
from leftoff.model.protocols import HasEvents
from leftoff.model.watch_state import WatchState
from leftoff.system import client_json, clock, locks, paths

LOCK_PATIENCE_SECONDS = 0.1

# Each is imported when its event comes: what a compaction needs, no tool call should load.
ANSWERS: Mapping[EventKind, str] = {
    "start": "leftoff.flows.watch_start:on_start",
    "prompt": "leftoff.flows.watch_prompt:on_prompt",
    "tools": "leftoff.flows.watch_tools:on_tools",
    "stop": "leftoff.flows.watch_tools:on_stop",
    "before_compaction": "leftoff.flows.watch_compaction:before_compaction",
    "after_compaction": "leftoff.flows.watch_compaction:after_compaction",
    "end": "leftoff.flows.watch_end:on_end",
}


def watch(agent_id: str, raw: bytes) -> bytes:
    """Deal with one event; what the hook prints."""
    locks.hurry(LOCK_PATIENCE_SECONDS)
    agent = agent_called(agent_id)
    if not isinstance(agent, HasEvents):
        raise UsageError(f"{agent.name} has no hooks that leftoff understands.")
    said = client_json.told(raw)
    event = agent.event(said) if isinstance(said, dict) else None
    if event is None or event.kind not in ANSWERS:
        return b""
    folder = _folder(event, watch_states.state_of(agent.id, event.session_id))
    watched = Watched(
        agent=agent,
        event=event,
        folder=folder,
        config=settings_here(folder),
        at=clock.now(),
        tail=agent.tail_format,
    )
    if not watched.config.settings.enabled:
        watched.update(lambda state: state)  # so that the fast path knows
        return b""
    return agent.reply(event, watched.with_pending(_answer(event.kind)(watched)))


def _answer(kind: EventKind) -> Callable[[Watched], Saying]:
    module, _, name = ANSWERS[kind].partition(":")
    answer: Callable[[Watched], Saying] = getattr(importlib.import_module(module), name)
    return lambda watched: answer(watched) or NOTHING


def _folder(event: HookEvent, state: WatchState) -> Path:
    """Where the session was begun or resumed; what later events name follows the agent's own steps through folders.

    Where that folder is gone, the event's, else the project's root, else the checkout that its documents are in; where all
    are gone, the name alone: what is saved then goes to the user's own folder.
    """
    begins = event.source in {"startup", "resume"}
    named = event.folder or str(paths.working_folder())
    known = [named] if begins or state.folder is None else [state.folder, named]
    for each in (*known, state.project, state.home):
        if each is not None and (folder := Path(each)).is_absolute() and folder.is_dir():
            return folder
    if Path(named).is_absolute():
        return Path(named)
    raise StorageError(f"{named}: the session's folder is gone.", path=named)
