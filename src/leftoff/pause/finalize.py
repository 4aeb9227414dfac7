"""End a pause, as a snapshot with its archive or as the archive alone. Nothing is lost if writing fails.

A pause ends by command, at the end of the session, and at a compaction; the next crossing of the threshold starts a new one.
The end of a turn never ends a pause.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from leftoff.agents.registry import agent_by_id
from leftoff.core.metrics import ContextMetrics
from leftoff.core.provenance import Ground
from leftoff.errors import (
    LeftoffError,
    NotFoundError,
    NothingToDoError,
    ProcessError,
    StorageError,
    TranscriptError,
    describe_os_error,
)
from leftoff.pause.folders import PauseHome, add_transcript_texts, sessions_folder
from leftoff.pause.journal import Recording, parse_origin
from leftoff.pause.list_pauses import pick_running
from leftoff.pause.snapshot import (
    ARCHIVE_SUFFIX,
    LATEST_NAME,
    SnapshotContext,
    archive_bytes,
    build_state,
    close_recording,
    rename_recording,
    render_documents,
)
from leftoff.pause.snapshot_store import is_id_free, latest_finished
from leftoff.pause.texts import PauseSummary, summarize
from leftoff.platform import clock, file_sets, files, git, paths
from leftoff.platform.paths import Project
from leftoff.platform.register import Register
from leftoff.sessions.find import LATEST
from leftoff.sessions.status import status, status_of
from leftoff.workspace import Capture, SessionRef, Workspace

Tokens: TypeAlias = tuple[int | None, int | None]  # used and total; None if not known


class Ending(NamedTuple):
    """Why a pause ends, and what the caller knows about the session. None means not known.

    ``session_state`` is extraction's; its mission, next steps and accomplishments are used. ``commit`` is ``None`` to do as the
    settings say. ``at`` is when the pause ended, if that was not just now.
    """

    reason: str | None = None
    message: str | None = None
    session_state: Mapping[str, Any] | None = None
    metrics: ContextMetrics | None = None
    commit: bool | None = None
    at: datetime | None = None


class FinalizedPause(NamedTuple):
    """A pause that has ended. ``commit`` is the new git commit, if one was made.

    ``trouble`` says why git did not commit the files, ``warning`` why they could not be registered. Both happen after the pause
    is safely written.
    """

    session_id: str
    files: tuple[Path, ...]
    summary: PauseSummary
    commit: str | None = None
    trouble: str | None = None
    warning: str | None = None

    @property
    def main(self) -> Path:
        """The JSON file of a snapshot, or the archive if there is nothing else."""
        return self.files[-1]


def end_selected(
    selector: str | None, workspace: Workspace, ending: Ending, *, with_snapshot: bool = True
) -> FinalizedPause:
    """End the running pause that ``selector`` names; None selects the only one of this project."""
    home = pick_running(selector, workspace).home
    ended = finalize(home, ending) if with_snapshot else archive_only(home, ending)
    if ended is None:
        raise NothingToDoError("Another process has just ended that pause. leftoff pause list shows it.")
    return ended


def finalize(home: PauseHome, ending: Ending) -> FinalizedPause | None:
    """End the running pause as a snapshot; None if none is running. If anything fails, it is still running."""
    if not home.file.is_active():
        return None
    project, capture = home.project, home.workspace.capture
    # Before the lock is taken: git and a long transcript take longer than everything else.
    ground = _read_ground(project)
    ending = ending._replace(session_state=ending.session_state or _extract_state(home))

    def deliver(recorded: Recording) -> FinalizedPause:
        context = _build_context(project, ending, ground, _tokens(home, recorded, ending))
        closed = _close(home, recorded, context)
        archive = {closed.session_id + ARCHIVE_SUFFIX: archive_bytes(closed)}
        documents = _documents(closed, context, capture)
        pointer = _pointer(project, closed.session_id, ending)
        return _write_files(project, closed, context, archive | documents | pointer)

    finalized = home.file.finish(deliver)
    return finalized and _commit(finalized, home.workspace, ending)


def archive_only(home: PauseHome, ending: Ending) -> FinalizedPause | None:
    """End the running pause as its archive, without a snapshot; None if none is running."""
    if not home.file.is_active():
        return None

    def deliver(recorded: Recording) -> FinalizedPause:
        context = _build_context(home.project, ending, Ground(), (None, None))
        closed = _close(home, recorded, context)
        archive = {closed.session_id + ARCHIVE_SUFFIX: archive_bytes(closed)}
        return _write_files(home.project, closed, context, archive)

    return home.file.finish(deliver)


def snapshot_without_pause(workspace: Workspace, ending: Ending) -> FinalizedPause:
    """Write a snapshot of the project as it is now, although no pause was recorded."""
    project, metrics = workspace.project, ending.metrics
    if metrics is None:
        with suppress(LeftoffError):  # no session, or none that can be read
            metrics = status(LATEST, workspace).metrics
    tokens = (metrics.used_tokens, metrics.total_budget) if metrics else (None, None)
    context = _build_context(project, ending, _read_ground(project), tokens)
    session_id = clock.timed_id("session", context.paused_at)
    empty = Recording(lines=(), modified_at=context.paused_at, fallback_id=session_id)
    documents = _documents(empty, context, workspace.capture)
    contents = documents | _pointer(project, session_id, ending)
    return _commit(_write_files(project, empty, context, contents), workspace, ending)


def copy_snapshot(finalized: FinalizedPause, target: Path) -> Path:
    """Copy the main file to ``target`` and return where it is; in a folder it keeps its own name."""
    path = target / finalized.main.name if target.is_dir() else target
    try:
        data = finalized.main.read_bytes()
    except OSError as error:
        raise StorageError(f"{finalized.main}: cannot be read: {describe_os_error(error)}.") from error
    files.write_file(path, data)
    return path


def _read_ground(project: Project) -> Ground:
    return git.read_ground(project.root) if project.in_git else Ground()


def _extract_state(home: PauseHome) -> Mapping[str, Any] | None:
    """Return the session state by extraction; None without a session, or if its transcript cannot be read."""
    recorded = home.file.read()
    session = _session_of(home, recorded) if recorded is not None else None
    if session is None:
        return None
    # Extraction is slow to load; hooks start pauses far more often than they end them.
    from leftoff.extraction import render  # noqa: PLC0415
    from leftoff.sessions.facts import extract_facts  # noqa: PLC0415

    with suppress(LeftoffError):
        return render(extract_facts(session, home.workspace))
    return None


def _session_of(home: PauseHome, recorded: Recording) -> SessionRef | None:
    """Return the session of a hook's pause; None for a manual pause, and if the agent's plugin is gone."""
    origin = parse_origin(recorded.first_data) if home.from_hook else None
    if origin is None or origin.transcript is None:
        return None
    with suppress(NotFoundError):
        return SessionRef(agent=agent_by_id(origin.agent), transcript=Path(origin.transcript))
    return None


def _tokens(home: PauseHome, recorded: Recording, ending: Ending) -> Tokens:
    """Return used and total tokens: the caller's, else the transcript's; for a manual pause the configured budget."""
    metrics, session = ending.metrics, _session_of(home, recorded)
    if metrics is None and session is not None:
        with suppress(TranscriptError, NotFoundError):  # the transcript was deleted
            metrics = status_of(session, home.workspace).metrics
    if metrics is not None:
        return metrics.used_tokens, metrics.total_budget
    return None, None if home.from_hook else home.workspace.settings.budget_total


def _build_context(project: Project, ending: Ending, ground: Ground, tokens: Tokens) -> SnapshotContext:
    used_tokens, total_tokens = tokens
    return SnapshotContext(
        paused_at=ending.at or clock.now(),
        project=str(project.root),
        ground=ground,
        reason=ending.reason,
        message=ending.message,
        used_tokens=used_tokens,
        total_tokens=total_tokens,
        session_state=ending.session_state,
    )


def _close(home: PauseHome, recorded: Recording, context: SnapshotContext) -> Recording:
    """Return the pause with its texts and its last action, under an id that no other snapshot has.

    If a process died after it had written the snapshot, the lines are the same and the snapshot is written again.
    """
    complete = add_transcript_texts(home, recorded, home.workspace.capture)
    if not is_id_free(home.sessions, complete):
        complete = rename_recording(complete, clock.timed_id("session", context.paused_at))
    return close_recording(complete, context)


def _documents(recorded: Recording, context: SnapshotContext, capture: Capture) -> dict[str, bytes]:
    return render_documents(capture.clean_object(build_state(recorded, context)), recorded)


def _pointer(project: Project, session_id: str, ending: Ending) -> dict[str, bytes]:
    """Return the file that names the latest snapshot: this one, unless it ended before the one named there."""
    newest = latest_finished(sessions_folder(project)) if ending.at else None
    if newest is not None and ending.at is not None and newest.paused_at > ending.at:
        return {}
    return {LATEST_NAME: f"{session_id}\n".encode()}


def _write_files(
    project: Project, recorded: Recording, context: SnapshotContext, contents: Mapping[str, bytes]
) -> FinalizedPause:
    """Write the files as one set, in order, so that the pointer comes last; then register them as this machine's.

    Once the set is written the pause is safe: a register that cannot be written is only reported.
    """
    paths.make_project_folder(project)
    folder = sessions_folder(project)
    file_sets.write_set(folder, contents)
    written = tuple(folder / name for name in contents if name != LATEST_NAME)
    warning = None
    try:
        register = Register(folder=paths.data_folder())
        register.note_set(written, recorded.session_id, context.paused_at)
    except StorageError as error:
        warning = f"The snapshot is kept, but not noted in the register as this machine's: {error.message}"
    return FinalizedPause(
        session_id=recorded.session_id,
        files=written,
        summary=summarize(recorded, context.paused_at),
        warning=warning,
    )


def _commit(finalized: FinalizedPause, workspace: Workspace, ending: Ending) -> FinalizedPause:
    """Commit the files if that is wanted. If git refuses, the snapshot is kept and the result says why."""
    if not (workspace.settings.pause.git_commit if ending.commit is None else ending.commit):
        return finalized
    project = workspace.project
    pointer = sessions_folder(project) / LATEST_NAME
    named = [*finalized.files, *([pointer] if pointer.exists() else [])]
    commit = trouble = None
    try:
        commit = git.commit(project.folder.parent, named, f"leftoff: pause {finalized.session_id}")
    except ProcessError as error:
        trouble = error.message
    return finalized._replace(commit=commit, trouble=trouble)
