"""Answer the events that an agent's hooks report during a session. One function answers each kind of event:

    start               offer unfinished work; after a compaction, restore what it lost      live/start.py, compaction.py
    prompt              typed triggers; the log that the first prompt asks for; warnings     live/prompt.py
    tools, stop         check the gauge, warn once per threshold, record the running pause   live/turns.py
    before_compaction   end the pause, save the log, tell the summariser what to keep        live/compaction.py
    end                 end the pause, save the log, note the reason                         live/start.py

The fast path (``leftoff.live.fast``) runs first and passes on only events that need more than a look at the gauge.
Subagents are recorded, never addressed. A message that an event cannot deliver waits for the next event that can. No lock is
waited for longer than a tenth of a second. Errors are left to the caller, which never lets a hook fail (``cli/agent_hook.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from leftoff.agents.registry import agent_by_id
from leftoff.config.settings import MAX_HOOK_CHARS, Settings
from leftoff.core import markdown, wire
from leftoff.core.fast_path import FastPathRules
from leftoff.core.hook_event import NO_RESPONSE, HookEvent, HookResponse
from leftoff.core.protocols import Agent, HasEvents, HasFastPath
from leftoff.errors import StorageError, UsageError
from leftoff.live import fast
from leftoff.platform import clock, locks, paths, process
from leftoff.platform.paths import Project
from leftoff.sessions import live_state
from leftoff.sessions.live_state import LiveState
from leftoff.workspace import SessionRef, Workspace

if TYPE_CHECKING:
    from leftoff.pause.folders import PauseHome

Result = TypeVar("Result")
_PREFIX = "leftoff: "


@locks.limit_waits(fast.LOCK_WAIT_SECONDS)
def handle_event(agent_id: str, raw: bytes) -> bytes:
    """Handle one event and return what the hook prints."""
    agent = agent_by_id(agent_id)
    if not isinstance(agent, HasEvents):
        raise UsageError(f"{agent.name} has no hooks that leftoff understands.")
    parsed = wire.parse_client_json(raw)
    event = agent.event(parsed) if isinstance(parsed, dict) else None
    if event is None or event.kind == "other":
        return b""
    folder = _session_folder(event, live_state.load(agent.id, event.session_id))
    return agent.reply(event, answer(agent, event, folder))


def answer(agent: Agent, event: HookEvent, folder: Path) -> HookResponse:
    """Handle one event of a session that runs in ``folder``."""
    context = EventContext(
        agent=agent,
        event=event,
        workspace=Workspace.open(folder),
        at=clock.now(),
        fast_path=agent.fast_path if isinstance(agent, HasFastPath) else None,
    )
    if not context.settings.enabled:
        context.update(lambda state: state)  # so that the fast path knows
        return NO_RESPONSE
    if event.kind in {"prompt", "tools", "stop"} and context.state.compaction is not None:
        from leftoff.live.compaction import check_losses  # imported when it is needed, as in _respond

        check_losses(context)
    response = context.with_pending(_respond(context))
    return response._replace(to_user=_as_one_message(response.to_user)) if response.to_user else response


def _respond(context: EventContext) -> HookResponse:
    """Let the function for this kind of event answer, imported now: a tool call should not load what a compaction needs."""
    match context.event.kind:
        case "start":
            from leftoff.live.start import on_start as respond
        case "prompt":
            from leftoff.live.prompt import on_prompt as respond
        case "tools":
            from leftoff.live.turns import on_tools as respond
        case "stop":
            from leftoff.live.turns import on_stop as respond
        case "before_compaction":
            from leftoff.live.compaction import before_compaction as respond
        case "end":
            from leftoff.live.start import on_end as respond
        case _:
            return NO_RESPONSE
    return respond(context) or NO_RESPONSE


def _as_one_message(text: str) -> str:
    """Return the lines of one event as one message, which names leftoff once: they come from several places."""
    before, prefix, rest = text.partition(_PREFIX)
    lines = rest.split(f"\n{_PREFIX}")
    return before + prefix + "\n".join([lines[0], *map(_capitalise, lines[1:])])


def _capitalise(line: str) -> str:
    """Begin a sentence with a capital letter; a name, such as that of a file, stays as it is."""
    return line[:1].upper() + line[1:] if line.partition(" ")[0].isalpha() else line


def _session_folder(event: HookEvent, state: LiveState) -> Path:
    """Return the folder in which the session was started or resumed; later events name whatever folder the agent is in.

    If that folder no longer exists: the event's folder, then the project's root, then the checkout with its documents. If none
    exists, the event's folder all the same: what is saved then goes to the user's own folder.
    """
    is_beginning = event.source in {"startup", "resume"}
    current = event.folder or str(paths.working_folder())
    candidates = [current] if is_beginning or state.folder is None else [state.folder, current]
    for candidate in (*candidates, state.project, state.home):
        if candidate is not None and (folder := Path(candidate)).is_absolute() and folder.is_dir():
            return folder
    if Path(current).is_absolute():
        return Path(current)
    raise StorageError(f"{current}: the session's folder is gone.", path=current)


@dataclass(frozen=True, kw_only=True)
class EventContext:
    """The event being answered and everything that answering it needs. ``workspace`` is that of the session's folder."""

    agent: Agent
    event: HookEvent
    workspace: Workspace
    at: datetime
    fast_path: FastPathRules | None

    @property
    def folder(self) -> Path:
        """The folder that the session runs in."""
        return self.workspace.folder

    @property
    def project(self) -> Project:
        """The project that the folder belongs to."""
        return self.workspace.project

    @property
    def settings(self) -> Settings:
        """The settings in force in the folder."""
        return self.workspace.settings

    @cached_property
    def session_ref(self) -> SessionRef | None:
        """The session; None while it has no transcript."""
        path = Path(self.event.transcript) if self.event.transcript else None
        return SessionRef(agent=self.agent, transcript=path) if path is not None and path.is_file() else None

    @cached_property
    def running_sessions(self) -> list[LiveState]:
        """The other sessions that run in the project."""
        return live_state.running_in_project(str(self.project.root), self.event.session_id)

    @property
    def pause(self) -> PauseHome:
        """Where a pause of this session is recorded."""
        from leftoff.pause.folders import session_pause  # few sessions are paused

        return session_pause(self.agent.id, self.event.session_id, self.workspace)

    @property
    def state(self) -> LiveState:
        """What is remembered of the session, read without a lock."""
        return live_state.load(self.agent.id, self.event.session_id)

    def change(self, step: Callable[[LiveState], tuple[LiveState, Result]]) -> Result:
        """Change what is remembered, under its lock, and return the second value of ``step``."""
        return live_state.change(
            self.agent.id, self.event.session_id, lambda before: step(self._with_event_facts(before))
        )

    def update(self, step: Callable[[LiveState], LiveState]) -> None:
        """Change what is remembered, under its lock."""
        self.change(lambda before: (step(before), None))

    def look(self) -> tuple[int | None, int, str | None, int] | None:
        """Read the end of the transcript as the fast path does: tokens, where their line ends, model or window, file size."""
        return fast.look(cast("dict[str, Any]", self.fast_path), self.event.transcript)

    def with_pending(self, response: HookResponse) -> HookResponse:
        """Add the messages that earlier events could not deliver; keep for later what this event cannot deliver."""
        event = self.event
        if event.actor is not None:
            return response
        is_undeliverable = (response.to_user and not event.hears_user) or (
            response.to_agent and not event.hears_agent
        )
        if not is_undeliverable and not self.state.is_due:
            return response
        return self.change(lambda state: _split_messages(state, response, event))

    def _with_event_facts(self, state: LiveState) -> LiveState:
        """Return the state with what every event says about the session and its client."""
        pid = self.event.client_pid
        has_own_documents = self.project.folder.name == paths.PROJECT_FOLDER
        return state._replace(
            tail=self.fast_path.get("format") if self.fast_path else None,
            fast_path=self.fast_path,
            transcript=self.event.transcript or state.transcript,
            folder=str(self.folder),
            project=str(self.project.root),
            home=str(self.project.folder.parent) if has_own_documents else None,
            started_at=state.started_at or clock.format_rfc3339(self.at),
            off=not self.settings.enabled,
            is_headless=self.event.is_headless,
            client_pid=pid,
            client_begun=process.process_start(pid) if pid is not None else None,
            triggers_prefix=self.settings.triggers_prefix,
            hints=self.settings.recall.hint,
        )


def _split_messages(
    state: LiveState, response: HookResponse, event: HookEvent
) -> tuple[LiveState, HookResponse]:
    """Split all waiting messages into those to keep and those to deliver with this event."""
    if response.blocks:  # a prompt that was a command for leftoff is answered alone
        return state, response
    waiting = state.with_messages(to_user=response.to_user, to_agent=response.to_agent)
    to_user = waiting.to_user if event.hears_user else ()
    to_agent = _messages_that_fit(waiting.to_agent) if event.hears_agent else ()
    remaining = waiting._replace(
        to_user=waiting.to_user[len(to_user) :], to_agent=waiting.to_agent[len(to_agent) :]
    )
    return remaining, HookResponse(
        to_user="\n".join(to_user) or None,
        to_agent="\n\n".join(to_agent) or None,
        to_summariser=response.to_summariser,
    )


def _messages_that_fit(messages: tuple[str, ...]) -> tuple[str, ...]:
    """Return as many as an agent takes at once, counted as it counts them, and always at least one."""
    room = MAX_HOOK_CHARS + 2
    for number, message in enumerate(messages):
        room -= markdown.utf16_length(message) + 2
        if room < 0 and number:
            return messages[:number]
    return messages
