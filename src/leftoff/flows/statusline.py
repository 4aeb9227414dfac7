"""What an agent's status line shows: how full the window is, how long it lasts, and when the log was last saved.

The size of the window comes from the agent itself and is kept for the hooks, which are told nothing of it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from leftoff import plugins
from leftoff.config.layers import Config, thresholds
from leftoff.errors import TranscriptError
from leftoff.flows.log_folder import log_folder
from leftoff.flows.observed import observed_compaction
from leftoff.flows.seen_window import remember_window
from leftoff.flows.settings import settings_here
from leftoff.meter import forecast, gauge
from leftoff.model.context_metrics import ContextMetrics, Level, Thresholds
from leftoff.model.occupancy import Occupancy
from leftoff.model.protocols import Agent, HasStatusLine
from leftoff.model.status_input import StatusInput
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.system import client_json, clock, ids, paths


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusLine:
    """What is shown. ``next_level`` is the next threshold, None when all are crossed; None elsewhere: not known."""

    session_id: str
    metrics: ContextMetrics
    level: Level | None
    thresholds: Thresholds
    next_level: Level | None
    turns_left: int | None
    saved_at: datetime | None
    at: datetime

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "session_id": self.session_id,
            "used_tokens": self.metrics.used_tokens,
            "total_budget": self.metrics.total_budget,
            "window_tokens": self.metrics.window_tokens,
            "percentage_used": self.metrics.percentage_used and round(self.metrics.percentage_used, 1),
            "level": self.level,
            "next_level": self.next_level,
            "turns_left": self.turns_left,
            "saved_at": None if self.saved_at is None else clock.rfc3339(self.saved_at),
        }


def status_line(raw: bytes) -> StatusLine | None:
    """From what the agent hands over; None when that is not for us, or leftoff is switched off."""
    said = client_json.told(raw)
    if not isinstance(said, dict) or paths.environment().get("LEFTOFF_DISABLE", "0") not in {"", "0"}:
        return None
    for agent in plugins.make_all("agents"):
        if isinstance(agent, Agent) and isinstance(agent, HasStatusLine):
            told = agent.status_input(said)
            if told is not None:
                return _status_line(agent, told)
    return None


def _status_line(agent: Agent, told: StatusInput) -> StatusLine | None:
    session_id = ids.checked(told.session_id)
    folder = Path(told.folder) if told.folder else paths.working_folder()
    config = settings_here(folder)
    if not config.settings.enabled:
        return None
    if told.window_tokens is not None:
        remember_window(agent.id, session_id, told.window_tokens)
    now = clock.now()
    occupancy = _occupancy(agent, told)
    metrics = gauge.measure(
        occupancy,
        agent.window(occupancy, told.folder),
        windows=config.settings.windows,
        observed_compaction_tokens=observed_compaction(agent.id, occupancy, learn=False),
        at=now,
    )
    marks = thresholds(config.settings)
    left = forecast.turns_left(metrics, marks, occupancy.turn_ends_tokens)
    ahead = next((level for level, turns in left.items() if turns != 0), None)
    return StatusLine(
        session_id=session_id,
        metrics=metrics,
        level=marks.level(metrics),
        thresholds=marks,
        next_level=ahead,
        turns_left=None if ahead is None else left[ahead],
        saved_at=_saved_at(config, folder, session_id),
        at=now,
    )


def _occupancy(agent: Agent, told: StatusInput) -> Occupancy:
    """What the transcript says, in a window of the size that the agent names; before its first line, what the agent says."""
    said = Occupancy(used_tokens=None)
    if told.transcript:
        with suppress(TranscriptError):  # a new session has no file yet
            said = agent.occupancy(Path(told.transcript))
    return replace(
        said,
        used_tokens=told.used_tokens if said.used_tokens is None else said.used_tokens,
        model=said.model or told.model,
        window_tokens=told.window_tokens or said.window_tokens,
    )


def _saved_at(config: Config, folder: Path, session_id: str) -> datetime | None:
    logs = log_folder(paths.project_of(folder), config.settings.resume_logs.storage_dir)
    try:
        saved = (logs / f"session-{session_id}.json").stat().st_mtime
    except OSError:
        return None
    return datetime.fromtimestamp(saved, UTC)
