"""Pick up where a session left off: what was done and what comes next, the text to continue from, and the agent to start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from leftoff.agents.registry import agent_by_id
from leftoff.core.markdown import is_open_step
from leftoff.core.protocols import CanResume
from leftoff.core.resume_log import ResumeLog, render_decision
from leftoff.core.session_ids import MIN_PREFIX_CHARS
from leftoff.core.wire import JsonObject
from leftoff.errors import LeftoffError, NotFoundError
from leftoff.pause.folders import sessions_folder
from leftoff.pause.snapshot_store import FinishedPause, latest_manual, list_finished
from leftoff.platform import clock, paths, process
from leftoff.platform.register import WRITTEN, Judgement, Register
from leftoff.resume.paused import recorded_actions, snapshot_log, user_messages
from leftoff.resume_logs.drift import drift_since
from leftoff.resume_logs.list_logs import find_log, is_file_of
from leftoff.resume_logs.restore import left_at, logs_to_offer
from leftoff.resume_logs.restore_text import restoration_text
from leftoff.resume_logs.save import save_session_log
from leftoff.sessions.find import LATEST, find_by_id, find_session
from leftoff.shrink import rollover, trim
from leftoff.shrink.advise import advise_if_full
from leftoff.shrink.derive import DerivedSession, copy_to_folder, require_copyable
from leftoff.storage import file_store
from leftoff.storage.file_store import LogFiles
from leftoff.storage.repository import LogRepository
from leftoff.workspace import SessionRef, Workspace

HOWS = ("as-is", "trim", "smart-trim", "rollover")
_NEWER_SECONDS = 5.0  # an agent still writes a little after its last event
_MAX_RECENT = 4
_MAX_KEY_CONTEXT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """Where a session left off. ``command`` starts its agent on it; None where that is not known."""

    session_id: str
    agent: str | None
    folder: Path
    last_session: datetime
    mission: str
    done: int
    open: int
    next_step: str | None
    recent: tuple[str, ...]
    key_context: tuple[str, ...]
    drift: str
    text: str
    log_file: Path
    command: tuple[str, ...] | None
    session: SessionRef | None = None  # None where its transcript is gone
    is_pause: bool = False  # the snapshot of a pause that belongs to no agent's session
    judgement: Judgement = WRITTEN  # of the log or snapshot
    open_steps: tuple[str, ...] = ()  # all of them; ``next_step`` is the first

    @property
    def mark(self) -> str:
        """The line that says that it is not trusted; empty if it is."""
        return self.judgement.mark(self.log_file)

    def to_dict(self) -> JsonObject:
        """Return the JSON form that scripts rely on."""
        return {
            "session_id": self.session_id,
            "agent": self.agent,
            "folder": str(self.folder),
            "last_session": clock.format_rfc3339(self.last_session),
            "mission": self.mission,
            "done": self.done,
            "open": self.open,
            "next_step": self.next_step,
            "drift": self.drift or None,
            "log_file": str(self.log_file),
            "command": None if self.command is None else [*self.command],
            "text": self.text,
            **self.judgement.to_dict(),
        }


def find_resume_point(selector: str, workspace: Workspace) -> ResumePoint:
    """Return where the selected session left off; ``latest`` is what a new session here would be offered.

    The log is saved again if the session continued after the last save; a session without a log gets one. A snapshot of a pause that
    belongs to no agent's session is selected by its id, and is the latest if nothing was done after it.
    """
    repository = LogRepository.open(workspace)
    pause = latest_manual(sessions_folder(workspace.project)) if selector == LATEST else None
    if pause is not None and pause.paused_at > _last_activity(workspace):
        return _describe_pause(pause, workspace)
    try:
        files, ref = _find_current_log(selector, repository)
    except NotFoundError:
        pause = _find_pause(selector, workspace)
        if pause is None:
            raise
        return _describe_pause(pause, workspace)
    path = files.json
    if path is None:
        raise NotFoundError(f"{files.path}: only the text of this log is left. leftoff log show prints it.")
    judgement = repository.register.judge(path)
    log = file_store.parse_log(path, file_store.read_log_file(path))
    drift = None if log.ground is None else drift_since(log.ground, workspace.project.root)
    text = restoration_text(
        log,
        profile="fresh",
        max_chars=workspace.settings.restore.max_chars,
        drift=drift,
        log_path=str(path),
    )
    point = _describe(log, files, ref, workspace.folder, drift=str(drift or ""), text=text)
    return replace(point, judgement=judgement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """How a session is continued: the command, its folder, and the reason."""

    how: str
    command: tuple[str, ...] | None
    folder: Path
    why: str
    derived: DerivedSession | None = None  # None for the session itself

    def to_dict(self) -> JsonObject:
        """Return the JSON form that scripts rely on."""
        return {
            "how": self.how,
            "command": None if self.command is None else [*self.command],
            "folder": str(self.folder),
            "why": self.why,
            "made": None if self.derived is None else self.derived.to_dict(),
        }


def prepare_continuation(
    point: ResumePoint, how: str | None, workspace: Workspace, *, here: bool
) -> Continuation:
    """Prepare the session to continue in; ``how`` None takes the advice. ``here`` copies it into the workspace's folder."""
    if point.is_pause:
        raise LeftoffError(
            f"{point.session_id} is a pause without an agent's session. "
            "Start your agent and give it what this prints: leftoff resume --print"
        )
    if point.session is None:
        raise LeftoffError(f"The transcript of session {point.session_id} is gone: only its log is left.")
    ref, why = point.session, "as you asked"
    if how is None:
        advice = advise_if_full(ref, workspace)
        how, why = advice.how, advice.why
    if how == "as-is" and not here:
        return Continuation(how=how, command=point.command, folder=point.folder, why=why)
    derived = _derive(ref, how, workspace, workspace.folder if here else None)
    if derived.session_id is None:
        return Continuation(
            how="as-is", command=point.command, folder=point.folder, why="there is nothing to trim"
        )
    return Continuation(
        how=how,
        command=derived.resume_command,
        folder=derived.folder or point.folder,
        why=why,
        derived=derived,
    )


def _derive(ref: SessionRef, how: str, workspace: Workspace, folder: Path | None) -> DerivedSession:
    if how == "rollover":  # copies no line, so none can be in the way
        return rollover.roll_over_of(ref, workspace, rollover.RolloverOptions(project=folder, force=True))
    require_copyable(
        ref,
        f"leftoff trim {ref.session_id} --force writes one anyway; leftoff resume --how as-is needs none.",
    )
    if how == "as-is":
        assert folder is not None
        return copy_to_folder(ref, folder, workspace)
    strategy: Literal["trim", "smart-trim"] = "trim" if how == "trim" else "smart-trim"
    options = trim.TrimOptions(strategy=strategy, project=folder, force=True)
    return trim.write_trim(trim.prepare_trim_of(ref, workspace, options))


def start_agent(continuation: Continuation) -> int:
    """Start the agent in this terminal; return its exit code."""
    if continuation.command is None:
        raise LeftoffError("How to start the agent on this session is not known.")
    return process.run_interactive(continuation.command, folder=continuation.folder)


def _find_pause(selector: str, workspace: Workspace) -> FinishedPause | None:
    """Return the snapshot with that id, or the only one whose id begins so, with or without the first word of all ids."""
    starts = (selector, f"session-{selector}") if len(selector) >= MIN_PREFIX_CHARS else ()
    named = [
        pause
        for pause in list_finished(sessions_folder(workspace.project))
        if pause.is_manual and pause.session_id.startswith(starts)
    ]
    return named[0] if len(named) == 1 else None


def _last_activity(workspace: Workspace) -> datetime:
    """Return when anything was last done in this project, by its logs and its newest session."""
    choice = logs_to_offer(workspace)
    times = [each.left_at for each in (*choice.offered, *choice.over)]
    if (ref := _find_session(LATEST, workspace)) is not None:
        times.append(datetime.fromtimestamp(ref.transcript.stat().st_mtime, UTC))
    return max(times, default=datetime.fromtimestamp(0, UTC))


def _describe_pause(pause: FinishedPause, workspace: Workspace) -> ResumePoint:
    """Return a snapshot as a point to resume from."""
    log = snapshot_log(pause)
    drift = None if log.ground is None else drift_since(log.ground, workspace.project.root)
    happened = log.accomplishments or recorded_actions(pause)
    return ResumePoint(
        session_id=pause.session_id,
        agent=None,
        folder=workspace.project.root,
        last_session=pause.paused_at,
        mission=log.mission_summary,
        done=len(log.accomplishments),
        open=len(log.next_steps),
        next_step=next(iter(log.next_steps), None),
        open_steps=tuple(log.next_steps),
        recent=tuple(happened[-_MAX_RECENT:]),
        key_context=tuple(user_messages(pause)[-_MAX_KEY_CONTEXT:]),
        drift=str(drift or ""),
        text=restoration_text(
            log,
            profile="fresh",
            max_chars=workspace.settings.restore.max_chars,
            drift=drift,
            log_path=str(pause.main),
        ),
        log_file=pause.main,
        command=None,
        is_pause=True,
        judgement=Register(folder=paths.data_folder()).judge(pause.files[".json"]),
    )


def _find_current_log(selector: str, repository: LogRepository) -> tuple[LogFiles, SessionRef | None]:
    """Return the selected log, saved again if its session continued, and the session; None where that cannot be read."""
    workspace = repository.workspace
    files = _find_saved_log(selector, repository)
    ref = find_session(selector, workspace) if files is None else _session_of(files, selector, workspace)
    if files is not None and (ref is None or not _is_newer(ref, files)):
        return files, ref
    assert ref is not None
    saved = save_session_log(ref, workspace, stop_reason="manual_pause")
    own_folder = Path(ref.session.project or workspace.folder)
    saved_in = workspace.at(own_folder) if own_folder.is_dir() else workspace
    return find_log(str(saved.markdown_file), LogRepository.open(saved_in))[0], ref


def _is_newer(ref: SessionRef, files: LogFiles) -> bool:
    return ref.transcript.stat().st_mtime - files.saved_ns / 1e9 > _NEWER_SECONDS


def _save_newest_session(workspace: Workspace) -> None:
    """Save the log of the newest session if it is missing or outdated, as after a crash: its work may be the one that is open."""
    ref = _find_session(LATEST, workspace)
    if ref is None:
        return
    saved = file_store.list_log_files(workspace.log_folder)
    own = next((each for each in saved if each.session_id == ref.session_id), None)
    if own is None or _is_newer(ref, own):
        save_session_log(ref, workspace, stop_reason="manual_pause")


def _find_saved_log(selector: str, repository: LogRepository) -> LogFiles | None:
    if selector == LATEST:
        _save_newest_session(repository.workspace)
        choice = logs_to_offer(repository.workspace)
        if trusted := (*choice.offered, *choice.over):  # here the user asks, so a finished session counts too
            return find_log(trusted[0].path, repository)[0]
        if choice.waiting and _find_session(LATEST, repository.workspace) is None:
            return find_log(choice.waiting[0].path, repository)[0]
        return None
    try:
        return find_log(selector, repository)[0]
    except NotFoundError:
        return None


def _session_of(files: LogFiles, selector: str, workspace: Workspace) -> SessionRef | None:
    """Return the session of a log that ``selector`` names; None where its transcript is gone."""
    if selector != LATEST and not is_file_of(selector, files):
        ref = _find_session(selector, workspace)
        if ref is not None and ref.session_id == files.session_id:
            return ref
    return find_by_id(files.session_id, workspace)


def _find_session(selector: str, workspace: Workspace) -> SessionRef | None:
    try:
        return find_session(selector, workspace)
    except NotFoundError:
        return None


def _describe(
    log: ResumeLog, files: LogFiles, ref: SessionRef | None, working_folder: Path, *, drift: str, text: str
) -> ResumePoint:
    project = log.metadata.get("project")
    folder = Path(project) if isinstance(project, str) and Path(project).is_dir() else working_folder
    command = None
    if ref is not None and isinstance(agent := agent_by_id(ref.agent.id), CanResume):
        command = agent.resume_command(log.session_id)
    open_steps = [step for step in log.next_steps if is_open_step(step)]
    decisions = [render_decision(each).removeprefix("- ") for each in log.decisions[-_MAX_KEY_CONTEXT:]]
    return ResumePoint(
        session_id=log.session_id,
        agent=None if ref is None else ref.agent.name,
        folder=folder,
        last_session=left_at(log, datetime.fromtimestamp(files.saved_ns / 1e9, UTC)),
        mission=log.mission_summary,
        done=len(log.accomplishments),
        open=len(open_steps),
        next_step=next(iter(open_steps), None),
        open_steps=tuple(open_steps),
        recent=tuple(log.accomplishments[-_MAX_RECENT:]),
        key_context=tuple([*_texts(log, "pins"), *_texts(log, "user_rules"), *decisions][:_MAX_KEY_CONTEXT]),
        drift=drift,
        text=text,
        log_file=files.path,
        command=command,
        session=ref,
    )


def _texts(log: ResumeLog, key: str) -> list[str]:
    value = log.critical_context.get(key)
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
