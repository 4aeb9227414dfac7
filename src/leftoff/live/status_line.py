"""What an agent's status line shows: how full the window is, how many turns are left, and when the log was last saved.

Agents run this again and again, so it loads little: settings only if there are any, and of the agents only the one that asks. The
agent itself says how large the window is; that is kept for the hooks, which do not get it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, cast

from leftoff.core import levels, wire
from leftoff.core.metrics import ContextMetrics, Level, Occupancy, StatusInput, Thresholds
from leftoff.core.wire import JsonObject
from leftoff.errors import TranscriptError
from leftoff.platform import clock, paths
from leftoff.plugins import make_all
from leftoff.sessions.learned_windows import Gauge, save_window

if TYPE_CHECKING:
    from leftoff.core.protocols import Agent

FILE_NAME = "configuration.yaml"  # as in leftoff.config.load, which takes long to import
_LOG_FOLDER = "resume-logs"  # by default, below the project's own folder


class StatusLine(NamedTuple):
    """The values of a status line. ``next_level`` is ``None`` if all thresholds are crossed; any other None means not known."""

    session_id: str
    metrics: ContextMetrics
    level: Level | None
    thresholds: Thresholds
    next_level: Level | None
    turns_left: int | None
    saved_at: datetime | None
    at: datetime

    def to_dict(self) -> JsonObject:
        """Return the JSON form, which scripts rely on."""
        return {
            "session_id": self.session_id,
            "used_tokens": self.metrics.used_tokens,
            "total_budget": self.metrics.total_budget,
            "window_tokens": self.metrics.window_tokens,
            "percentage_used": self.metrics.shown_percentage,
            "level": self.level,
            "next_level": self.next_level,
            "turns_left": self.turns_left,
            "saved_at": None if self.saved_at is None else clock.format_rfc3339(self.saved_at),
        }


class LineSettings(NamedTuple):
    """The settings that the status line needs, with their defaults."""

    log_folder: Path
    enabled: bool = True
    windows: Mapping[str, int] = MappingProxyType({})
    thresholds: Thresholds = Thresholds()


def line_settings(folder: Path) -> LineSettings:
    """Return the settings in force in a folder; all settings are loaded only if the user or the project has set any."""
    own_folder = paths.find_project(folder).folder
    files = (paths.config_folder() / FILE_NAME, own_folder / FILE_NAME)
    has_variables = any(variable.startswith("LEFTOFF_") for variable in paths.environment())
    if not has_variables and not any(map(os.path.lexists, files)):
        return LineSettings(log_folder=own_folder / _LOG_FOLDER)
    from leftoff.config.load import thresholds  # takes as long as all the rest
    from leftoff.workspace import Workspace

    workspace = Workspace.open(folder)
    return LineSettings(
        enabled=workspace.settings.enabled,
        windows=workspace.settings.windows,
        log_folder=workspace.log_folder,
        thresholds=thresholds(workspace.settings),
    )


def status_line(raw: bytes) -> StatusLine | None:
    """Return the status line for what the agent passes in; None if no agent recognises it, or leftoff is switched off."""
    parsed = wire.parse_client_json(raw)
    if not isinstance(parsed, dict) or paths.environment().get("LEFTOFF_DISABLE", "0") not in {"", "0"}:
        return None
    for agent in make_all("agents"):
        if hasattr(agent, "status_input"):  # HasStatusLine, without loading all protocols
            given: StatusInput | None = agent.status_input(parsed)
            if given is not None:
                return _status_line(cast("Agent", agent), given)
    return None


def _status_line(agent: Agent, given: StatusInput) -> StatusLine | None:
    session_id = clock.check_id(given.session_id)
    folder = Path(given.folder) if given.folder else paths.working_folder()
    settings = line_settings(folder)
    if not settings.enabled:
        return None
    if given.window_tokens is not None:
        save_window(agent.id, session_id, given.window_tokens)
    now = clock.now()
    occupancy = Occupancy(used_tokens=None)
    if given.transcript:
        with suppress(TranscriptError):  # a new session has no file yet
            occupancy = agent.occupancy(Path(given.transcript))
    parent = None
    if given.window_tokens is None and given.transcript and os.path.exists(given.transcript):  # noqa: PTH110 - quicker
        parent = agent.open(Path(given.transcript)).parent
    metrics = Gauge(settings.windows).metrics(
        agent, session_id, occupancy, given.folder, now, parent.session_id if parent else None
    )
    marks = settings.thresholds
    left = levels.turns_left(metrics, marks, occupancy.turn_ends_tokens)
    ahead = next((level for level, turns in left.items() if turns != 0), None)
    return StatusLine(
        session_id=session_id,
        metrics=metrics,
        level=marks.level(metrics),
        thresholds=marks,
        next_level=ahead,
        turns_left=None if ahead is None else left[ahead],
        saved_at=_saved_at(settings.log_folder / f"session-{session_id}.json"),
        at=now,
    )


def _saved_at(log_file: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(log_file.stat().st_mtime, UTC)
    except OSError:
        return None
