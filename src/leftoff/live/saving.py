"""Save a live session's log and pause, in its hook or in a background process that no turn waits for.

Background tasks run one at a time per session, at low priority and for a limited time:

    first-turn what the first turn is the occasion for: find out the window, close the offer of a log
    fold       extract what is new in the transcript, so that a compaction finds little left to read
    save       save the log of a session whose window fills up
    end        everything due at the end of a session, while the user is gone: log, pause, project, then index and archive
    catch-up   the same for sessions of the project whose end was not saved, logs of those that were killed, and housekeeping
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leftoff.agents.registry import agent_by_id
from leftoff.core.hook_event import HookEvent
from leftoff.core.metrics import Level
from leftoff.core.protocols import HasEvents
from leftoff.core.session_ids import short_id
from leftoff.errors import LeftoffError, LockTimeoutError, UsageError
from leftoff.live import fast
from leftoff.platform import clock, files, locks, process
from leftoff.platform.log import write_line
from leftoff.sessions import live_state
from leftoff.sessions.live_state import LiveState, restoration_file
from leftoff.workspace import SessionRef, Workspace

if TYPE_CHECKING:
    from leftoff.core.resume_log import ResumeLog
    from leftoff.core.session import SessionEntry
    from leftoff.resume_logs.save import SavedLog

# -E -P: a folder called leftoff in the project must never run instead, whatever PYTHONPATH says.
PROGRAM = ("-E", "-P", "-m", "leftoff", "hook")
# How long each task waits for another one of the same session to end.
TASKS: Mapping[str, float] = {"first-turn": 60.0, "fold": 0.0, "save": 60.0, "end": 120.0, "catch-up": 0.0}
_CATCH_UP_SECONDS = 3.0
_POLL_SECONDS = 0.05
_LAST_SESSIONS = 3  # that are caught up: older ones have been abandoned
_BRIEF_PERCENT = 40  # of the room for what is handed over around a compaction
_LAG_SECONDS = 5.0  # a client writes a little after its last event; that alone does not make a log outdated


def start_task(agent_id: str, task: str, session_id: str) -> int:
    """Start a background task and return the id of its process."""
    return process.start_detached([sys.executable, *PROGRAM, agent_id, task, session_id])


def run_task(agent_id: str, task: str, session_id: str) -> None:
    """Run a background task, in the process that was started for it; not if another one is still running."""
    _run_alone(agent_id, session_id, _task_function(task), wait_seconds=TASKS[task])
    if task == "end":
        from leftoff.search.update_index import after_session  # the other tasks need no index

        after_session(live_state.load(agent_id, session_id))


def _run_alone(
    agent_id: str, session_id: str, work: Callable[[LiveState], object], *, wait_seconds: float
) -> None:
    """Work for a session as soon as no other task does; not at all if that takes too long."""
    lock = live_state.task_lock(live_state.path_of(agent_id, session_id))
    try:
        with locks.hold(lock, timeout_seconds=wait_seconds):
            work(live_state.load(agent_id, session_id))
    except LockTimeoutError:
        return


def _task_function(task: str) -> Callable[[LiveState], object]:
    match task:
        case "first-turn":
            return after_first_turn
        case "fold":
            return fold
        case "save":
            return save
        case "end":
            return end_session
        case "catch-up":
            return catch_up
        case _:
            raise UsageError(f"{task}: there is no such task.")


def after_first_turn(state: LiveState) -> None:
    """Do what is due after any turn; what there is to say waits for the next event."""
    from leftoff.live import events

    event = HookEvent(
        kind="stop",
        name="",
        session_id=state.session_id,
        transcript=state.transcript,
        folder=state.folder,
        is_headless=state.is_headless,
        client_pid=state.client_pid,
    )
    events.answer(agent_by_id(state.agent), event, live_state.folder_of(state))


def fold(state: LiveState) -> None:
    """Extract what is new in the transcript."""
    from leftoff.sessions.facts import extract_facts

    if (ref := session_ref(state)) is None:
        return
    size = ref.transcript.stat().st_size
    extract_facts(ref, Workspace.open(live_state.folder_of(state)))
    live_state.change(state.agent, state.session_id, lambda now: (now._replace(folded_bytes=size), None))


def save(state: LiveState) -> None:
    """Save the log of the session as it is now."""
    from leftoff.resume_logs.save import save_session_log

    if (ref := session_ref(state)) is not None:
        save_session_log(ref, Workspace.open(live_state.folder_of(state)), stop_reason="context_threshold")


def end_session(state: LiveState) -> None:
    """Do what is due at the end of a session; not if it was resumed meanwhile. What fails is due again at the next session."""
    state = note_end(state)
    if state.ended is not None and _save_at_end(state):
        live_state.end_note(state.agent, state.session_id).unlink(missing_ok=True)


def note_end(state: LiveState) -> LiveState:
    """Return the session's state with the end that the fast path has noted, and remember it."""
    note = live_state.end_note(state.agent, state.session_id)

    def step(now: LiveState) -> tuple[LiveState, LiveState]:
        content = files.read_if_exists(note)
        if content is None or now.ended is not None:
            return now, now
        after = as_ended(now, _reason(state.agent, content), clock.now())
        return after, after

    return live_state.change(state.agent, state.session_id, step)


def _reason(agent_id: str, content: bytes) -> str | None:
    agent, events = agent_by_id(agent_id), fast.objects(content)
    event = agent.event(events[-1]) if events and isinstance(agent, HasEvents) else None
    return event.reason if event is not None else None


def as_ended(state: LiveState, reason: str | None, at: datetime) -> LiveState:
    """Return the state of a session that has ended."""
    return state._replace(ended=reason or "unknown", ended_at=clock.format_rfc3339(at), offer_open=False)


def as_begun(state: LiveState) -> LiveState:
    """Return the state of a session that begins or is resumed: what was due at its last end waits for the next one."""
    live_state.end_note(state.agent, state.session_id).unlink(missing_ok=True)
    return state._replace(ended=None, offered=())


def _save_at_end(state: LiveState) -> bool:
    """Save the log, end the pause and close the project's entry, each even if another fails; return whether none did."""
    from leftoff.core.open_work import CLEARED
    from leftoff.resume_logs.save import save_session_log

    workspace = Workspace.open(live_state.folder_of(state))
    log, errors = None, list[LeftoffError]()
    if (ref := session_ref(state)) is not None and workspace.settings.resume_logs.enabled:
        ended = CLEARED if state.ended == "clear" else state.ended
        with log_errors("the log was not saved", errors):
            log = save_session_log(ref, workspace, stop_reason="session_end", ended=ended).log
    with log_errors("the pause was not finalised", errors):
        end_pause(state, workspace, log, reason=f"session_end: {state.ended or 'unknown'}")
    if ref is not None and state.project_state is not None:
        from leftoff.live import project_events  # few sessions work on a project

        with log_errors("the state of the project was not closed", errors):
            project_events.close(state, ref, workspace)
    return not errors


def end_pause(state: LiveState, workspace: Workspace, log: ResumeLog | None, *, reason: str) -> None:
    """Turn the running pause, if there is one, into a snapshot with the main points of the log."""
    from leftoff.pause.folders import session_pause

    home = session_pause(state.agent, state.session_id, workspace)
    if not home.file.is_active():
        return
    from leftoff.pause.finalize import Ending, finalize

    if log is None:
        finalize(home, Ending(reason=reason))
        return
    session_state = {
        "mission_summary": log.mission_summary,
        "next_steps": log.next_steps,
        "accomplishments": log.accomplishments,
    }
    finalize(home, Ending(reason=reason, session_state=session_state, metrics=log.context_metrics))


def catch_up(state: LiveState) -> None:
    """Do for a session that has begun what its user does not wait for: look at the projects' documents, save logs that are missing.

    Of the project's last sessions those are saved whose logs are missing or outdated; this session is told about a new log.
    """
    from leftoff.live import project_events
    from leftoff.storage import file_store

    workspace, saved_log = Workspace.open(live_state.folder_of(state)), None
    project_events.begin_in_background(state, workspace)  # before the agent changes any document
    # Sessions that had a log were offered to the user when this session began.
    had_log = {each.session_id for each in file_store.list_log_files(workspace.log_folder)}
    for ended in live_state.with_end_note():
        # A worktree may be gone by now.
        is_here = (ended.home or ended.project) == (state.home or state.project)
        if is_here and ended.session_id != state.session_id:
            with log_errors("the end of a session was not saved"):
                _run_alone(ended.agent, ended.session_id, end_session, wait_seconds=TASKS["end"])
            if ended.session_id not in had_log:
                saved_log = _better(_open_log(ended.session_id, workspace), saved_log)
    for entry in reversed(_sessions_behind(state, workspace)):
        from leftoff.core.open_work import is_begun, is_open
        from leftoff.resume_logs.save import save_session_log  # loads all of extraction

        with log_errors("a session that ended without a log was not caught up"):
            ref = SessionRef(agent=agent_by_id(entry.agent), transcript=Path(entry.transcript))
            saved = save_session_log(ref, workspace, stop_reason="caught_up")
            if entry.session_id not in had_log and is_open(saved.log):
                new = _LogFile(entry.session_id, str(saved.json_file), is_begun=is_begun(saved.log))
                saved_log = _better(new, saved_log)
    live_state.change(state.agent, state.session_id, lambda now: (_with_invitation(now, saved_log), None))
    _keep_house(workspace)
    _adapt_hooks(state, workspace)


class _LogFile(NamedTuple):
    session_id: str
    path: str
    is_begun: bool


def _better(new: _LogFile | None, known: _LogFile | None) -> _LogFile | None:
    """Return the one to name to the user: the new one, unless it is only a prompt without a reply and the other is work."""
    if new is None or (known is not None and known.is_begun and not new.is_begun):
        return known
    return new


def wait_for_catch_up(agent_id: str, session_id: str) -> None:
    """Wait a little for the log of a session that was killed, which is being saved in the background."""
    deadline = time.monotonic() + _CATCH_UP_SECONDS
    while live_state.load(agent_id, session_id).catching_up and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)


def _open_log(session_id: str, workspace: Workspace) -> _LogFile | None:
    from leftoff.core.open_work import is_begun, is_open
    from leftoff.storage import file_store

    for each in file_store.list_log_files(workspace.log_folder):
        if each.session_id == session_id and each.json is not None:
            begun = True
            with suppress(LeftoffError):  # when in doubt, work is open
                log = each.log()
                if not is_open(log):
                    return None
                begun = is_begun(log)
            return _LogFile(session_id, str(each.json), begun)
    return None


def _with_invitation(state: LiveState, saved: _LogFile | None) -> LiveState:
    """Return the state after the catch-up: the user is notified of a log that was saved only now."""
    state = state._replace(catching_up=False)
    if saved is None:
        return state
    state = state._replace(offered=(*state.offered, saved.path))
    return state.with_messages(to_user=caught_up_message(saved.session_id, saved.path, state))


def _keep_house(workspace: Workspace) -> None:
    """Do what a new session is the occasion for: renew the fast path, send logs that wait, delete old states."""
    from leftoff.live import installed
    from leftoff.storage.outbox import start_sending

    with log_errors("the fast path of an older leftoff stays in use"):
        if installed.is_fast_path_outdated():
            installed.write_fast_path()
            installed.renew_plugins()
    with log_errors("logs that wait to be sent were not sent"):
        start_sending(workspace.settings)
    live_state.delete_old(clock.now())


def _adapt_hooks(state: LiveState, workspace: Workspace) -> None:
    """Fit the installed hooks to the agent's version, which may have changed since the last session."""
    from leftoff.live import install  # only a new session looks

    with log_errors("the installed hooks were not fitted to the agent's version"):
        message = install.adapt(state.agent, workspace)
        if message is not None:
            live_state.change(
                state.agent, state.session_id, lambda now: (now.with_messages(to_user=message), None)
            )


def caught_up_message(session_id: str, path: str, state: LiveState) -> str:
    """Return what tells the user of a session that it can continue another one, whose log was missing when it began.

    Where another log was offered by then, "continue" means that one.
    """
    number = state.offered.index(path) + 1 if path in state.offered else 1
    pickup = f"{state.triggers_prefix}pickup"
    how = f'Say "continue" or type {pickup}' if number == 1 else f"Type {pickup} {number}"
    return (
        f"leftoff: session {short_id(session_id)} ended without a log; it has one now. {how} to continue it."
    )


def _sessions_behind(state: LiveState, workspace: Workspace) -> list[SessionEntry]:
    """Return which of the last sessions that nothing runs in are newer than their log, newest first."""
    from leftoff.sessions.listing import entries_of_project, list_transcripts
    from leftoff.storage import file_store

    running = live_state.running_in_project(str(workspace.project.root), state.session_id)
    excluded = {state.session_id, *(each.session_id for each in running)}
    saved_ns = {each.session_id: each.saved_ns for each in file_store.list_log_files(workspace.log_folder)}
    ended = (
        entry
        for entry in entries_of_project(workspace.folder, list_transcripts())
        if entry.session_id not in excluded and entry.first_prompt
    )
    return [
        entry
        for entry in islice(ended, _LAST_SESSIONS)
        if (
            entry.modified_at - datetime.fromtimestamp(saved_ns.get(entry.session_id, 0) / 1e9, UTC)
        ).total_seconds()
        > _LAG_SECONDS
    ]


def save_before_compaction(ref: SessionRef, workspace: Workspace, of_project: str | None = None) -> SavedLog:
    """Save the log and write the text that is handed over right after the compaction.

    That text is brief: the summary, which is not written yet, will hold most. ``of_project``, the manifest of the session's
    project, ends it.
    """
    from leftoff.resume_logs.restore_text import brief_text
    from leftoff.resume_logs.save import save_session_log

    saved = save_session_log(ref, workspace, stop_reason="compaction")
    room = workspace.settings.restore.max_chars * _BRIEF_PERCENT // 100
    text = brief_text(saved.log, max_chars=room, log_path=str(saved.markdown_file))
    content = "\n\n".join(filter(None, [text, of_project]))
    path = restoration_file(ref.agent.id, saved.log.session_id)
    files.write_file(path, content.encode("utf-8", "replace"), sync=False)  # of use only while the agent runs
    return saved


def session_ref(state: LiveState) -> SessionRef | None:
    """Return the session that a state describes; None if it has no transcript."""
    if state.transcript is None or not Path(state.transcript).is_file():
        return None
    return SessionRef(agent=agent_by_id(state.agent), transcript=Path(state.transcript))


def rearm(state: LiveState) -> LiveState:
    """Return the state after a compaction: every threshold may be announced again."""
    return state._replace(
        said=Level.OK,
        agent_told=False,
        pause_id=None,
        pause_declined=False,
        used_tokens=None,
        project_said=None,
        next_mark_tokens=0,  # the next event measures again
        rearm_below_tokens=0,
        to_agent=(),  # warnings about a full window no longer hold
    )


@contextmanager
def log_errors(message: str, errors: list[LeftoffError] | None = None) -> Iterator[None]:
    """Turn our own errors into one line of leftoff's log, so that the rest of the work is done; add them to ``errors``."""
    try:
        yield
    except LeftoffError as error:
        write_line(f"{message}: {error}")
        if errors is not None:
            errors.append(error)
