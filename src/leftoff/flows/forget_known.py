"""What forgetting can be asked for: the sessions that anything of ours knows, and the projects in which we keep anything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from leftoff.conversations.chat_file import SUFFIX
from leftoff.errors import AmbiguousSessionError
from leftoff.flows import forget_library as library
from leftoff.flows import sessions
from leftoff.flows.archive_sessions import archive_here
from leftoff.flows.forget_library import Recorded
from leftoff.flows.forget_places import document_of, kept_files
from leftoff.flows.own_documents import is_chat, is_pause
from leftoff.flows.sessions import entries, found_sessions
from leftoff.flows.watch_states import FOLDER as STATES
from leftoff.system import paths
from leftoff.system.register import Register

_SHORTEST_PREFIX = 4
_LOG = re.compile(r"session-(.+?)\.(?:md|json)(?:\.gz)?")


def recorded(words: str) -> Recorded | None:
    """The session whose id is ``words`` or alone begins so, of those that its agent may have deleted; None for none."""
    known = {each.session_id: each for each in _recorded()}
    if words in known:
        return known[words]
    matches = sorted(each for each in known if len(words) >= _SHORTEST_PREFIX and each.startswith(words))
    if len(matches) > 1:
        raise AmbiguousSessionError(
            f"{words[:60]!r} names {len(matches)} sessions: {', '.join(matches[:4])}. Give more of the id."
        )
    return known[matches[0]] if matches else None


def sessions_of(folder: Path) -> list[Recorded]:
    """The sessions of the project of ``folder``: those that an agent has, last, and those that only library or archive know."""
    root = paths.project_of(folder).root
    recorded_here = _library_and_archive()
    roots = {each: _root_of(each) for each in {each.project for each in recorded_here} if each}
    there = [
        Recorded(session_id=each.session_id, agent=each.agent, transcript=each.transcript)
        for each in sessions.sessions_of(folder, found_sessions())
    ]
    deleted = [each for each in recorded_here if each.project and roots[each.project] == root]
    return [*deleted, *there]


def projects() -> tuple[str, ...]:
    """Every project that a session ran in, that a document of ours stood in, and the one we are in."""
    listed = {entry.project for entry in entries(found_sessions()) if entry.project}
    listed |= library.projects() | {each.project for each in archive_here().sessions() if each.project}
    listed |= _homes(Register(folder=paths.data_folder()).noted_paths())
    return tuple(sorted(listed | {str(paths.project_of(paths.working_folder()).root)}))


def _homes(documents: Iterable[str]) -> set[str]:
    """The folders above ``.leftoff`` of these documents."""
    split = (Path(each).parts for each in documents)
    found = (
        Path(*parts[: parts.index(paths.PROJECT_FOLDER)]) for parts in split if paths.PROJECT_FOLDER in parts
    )
    return {str(each) for each in found if each.is_absolute() and each.is_dir()}


def _recorded() -> Iterator[Recorded]:
    """Files that are called by an id, states, the archive and the library; who knows the most comes last."""
    for kept in kept_files(projects()):
        if kept.parent.name == STATES and kept.suffix == ".json":
            with suppress(OSError, ValueError, TypeError, LookupError):
                yield Recorded(session_id=str(json.loads(kept.read_bytes())["session_id"]))
        elif not is_pause(kept) and (named := _LOG.fullmatch(kept.name)):
            yield Recorded(session_id=named[1])
        elif (document := document_of(kept)).suffix == SUFFIX and (document != kept or is_chat(kept)):
            yield Recorded(session_id=document.stem)
    yield from _library_and_archive()


def _library_and_archive() -> list[Recorded]:
    archived = [
        Recorded(
            session_id=each.session_id, agent=each.agent, transcript=each.transcript, project=each.project
        )
        for each in archive_here().sessions()
    ]
    return [*archived, *library.sessions()]


def _root_of(folder: str) -> Path | None:
    try:
        return paths.project_of(Path(folder)).root if Path(folder).is_absolute() else None
    except (OSError, ValueError):
        return None
