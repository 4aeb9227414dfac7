"""End a pause: as a snapshot with its archive, or as the archive alone; nothing of it is lost on the way.

Called by command, at SessionEnd, and at a compaction, which ends the wind-down: the next crossing starts a new pause. Stop is
the end of a turn and never ends one (L9).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from leftoff.config.layers import Config
from leftoff.config.settings import Settings
from leftoff.errors import (
    LeftoffError,
    NotFoundError,
    NothingToDoError,
    ProcessError,
    StorageError,
    TranscriptError,
)
from leftoff.flows.agents import agent_called
from leftoff.flows.capture import Capture, capture_here, capture_of
from leftoff.flows.choose import LATEST, Chosen
from leftoff.flows.pause_extraction import extracted_state
from leftoff.flows.pause_homes import PauseHome, sessions_folder
from leftoff.flows.pause_list import pick_running
from leftoff.flows.pause_words import worded
from leftoff.flows.settings import settings_here
from leftoff.flows.status import status, status_of
from leftoff.model.context_metrics import ContextMetrics
from leftoff.model.sources import Ground
from leftoff.model.values import dataclass
from leftoff.pauses.journal import Recorded
from leftoff.pauses.origin import origin_in
from leftoff.pauses.shelf import can_be_kept, latest_in
from leftoff.pauses.snapshot import (
    ARCHIVE_END,
    LATEST_NAME,
    Occasion,
    archive,
    closing,
    documents,
    renamed,
    state_of,
)
from leftoff.pauses.summary import PauseSummary, summarised
from leftoff.system import clock, files, git, ids, paths
from leftoff.system.paths import Project
from leftoff.system.register import Register

Tokens: TypeAlias = tuple[int | None, int | None]  # used, and of how many; None: not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why a pause ends, and what is known about the session then. None: not known; ``commit``: as the settings say.

    Of ``session_state`` (what extraction says) the mission, next steps and accomplishments are used; ``at`` is when the
    pause ended, where that was not just now.
    """

    reason: str | None = None
    message: str | None = None
    session_state: Mapping[str, Any] | None = None
    metrics: ContextMetrics | None = None
    commit: bool | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalized:
    """An ended pause. ``commit`` is the new head where one was made.

    What went wrong after it was kept: ``trouble`` is why git did not commit it, ``warning`` why the register does not know it.
    """

    session_id: str
    files: tuple[Path, ...]
    summary: PauseSummary
    commit: str | None = None
    trouble: str | None = None
    warning: str | None = None

    @property
    def main(self) -> Path:
        """The JSON of a snapshot, or the archive where there is nothing else."""
        return self.files[-1]


def finalize(home: PauseHome, ending: Ending) -> Finalized | None:
    """The running pause as a snapshot; None when none is running. When anything fails it is still running."""
    if not home.file.is_active():
        return None
    config = settings_here(home.project.root)
    capture = capture_of(config.settings)
    # Asked before the lock is taken: git and a long transcript take longer than all the rest.
    ground = _ground(home.project)
    ending = replace(ending, session_state=ending.session_state or extracted_state(home))

    def deliver(recorded: Recorded) -> Finalized:
        tokens = _tokens(home, recorded, ending, config)
        occasion = _occasion(home.project, ending, ground, tokens)
        closed = closing(_own(home, worded(home, recorded, capture), occasion), occasion)
        lines = {closed.session_id + ARCHIVE_END: archive(closed)}
        pages = _pages(closed.session_id, closed, occasion, capture)
        pointer = _pointer(home.project, closed.session_id, ending)
        return _kept(home.project, closed.session_id, closed, occasion, lines | pages | pointer)

    finalized = home.file.finish(deliver)
    return finalized and _committed(finalized, home.project, ending, config.settings)


def archive_only(home: PauseHome, ending: Ending) -> Finalized | None:
    """The running pause as its archive and nothing else; None when none is running."""
    if not home.file.is_active():
        return None
    capture = capture_here(home.project.root)

    def deliver(recorded: Recorded) -> Finalized:
        occasion = _occasion(home.project, ending, Ground(), (None, None))
        closed = closing(_own(home, worded(home, recorded, capture), occasion), occasion)
        lines = {closed.session_id + ARCHIVE_END: archive(closed)}
        return _kept(home.project, closed.session_id, closed, occasion, lines)

    return home.file.finish(deliver)


def finalize_here(words: str | None, working_folder: Path, ending: Ending) -> Finalized:
    """End the running pause that ``words`` name as a snapshot; without words the only one of this project."""
    return _still_there(finalize(pick_running(words, working_folder).home, ending))


def archive_here(words: str | None, working_folder: Path, ending: Ending) -> Finalized:
    """The same, as the archive alone."""
    return _still_there(archive_only(pick_running(words, working_folder).home, ending))


def _still_there(ended: Finalized | None) -> Finalized:
    if ended is None:
        raise NothingToDoError("Another process has just ended that pause. leftoff pause list shows it.")
    return ended


def snapshot(project: Project, ending: Ending) -> Finalized:
    """A snapshot of where the project stands now, without any pause having been recorded."""
    settings = settings_here(project.root).settings
    metrics = ending.metrics or _latest(project)
    tokens = (metrics.used_tokens, metrics.total_budget) if metrics else (None, None)
    occasion = _occasion(project, ending, _ground(project), tokens)
    session_id = ids.timed_id("session", occasion.paused_at)
    nothing = Recorded(lines=(), modified_at=occasion.paused_at)
    pages = _pages(session_id, nothing, occasion, capture_of(settings))
    contents = pages | _pointer(project, session_id, ending)
    finalized = _kept(project, session_id, nothing, occasion, contents)
    return _committed(finalized, project, ending, settings)


def _ground(project: Project) -> Ground:
    return git.ground(project.root) if project.in_git else Ground()


def _latest(project: Project) -> ContextMetrics | None:
    """The gauge of the project's latest session, where there is one that can be read."""
    with suppress(LeftoffError):
        return status(LATEST, project.root).metrics
    return None


def _tokens(home: PauseHome, recorded: Recorded, ending: Ending, config: Config) -> Tokens:
    """Used and total: as the caller knows, else as the session's transcript tells; by hand, the budget that is set."""
    metrics = ending.metrics
    if metrics is None and home.is_of_hooks:
        metrics = _gauge(recorded, config)
    if metrics is not None:
        return metrics.used_tokens, metrics.total_budget
    return None, None if home.is_of_hooks else config.settings.budget_total


def _gauge(recorded: Recorded, config: Config) -> ContextMetrics | None:
    origin = origin_in(recorded.first_data)
    if origin is None or origin.transcript is None:
        return None
    with suppress(TranscriptError, NotFoundError):  # deleted, or of an agent whose plugin is gone
        chosen = Chosen(agent=agent_called(origin.agent), transcript=Path(origin.transcript))
        return status_of(chosen, config, clock.now()).metrics
    return None


def _occasion(project: Project, ending: Ending, ground: Ground, tokens: Tokens) -> Occasion:
    used_tokens, total_tokens = tokens
    return Occasion(
        paused_at=ending.at or clock.now(),
        project=str(project.root),
        ground=ground,
        reason=ending.reason,
        message=ending.message,
        used_tokens=used_tokens,
        total_tokens=total_tokens,
        session_state=ending.session_state,
    )


def _own(home: PauseHome, recorded: Recorded, occasion: Occasion) -> Recorded:
    """The pause under an id that is its own: never that of another's snapshot, and one by which snapshots are found (L13).

    A pause whose snapshot was written before its process died has the same lines, and is written once more.
    """
    if can_be_kept(sessions_folder(home.project), recorded):
        return recorded
    return renamed(recorded, ids.timed_id("session", occasion.paused_at))


def _pages(session_id: str, recorded: Recorded, occasion: Occasion, capture: Capture) -> dict[str, bytes]:
    return documents(capture.clean_object(state_of(session_id, recorded, occasion)), recorded)


def _pointer(project: Project, session_id: str, ending: Ending) -> dict[str, bytes]:
    """The name of the latest snapshot: this one, unless it ended in the past and another has come since."""
    newest = latest_in(sessions_folder(project)) if ending.at else None
    if newest is not None and ending.at is not None and newest.paused_at > ending.at:
        return {}
    return {LATEST_NAME: f"{session_id}\n".encode()}


def _kept(
    project: Project,
    session_id: str,
    recorded: Recorded,
    occasion: Occasion,
    contents: Mapping[str, bytes],
) -> Finalized:
    """Write the set, whole or not at all and in its order, so that the pointer comes last; then note it as ours.

    With the set the pause is kept: a register that cannot be written is told, and undoes nothing.
    """
    paths.make_project_folder(project)
    folder = sessions_folder(project)
    files.write_set(folder, contents)
    written = tuple(folder / name for name in contents if name != LATEST_NAME)
    warning = None
    try:
        Register(folder=paths.data_folder()).note_set(written, session_id, occasion.paused_at)
    except StorageError as error:
        warning = f"The snapshot is kept, but not noted in the register as this machine's: {error.message}"
    return Finalized(
        session_id=session_id,
        files=written,
        summary=summarised(recorded, occasion.paused_at),
        warning=warning,
    )


def _committed(finalized: Finalized, project: Project, ending: Ending, settings: Settings) -> Finalized:
    """The same, committed where that is wanted. The snapshot stands whether git agrees or not."""
    if not (settings.pause.git_commit if ending.commit is None else ending.commit):
        return finalized
    pointer = sessions_folder(project) / LATEST_NAME
    named = [*finalized.files, *([pointer] if pointer.exists() else [])]
    commit = trouble = None
    try:
        commit = git.commit(project.folder.parent, named, f"leftoff: pause {finalized.session_id}")
    except ProcessError as error:
        trouble = error.message
    return replace(finalized, commit=commit, trouble=trouble)
