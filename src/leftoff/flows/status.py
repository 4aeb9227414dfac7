"""How full a session's window is, how long it will last, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from leftoff.config.layers import Config, thresholds
from leftoff.errors import TranscriptError
from leftoff.flows.agents import agent_called
from leftoff.flows.choose import Chosen, choose
from leftoff.flows.observed import observed_compaction, seen_compactions
from leftoff.flows.seen_window import seen_window
from leftoff.flows.settings import settings_here
from leftoff.meter import forecast, gauge
from leftoff.model.context_metrics import ContextMetrics, Level, Thresholds
from leftoff.model.occupancy import AgentWindow, Occupancy
from leftoff.model.records import RecordKind
from leftoff.model.session import Session, SessionEntry
from leftoff.model.values import dataclass, replace
from leftoff.model.wire import JsonObject
from leftoff.system import clock

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from leftoff.model.protocols import Agent

_ADVICE = {
    None: "Usage is not known yet: it is read from the next reply.",
    Level.OK: "Nothing to do.",
    Level.CAUTION: "Plan a good place to stop.",
    Level.WARNING: "Finish what is open; start nothing large.",
    Level.AUTO_PAUSE: "Wind down: what happens now is recorded for the next session.",
    Level.CRITICAL: "Stop here and go on in a fresh session.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A session and its gauge. ``turns_left`` counts turns to each threshold; None: the pace is not known."""

    session_id: str
    agent: str
    transcript: str
    project: str | None
    model: str | None
    metrics: ContextMetrics
    level: Level | None
    thresholds: Thresholds
    turns_left: Mapping[Level, int | None]

    @property
    def advice(self) -> str:
        """One sentence."""
        if self.metrics.used_tokens is not None and self.metrics.total_budget is None:
            return f"The window of {self.model or 'this model'} is not known: set it as windows in configuration.yaml."
        return _ADVICE[self.level]

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        metrics = self.metrics
        return {
            "session_id": self.session_id,
            "agent": self.agent,
            "transcript": self.transcript,
            "project": self.project,
            "model": self.model,
            "context": {
                "used_tokens": metrics.used_tokens,
                "total_budget": metrics.total_budget,
                "window_tokens": metrics.window_tokens,
                "percentage_used": metrics.percentage_used and round(metrics.percentage_used, 1),
                "remaining_tokens": metrics.remaining_tokens,
                "level": self.level,
                "basis": metrics.basis,
                "window_basis": metrics.window_basis,
            },
            "turns_left": {level.value: turns for level, turns in self.turns_left.items()},
            "advice": self.advice,
        }


def status(words: str, working_folder: Path) -> Status:
    """The status of the session that ``words`` name, now."""
    config = settings_here(working_folder)
    config.require_sound()
    chosen = choose(words, working_folder)
    found = status_of(chosen, config, clock.now())
    if found.metrics.used_tokens is None:
        _refuse_rubble(chosen)
    return found


def _refuse_rubble(chosen: Chosen) -> None:
    """TranscriptError for a file that begins like a transcript and holds no record: a gauge of it would say nothing."""
    troubles: list[str] = []
    for record in chosen.agent.read(chosen.transcript):
        if record.kind is not RecordKind.BROKEN and record.raw.strip():
            return
        if record.note and not troubles:
            troubles.append(f"line {record.place.line_idx + 1}: {record.note}")
    path = chosen.transcript
    raise TranscriptError(
        f"{path}: no record in it can be read; {troubles[0]}. leftoff doctor {path} shows what is there.",
        path=path,
    )


def measure(session: Session) -> ContextMetrics:
    """How full the window of an opened session is."""
    chosen = Chosen(agent=agent_called(session.agent), transcript=Path(session.transcript))
    return status_of(chosen, settings_here(), clock.now()).metrics


def status_of(chosen: Chosen, config: Config, at: datetime) -> Status:
    """From the tail of the transcript alone: as quick on a large one as on a small one."""
    session = chosen.open()
    occupancy = chosen.agent.occupancy(chosen.transcript)
    if occupancy.window_tokens is None:
        told = seen_window(chosen.agent.id, session.session_id)
        occupancy = replace(occupancy, window_tokens=told)
    # What a file that is not in the agent's own home says about compactions proves nothing here.
    is_own = chosen.transcript.is_relative_to(chosen.agent.home)
    observed = observed_compaction(chosen.agent.id, occupancy, learn=is_own)
    metrics = gauge.measure(
        occupancy,
        chosen.agent.window(occupancy, session.project),
        windows=config.settings.windows,
        observed_compaction_tokens=observed,
        at=at,
    )
    marks = thresholds(config.settings)
    return Status(
        session_id=session.session_id,
        agent=chosen.agent.id,
        transcript=str(chosen.transcript),
        project=session.project,
        model=occupancy.model,
        metrics=metrics,
        level=marks.level(metrics),
        thresholds=marks,
        turns_left=forecast.turns_left(metrics, marks, occupancy.turn_ends_tokens),
    )


class Gauges:
    """The statuses of many sessions from what the list knows of them: whatever they share is looked up once."""

    def __init__(self, config: Config) -> None:
        self._windows = config.settings.windows
        self._marks = thresholds(config.settings)
        self._seen = seen_compactions()
        self._of_agents: dict[tuple[str | int | None, ...], AgentWindow] = {}

    def status(self, agent: Agent, entry: SessionEntry) -> Status:
        """The same numbers as ``status_of``, the tail estimated with the usual ratio, and no forecast."""
        occupancy = Occupancy(
            used_tokens=entry.used_tokens,
            tail_chars=entry.tail_chars,
            model=entry.model,
            window_tokens=entry.window_tokens,
            client_version=entry.client_version,
        )
        metrics = gauge.measure(
            occupancy,
            self._window(agent, occupancy, entry.project),
            windows=self._windows,
            observed_compaction_tokens=observed_compaction(agent.id, occupancy, learn=False, seen=self._seen),
            at=entry.modified_at,
        )
        return Status(
            session_id=entry.session_id,
            agent=agent.id,
            transcript=entry.transcript,
            project=entry.project,
            model=entry.model,
            metrics=metrics,
            level=self._marks.level(metrics),
            thresholds=self._marks,
            turns_left=forecast.turns_left(metrics, self._marks, ()),
        )

    def _window(self, agent: Agent, occupancy: Occupancy, project: str | None) -> AgentWindow:
        """Asked once per model and project; again for a session that holds more than such a window should."""
        key = (agent.id, occupancy.model, occupancy.window_tokens, project)
        if key not in self._of_agents:
            empty = Occupancy(used_tokens=None, model=occupancy.model, window_tokens=occupancy.window_tokens)
            self._of_agents[key] = agent.window(empty, project)
        found = self._of_agents[key]
        is_too_small = (occupancy.used_tokens or 0) > (found.window_tokens or 0)
        return agent.window(occupancy, project) if is_too_small else found
