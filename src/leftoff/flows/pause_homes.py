"""Where pauses are: one driven by hand in its project, those of hooks per agent session in the user's state folder.

Two sessions in one project never meet, and file watchers see nothing of the hooks' pauses until one is finished.
"""

from __future__ import annotations

import hashlib
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

from leftoff.errors import LeftoffError, StorageError
from leftoff.flows.choose import choose
from leftoff.model.values import dataclass
from leftoff.pauses.journal import ACTIVE_NAME, PauseFile, Recorded
from leftoff.pauses.origin import Origin, origin_in
from leftoff.pauses.summary import PauseSummary, summarised
from leftoff.system import ids, liveness, paths, reasons
from leftoff.system.paths import Project

SESSIONS = "sessions"
PAUSES = "pauses"
_END = ".jsonl"
_QUIET = timedelta(
    hours=1
)  # where nobody knows the process, a pause untouched for so long counts as left behind

Standing = Literal["running", "orphaned", "unreadable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseHome:
    """Where a pause is recorded, and the project whose folder takes its snapshot."""

    file: PauseFile
    project: Project

    @property
    def is_of_hooks(self) -> bool:
        """Whether this machine's hooks recorded it; one in a project's folder may have come with a clone."""
        return self.file.path.parent == _pauses_folder()

    @property
    def sessions(self) -> Path:
        """The folder of finished pauses."""
        return sessions_folder(self.project)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A pause that has not ended. ``orphaned``: the process that recorded it has; ``origin`` is None for one driven by hand.

    ``trouble`` is why its file cannot be read (``unreadable``); it then has no actions, and can only be discarded.
    """

    home: PauseHome
    recorded: Recorded
    summary: PauseSummary
    origin: Origin | None
    standing: Standing
    trouble: str | None = None


def hand_driven(working_folder: Path) -> PauseHome:
    """The pause of the library and the command line: one per project."""
    project = paths.project_of(working_folder)
    return PauseHome(file=PauseFile.at(sessions_folder(project) / ACTIVE_NAME), project=project)


def of_session(agent_id: str, session_id: str, working_folder: Path) -> PauseHome:
    """The pause of one session of an agent, as its hooks record it."""
    name = f"{ids.checked(agent_id, what='agent id')}-{ids.checked(session_id)}{_END}"
    return PauseHome(file=PauseFile.at(_pauses_folder() / name), project=paths.project_of(working_folder))


def sessions_folder(project: Project) -> Path:
    """Where the finished pauses of a project are; refused where a link leads out of its folder."""
    return paths.contained(project.folder, project.folder / SESSIONS)


def running_everywhere(working_folder: Path, at: datetime) -> list[Running]:
    """Every pause that has not ended: that of this project, and those of hooks in any. One that is bad hides no other."""
    of_hooks, home = _pause_paths(), hand_driven(working_folder)
    looks = [(home, _look(home.file))]
    for path in of_hooks:
        look = _look(PauseFile.at(path))
        looks.append((_home_of(path, look.recorded, working_folder), look))
    return [_running(home, look, at) for home, look in looks if look.recorded is not None]


def running_here(working_folder: Path, at: datetime) -> list[Running]:
    """The pauses of this project that have not ended, the one last written to first."""
    root = paths.project_of(working_folder).root
    found = [each for each in running_everywhere(working_folder, at) if each.home.project.root == root]
    return sorted(found, key=lambda each: each.recorded.modified_at, reverse=True)


class _Look(NamedTuple):
    """What a pause's file holds, None where there is none; ``trouble``: why it could not be read."""

    recorded: Recorded | None
    trouble: str | None


def _look(file: PauseFile) -> _Look:
    """Not being allowed to look at all is an error: it must not look like "none"."""
    try:
        return _Look(file.read(), None)
    except StorageError as error:
        at = file.modified_at()
        return _Look(None if at is None else Recorded(lines=(), modified_at=at), error.message)


def _pauses_folder() -> Path:
    return paths.state_folder() / PAUSES


def _pause_paths() -> list[Path]:
    folder = _pauses_folder()
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == _END and path.name[0] != ".")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"{folder}: cannot be read: {reasons.words(error)}.", path=folder) from error


def _home_of(path: Path, recorded: Recorded | None, working_folder: Path) -> PauseHome:
    """The home of a hook's pause: its first line names the project; without it the session of that id, else we are there."""
    origin = origin_in(recorded.first_data) if recorded else None
    folder = origin.project if origin else _project_by_id(path, working_folder)
    project = _project_at(folder) if folder else paths.project_of(working_folder)
    return PauseHome(file=PauseFile.at(path), project=project)


def _project_at(folder: str) -> Project:
    """The project that a session ran in; where its folder is gone, its documents go to the user's own, and nothing is made."""
    root = Path(folder)
    if root.is_absolute() and root.is_dir():
        return paths.project_of(root)
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    return Project(root=root, folder=paths.data_folder() / "no-project" / digest, in_git=False)


def _project_by_id(path: Path, working_folder: Path) -> str | None:
    session_id = path.stem.partition("-")[2]
    try:
        return choose(session_id, working_folder).open().project
    except LeftoffError:
        return None


def _running(home: PauseHome, look: _Look, at: datetime) -> Running:
    recorded = look.recorded
    assert recorded is not None
    origin = origin_in(recorded.first_data)
    standing: Standing = "orphaned" if _is_orphaned(recorded, origin, at) else "running"
    return Running(
        home=home,
        recorded=recorded,
        summary=summarised(recorded, at),
        origin=origin,
        standing="unreadable" if look.trouble else standing,
        trouble=look.trouble,
    )


def _is_orphaned(recorded: Recorded, origin: Origin | None, at: datetime) -> bool:
    """Whether the process that recorded last has died; where nobody knows it, whether nothing was touched for an hour."""
    named = next(filter(None, (action.data.get("process") for action in reversed(recorded.actions))), None)
    match named:
        case {"pid": int(pid), "begun": str() | None as begun}:
            return not liveness.is_alive(pid, begun)
        case _:
            last = max(recorded.modified_at.timestamp(), _transcript_time(origin))
            return at.timestamp() - last > _QUIET.total_seconds()


def _transcript_time(origin: Origin | None) -> float:
    """When the agent last wrote; 0 where its transcript is gone, and nobody works in it any more."""
    if origin is None or origin.transcript is None:
        return 0.0
    try:
        return Path(origin.transcript).stat().st_mtime
    except (OSError, ValueError):
        return 0.0
