"""One event of a live session with all that every answer to it needs: agent, folder, settings, time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from leftoff.config.layers import Config
from leftoff.flows import watch_states
from leftoff.flows.choose import Chosen
from leftoff.flows.pause_homes import PauseHome, of_session
from leftoff.hook import fast
from leftoff.model.hook_event import HookEvent, Saying
from leftoff.model.protocols import Agent
from leftoff.model.watch_state import WatchState
from leftoff.restore import fence
from leftoff.system import clock, liveness, paths
from leftoff.system.paths import Project

Result = TypeVar("Result")
MOST_CHARS = 9900  # that an agent takes from a hook; of more it is shown the beginning


@dataclass(frozen=True, kw_only=True)
class Watched:
    """The event being answered. ``folder`` is where the session runs."""

    agent: Agent
    event: HookEvent
    folder: Path
    config: Config
    at: datetime
    tail: str

    @cached_property
    def project(self) -> Project:
        """The project that the folder belongs to."""
        return paths.project_of(self.folder)

    @cached_property
    def chosen(self) -> Chosen | None:
        """The session's transcript; None where there is none yet."""
        path = Path(self.event.transcript) if self.event.transcript else None
        return Chosen(agent=self.agent, transcript=path) if path is not None and path.is_file() else None

    @property
    def pause(self) -> PauseHome:
        """Where a pause of this session is recorded."""
        return of_session(self.agent.id, self.event.session_id, self.folder)

    @property
    def state(self) -> WatchState:
        """What is remembered, without waiting for anybody."""
        return watch_states.state_of(self.agent.id, self.event.session_id)

    def change(self, step: Callable[[WatchState], tuple[WatchState, Result]]) -> Result:
        """Take a step from what is remembered; facts that every event tells are kept with it."""
        return watch_states.change(
            self.agent.id, self.event.session_id, lambda before: step(self._with_facts(before))
        )

    def update(self, step: Callable[[WatchState], WatchState]) -> None:
        """The same where only the state changes."""
        self.change(lambda before: (step(before), None))

    def look(self) -> tuple[int | None, int, str | None, int] | None:
        """The transcript's end as the fast path sees it: tokens, where they were said, of what, and the size."""
        return fast.look(self.tail, self.event.transcript)

    def _with_facts(self, state: WatchState) -> WatchState:
        pid = self.event.client_pid
        return dataclasses.replace(
            state,
            tail=self.tail,
            transcript=self.event.transcript or state.transcript,
            folder=str(self.folder),
            project=str(self.project.root),
            home=str(self.project.folder.parent)
            if self.project.folder.name == paths.PROJECT_FOLDER
            else None,
            started_at=state.started_at or clock.rfc3339(self.at),
            off=not self.config.settings.enabled,
            is_headless=self.event.is_headless,
            client_pid=pid,
            client_begun=liveness.begun(pid) if pid is not None else None,
            triggers_prefix=self.config.settings.triggers_prefix,
        )

    def with_pending(self, saying: Saying) -> Saying:
        """What can be said at this event, with what earlier ones could not; what nobody hears now is kept for the next."""
        event = self.event
        if event.actor is not None:
            return saying
        unheard = (saying.to_user and not event.hears_user) or (saying.to_agent and not event.hears_agent)
        if not unheard and not self.state.is_due:
            return saying
        return self.change(lambda state: _shared_out(state, saying, event))


def _shared_out(state: WatchState, saying: Saying, event: HookEvent) -> tuple[WatchState, Saying]:
    """All words there are, those to be kept and those to be said now."""
    if saying.blocks:  # a prompt that was for us is answered alone
        return state, saying
    all_told = state.told_later(to_user=saying.to_user, to_agent=saying.to_agent)
    to_user = all_told.to_user if event.hears_user else ()
    to_agent = _that_fit(all_told.to_agent) if event.hears_agent else ()
    kept = dataclasses.replace(
        all_told, to_user=all_told.to_user[len(to_user) :], to_agent=all_told.to_agent[len(to_agent) :]
    )
    return kept, Saying(
        to_user="\n".join(to_user) or None,
        to_agent="\n\n".join(to_agent) or None,
        to_summariser=saying.to_summariser,
    )


def _that_fit(words: tuple[str, ...]) -> tuple[str, ...]:
    """As many as agents take at once, in the units that they count; what comes after waits. One alone is never too long."""
    room = MOST_CHARS + 2
    for number, each in enumerate(words):
        room -= fence.width(each) + 2
        if room < 0 and number:
            return words[:number]
    return words
