"""How full a session's window is, how long it will last, and what to do about it: for one session and for lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leftoff.agents.registry import agent_by_id, load_agents
from leftoff.config.load import thresholds
from leftoff.core import levels
from leftoff.core import metrics as core_metrics
from leftoff.core.metrics import AgentWindow, ContextMetrics, Level, Occupancy, Thresholds
from leftoff.core.records import RecordKind
from leftoff.core.session import Session, SessionEntry
from leftoff.core.wire import JsonObject
from leftoff.errors import TranscriptError
from leftoff.platform import clock
from leftoff.sessions.find import find_session
from leftoff.sessions.learned_windows import load_compaction_points, load_window, observed_compaction
from leftoff.sessions.listing import entries, entries_of_project, list_transcripts
from leftoff.workspace import SessionRef, Workspace

if TYPE_CHECKING:
    from leftoff.core.protocols import Agent

_ADVICE = {
    None: "Usage is not known yet: it is read from the next reply.",
    Level.OK: "Nothing to do.",
    Level.CAUTION: "Plan a good place to stop.",
    Level.WARNING: "Finish what is open; start nothing large.",
    Level.AUTO_PAUSE: "Wind down: what happens now is recorded for the next session.",
    Level.CRITICAL: "Stop here and go on in a fresh session.",
}
_MAX_COUNTED = 100


class Status(NamedTuple):
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
        """One sentence on what to do now."""
        if self.metrics.used_tokens is not None and self.metrics.total_budget is None:
            return f"The window of {self.model or 'this model'} is not known: set it as windows in configuration.yaml."
        return _ADVICE[self.level]

    def to_dict(self) -> JsonObject:
        """Return the shape that scripts rely on."""
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


def status(selector: str, workspace: Workspace) -> Status:
    """Return the status of the session that ``selector`` names, now."""
    workspace.config.require_sound()
    ref = find_session(selector, workspace)
    result = status_of(ref, workspace)
    if result.metrics.used_tokens is None:
        _require_readable(ref)
    return result


def _require_readable(ref: SessionRef) -> None:
    """Raise TranscriptError for a file that begins like a transcript but holds no record."""
    problems: list[str] = []
    for record in ref.agent.read(ref.transcript):
        if record.kind is not RecordKind.BROKEN and record.raw.strip():
            return
        if record.note and not problems:
            problems.append(f"line {record.place.line_idx + 1}: {record.note}")
    path = ref.transcript
    raise TranscriptError(
        f"{path}: no record in it can be read; {problems[0]}. leftoff doctor {path} shows what is there.",
        path=path,
    )


def measure(session: Session) -> ContextMetrics:
    """Return how full the window of an opened session is."""
    ref = SessionRef(agent=agent_by_id(session.agent), transcript=Path(session.transcript))
    return status_of(ref, Workspace.open()).metrics


def status_of(ref: SessionRef, workspace: Workspace) -> Status:
    """Return a session's status from the tail of its transcript: as quick for a large one as for a small one."""
    occupancy = ref.agent.occupancy(ref.transcript)
    if occupancy.window_tokens is None:
        occupancy = occupancy._replace(window_tokens=load_window(ref.agent.id, ref.session_id))
    # A file outside the agent's own home proves nothing about where the agent compacts on this machine.
    is_own = ref.transcript.is_relative_to(ref.agent.home)
    metrics = core_metrics.measure(
        occupancy,
        ref.agent.window(occupancy, ref.project),
        windows=workspace.settings.windows,
        observed_compaction_tokens=observed_compaction(ref.agent.id, occupancy, learn=is_own),
        at=clock.now(),
    )
    marks = thresholds(workspace.settings)
    return Status(
        session_id=ref.session_id,
        agent=ref.agent.id,
        transcript=str(ref.transcript),
        project=ref.project,
        model=occupancy.model,
        metrics=metrics,
        level=marks.level(metrics),
        thresholds=marks,
        turns_left=levels.turns_left(metrics, marks, occupancy.turn_ends_tokens),
    )


class Gauges:
    """Statuses of many sessions from what the list knows of them; what they share is looked up once."""

    def __init__(self, workspace: Workspace) -> None:
        self._configured_windows = workspace.settings.windows
        self._thresholds = thresholds(workspace.settings)
        self._compaction_points = load_compaction_points()
        self._windows: dict[tuple[str | int | None, ...], AgentWindow] = {}

    def status(self, agent: Agent, entry: SessionEntry) -> Status:
        """Return the same numbers as ``status_of``, the tail estimated with the usual ratio, without a forecast."""
        occupancy = Occupancy(
            used_tokens=entry.used_tokens,
            tail_chars=entry.tail_chars,
            model=entry.model,
            window_tokens=entry.window_tokens,
            client_version=entry.client_version,
        )
        metrics = core_metrics.measure(
            occupancy,
            self._window(agent, occupancy, entry.project),
            windows=self._configured_windows,
            observed_compaction_tokens=observed_compaction(
                agent.id, occupancy, learn=False, seen=self._compaction_points
            ),
            at=entry.modified_at,
        )
        return Status(
            session_id=entry.session_id,
            agent=agent.id,
            transcript=entry.transcript,
            project=entry.project,
            model=entry.model,
            metrics=metrics,
            level=self._thresholds.level(metrics),
            thresholds=self._thresholds,
            turns_left=levels.turns_left(metrics, self._thresholds, ()),
        )

    def _window(self, agent: Agent, occupancy: Occupancy, project: str | None) -> AgentWindow:
        """Look up once per model and project; again for a session that holds more than such a window should."""
        key = (agent.id, occupancy.model, occupancy.window_tokens, project)
        if key not in self._windows:
            empty = Occupancy(used_tokens=None, model=occupancy.model, window_tokens=occupancy.window_tokens)
            self._windows[key] = agent.window(empty, project)
        window = self._windows[key]
        is_too_small = (occupancy.used_tokens or 0) > (window.window_tokens or 0)
        return agent.window(occupancy, project) if is_too_small else window


class ListedSession(NamedTuple):
    """One line of the list of sessions."""

    entry: SessionEntry
    status: Status

    def to_dict(self) -> JsonObject:
        """Return the shape that scripts rely on."""
        parent = self.entry.parent
        return {
            **self.status.to_dict(),
            "first_prompt": self.entry.first_prompt,
            "size_bytes": self.entry.size_bytes,
            "modified_at": clock.format_rfc3339(self.entry.modified_at),
            "parent": None
            if parent is None
            else {
                "session_id": parent.session_id,
                "transcript": parent.transcript,
                "derivation": parent.derivation,
            },
        }


def list_sessions(
    workspace: Workspace, agent_id: str | None = None, project: Path | None = None
) -> Iterator[ListedSession]:
    """Yield all sessions, newest first, or only those of one agent or project; no more is read than is asked for."""
    agents = load_agents() if agent_id is None else [agent_by_id(agent_id)]
    by_id = {agent.id: agent for agent in agents}
    transcripts = list_transcripts(agents)
    gauges = Gauges(workspace)
    for entry in entries(transcripts) if project is None else entries_of_project(project, transcripts):
        yield ListedSession(entry=entry, status=gauges.status(by_id[entry.agent], entry))


class ProjectOverview(NamedTuple):
    """A project's latest session. ``latest`` and ``status`` are None where it has none; ``sessions`` counts to 100."""

    root: Path
    branch: str | None
    sessions: int
    latest: SessionEntry | None
    status: Status | None


def project_overview(workspace: Workspace) -> ProjectOverview:
    """Look at the sessions of this project; nothing is changed but the catalogue."""
    from leftoff.platform import git  # noqa: PLC0415 - loads subprocess, which `leftoff status` does without

    project = workspace.project
    own = [*islice(entries_of_project(project.root, list_transcripts()), _MAX_COUNTED)]
    latest = own[0] if own else None
    return ProjectOverview(
        root=project.root,
        branch=git.branch(project.root) if project.in_git else None,
        sessions=len(own),
        latest=latest,
        status=None if latest is None else Gauges(workspace).status(agent_by_id(latest.agent), latest),
    )
