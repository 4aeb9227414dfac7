"""What can be forgotten: the sessions that anything of ours knows, and the projects in which leftoff keeps anything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from leftoff.archive.archive import open_archive
from leftoff.archive.archive_files import Archived
from leftoff.catalogue.forgotten import letters_only
from leftoff.chat.chat_file import SUFFIX
from leftoff.core.session import Session, SessionEntry
from leftoff.errors import AmbiguousSessionError, Choice, InvalidValueError, LeftoffError, NotFoundError
from leftoff.forget import index, masking, places, session_copies
from leftoff.forget.forget_remote import remote_name
from leftoff.forget.index import KnownSession
from leftoff.forget.matcher import Matcher
from leftoff.platform import clock, paths
from leftoff.platform.paths import Project
from leftoff.platform.register import Register
from leftoff.search.documents import is_chat, is_pause
from leftoff.sessions.find import find_session
from leftoff.sessions.listing import entries, entries_of_project, list_transcripts
from leftoff.sessions.live_state import FOLDER as STATES
from leftoff.sessions.live_state import LiveState
from leftoff.workspace import Workspace

_MIN_PREFIX = 4
_LOG_NAME = re.compile(r"session-(.+?)\.(?:md|json)(?:\.gz)?")


def find_target(selector: str, workspace: Workspace) -> KnownSession:
    """Return the session to forget; one that only the remote may know is not local."""
    try:
        return _known(find_session(selector, workspace).session)
    except NotFoundError:
        if (known := _find_known(selector, workspace)) is not None:
            return known
        is_local = clock.is_uuid(selector) and _is_mentioned(selector, workspace)
        if not is_local and remote_name(workspace) is None:
            raise
        if len(selector) < 8:
            raise InvalidValueError(f"{selector!r} is too short to be a whole session id.") from None
        return KnownSession(session_id=clock.check_id(selector), is_local=is_local)


def _is_mentioned(session_id: str, workspace: Workspace) -> bool:
    """Whether the id occurs in the name or content of any file of ours."""
    matcher = Matcher(session_ids=[session_id])
    kept = filter(masking.is_text, places.list_files(known_projects(workspace), workspace))
    about, _ = session_copies.ask_each(kept, lambda each: is_about(each, matcher, [session_id]))
    return bool(about or session_copies.copies_of([session_id]).orphans)


def _find_known(selector: str, workspace: Workspace) -> KnownSession | None:
    """Return the session that leftoff knows by this id or unique beginning, though its agent may have deleted it."""
    known = {each.session_id: each for each in _known_sessions(workspace)}
    if selector in known:
        return known[selector]
    matches = sorted(each for each in known if len(selector) >= _MIN_PREFIX and each.startswith(selector))
    if len(matches) > 1:
        choices = [Choice(each, known[each].project or "project not known") for each in matches]
        raise AmbiguousSessionError(selector, "sessions", choices)
    return known[matches[0]] if matches else None


def known_projects(workspace: Workspace) -> tuple[str, ...]:
    """Return every project that a session ran in or that a document was written in, and the current one."""
    found = {entry.project for entry in entries(list_transcripts()) if entry.project}
    found |= index.list_projects() | {each.project for each in open_archive().sessions() if each.project}
    for parts in (Path(each).parts for each in Register(folder=paths.data_folder()).noted_paths()):
        if paths.PROJECT_FOLDER in parts:
            root = Path(*parts[: parts.index(paths.PROJECT_FOLDER)])
            found |= {str(root)} if root.is_absolute() and root.is_dir() else set()
    return tuple(sorted(found | {str(workspace.project.root)}))


def sessions_of_project(workspace: Workspace) -> list[KnownSession]:
    """Return the project's sessions: first those that only leftoff knows, then those of the agents."""
    known = [*_live_sessions(), *_indexed_or_archived()]
    roots = {each: root_of(Path(each)) for each in {each.project for each in known} if each}
    deleted = [each for each in known if each.project and roots[each.project] == workspace.project.root]
    return [*deleted, *map(_known, entries_of_project(workspace.folder, list_transcripts()))]


def _live_sessions() -> Iterator[KnownSession]:
    """Yield the sessions that hooks have seen."""
    for path in places.files_below(paths.state_folder() / STATES):
        if path.suffix == ".json":
            with suppress(ValueError, RecursionError, LeftoffError):
                state = LiveState.from_dict(json.loads(masking.read(path)), where=str(path))
                yield KnownSession(state.session_id, state.agent, state.transcript, state.project)


def folders_of_project(project: Project, sessions: Iterable[KnownSession]) -> set[Path]:
    """Return the project's folder under every name: links to it, and where an agent names a folder after its path.

    HOME, and what is above it, contains everything else too: there it is only the folder of the documents.
    """
    root = project.root
    if project.folder.name != paths.PROJECT_FOLDER or paths.home().is_relative_to(root):
        return {project.folder}
    named = {Path(each.transcript).parent for each in sessions if each.transcript}
    after_path = {each for each in named if letters_only(str(root)) in letters_only(each.name)}
    return {root, *(Path(each.project) for each in sessions if each.project), *after_path}


def projects_inside(root: Path, projects: Iterable[str]) -> set[Path]:
    """Return the other projects whose folders are inside this one."""
    roots = (root_of(Path(each)) for each in projects)
    return {each for each in roots if each is not None and each != root and each.is_relative_to(root)}


def _known_sessions(workspace: Workspace) -> Iterator[KnownSession]:
    """Yield the sessions of our files, the archive and the library; the source that knows most comes last."""
    for path in places.list_files(known_projects(workspace), workspace):
        document = places.document_of(path)
        if not is_pause(path) and (named := _LOG_NAME.fullmatch(path.name)):
            yield KnownSession(session_id=named[1])
        elif document.suffix == SUFFIX and (document != path or is_chat(path)):
            yield KnownSession(session_id=document.stem)
    yield from _live_sessions()
    yield from _indexed_or_archived()


def _indexed_or_archived() -> list[KnownSession]:
    return [*map(_known, open_archive().sessions()), *index.list_sessions()]


def _known(session: Session | SessionEntry | Archived) -> KnownSession:
    return KnownSession(session.session_id, session.agent, session.transcript, session.project)


def root_of(folder: Path) -> Path | None:
    """Return the project root of a folder; None where that is not known."""
    try:
        return paths.find_project(folder).root if folder.is_absolute() else None
    except (OSError, ValueError):
        return None


def is_about(path: Path, matcher: Matcher, session_ids: Iterable[str]) -> bool:
    """Whether a file belongs to one of these sessions by its name, or holds a match."""
    return any(places.is_named_after(path, each) for each in session_ids) or masking.holds(path, matcher)
