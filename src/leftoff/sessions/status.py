"""How full a session's window is, how long it will last, and what to do about it: for one session and for lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leftoff.agents.registry import agent_from_argument, load_agents
from leftoff.config.load import thresholds
from leftoff.core import levels
from leftoff.core.metrics import ContextMetrics, Level, Occupancy, Thresholds
from leftoff.core.records import RecordKind
from leftoff.core.session import Parent, Session, SessionEntry
from leftoff.core.wire import JsonObject
from leftoff.errors import TranscriptError
from leftoff.platform import clock
from leftoff.sessions.find import find_session, ref_of, ref_of_session
from leftoff.sessions.learned_windows import Gauge, learn_compaction_point
from leftoff.sessions.listing import TranscriptFile, entries, entries_of_project, list_transcripts
from leftoff.workspace import SessionRef, Workspace

if TYPE_CHECKING:
    from leftoff.core.protocols import Agent

_ADVICE = {
    None: "No reply to measure yet: the agent reports its usage with each reply.",
    Level.OK: "Plenty of room.",
    Level.CAUTION: "Plan a good place to stop. leftoff advise compares the ways to make room.",
    Level.WARNING: "Finish the current task and start nothing large. Then: leftoff advise",
    Level.AUTO_PAUSE: "Finish the current step and wrap up. Then: leftoff advise",
    Level.CRITICAL: "Stop here and make room: leftoff advise",
}
MAX_COUNTED = 100  # sessions of a project; further ones are not looked at


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
            model = self.model or "MODEL"
            return (
                f"The size of this model's window is not known. Set it: leftoff config windows {model}=200000"
            )
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
                "percentage_used": metrics.shown_percentage,
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
    return status_of(ref_of_session(session), Workspace.open()).metrics


def status_of(ref: SessionRef, workspace: Workspace, *, is_live: bool = False) -> Status:
    """Return a session's status from the tail of its transcript: as quick for a large one as for a small one.

    A live session teaches this machine where its agent compacts; commands, which may read any old file, learn nothing.
    """
    occupancy = ref.agent.occupancy(ref.transcript)
    if is_live:
        learn_compaction_point(ref.agent.id, occupancy)
    return _Statuses(workspace).status(
        ref.agent, ref.session_id, str(ref.transcript), ref.project, occupancy, clock.now(), ref.parent_id
    )


class _Statuses:
    """Statuses of one session or of many; what they share is looked up once."""

    def __init__(self, workspace: Workspace) -> None:
        self._gauge = Gauge(workspace.settings.windows)
        self._thresholds = thresholds(workspace.settings)

    def status(
        self,
        agent: Agent,
        session_id: str,
        transcript: str,
        project: str | None,
        occupancy: Occupancy,
        at: datetime,
        parent_id: str | None,
    ) -> Status:
        metrics = self._gauge.metrics(agent, session_id, occupancy, project, at, parent_id)
        return Status(
            session_id=session_id,
            agent=agent.id,
            transcript=transcript,
            project=project,
            model=occupancy.model,
            metrics=metrics,
            level=self._thresholds.level(metrics),
            thresholds=self._thresholds,
            turns_left=levels.turns_left(metrics, self._thresholds, occupancy.turn_ends_tokens),
        )


class ListedSession(NamedTuple):
    """One line of the list of sessions."""

    entry: SessionEntry
    status: Status

    def to_dict(self) -> JsonObject:
        """Return the shape that scripts rely on."""
        parent = self.entry.parent
        status = self.status.to_dict()
        del status["turns_left"]  # a list has no forecast
        return {
            **status,
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


def count_sessions(agent_id: str | None = None) -> int:
    """Return how many transcripts there are, of all agents or of one, without reading any."""
    return len(list_transcripts(_wanted_agents(agent_id)))


def _wanted_agents(agent_id: str | None) -> Sequence[Agent]:
    return load_agents() if agent_id is None else [agent_from_argument(agent_id)]


def list_sessions(
    workspace: Workspace,
    agent_id: str | None = None,
    project: Path | None = None,
    transcripts: Sequence[TranscriptFile] | None = None,
) -> Iterator[ListedSession]:
    """Yield all sessions, newest first, or only those of one agent or project; no more is read than is asked for.

    ``transcripts`` are those to list if the caller has them already.
    """
    agents = _wanted_agents(agent_id)
    transcripts = list_transcripts(agents) if transcripts is None else transcripts
    by_id = {agent.id: agent for agent in agents}
    statuses = _Statuses(workspace)
    from leftoff.sessions.ancestry import load_family  # noqa: PLC0415 - `leftoff status` does without

    continued = {each.session_id: each for each in load_family().derived if each.derivation == "continued"}
    for entry in entries(transcripts) if project is None else entries_of_project(project, transcripts):
        status = statuses.status(
            by_id[entry.agent],
            entry.session_id,
            entry.transcript,
            entry.project,
            entry.occupancy,
            entry.modified_at,
            entry.parent.session_id if entry.parent else None,
        )
        link = continued.get(entry.session_id)
        if entry.parent is None and link is not None:
            parent = Parent(link.parent_id, link.parent_transcript, link.derivation)
            yield ListedSession(entry=entry._replace(parent=parent), status=status)
        else:
            yield ListedSession(entry=entry, status=status)


class ProjectOverview(NamedTuple):
    """A project's latest session. ``latest`` and ``status`` are None where it has none.

    ``sessions`` counts to 100; None if only the newest transcripts of all projects were looked at.
    """

    root: Path
    branch: str | None
    sessions: int | None
    latest: SessionEntry | None
    status: Status | None


def project_overview(
    workspace: Workspace, transcripts: Sequence[TranscriptFile], most: int | None = None
) -> ProjectOverview:
    """Look at the sessions of this project among all transcripts, or the ``most`` newest; only the catalogue is changed."""
    from leftoff.platform import git  # noqa: PLC0415 - loads subprocess, which `leftoff status` does without

    project = workspace.project
    is_counted = most is None or len(transcripts) <= most
    found = entries_of_project(project.root, transcripts if is_counted else transcripts[:most])
    own = [*islice(found, MAX_COUNTED if is_counted else 1)]
    latest = own[0] if own else None
    return ProjectOverview(
        root=project.root,
        branch=git.branch(project.root) if project.in_git else None,
        sessions=len({(entry.agent, entry.session_id) for entry in own}) if is_counted else None,
        latest=latest,
        status=None if latest is None else status_of(ref_of(latest), workspace),
    )
