"""Find the session that a person names: a number of the list last shown, an id or unique prefix, a path, or ``latest``."""

from __future__ import annotations

import filecmp
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path

from leftoff.agents.registry import agent_by_id, agent_of, load_agents
from leftoff.core import quantities
from leftoff.core.session import Session, SessionEntry
from leftoff.core.session_ids import MIN_PREFIX_CHARS, unique_prefixes
from leftoff.errors import AmbiguousSessionError, Choice, NotFoundError, NothingFoundError, UsageError
from leftoff.platform import clock
from leftoff.sessions.listing import (
    entries_from_files,
    entries_from_index,
    entries_of_project,
    is_of_project,
    list_transcripts,
    numbered_transcript,
)
from leftoff.workspace import SessionRef, Workspace

LATEST = "latest"
_MAX_NUMBER_DIGITS = 9
_NEWEST = 3  # transcripts read without the index: the latest session of a project is usually among them
_MAX_PROMPT_CHARS = 60
_HELP = "To list them: leftoff sessions"
_ID_LETTERS = "0123456789abcdef-"
_LONGEST_ID = 40
_SIMILAR = 0.75


def open_session(words: str = LATEST, working_folder: Path | None = None) -> Session:
    """Return the session that ``words`` name, ready to be read."""
    if not isinstance(words, str):
        raise UsageError(
            f"words is {words!r:.60}: an id, a path, a number of the list last shown, or 'latest' was expected."
        )
    return find_session(words, Workspace.open(working_folder)).session


def find_session(selector: str, workspace: Workspace) -> SessionRef:
    """Return the session that ``selector`` names; NotFoundError or AmbiguousSessionError for none or several."""
    if selector == LATEST:
        return _find_latest(workspace)
    if not selector.strip():
        raise UsageError(f"Which session? Name a number, an id, a path, or latest. {_HELP}")
    if selector.isdecimal() and len(selector) <= _MAX_NUMBER_DIGITS:
        transcript = numbered_transcript(int(selector))
        if transcript is not None:
            return session_at(transcript)
    path = _as_path(selector)
    return _find_by_id(selector, workspace) if path is None else session_at(path)


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
        if not transcripts:
            raise NothingFoundError(no_sessions())
        raise NothingFoundError(
            f"No session of {workspace.folder} was found. To list those of all projects: leftoff sessions"
        )
    return ref_of(entry)


def no_sessions() -> str:
    """Return the sentence for a machine without any sessions: what to do, and where to look."""
    names = " or ".join(agent.name for agent in load_agents())
    return f"No sessions yet. Work with {names} once, and they appear here. leftoff doctor shows where it looked."


def _as_path(selector: str) -> Path | None:
    """Return the path that is meant: one that exists, or text that can be nothing else."""
    try:
        path = Path(selector).expanduser()
        exists = path.exists()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, an unknown user after ~
        path, exists = Path(selector), False
    return path if exists or "/" in selector or selector.endswith(".jsonl") else None


def _find_by_id(selector: str, workspace: Workspace) -> SessionRef:
    matches = _entries_by_id(selector)
    if not matches and selector.isdecimal():
        raise NotFoundError(
            f"The list last shown has no number {selector[:20]}, and no session id begins with it. {_HELP}"
        )
    if not matches:
        raise NotFoundError(f"No session has the id {selector[:60]!r}. {_suggest(selector)}")
    exact = [entry for entry in matches if entry.session_id == selector]
    found = _without_duplicates(exact or matches)
    if len({(entry.agent, entry.session_id) for entry in found}) == 1:
        found = _prefer_project(found, workspace)
    if len(found) > 1:
        raise AmbiguousSessionError(selector, "sessions", _choices(found))
    return ref_of(found[0])


def _suggest(selector: str) -> str:
    """Return what may have been meant: the session whose id is most like it, or a search for what cannot be an id."""
    import difflib  # noqa: PLC0415 - needed only for a mistake

    if len(selector) < MIN_PREFIX_CHARS or len(selector) > _LONGEST_ID:
        return _HELP
    if not all(letter in _ID_LETTERS for letter in selector.lower()):
        return f"To look for words: leftoff search {selector}" if selector.isidentifier() else _HELP
    known = {each.session_id[: len(selector)]: each for each in entries_from_index(list_transcripts())}
    near = difflib.get_close_matches(selector, known, n=1, cutoff=_SIMILAR)
    if not near:
        return _HELP
    return f"Did you mean {unique_prefixes([each.session_id for each in known.values()])[known[near[0]].session_id]}?"


def find_by_id(session_id: str, workspace: Workspace) -> SessionRef | None:
    """Return the session with exactly this id, or None.

    Of several transcripts with that id, take one of this project if there is one, and the newest of those.
    """
    same_id = [entry for entry in _entries_by_id(session_id) if entry.session_id == session_id]
    return ref_of(_prefer_project(same_id, workspace)[0]) if same_id else None


def _entries_by_id(prefix: str) -> list[SessionEntry]:
    """Return the sessions whose id begins so, newest first: by file names, which costs no reading, then by content."""
    transcripts = list_transcripts()
    named = [each for each in transcripts if prefix in each.transcript.name]
    return _starting_with(prefix, entries_from_index(named)) or _starting_with(
        prefix, entries_from_index(transcripts)
    )


def _starting_with(prefix: str, entries: Iterable[SessionEntry]) -> list[SessionEntry]:
    if len(prefix) < MIN_PREFIX_CHARS:
        return []
    return [entry for entry in entries if entry.session_id.startswith(prefix)]


def _prefer_project(same_id: list[SessionEntry], workspace: Workspace) -> list[SessionEntry]:
    """Return those of the workspace's project, or all of them without a match: a renamed project leaves a session in two folders."""
    return [entry for entry in same_id if is_of_project(entry, workspace.project.root)] or same_id


def _without_duplicates(found: list[SessionEntry]) -> list[SessionEntry]:
    """Return one of each content, the newest: it does not matter which of two identical files is read."""
    different: list[SessionEntry] = []
    for entry in found:
        if not any(_is_identical(entry, other) for other in different):
            different.append(entry)
    return different


def _is_identical(one: SessionEntry, other: SessionEntry) -> bool:
    try:
        return one.size_bytes == other.size_bytes and filecmp.cmp(
            one.transcript, other.transcript, shallow=False
        )
    except OSError:  # one of them is gone or may not be read
        return False


def _choices(entries: Sequence[SessionEntry]) -> list[Choice]:
    """Say of each session how to select it: by the beginning of its id, or by its path if another has the same id."""
    prefixes = unique_prefixes([entry.session_id for entry in entries])
    times = Counter(entry.session_id for entry in entries)
    now = clock.now()
    return [
        Choice(
            selector=entry.transcript if times[entry.session_id] > 1 else prefixes[entry.session_id],
            description=_describe(entry, now),
        )
        for entry in entries
    ]


def _describe(entry: SessionEntry, now: datetime) -> str:
    prompt = " ".join((entry.first_prompt or "").split())
    parts = (
        entry.agent,
        entry.project or "project not known",
        quantities.ago(now, entry.modified_at),
        quantities.size(entry.size_bytes),
        f"{prompt[:_MAX_PROMPT_CHARS]}…" if len(prompt) > _MAX_PROMPT_CHARS else prompt,
    )
    return ", ".join(filter(None, parts))


def ref_of(entry: SessionEntry) -> SessionRef:
    """Return the session of an entry in the list."""
    return SessionRef(agent=agent_by_id(entry.agent), transcript=Path(entry.transcript), entry=entry)


def ref_of_session(session: Session) -> SessionRef:
    """Return an opened session as one that was found; UsageError for anything else than a session."""
    if not isinstance(session, Session):
        raise UsageError(
            f"session is {session!r:.60}: a session was expected. leftoff.open_session() opens one."
        )
    return SessionRef(agent=agent_by_id(session.agent), transcript=Path(session.transcript))
