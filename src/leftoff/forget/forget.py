"""Forget a session, a project or a text: plan what there is, erase it everywhere, then look for what is left.

Every file that leftoff keeps is read again afterwards, and those that still hold it are named. Files of the agents and of the
user are never changed; those that hold it are named, because only their owner can decide about them. Forgetting again after
an interruption completes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from leftoff.archive.archive import open_archive, session_files
from leftoff.catalogue.database import LOCK_NAME, library_folder
from leftoff.chat.page import looks_like_id
from leftoff.errors import NothingToDoError, StorageError, UsageError
from leftoff.forget import index, masking, places, session_copies
from leftoff.forget.forget_remote import RemoteResult, RemoteTask, forget_remote, remote_name
from leftoff.forget.index import KnownSession
from leftoff.forget.known import (
    find_target,
    folders_of_project,
    is_about,
    known_projects,
    projects_inside,
    root_of,
    sessions_of_project,
)
from leftoff.forget.matcher import Matcher, require_distinctive
from leftoff.forget.session_copies import ArchiveMatches, Unread, ask_each
from leftoff.forget.session_files import files_of_sessions, pause_name, update_pointer
from leftoff.platform import clock, files, locks, paths
from leftoff.resume_logs import pins
from leftoff.search.documents import is_pause
from leftoff.sessions.find import LATEST
from leftoff.storage.file_store import parse_file_name
from leftoff.storage.outbox import SENDING_LOCK, user_outbox
from leftoff.workspace import Workspace

_LOCK_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPlan:
    """What would be erased, and where it is. ``agents_own``, ``settings`` and ``stays`` are named, because they are not ours."""

    workspace: Workspace
    target: Literal["session", "project", "text"]
    description: str  # an id, a folder, or that it is a text
    matcher: Matcher
    elsewhere: Matcher  # for conversations and the logs of other projects, where an id that is not a UUID may be a word
    projects: tuple[str, ...]
    documents: tuple[Path, ...]  # files and folders to delete whatever they hold
    holders: tuple[Path, ...]  # other files with a match in their name or content
    unread: tuple[Unread, ...]  # files of ours that may hold a match
    in_library: bool
    agents_own: tuple[Path, ...]
    settings: tuple[Path, ...]  # files of the user's settings with a match
    stays: tuple[
        Path, ...
    ] = ()  # the user's own documents in the project, in which only ids of sessions are masked
    sessions: tuple[KnownSession, ...] = ()
    copies: ArchiveMatches = field(default_factory=ArchiveMatches)
    agents_unread: tuple[Unread, ...] = ()
    named_sources: int = 0  # sources in the library to delete, with the text in their path, project or id
    text: str | None = None
    remote: str | None = None  # the stores that are asked too
    project: Path | None = None  # the project whose logs in the remote are meant; None: the current one
    shared: Path | None = None  # a folder that other worktrees use too: only the sessions' documents go

    @property
    def is_local(self) -> bool:
        """Whether this machine keeps anything of it, or may."""
        copies = self.copies.archived or self.copies.orphans or self.copies.unread
        return bool(self.holders or copies or self.in_library or self.documents or self.unread)

    @property
    def is_empty(self) -> bool:
        """Whether leftoff keeps nothing of it, no agent has it, and there is no remote to ask."""
        return not (self.is_local or self.agents_own or self.agents_unread or self.remote is not None)

    @property
    def session_ids(self) -> list[str]:
        """The ids of the sessions to forget."""
        return [each.session_id for each in self.sessions]

    @property
    def local_ids(self) -> list[str]:
        """The ids of those sessions that this machine may know."""
        return [each.session_id for each in self.sessions if each.is_local]

    def matcher_for(self, path: Path) -> Matcher:
        """Return what is looked for in a file of ours, or of the user's."""
        return Matcher(session_ids=self.local_ids) if path in self.stays else self.matcher


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
    ids = [session.session_id] if session.is_local else []
    elsewhere = Matcher(session_ids=filter(clock.is_uuid, ids))
    plan = _plan_sessions([session], Matcher(session_ids=ids), elsewhere, workspace)
    folder = Path(session.project) if session.project else None
    return replace(
        plan,
        target="session",
        description=session.session_id,
        project=root_of(folder) if folder is not None and folder.is_dir() else None,
    )


def plan_project(workspace: Workspace) -> ForgetPlan:
    """Plan to forget every session of the project, all its documents and pins, and where it is.

    In a folder that worktrees share, only the documents of these sessions are known to be of this one: the others stay.
    """
    project = workspace.project
    is_shared = paths.shares_folder(project) and project.folder.is_dir()
    documents = [*places.documents_of(project, workspace), *user_outbox().of_project(str(project.root))]
    if not is_shared:
        documents += places.documents_of_folder(project)
        documents += filter(Path.is_file, [pins.file_of(project)])
    sessions = {each.session_id: each for each in [*_logged(documents), *sessions_of_project(workspace)]}
    uuids = [each for each in sessions if clock.is_uuid(each)]
    folders = folders_of_project(project, sessions.values())
    inside = projects_inside(project.root, known_projects(workspace)) | (
        {project.folder} if is_shared else set()
    )
    names = [*sessions, *_generated_names(documents)]
    stays = tuple(each for each in places.users_documents(project) if not places.is_below(each, inside))
    plan = _plan_sessions(
        [*sessions.values()],
        Matcher(session_ids=names, folders=folders, other_folders=inside),
        Matcher(session_ids=uuids, folders=folders, other_folders=inside),
        workspace,
        documents,
        stays,
    )
    return replace(
        plan,
        target="project",
        description=str(project.root),
        project=project.root,
        shared=project.folder if is_shared else None,
    )


def _logged(documents: Iterable[Path]) -> Iterator[KnownSession]:
    """Yield the agents' sessions of which there is a log; one of another name may be another session elsewhere."""
    for path in (path for each in documents for path in places.files_below(each)):
        if (named := parse_file_name(path.name)) is not None and clock.is_uuid(named[0]):
            yield KnownSession(named[0])


def _generated_names(documents: Iterable[Path]) -> set[str]:
    """Return the names of pauses and chats, which no other document has."""
    found = [path for each in documents for path in places.files_below(each)]
    pauses = {pause_name(path) for path in found if is_pause(path)}
    return {each for each in pauses if any(map(str.isdigit, each))} | {
        path.stem for path in found if looks_like_id(path.stem)
    }


def plan_text(text: str, workspace: Workspace) -> ForgetPlan:
    """Plan to forget a text wherever it occurs."""
    require_distinctive(text)
    matcher = Matcher([text])
    projects = known_projects(workspace)
    kept = [each for each in places.list_files(projects, workspace) if masking.is_text(each)]
    named = {each for each in kept if places.must_be_deleted(each, matcher) and not _is_archived(each)}
    holders, unread = ask_each(
        (each for each in kept if each not in named), lambda each: masking.holds(each, matcher)
    )
    agents_own, agents_unread = session_copies.agents_files_with(matcher)
    return ForgetPlan(
        workspace=workspace,
        target="text",
        description=f"a text of {len(text)} characters",
        matcher=matcher,
        elsewhere=matcher,
        projects=projects,
        documents=tuple(sorted(named)),
        holders=holders,
        unread=unread,
        in_library=index.index_holds(matcher),
        agents_own=agents_own,
        settings=_settings_with(matcher, projects),
        copies=session_copies.copies_with(matcher),
        agents_unread=agents_unread,
        named_sources=index.count_named_by(matcher),
        text=text,
        remote=remote_name(workspace),
    )


def _plan_sessions(
    sessions: Sequence[KnownSession],
    matcher: Matcher,
    elsewhere: Matcher,
    workspace: Workspace,
    documents: Sequence[Path] = (),
    stays: tuple[Path, ...] = (),
) -> ForgetPlan:
    projects = known_projects(workspace)
    transcripts = [Path(each.transcript) for each in sessions if each.transcript is not None]
    plan = ForgetPlan(
        workspace=workspace,
        target="session",
        description="",
        matcher=matcher,
        elsewhere=elsewhere,
        projects=projects,
        documents=(),
        holders=(),
        unread=(),
        in_library=False,
        agents_own=tuple(path for each in transcripts if each.exists() for path in session_files(each)),
        settings=_settings_with(matcher, projects),
        stays=stays,
        sessions=tuple(sessions),
        remote=remote_name(workspace),
    )
    gone = frozenset(documents)
    kept = (each for each in places.list_files(projects, workspace) if not places.is_below(each, gone))
    found, unread = ask_each(
        filter(masking.is_text, kept), lambda each: is_about(each, plan.matcher_for(each), plan.local_ids)
    )
    own = files_of_sessions(found, plan.local_ids)
    return replace(
        plan,
        documents=(*documents, *own),
        holders=tuple(each for each in found if each not in own),
        unread=unread,
        in_library=index.has_sessions(plan.local_ids) or index.count_named_by(elsewhere) > 0,
        copies=session_copies.copies_of(plan.local_ids),
    )


def _settings_with(matcher: Matcher, projects: Sequence[str]) -> tuple[Path, ...]:
    kept = places.settings_files(projects)
    holding, _ = ask_each(kept, lambda each: matcher.is_in(masking.read(each).decode("utf-8", "replace")))
    return holding


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
        try:
            result = _erase(plan)
        except (
            StorageError
        ) as error:  # a full disk, for one: masking writes a new file before it removes the old one
            raise StorageError(
                f"{plan.description} is only partly erased: {error} Solve that and type the same command again; it completes the work."
            ) from error
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
    folder = user_outbox().folder
    files.make_folder(folder)
    with locks.hold(folder / SENDING_LOCK, timeout_seconds=_LOCK_SECONDS):
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
        if each in plan.holders or is_about(each, plan.matcher_for(each), plan.local_ids)
    ]
    deleted, failed = _delete_files([*plan.documents, *files_of_sessions(holders, plan.session_ids)])
    session_copies.delete_copies(plan.copies)
    transcripts = [each.transcript for each in plan.sessions if each.transcript is not None]
    in_index = index.erase_from_index(
        plan.session_ids, transcripts, [*deleted, *plan.documents], plan.text, plan.elsewhere
    )
    remote = forget_remote(_remote_task(plan), plan.workspace)
    edited = [each for each in holders if each.exists()]
    for each in edited:
        if plan.text is None and masking.is_list(each):
            masking.drop_lines(each, plan.matcher)
        else:
            masking.mask(each, plan.matcher_for(each), in_register=each not in plan.stays)
    left, unread = find_left(plan)
    if not in_index.is_done:
        left.append(index.library_path())
    return ForgetResult(
        deleted=tuple(deleted),
        edited=tuple(edited),
        archived=len(plan.copies.archived),
        library=in_index.count,
        remote=remote,
        left=tuple(dict.fromkeys([*left, *failed])),
        unread=unread,
    )


def _remote_task(plan: ForgetPlan) -> RemoteTask:
    matcher, everywhere = plan.matcher, plan.elsewhere
    if plan.session_ids != plan.local_ids:  # of one that only the remote may know, nothing is looked for here
        matcher = Matcher(session_ids=plan.session_ids)
        everywhere = Matcher(session_ids=filter(clock.is_uuid, plan.session_ids))
    return RemoteTask(
        project=plan.project or plan.workspace.project.root,
        session_ids=plan.session_ids,
        matcher=matcher,
        everywhere=everywhere,
        is_text=plan.text is not None,
        is_project=plan.target == "project",
    )


def _delete_files(documents: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Delete these files, and those in these folders; return what was deleted, and what could not be."""
    deleted, failed = [], []
    for each in [path for document in documents for path in places.files_below(document)]:
        try:
            each.unlink(missing_ok=True)
            deleted.append(each)
        except OSError:
            failed.append(each)
    for folder in {each.parent for each in deleted if is_pause(each)}:
        update_pointer(folder)
    return deleted, failed


def find_left(plan: ForgetPlan) -> tuple[list[Path], tuple[Unread, ...]]:
    """Look at everything that leftoff keeps; return the files that hold a match or may, and why some could not be read."""
    left, unread = ask_each(
        places.list_files(plan.projects, plan.workspace),
        lambda each: (
            is_about(each, plan.matcher_for(each), plan.local_ids)
            or (plan.text is not None and places.is_named_by(each, plan.matcher))
        ),
    )
    if index.has_sessions(plan.session_ids) or index.index_holds(plan.elsewhere):
        left = (*left, index.library_path())
    copies = session_copies.copies_with(plan.elsewhere, plan.local_ids)
    unread = (*unread, *copies.unread)
    return [*left, *copies.holding, *(each.path for each in unread)], unread
