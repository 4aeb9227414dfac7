"""Forget a session, a project or a text: plan what there is, erase it everywhere, then look for what is left.

Every file that leftoff keeps is read again afterwards, and those that still hold it are named. Files of the agents and of the
user are never changed; those that hold it are named, because only their owner can decide about them. Forgetting again after
an interruption completes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from leftoff.catalogue.database import LOCK_NAME, library_folder
from leftoff.errors import NothingToDoError, UsageError
from leftoff.forget import index, masking, places, session_copies
from leftoff.forget.forget_remote import RemoteResult, forget_remote, remote_name
from leftoff.forget.index import KnownSession
from leftoff.forget.known import find_target, is_about, known_projects, root_of, sessions_of_project
from leftoff.forget.matcher import Matcher, require_distinctive
from leftoff.forget.purge import kept_data
from leftoff.forget.session_copies import ArchiveMatches, Unread
from leftoff.pause.journal import parse_origin, read_lines
from leftoff.pause.snapshot import LATEST_NAME
from leftoff.pause.snapshot_store import list_finished
from leftoff.platform import clock, files, locks, paths
from leftoff.search.archive import open_archive, session_files
from leftoff.search.documents import is_pause
from leftoff.sessions.find import LATEST
from leftoff.storage import outbox
from leftoff.workspace import Workspace

_LOCK_SECONDS = 60.0
_PAUSE_ENDINGS = re.compile(r"(?:-incremental)?\.(?:jsonl|json|yaml|md)(?:\.gz)?\Z")
_ORIGIN_IN_MARKDOWN = re.compile(r"^- \*\*Session\*\*: \S+ (?P<id>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPlan:
    """What would be erased, and where it is. ``agents_own`` and ``settings`` are named and never changed."""

    workspace: Workspace
    target: Literal["session", "project", "text"]
    description: str  # an id, a folder, or that it is a text
    matcher: Matcher
    projects: tuple[str, ...]
    holders: tuple[Path, ...]  # files with a match in their name or content
    in_library: bool
    agents_own: tuple[Path, ...]
    settings: tuple[Path, ...]  # files of the user's settings with a match
    sessions: tuple[KnownSession, ...] = ()
    documents: tuple[Path, ...] = ()  # files and folders to delete whatever they hold
    copies: ArchiveMatches = field(default_factory=ArchiveMatches)
    agents_unread: tuple[Unread, ...] = ()
    named_sources: int = 0  # sources in the library to delete, with the text in their path, project or id
    text: str | None = None
    remote: str | None = None  # the storage backend that is asked too
    project: Path | None = None  # the project whose logs in the remote are meant; None: the current one
    shared: Path | None = None  # a folder that other worktrees use too: only the sessions' documents go

    @property
    def is_local(self) -> bool:
        """Whether this machine keeps anything of it, or may."""
        copies = self.copies.archived or self.copies.orphans or self.copies.unread
        return bool(self.holders or copies or self.in_library or self.documents)

    @property
    def is_empty(self) -> bool:
        """Whether leftoff keeps nothing of it, no agent has it, and there is no remote to ask."""
        return not (self.is_local or self.agents_own or self.agents_unread or self.remote is not None)

    @property
    def session_ids(self) -> list[str]:
        """The ids of the sessions to forget."""
        return [each.session_id for each in self.sessions]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetResult:
    """What was done. ``left`` are files of ours that still hold it, or may; empty if all went well."""

    deleted: tuple[Path, ...]
    edited: tuple[Path, ...]
    archived: int
    library: int
    remote: RemoteResult
    left: tuple[Path, ...] = ()
    unread: tuple[Unread, ...] = ()  # those of them that could not be read


def plan_session(selector: str, workspace: Workspace) -> ForgetPlan:
    """Plan to forget one session by its number, id or path; by its id also one that the agent has deleted."""
    if selector.strip().lower() == LATEST:
        raise UsageError(
            f"{LATEST} is another session every day. Name the one to forget by its number or id: leftoff sessions"
        )
    session = find_target(selector, workspace)
    plan = _plan_sessions("session", session.session_id, [session], workspace)
    folder = Path(session.project) if session.project else None
    return replace(plan, project=root_of(folder) if folder is not None and folder.is_dir() else None)


def plan_project(workspace: Workspace) -> ForgetPlan:
    """Plan to forget every session of the project and all its documents.

    In a folder that worktrees share, only the documents of these sessions are known to be of this one: the others stay.
    """
    project = workspace.project
    sessions = {each.session_id: each for each in sessions_of_project(workspace)}
    found = places.documents_of(project, workspace)
    is_shared = paths.shares_folder(project)
    if not is_shared:
        found += [each.path for each in kept_data(workspace.folder) if each.path.parent == project.folder]
    plan = _plan_sessions("project", str(project.root), [*sessions.values()], workspace)
    return replace(
        plan,
        documents=tuple(found),
        project=project.root,
        shared=project.folder if is_shared and project.folder.is_dir() else None,
    )


def plan_text(text: str, workspace: Workspace) -> ForgetPlan:
    """Plan to forget a text wherever it occurs."""
    require_distinctive(text)
    matcher = Matcher([text])
    projects = known_projects(workspace)
    kept = [each for each in places.list_files(projects, workspace) if masking.is_text(each)]
    named = {each for each in kept if places.must_be_deleted(each, matcher) and not _is_archived(each)}
    agents_own, agents_unread = session_copies.agents_files_with(matcher)
    return ForgetPlan(
        workspace=workspace,
        target="text",
        description=f"a text of {len(text)} characters",
        matcher=matcher,
        projects=projects,
        holders=tuple(each for each in kept if each not in named and masking.holds(each, matcher)),
        in_library=index.index_holds(matcher),
        agents_own=agents_own,
        settings=_settings_with(matcher, projects),
        documents=tuple(sorted(named)),
        copies=session_copies.copies_with(matcher),
        agents_unread=agents_unread,
        named_sources=index.count_named_by(matcher),
        text=text,
        remote=remote_name(workspace),
    )


def _plan_sessions(
    target: Literal["session", "project"],
    description: str,
    sessions: Sequence[KnownSession],
    workspace: Workspace,
) -> ForgetPlan:
    local = {each.session_id for each in sessions if each.is_local}
    matcher = Matcher(session_ids=sorted(local))
    projects = known_projects(workspace)
    transcripts = [Path(each.transcript) for each in sessions if each.transcript is not None]
    return ForgetPlan(
        workspace=workspace,
        target=target,
        description=description,
        matcher=matcher,
        projects=projects,
        holders=tuple(
            each
            for each in places.list_files(projects, workspace)
            if masking.is_text(each) and is_about(each, matcher, local)
        ),
        in_library=index.has_sessions(local),
        agents_own=tuple(path for each in transcripts if each.exists() for path in session_files(each)),
        settings=_settings_with(matcher, projects),
        sessions=tuple(sessions),
        copies=session_copies.copies_of(local),
        remote=remote_name(workspace),
    )


def _settings_with(matcher: Matcher, projects: Sequence[str]) -> tuple[Path, ...]:
    kept = places.settings_files(projects)
    return tuple(each for each in kept if matcher.is_in(masking.read(each).decode("utf-8", "replace")))


def _is_archived(path: Path) -> bool:
    """Whether the archive deletes the file itself, together with the copy that it describes."""
    return path.parent == open_archive().folder


def forget(plan: ForgetPlan) -> ForgetResult:
    """Carry out a plan and look at everything again; NothingToDoError where there is nothing of it anywhere.

    What only an agent has is remembered, so that it is not indexed or archived later.
    """
    if plan.is_empty:
        raise NothingToDoError(f"leftoff keeps nothing of {plan.description}.")
    with _no_sending(plan), _no_indexing():
        result = _erase(plan)
    is_known = plan.is_local or plan.agents_own or plan.agents_unread or result.remote.erased
    if not is_known and result.remote.trouble is None:
        raise NothingToDoError(f"leftoff keeps nothing of {plan.description}, and neither does the remote.")
    return result


@contextmanager
def _no_sending(plan: ForgetPlan) -> Iterator[None]:
    """Keep the outbox from sending: what a sender has read already would arrive after it was erased."""
    if plan.remote is None:
        yield
        return
    folder = outbox.user_outbox().folder
    files.make_folder(folder)
    with locks.hold(folder / outbox.SENDING_LOCK, timeout_seconds=_LOCK_SECONDS):
        yield


@contextmanager
def _no_indexing() -> Iterator[None]:
    """Keep others from indexing and archiving: they would add again what is being erased."""
    folder = Path(library_folder())
    files.make_folder(folder)
    with locks.hold(folder / LOCK_NAME, timeout_seconds=_LOCK_SECONDS):
        yield


def _erase(plan: ForgetPlan) -> ForgetResult:
    holders = [
        each
        for each in places.finish_changes(plan.holders)
        if each in plan.holders or is_about(each, plan.matcher, plan.session_ids)
    ]
    deleted = [*_delete_files(plan, holders)]
    session_copies.delete_copies(plan.copies)
    transcripts = [each.transcript for each in plan.sessions if each.transcript is not None]
    in_index = index.erase_from_index(plan.session_ids, transcripts, [*deleted, *plan.documents], plan.text)
    project = plan.project or plan.workspace.project.root
    remote = forget_remote(plan.session_ids, plan.text, plan.workspace, project)
    edited = [each for each in holders if each.exists()]
    for each in edited:
        if plan.text is None and masking.is_list(each):
            masking.drop_lines(each, plan.matcher)
        else:
            masking.mask(each, plan.matcher)
    left, unread = find_left(plan)
    if not in_index.is_done:
        left.append(index.library_path())
    return ForgetResult(
        deleted=tuple(deleted),
        edited=tuple(edited),
        archived=len(plan.copies.archived),
        library=in_index.count,
        remote=remote,
        left=tuple(dict.fromkeys(left)),
        unread=unread,
    )


def _delete_files(plan: ForgetPlan, holders: Sequence[Path]) -> Iterator[Path]:
    """Delete the files of the sessions and the documents of the plan; yield each."""
    for session_id in plan.session_ids:
        own_pauses = _own_pauses(holders, session_id)
        named = (each for each in holders if places.is_named_after(each, session_id))
        for each in dict.fromkeys([*named, *own_pauses]):
            each.unlink(missing_ok=True)
            yield each
        for folder in {each.parent for each in own_pauses}:
            _update_pointer(folder)
    for document in plan.documents:
        for each in [*places.files_below(document)]:
            each.unlink(missing_ok=True)
            yield each


def _own_pauses(holders: Iterable[Path], session_id: str) -> list[Path]:
    """Return all files of the session's own pauses; a pause of another session that mentions it stays, with the id masked."""
    pauses = dict.fromkeys((path.parent, _pause_name(path)) for path in holders if is_pause(path))
    found = []
    for folder, name in pauses:
        parts = [each for each in folder.iterdir() if each.is_file() and _pause_name(each) == name]
        if any(_origin_of(each) == session_id for each in parts):
            found += parts
    return found


def _update_pointer(folder: Path) -> None:
    """Let the pointer to the latest pause name the newest one that is left; delete it where none is."""
    pointer = folder / LATEST_NAME
    named = masking.read(pointer).decode("utf-8", "replace").strip()
    left = [each.session_id for each in list_finished(folder) if ".json" in each.files]
    if not named or named in left:
        return
    if left:
        files.write_file(pointer, f"{left[0]}\n".encode())
    else:
        pointer.unlink(missing_ok=True)


def _pause_name(path: Path) -> str:
    return _PAUSE_ENDINGS.sub("", places.document_of(path).name)


def _origin_of(path: Path) -> str | None:
    """Return the session that a part of a pause says it is of; None where it does not say, or cannot be parsed."""
    content, value = masking.read(path), None
    match Path(places.document_of(path).name.removesuffix(".gz")).suffix:
        case ".jsonl":
            actions = (line.action for line in read_lines(content) if line.action is not None)
            value = next((each.data for each in actions if each.type == "pause_started"), None)
        case ".json":
            with suppress(ValueError, RecursionError):
                value = json.loads(content)
        case ".md":
            head = content.decode("utf-8", "replace").partition("\n\n")[2].partition("\n\n")[0]
            return found["id"] if (found := _ORIGIN_IN_MARKDOWN.search(head)) else None
        case _:
            return None
    origin = parse_origin(value) if isinstance(value, dict) else None
    return None if origin is None else origin.session_id


def find_left(plan: ForgetPlan) -> tuple[list[Path], tuple[Unread, ...]]:
    """Look at everything that leftoff keeps; return the files that hold a match or may, and why some could not be read."""
    session_ids = [each.session_id for each in plan.sessions if each.is_local]
    left = [
        each
        for each in places.list_files(plan.projects, plan.workspace)
        if is_about(each, plan.matcher, session_ids)
        or (plan.text is not None and places.is_named_by(each, plan.matcher))
    ]
    uuids = filter(clock.is_uuid, session_ids)  # in conversations any other id may be a word
    matcher = plan.matcher if plan.text is not None else Matcher(session_ids=uuids)
    if index.has_sessions(plan.session_ids) or index.index_holds(matcher):
        left.append(index.library_path())
    copies = session_copies.copies_with(matcher, session_ids)
    return [*left, *copies.paths], copies.unread
