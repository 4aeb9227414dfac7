"""The states of live sessions in the user's state folder: one file each, changed under a lock of its own (L7)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

import orjson

from leftoff.errors import LeftoffError
from leftoff.model.watch_state import WatchState
from leftoff.system import files, ids, liveness, locks, paths

FOLDER = "watch"
CLEARED = "clear"  # why a session ended that the user cleared
_END = ".json"
_KEPT = timedelta(days=30)  # of a session that is silent; what is lost then is said once more

Result = TypeVar("Result")


def path_of(agent_id: str, session_id: str) -> Path:
    """Where the state of a session is; InvalidIdError for what is no id."""
    name = f"{ids.checked(agent_id, what='agent id')}-{ids.checked(session_id)}{_END}"
    return paths.inside(paths.state_folder() / FOLDER, name)


def state_of(agent_id: str, session_id: str) -> WatchState:
    """The state; an empty one where there is none, or none that can be read."""
    return _read(path_of(agent_id, session_id)) or WatchState(agent=agent_id, session_id=session_id)


def folder_of(state: WatchState) -> Path:
    """Where its work is: the folder it runs in; where that is gone, the checkout that its documents are in."""
    known = [Path(each) for each in (state.folder, state.project, state.home) if each is not None]
    return next((folder for folder in known if folder.is_dir()), known[0] if known else Path())


def change(agent_id: str, session_id: str, step: Callable[[WatchState], tuple[WatchState, Result]]) -> Result:
    """Take one step from the state as it is now; nobody else takes one meanwhile. What could not be kept is an error."""
    path = path_of(agent_id, session_id)
    files.make_folder(path.parent)
    with locks.held(path.with_name(f".{path.name}.lock")):
        before = state_of(agent_id, session_id)
        after, result = step(before)
        if after != before or not path.exists():
            files.write_file(path, orjson.dumps(after.to_dict()))
    return result


def others_alive(project: str, session_id: str) -> list[WatchState]:
    """The other sessions that are running in the project, as far as their processes can be asked."""
    found = (state for path in _paths() if (state := _read(path)) is not None)
    return [
        each
        for each in found
        if each.project == project
        and each.session_id != session_id
        and each.ended is None
        and each.client_pid is not None
        and liveness.is_alive(each.client_pid, each.client_begun)
    ]


def cleared_in(state: WatchState) -> list[WatchState]:
    """The other sessions of the same agent and the very same process that ended by being cleared."""
    found = (each for path in _paths() if (each := _read(path)) is not None)
    return [
        each
        for each in found
        if each.session_id != state.session_id
        and each.ended == CLEARED
        and (each.agent, each.client_pid, each.client_begun)
        == (state.agent, state.client_pid, state.client_begun)
    ]


def sweep(now: datetime) -> None:
    """Forget sessions that nobody has heard of for a month."""
    for path in _paths():
        with suppress(OSError):
            if path.stat().st_mtime < (now - _KEPT).timestamp():
                path.unlink()
                for beside in _beside(path):
                    beside.unlink(missing_ok=True)


def task_lock(path: Path) -> Path:
    """Held by the one process that does detached work for the session of that state."""
    return path.with_name(f".{path.name}.task.lock")


def restoration_file(agent_id: str, session_id: str) -> Path:
    """Where the text stands that is put back after a compaction."""
    return path_of(agent_id, session_id).with_suffix(".txt")


def _beside(path: Path) -> tuple[Path, ...]:
    """What stands with a state and goes with it."""
    return path.with_name(f".{path.name}.lock"), task_lock(path), path.with_suffix(".txt")


def _paths() -> list[Path]:
    try:
        folder = paths.state_folder() / FOLDER
        return [path for path in folder.iterdir() if path.suffix == _END and path.name[0] != "."]
    except OSError:
        return []


def _read(path: Path) -> WatchState | None:
    try:
        return WatchState.from_dict(orjson.loads(path.read_bytes()), where=str(path))
    except (OSError, ValueError, LeftoffError):
        return None
