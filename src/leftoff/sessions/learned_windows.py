"""What this machine has learned about window sizes and compaction points.

A server can move an agent's compaction point at any time, so recent compactions of the same model under the same client
version say more than a table. The window size is what the agent itself gave the status line, one file per session, kept
for the hooks. Both are in the state folder; losing them costs accuracy and nothing else.
"""

from __future__ import annotations

from pathlib import Path

import orjson

from leftoff.core.metrics import Occupancy
from leftoff.core.wire import SCHEMAS
from leftoff.errors import StorageError
from leftoff.platform import clock, paths

CompactionPoints = dict[str, list[int]]  # tokens, by agent, model and client version
_POINTS_FILE = "compactions.json"
_MAX_POINTS = 8
WINDOWS_FOLDER = "windows"


def observed_compaction(
    agent_id: str, occupancy: Occupancy, *, learn: bool = True, seen: CompactionPoints | None = None
) -> int | None:
    """Return the tokens at which such a session is compacted, as far as this machine has seen.

    ``learn`` remembers what this session shows. More tokens in use without a compaction prove the point outdated: None.
    ``seen`` saves reading the file again for each of many sessions.
    """
    seen = load_compaction_points() if seen is None else seen
    key = f"{agent_id} {occupancy.model} {occupancy.client_version}"
    points = seen.get(key, [])
    new = occupancy.compacted_at_tokens
    if learn and new is not None and new not in points:
        points = [*points, new][-_MAX_POINTS:]
        _save_compaction_points(seen | {key: points})
    point = sorted(points)[(len(points) - 1) // 2] if points else None
    return None if point is None or (occupancy.used_tokens or 0) > point else point


def load_compaction_points() -> CompactionPoints:
    """Return all compaction points that this machine has seen; empty where the file cannot be read."""
    try:
        data = orjson.loads((paths.state_folder() / _POINTS_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    is_known = isinstance(data, dict) and data.get("schema") == SCHEMAS["compactions"]
    points = data.get("points") if is_known else None
    if not isinstance(points, dict):
        return {}
    return {
        key: tokens
        for key, tokens in points.items()
        if isinstance(tokens, list) and all(isinstance(each, int) for each in tokens)
    }


def _save_compaction_points(points: CompactionPoints) -> None:
    from leftoff.platform import files  # noqa: PLC0415 - the status line reads often and hardly ever writes

    try:
        content = {"schema": SCHEMAS["compactions"], "points": points}
        files.write_file(paths.state_folder() / _POINTS_FILE, orjson.dumps(content))
    except StorageError:
        return  # a gauge is shown all the same


def window_file(agent_id: str, session_id: str) -> Path:
    """Return where a session's window size is kept; InvalidIdError for what cannot be an id."""
    name = f"{clock.check_id(agent_id)}-{clock.check_id(session_id)}.json"
    return paths.safe_join(paths.state_folder() / WINDOWS_FOLDER, name)


def load_window(agent_id: str, session_id: str) -> int | None:
    """Return the window size in tokens that the agent reported for a session; None when it has not."""
    try:
        data = orjson.loads(window_file(agent_id, session_id).read_bytes())
    except (OSError, ValueError):
        return None
    is_known = isinstance(data, dict) and data.get("schema") == SCHEMAS["seen_window"]
    tokens = data.get("window_tokens") if is_known else None
    return tokens if type(tokens) is int and tokens > 0 else None


def save_window(agent_id: str, session_id: str, window_tokens: int) -> None:
    """Remember the window size that the agent reported, if it is new."""
    if load_window(agent_id, session_id) == window_tokens:
        return
    from leftoff.platform import files  # noqa: PLC0415 - see above

    try:
        content = {"schema": SCHEMAS["seen_window"], "window_tokens": window_tokens}
        files.write_file(window_file(agent_id, session_id), orjson.dumps(content))
    except StorageError:
        return  # a status line is shown all the same
