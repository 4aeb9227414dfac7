"""The gauge of every screen, with what this machine has learned about window sizes and compaction points.

The same facts give the same numbers everywhere, because every screen comes through ``Gauge``: what the transcript says, the
settings, and two facts that only hooks and status lines learn and that are kept in the state folder. An agent tells its status
line how large the window is, one file per session. A server can move an agent's compaction point at any time, so the session's
own last compaction, or recent ones of the same model under the same client version, say more than a table. Commands learn
nothing: what a screen shows never depends on which command ran before. Losing the files costs accuracy and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from leftoff.core.metrics import ContextMetrics, Occupancy, measure
from leftoff.core.wire import SCHEMAS
from leftoff.errors import StorageError
from leftoff.platform import clock, paths

if TYPE_CHECKING:
    from leftoff.core.metrics import AgentWindow
    from leftoff.core.protocols import Agent

CompactionPoints = dict[str, list[int]]  # tokens, by agent, model and client version
_POINTS_FILE = "compactions.json"
_MAX_POINTS = 8
WINDOWS_FOLDER = "windows"


class Gauge:
    """Measures sessions, one or many; what they share is looked up once. ``windows`` are the user's own sizes by model."""

    def __init__(self, windows: Mapping[str, int]) -> None:
        self._windows = windows
        self._agent_windows: dict[tuple[str | int | None, ...], AgentWindow] = {}

    def metrics(
        self,
        agent: Agent,
        session_id: str,
        occupancy: Occupancy,
        project: str | None,
        at: datetime,
        parent_id: str | None = None,
    ) -> ContextMetrics:
        """Return how full the window is; ``project`` is the folder whose agent settings count.

        A copy that the client has not opened yet has the window of its nearest ancestor that has one.
        """
        if occupancy.window_tokens is None:
            line = self._ancestral_line(session_id, parent_id)
            known = (each for each in line if self._has_window_file(agent.id, each))
            occupancy = occupancy._replace(
                window_tokens=next((load_window(agent.id, each) for each in known), None)
            )
        return measure(
            occupancy,
            self._agent_window(agent, occupancy, project),
            windows=self._windows,
            observed_compaction_tokens=self._compaction_point(agent.id, occupancy),
            at=at,
        )

    def _ancestral_line(self, session_id: str, parent_id: str | None) -> Iterator[str]:
        """Yield the session, its parent, and then as far back as the registry of copies goes."""
        yield session_id
        seen = {session_id}
        while parent_id is not None and parent_id not in seen:
            yield parent_id
            seen.add(parent_id)
            parent_id = self._parents.get(parent_id)

    @cached_property
    def _parents(self) -> Mapping[str, str]:
        from leftoff.sessions.ancestry import load_family  # noqa: PLC0415 - only copies of copies need it

        return {each.session_id: each.parent_id for each in load_family().derived}

    def _agent_window(self, agent: Agent, occupancy: Occupancy, project: str | None) -> AgentWindow:
        """Look up once per model and project; again for a session that holds more than such a window should."""
        key = (agent.id, occupancy.model, occupancy.window_tokens, project)
        if key not in self._agent_windows:
            empty = Occupancy(used_tokens=None, model=occupancy.model, window_tokens=occupancy.window_tokens)
            self._agent_windows[key] = agent.window(empty, project)
        window = self._agent_windows[key]
        is_too_small = (occupancy.used_tokens or 0) > (window.window_tokens or 0)
        return agent.window(occupancy, project) if is_too_small else window

    def _compaction_point(self, agent_id: str, occupancy: Occupancy) -> int | None:
        """Return the tokens at which such a session is compacted, as far as that was seen; None also if it is outdated.

        More tokens in use without a compaction prove a point outdated.
        """
        points = self._points.get(_points_key(agent_id, occupancy), [])
        usual = sorted(points)[(len(points) - 1) // 2] if points else None
        point = occupancy.compacted_at_tokens or usual
        return None if point is None or (occupancy.used_tokens or 0) > point else point

    def _has_window_file(self, agent_id: str, session_id: str) -> bool:
        return f"{agent_id}-{session_id}.json" in self._window_files

    @cached_property
    def _points(self) -> CompactionPoints:
        return load_compaction_points()

    @cached_property
    def _window_files(self) -> frozenset[str]:
        try:
            return frozenset(os.listdir(paths.state_folder() / WINDOWS_FOLDER))  # noqa: PTH208 - names are enough
        except OSError:
            return frozenset()


def learn_compaction_point(agent_id: str, occupancy: Occupancy) -> None:
    """Remember where a live session was compacted, for later sessions of the same model and client version."""
    point = occupancy.compacted_at_tokens
    if point is None:
        return
    seen = load_compaction_points()
    key = _points_key(agent_id, occupancy)
    points = seen.get(key, [])
    if point not in points:
        _save_compaction_points(seen | {key: [*points, point][-_MAX_POINTS:]})


def _points_key(agent_id: str, occupancy: Occupancy) -> str:
    return f"{agent_id} {occupancy.model} {occupancy.client_version}"


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
