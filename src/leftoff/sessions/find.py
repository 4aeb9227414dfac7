"""Find the session that a person names: a number of the list last shown, an id or unique prefix, a path, or ``latest``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from leftoff.agents.registry import agent_by_id, agent_of, load_agents
from leftoff.core.session import MIN_PREFIX_CHARS, Session, SessionEntry
from leftoff.errors import AmbiguousSessionError, NotFoundError
from leftoff.sessions.listing import (
    entries_from_files,
    entries_from_index,
    entries_of_project,
    list_transcripts,
    numbered_transcript,
)
from leftoff.workspace import SessionRef, Workspace

LATEST = "latest"
_MAX_NUMBER_DIGITS = 9
_NEWEST = 3  # transcripts read without the index: the latest session of a project is usually among them
_HELP = "leftoff sessions lists what there is."


def open_session(words: str = LATEST, working_folder: Path | None = None) -> Session:
    """Return the session that ``words`` name, ready to be read."""
    return find_session(words, Workspace.open(working_folder)).session


def find_session(selector: str, workspace: Workspace) -> SessionRef:
    """Return the session that ``selector`` names; NotFoundError or AmbiguousSessionError for none or several."""
    if selector == LATEST:
        return _find_latest(workspace)
    if selector.isdecimal() and len(selector) <= _MAX_NUMBER_DIGITS:
        transcript = numbered_transcript(int(selector))
        if transcript is not None:
            return session_at(transcript)
    path = _as_path(selector)
    return _find_by_id(selector) if path is None else session_at(path)


def session_at(transcript: Path) -> SessionRef:
    """Return the session in a transcript; TranscriptError when no agent recognises the file."""
    return SessionRef(agent=agent_of(transcript), transcript=transcript)


def _find_latest(workspace: Workspace) -> SessionRef:
    transcripts = list_transcripts()
    root = workspace.project.root
    newest = entries_of_project(root, transcripts[:_NEWEST], entries_from_files)
    older = entries_of_project(root, transcripts[_NEWEST:], entries_from_index)
    entry = next(chain(newest, older), None)
    if entry is None:
        raise NotFoundError(
            f"No session of {workspace.folder} was found. leftoff sessions lists those of all projects."
        )
    return ref_of(entry)


def _as_path(selector: str) -> Path | None:
    """Return the path that is meant: one that exists, or text that can be nothing else."""
    try:
        path = Path(selector).expanduser()
        exists = path.exists()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, an unknown user after ~
        path, exists = Path(selector), False
    return path if exists or "/" in selector or selector.endswith(".jsonl") else None


def _find_by_id(selector: str) -> SessionRef:
    """Look for the id in file names first, which costs no reading, then in the transcripts."""
    transcripts = list_transcripts()
    named = [each for each in transcripts if selector in each.transcript.name]
    matches = _starting_with(selector, entries_from_index(named)) or _starting_with(
        selector, entries_from_index(transcripts)
    )
    if not matches and selector.isdecimal():
        raise NotFoundError(
            f"The list last shown has no number {selector[:20]}, and no session an id that begins so. {_HELP}"
        )
    if not matches:
        names = ", ".join(agent.name for agent in load_agents())
        raise NotFoundError(f"No session of {names} has the id {selector[:60]!r}. {_HELP}")
    exact = [entry for entry in matches if entry.session_id == selector]
    if len(matches) > 1 and len(exact) != 1:
        some = ", ".join(entry.session_id for entry in matches[:4])
        more = f" and {len(matches) - 4} more" if len(matches) > 4 else ""
        raise AmbiguousSessionError(
            f"{selector[:60]!r} names {len(matches)} sessions: {some}{more}. Give more of the id."
        )
    return ref_of((exact or matches)[0])


def _starting_with(prefix: str, entries: Iterable[SessionEntry]) -> list[SessionEntry]:
    if len(prefix) < MIN_PREFIX_CHARS:
        return []
    return [entry for entry in entries if entry.session_id.startswith(prefix)]


def ref_of(entry: SessionEntry) -> SessionRef:
    """Return the session of an entry in the list."""
    return SessionRef(agent=agent_by_id(entry.agent), transcript=Path(entry.transcript), entry=entry)
