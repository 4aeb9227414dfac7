"""Where pauses are kept, which of them are running, and the texts that a hook's pause gets from its transcript.

A pause started by hand is in its project's folder; hooks record one per agent session in the user's state folder, so that two
sessions in one project never share a file and file watchers see nothing until a pause is finished.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from leftoff.agents.registry import agent_by_id
from leftoff.core.protocols import Agent
from leftoff.core.records import Place, Record
from leftoff.errors import LeftoffError, NotFoundError, StorageError, TranscriptError, describe_os_error
from leftoff.pause.journal import (
    ACTION_TYPES,
    ACTIVE_NAME,
    Line,
    Origin,
    PauseAction,
    PauseFile,
    Recording,
    parse_origin,
)
from leftoff.platform import clock, paths, process
from leftoff.platform.files import open_regular_file
from leftoff.platform.paths import Project
from leftoff.workspace import Capture, Workspace

if TYPE_CHECKING:
    from leftoff.pause.texts import PauseSummary

SESSIONS = "sessions"
PAUSES = "pauses"
_SUFFIX = ".jsonl"
# If the recording process is not known, a pause untouched for this long counts as orphaned.
_ORPHANED_AFTER = timedelta(hours=1)
RunningStatus = Literal["running", "orphaned", "unreadable"]
_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class PauseHome:
    """Where a pause is recorded, and the project whose folder gets its snapshot.

    ``opened_from`` is the workspace of the command; a hook's pause may belong to another project.
    """

    file: PauseFile
    project: Project
    opened_from: Workspace

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace of the pause's project. Loaded on first use: broken settings must not hide a pause."""
        if self.project == self.opened_from.project:
            return self.opened_from
        return replace(Workspace.open(self.project.root), project=self.project)

    @property
    def from_hook(self) -> bool:
        """Whether hooks on this machine recorded it. A pause in a project's folder may have come with a clone."""
        return self.file.path.parent == _hook_pauses_folder()

    @property
    def sessions(self) -> Path:
        """The folder of finished pauses."""
        return sessions_folder(self.project)


class RunningPause(NamedTuple):
    """A pause that has not ended. ``orphaned`` means that the process that recorded it has ended.

    ``origin`` is ``None`` for a pause started by hand. ``problem`` says why an ``unreadable`` file cannot be read; such a pause has
    no actions and can only be discarded.
    """

    home: PauseHome
    recorded: Recording
    summary: PauseSummary
    origin: Origin | None
    status: RunningStatus
    problem: str | None = None


def manual_pause(workspace: Workspace) -> PauseHome:
    """Return the pause of the library and the command line, of which a project has one."""
    project = workspace.project
    file = PauseFile.at(sessions_folder(project) / ACTIVE_NAME)
    return PauseHome(file=file, project=project, opened_from=workspace)


def session_pause(agent_id: str, session_id: str, workspace: Workspace) -> PauseHome:
    """Return the pause that hooks record for one session of an agent."""
    name = f"{clock.check_id(agent_id, what='agent id')}-{clock.check_id(session_id)}{_SUFFIX}"
    file = PauseFile.at(_hook_pauses_folder() / name)
    return PauseHome(file=file, project=workspace.project, opened_from=workspace)


def sessions_folder(project: Project) -> Path:
    """Return the folder of a project's finished pauses; refuse one that a link leads out of the project."""
    return paths.require_inside(project.folder, project.folder / SESSIONS)


def find_orphans(workspace: Workspace, *, everywhere: bool = False) -> list[RunningPause]:
    """Return the pauses whose recording process has ended, of this project or of all."""
    running = (list_running_everywhere if everywhere else list_running)(workspace, clock.now())
    return [pause for pause in running if pause.status == "orphaned"]


def list_running(workspace: Workspace, at: datetime) -> list[RunningPause]:
    """Return the pauses of this project that have not ended, most recently written first."""
    root = workspace.project.root
    running = [pause for pause in list_running_everywhere(workspace, at) if pause.home.project.root == root]
    return sorted(running, key=lambda pause: pause.recorded.modified_at, reverse=True)


def list_running_everywhere(workspace: Workspace, at: datetime) -> list[RunningPause]:
    """Return every pause that has not ended: this project's, and those of hooks in any project.

    A file that cannot be read is listed as ``unreadable`` and hides no other.
    """
    hook_files = _list_hook_files()
    manual = manual_pause(workspace)
    running = [_read_running(manual.file, manual, workspace, at)]
    running += [_read_running(file, None, workspace, at) for file in hook_files]
    return [pause for pause in running if pause is not None]


def _list_hook_files() -> list[PauseFile]:
    folder = _hook_pauses_folder()
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix == _SUFFIX and path.name[0] != ".")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"{folder}: cannot be read: {describe_os_error(error)}.", path=folder) from error
    return [PauseFile.at(path) for path in found]


def _hook_pauses_folder() -> Path:
    return paths.state_folder() / PAUSES


def _read_running(
    file: PauseFile, home: PauseHome | None, workspace: Workspace, at: datetime
) -> RunningPause | None:
    """Return the pause in ``file``; None if it does not exist. ``home`` is ``None`` for a hook's pause, which names its project."""
    problem = None
    try:
        recorded = file.read()
    except StorageError as error:
        problem = error.message
        modified_at = file.modified_at()
        recorded = None if modified_at is None else Recording(lines=(), modified_at=modified_at)
    if recorded is None:
        return None
    from leftoff.pause.texts import summarize  # noqa: PLC0415 - hooks load this module and seldom get here

    origin = parse_origin(recorded.first_data)
    status: RunningStatus = "orphaned" if _is_orphaned(recorded, origin, at) else "running"
    return RunningPause(
        home=home or _home_of_hook_pause(file, origin, workspace),
        recorded=recorded,
        summary=summarize(recorded, at),
        origin=origin,
        status="unreadable" if problem else status,
        problem=problem,
    )


def _home_of_hook_pause(file: PauseFile, origin: Origin | None, workspace: Workspace) -> PauseHome:
    """Place a hook's pause in the project that its first line names.

    Without that line the project is that of the session in the file name, else the one we work in.
    """
    from leftoff.sessions.find import find_by_id  # noqa: PLC0415 - hooks load this module and seldom get here

    if origin is not None:
        folder = origin.project
    else:
        folder = None
        with suppress(LeftoffError):
            session = find_by_id(file.path.stem.partition("-")[2], workspace)
            folder = None if session is None else session.project
    project = workspace.project if not folder else _project_of(folder)
    return PauseHome(file=file, project=project, opened_from=workspace)


def _project_of(folder: str) -> Project:
    """Return the project of a session's folder. If the folder is gone, snapshots go to the user's own data folder."""
    root = Path(folder)
    if root.is_absolute() and root.is_dir():
        return paths.find_project(root)
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    return Project(root=root, folder=paths.data_folder() / "no-project" / digest, in_git=False)


def _is_orphaned(recorded: Recording, origin: Origin | None, at: datetime) -> bool:
    """Return whether the process that recorded last has ended; if it is not known, whether an hour passed since."""
    named = next(filter(None, (action.data.get("process") for action in reversed(recorded.actions))), None)
    match named:
        case {"pid": int(pid), "begun": str() | None as begun}:
            return not process.is_alive(pid, begun)
        case _:
            last = recorded.modified_at.timestamp()
            if origin is not None and origin.transcript is not None:
                with suppress(OSError, ValueError):
                    # A transcript that is gone is not being written to either.
                    last = max(last, Path(origin.transcript).stat().st_mtime)
            return at.timestamp() - last > _ORPHANED_AFTER.total_seconds()


def add_transcript_texts(home: PauseHome, recorded: Recording, capture: Capture) -> Recording:
    """Return the pause with the texts of its transcript added to its actions, and every line without credentials.

    Only hooks' pauses get texts: one in a project's folder may come with a clone and name any file of the user's.
    """
    from leftoff.pause.snapshot import replace_actions  # noqa: PLC0415 - hooks load this module and seldom get here
    from leftoff.pause.texts import add_texts, collect_texts  # noqa: PLC0415 - hooks load this module and seldom get here

    origin = parse_origin(recorded.first_data) if home.from_hook else None
    actions = recorded.actions
    if origin is not None and origin.transcript is not None:
        # If the transcript was deleted or the agent's plugin is gone, the lines alone are still worth keeping.
        with suppress(TranscriptError, NotFoundError):
            agent = agent_by_id(origin.agent)
            records = _read_records(agent, Path(origin.transcript), origin.offset or 0)
            texts = collect_texts(records, agent.typed, capture.clean, exclude_tools=capture.exclude_tools)
            actions = add_texts(actions, texts)
    clean = replace_actions(recorded, [_clean_action(capture, action) for action in actions])
    return clean._replace(lines=tuple(_clean_bad_line(line, capture) for line in clean.lines))


def _read_records(agent: Agent, transcript: Path, offset: int) -> Iterator[Record]:
    """Read records from a little before ``offset``: the first calls of a pause were requested before it began."""
    start = _find_line_start(transcript, offset)
    return agent.read(transcript, Place(str(transcript), 0, 0, start) if start else None)


def _find_line_start(transcript: Path, offset: int) -> int:
    """Return where a line begins, some way before ``offset``, which may be inside a line that was being written."""
    try:
        with open_regular_file(transcript) as file:
            position = min(offset, file.seek(0, 2))
            while position > 0:
                position = max(0, position - _CHUNK_BYTES)
                file.seek(position)
                newline = file.read(min(_CHUNK_BYTES, offset - position)).find(b"\n")
                if newline >= 0 and position > 0:
                    return position + newline + 1
    except (OSError, ValueError):
        return 0
    return 0


def _clean_action(capture: Capture, action: PauseAction) -> PauseAction:
    """Return the action as it may be kept; the same object if nothing has to be removed."""
    data = capture.clean_data(action.type, action.data)
    kind, timestamp = action.type, action.timestamp
    if kind not in ACTION_TYPES or clock.parse_rfc3339(timestamp) is None:  # a foreign line can hold anything
        kind, timestamp = str(capture.clean(kind)), str(capture.clean(timestamp))
    if (kind, timestamp, data) == (action.type, action.timestamp, action.data):
        return action
    return PauseAction(kind, timestamp, action.session_id, data, action.context_percentage)


def _clean_bad_line(line: Line, capture: Capture) -> Line:
    """Return a line that is not an action without credentials; actions are clean already."""
    if line.action is not None:
        return line
    text = line.raw.decode("utf-8", "surrogateescape")
    return Line(str(capture.clean(text)).encode("utf-8", "surrogateescape"), None)
