"""``leftoff`` without a command: this project at a glance, or what to do first on a new machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from leftoff.agents.registry import load_agents
from leftoff.cli import output
from leftoff.cli.session_commands import first_words, status_lines
from leftoff.core.quantities import ago, count
from leftoff.core.wire import JsonObject
from leftoff.live.install import agents_without_hooks
from leftoff.pause.folders import list_running, sessions_folder
from leftoff.pause.snapshot_store import FinishedPause, latest_manual
from leftoff.platform import clock
from leftoff.resume_logs.restore import Candidate, logs_to_offer
from leftoff.sessions.listing import TranscriptFile, list_transcripts
from leftoff.sessions.status import MAX_COUNTED, ProjectOverview, project_overview
from leftoff.workspace import Workspace


class Overview(NamedTuple):
    """What there is to say about a project. ``left_off`` and ``paused`` are None if there is nothing to pick up."""

    project: ProjectOverview
    left_off: Candidate | None
    paused: FinishedPause | None
    pauses: frozenset[str]  # "running" and "orphaned", as far as there are such pauses
    has_others: bool  # whether there are sessions at all
    now: datetime

    def to_dict(self) -> JsonObject:
        """Return the JSON form, which scripts rely on."""
        found, left_off, paused = self.project, self.left_off, self.paused
        return {
            "project": str(found.root),
            "branch": found.branch,
            "sessions": found.sessions,
            "latest": found.status.to_dict() if found.status else None,
            "left_off": left_off
            and {
                "session_id": left_off.session_id,
                "mission": left_off.mission,
                "left_at": clock.format_rfc3339(left_off.left_at),
            },
            "recording": "running" in self.pauses,
            "paused": paused and {"session_id": paused.session_id, "message": paused.message},
        }


def find_overview(
    workspace: Workspace, transcripts: Sequence[TranscriptFile], most: int | None = None
) -> Overview:
    """Look at this project: its latest session (among the ``most`` newest of all), what was left off, its pauses."""
    now, found, paused = (
        clock.now(),
        project_overview(workspace, transcripts, most),
        latest_manual(sessions_folder(workspace.project)),
    )
    if paused is not None and found.latest is not None and paused.paused_at <= found.latest.modified_at:
        paused = None  # work continued after it
    return Overview(
        project=found,
        left_off=next(iter(logs_to_offer(workspace).offered), None),
        paused=paused,
        pauses=frozenset(pause.status for pause in list_running(workspace, now)),
        has_others=bool(transcripts),
        now=now,
    )


def show_overview(*, as_json: bool) -> int:
    """Show this project and what to type next."""
    workspace = Workspace.open()
    found = find_overview(workspace, list_transcripts())
    if as_json:
        output.as_json(found.to_dict())
        return 0
    for line, style in overview_lines(found, workspace):
        output.say(line, style)
    return 0


def overview_lines(found: Overview, workspace: Workspace) -> list[output.Line]:
    """Return the screen: the project, its latest session with the gauge, what was left off, and what to type next."""
    project, width = found.project, output.width() - 1
    branch = f" ({output.visible(project.branch)})" if project.branch else ""
    about = f"{branch}{_describe_sessions(project)}"
    where, room = output.short_path(project.root), max(10, width - len(about))
    is_long = sys.stdout.isatty() and output.columns_of(where) > room
    title = f"…{where[-room + 1 :]}" if is_long else where
    lines: list[output.Line] = [(f"{title}{about}", {"bold": True})]
    if project.latest is not None and project.status is not None:
        when = ago(found.now, project.latest.modified_at)
        lines.append((output.one_line(f"Latest, {when}: {first_words(project.latest)}", width), None))
        lines += status_lines(project.status)
    for text in _open_work(found):
        lines.append((output.one_line(text, width), None))
    for step in next_steps(found, workspace):
        lines += [(part, None) for part in output.wrap(output.visible(step), indent="").split("\n")]
    return lines


def _describe_sessions(project: ProjectOverview) -> str:
    if project.sessions is None:
        return "" if project.latest is not None else ": no recent sessions"
    if project.sessions >= MAX_COUNTED:
        return f": {MAX_COUNTED}+ sessions"
    return f": {count(project.sessions, 'session') if project.sessions else 'no sessions yet'}"


def _open_work(found: Overview) -> Iterator[str]:
    if found.left_off is not None:
        yield f"Left off {ago(found.now, found.left_off.left_at)}: {output.without_opening(found.left_off.mission)}"
    if "running" in found.pauses:
        yield "A pause is being recorded. To see it: leftoff pause status"
    if "orphaned" in found.pauses:
        yield "A pause was interrupted. To keep it: leftoff pause recover"
    if found.paused is not None:
        note = f": {found.paused.message}" if found.paused.message else ""
        yield f"Paused {ago(found.now, found.paused.paused_at)}{note}"


def next_steps(found: Overview, workspace: Workspace) -> list[str]:
    """Return what to type next, the most useful first: on a new machine that is to connect an agent."""
    agents = load_agents()
    steps = []
    if found.left_off is not None or found.paused is not None:
        steps.append("Pick it up: leftoff resume")
    elif found.project.latest is not None:
        steps.append("Read it: leftoff show   Continue: leftoff resume   All: leftoff sessions")
    elif found.has_others:
        steps.append("Sessions of other projects: leftoff sessions")
    if not any(agent.home.is_dir() for agent in agents):
        names = " or ".join(agent.name for agent in agents)
        steps.append(
            f"No agent was found on this machine: leftoff works with {names}. To see how: leftoff demo"
        )
    return steps + [
        f"leftoff is not connected to {agent.name} yet. Connect it: leftoff install {agent.id}"
        for agent in agents_without_hooks(workspace)
    ]
