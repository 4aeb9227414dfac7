"""This project at a glance: its latest session, how full that is, and what to do."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from leftoff.flows.agents import agents_here
from leftoff.flows.sessions import found_sessions, sessions_of
from leftoff.flows.settings import settings_here
from leftoff.flows.status import Gauges, Status
from leftoff.model.session import SessionEntry
from leftoff.model.values import dataclass
from leftoff.system import git, paths

_MOST_COUNTED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """``latest`` and ``status`` are None where this project has no session; ``sessions`` counts to 100."""

    root: Path
    branch: str | None
    sessions: int
    latest: SessionEntry | None
    status: Status | None


def glance(working_folder: Path) -> Glance:
    """Look, and change nothing but what is remembered of the list."""
    project = paths.project_of(working_folder)
    entries = [*islice(sessions_of(working_folder, found_sessions()), _MOST_COUNTED)]
    latest = entries[0] if entries else None
    return Glance(
        root=project.root,
        branch=git.branch(project.root) if project.in_git else None,
        sessions=len(entries),
        latest=latest,
        status=None if latest is None else _status(latest, working_folder),
    )


def _status(latest: SessionEntry, working_folder: Path) -> Status:
    agent = next(agent for agent in agents_here() if agent.id == latest.agent)
    return Gauges(settings_here(working_folder)).status(agent, latest)
