"""Saving for a live session: its log, its pause as a snapshot, and what must be put back after a compaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from leftoff.config.layers import Config
from leftoff.errors import LeftoffError
from leftoff.flows import watch_projects, watch_states
from leftoff.flows.agents import agent_called
from leftoff.flows.choose import Chosen
from leftoff.flows.extraction import extracted
from leftoff.flows.keep_log import Kept
from leftoff.flows.log_folder import log_folder
from leftoff.flows.pause_finalize import Ending, finalize
from leftoff.flows.pause_homes import of_session
from leftoff.flows.save_log import log_of, save_log_of
from leftoff.flows.sessions import found_sessions, sessions_of
from leftoff.flows.settings import settings_here
from leftoff.model.context_metrics import Level
from leftoff.model.resume_log import ResumeLog
from leftoff.model.session import SessionEntry
from leftoff.model.watch_state import WatchState
from leftoff.restore.choose import CLEARED
from leftoff.restore.profiles import restoration_text
from leftoff.stores import log_files
from leftoff.system import files, own_log, paths

_LAST_SESSIONS = 3  # that are caught up: older ones have been left for good
_LATER_SECONDS = 5.0  # a client writes a little after its last event; that alone is no news
_CAUGHT_UP = "leftoff: session {} ended without a log; it has one now. To go on from it, type {}pickup."


def fold(state: WatchState) -> None:
    """New records into the extraction, so that a compaction finds little left to read."""
    if (chosen := chosen_of(state)) is None:
        return
    size = chosen.transcript.stat().st_size
    extracted(chosen, chosen.open())
    watch_states.change(state.agent, state.session_id, lambda now: (replace(now, folded_bytes=size), None))


def save(state: WatchState) -> None:
    """The log of the session as it stands."""
    if (chosen := chosen_of(state)) is not None:
        save_log_of(chosen, watch_states.folder_of(state), stop_reason="context_threshold")


def end_session(state: WatchState) -> None:
    """End the pause and save the log, each whatever becomes of the other."""
    folder = watch_states.folder_of(state)
    kept = log = None
    if (chosen := chosen_of(state)) is not None:
        ended = CLEARED if state.ended == "clear" else state.ended
        with noted("the log was not saved"):
            if settings_here(folder).settings.resume_logs.enabled:
                kept = save_log_of(chosen, folder, stop_reason="session_end", ended=ended)
                log = kept.log
    with noted("the pause was not finalised"):
        end_pause(state, folder, log, reason=f"session_end: {state.ended or 'unknown'}")
    with noted("the state of the project was not closed"):
        watch_projects.close(state, chosen)


def end_pause(state: WatchState, folder: Path, log: ResumeLog | None, *, reason: str) -> None:
    """The running pause as a snapshot; without one nothing happens."""
    home = of_session(state.agent, state.session_id, folder)
    if not home.file.is_active():
        return
    told = None
    if log is not None:
        told = {
            "mission_summary": log.mission_summary,
            "next_steps": log.next_steps,
            "accomplishments": log.accomplishments,
        }
    metrics = log.context_metrics if log is not None else None
    finalize(home, Ending(reason=reason, session_state=told, metrics=metrics))


def catch_up(state: WatchState) -> None:
    """The logs of the project's last sessions that have none, or an old one; the session that began is told of the newest."""
    folder, words = watch_states.folder_of(state), None
    had_one = {each.session_id for each in log_files.found_in(_logs(folder))}  # and was offered it just now
    for entry in reversed(_left_behind(state, folder)):
        with noted("a session that ended without a log was not caught up"):
            chosen = Chosen(agent=agent_called(entry.agent), transcript=Path(entry.transcript))
            save_log_of(chosen, folder, stop_reason="caught_up")
            if entry.session_id not in had_one:
                words = _CAUGHT_UP.format(entry.session_id[:8], state.triggers_prefix)
    watch_states.change(
        state.agent,
        state.session_id,
        lambda now: (replace(now.told_later(to_user=words), catching_up=False), None),
    )


def save_before_compaction(chosen: Chosen, folder: Path, config: Config) -> tuple[Kept, str]:
    """Save the log, and make the text that will be put back: of the same moment, so that the receipt can count it."""
    kept = save_log_of(chosen, folder, stop_reason="compaction")
    log = kept.log
    if not log.edits:  # told anew for so few characters; what a person edited stands as it is
        session = chosen.open()
        log = log_of(
            chosen,
            session,
            extracted(chosen, session),
            config,
            max_chars=config.settings.restore.max_chars,
            stand_in=folder,
        )
    text = restoration_text(
        log,
        profile="after_compaction",
        max_chars=config.settings.restore.max_chars,
        drift=None,
        path_of_whole=str(kept.markdown_file),
    )
    files.write_file(restoration_file(chosen.agent.id, log.session_id), text.encode("utf-8", "replace"))
    return kept, text


def restoration_file(agent_id: str, session_id: str) -> Path:
    """Where the text stands that is put back after the compaction."""
    return watch_states.restoration_file(agent_id, session_id)


def chosen_of(state: WatchState) -> Chosen | None:
    """The session's transcript; None where there is none."""
    if state.transcript is None or not Path(state.transcript).is_file():
        return None
    return Chosen(agent=agent_called(state.agent), transcript=Path(state.transcript))


def rearmed(state: WatchState) -> WatchState:
    """After a compaction every mark counts again."""
    return replace(
        state,
        said=Level.OK,
        agent_told=False,
        pause_id=None,
        pause_declined=False,
        used_tokens=None,
        project_said=None,
        next_mark_tokens=0,  # the next event looks anew
        rearm_below_tokens=0,
        to_agent=(),  # how little room there was is no longer true
    )


def _left_behind(state: WatchState, folder: Path) -> list[SessionEntry]:
    """Of the last sessions that nobody works in those newer than their log, newest first; a short run may have followed."""
    project = paths.project_of(folder)
    alive = {each.session_id for each in watch_states.others_alive(str(project.root), state.session_id)}
    saved = {each.session_id: each.saved_ns for each in log_files.found_in(_logs(folder))}
    others = (
        entry
        for entry in sessions_of(folder, found_sessions())
        if entry.session_id not in {state.session_id, *alive} and entry.first_prompt
    )
    return [
        entry for entry in islice(others, _LAST_SESSIONS) if _is_behind(entry, saved.get(entry.session_id, 0))
    ]


def _is_behind(entry: SessionEntry, saved_ns: int) -> bool:
    return (entry.modified_at - datetime.fromtimestamp(saved_ns / 1e9, UTC)).total_seconds() > _LATER_SECONDS


def _logs(folder: Path) -> Path:
    settings = settings_here(folder).settings
    return log_folder(paths.project_of(folder), settings.resume_logs.storage_dir)


@contextmanager
def noted(words: str) -> Iterator[None]:
    """Lets no trouble of ours through: it becomes one line in our own log."""
    try:
        yield
    except LeftoffError as error:
        own_log.note(f"{words}: {error}")
