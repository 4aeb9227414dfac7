"""Forget a session, a project or a text: erase it from every place where leftoff keeps anything, and prove it.

First a plan that can be shown, then the plan carried out, then every file of ours is read again: what still holds it is named.
The agents' own files are never touched; those that hold it are named too, because only their owner can decide about them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from leftoff.errors import InvalidValueError, NotFoundError, NothingToDoError, UsageError
from leftoff.flows import forget_copies as copies
from leftoff.flows import forget_databases as databases
from leftoff.flows import forget_known as known
from leftoff.flows import forget_library as library
from leftoff.flows import forget_names as names
from leftoff.flows import forget_places as places
from leftoff.flows import forget_text as texts
from leftoff.flows.archive_sessions import archive_here, files_of
from leftoff.flows.choose import LATEST, choose
from leftoff.flows.library_folder import library_folder
from leftoff.flows.purge import kept_data
from leftoff.flows.remote_forget import RemoteForgot, forget_remote, remote_named
from leftoff.library import shelf as shelves
from leftoff.library.archive import Archived
from leftoff.library.forgotten import MASK
from leftoff.library.shelf import REMEMBERED
from leftoff.model.values import dataclass
from leftoff.stores import outbox
from leftoff.system import files, ids, locks, paths

_SENDING_SECONDS = 60.0

Target = Literal["session", "project", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session that is to be forgotten; ``transcript`` is the agent's own file, None where that is gone."""

    session_id: str
    agent: str | None
    transcript: str | None
    project: str | None = None
    is_ours: bool = True  # False: nothing here knows it, and only the remote is asked


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPlan:
    """What would be erased, and where it stands. ``agents_own`` are files of agents: named, never touched."""

    target: Target
    words: str  # what is shown of it: an id, a folder, or that it is a text
    sessions: tuple[Session, ...]
    needles: tuple[tuple[places.Needle, ...], ...]
    holders: tuple[Path, ...]
    archived: tuple[Archived, ...]
    in_library: bool
    agents_own: tuple[Path, ...]
    projects: tuple[str, ...]
    text: str | None = None
    documents: tuple[Path, ...] = ()
    remote: str | None = None  # the storage backend that is asked too
    orphans: tuple[Path, ...] = ()  # files of the archive that a killed process left behind
    unread: tuple[copies.Unread, ...] = ()  # copies of the archive into which nobody could look
    agents_unread: tuple[copies.Unread, ...] = ()  # and files of agents
    called: int = 0  # sources of the library that have the text in their path, project or id: they go whole
    project: Path | None = None  # whose logs of the remote are meant; None: of the project we are in
    shared: Path | None = None  # where other worktrees have documents too: only those of the sessions go
    settings: tuple[Path, ...] = ()  # what the user wrote for us, where that holds it: named, never touched

    @property
    def is_local(self) -> bool:
        """Whether this machine keeps anything of it, or may."""
        in_archive = self.archived or self.orphans or self.unread
        return bool(self.holders or in_archive or self.in_library or self.documents)

    @property
    def is_empty(self) -> bool:
        """Whether we keep nothing of it, no agent has it, from whom it would come to us, and there is nobody else to ask."""
        in_agents = self.agents_own or self.agents_unread
        return not self.is_local and not in_agents and self.remote is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgot:
    """What was done. ``left`` are files of ours that still hold it, or may: none, if all is well."""

    deleted: tuple[Path, ...]
    edited: tuple[Path, ...]
    archived: int
    library: int
    remote: RemoteForgot
    left: tuple[Path, ...] = field(default=())
    unread: tuple[copies.Unread, ...] = field(default=())  # those of them into which nobody could look


def plan_session(words: str, working_folder: Path) -> ForgetPlan:
    """Forget one session: by number, id or path; one that the agent has deleted by its id."""
    if words.strip().lower() == LATEST:
        raise UsageError(
            f"{LATEST} is another session every day. Name the one to forget by its number or id: leftoff sessions"
        )
    session = _session(words, working_folder)
    return _plan("session", session.session_id, (session,), ())


def plan_project(folder: Path) -> ForgetPlan:
    """Forget every session that ran in the project of ``folder``, and all documents of it.

    In a folder that worktrees share only the documents of these sessions are known to be of it: the others stay.
    """
    project = paths.project_of(folder)
    listed = {
        each.session_id: Session(session_id=each.session_id, agent=each.agent, transcript=each.transcript)
        for each in known.sessions_of(folder)
    }
    is_shared = paths.is_shared(project)
    documents = places.documents_of(project)
    if not is_shared:
        documents += [each.path for each in kept_data(folder) if each.path.parent == project.folder]
    plan = _plan("project", str(project.root), tuple(listed.values()), tuple(documents))
    return replace(plan, shared=project.folder) if is_shared and project.folder.is_dir() else plan


def plan_text(text: str) -> ForgetPlan:
    """Forget a text wherever it stands."""
    texts.require_telling(text)
    needles = places.needles_of(text)
    projects = known.projects()
    own, unread_own = copies.in_agents_files(text)
    in_archive = copies.with_text(text)
    documents, holders = _called_and_holding(text, projects)
    return ForgetPlan(
        target="text",
        words=f"a text of {len(text)} characters",
        sessions=(),
        needles=(needles,),
        documents=documents,
        holders=holders,
        archived=in_archive.archived,
        called=library.called_by(text),
        orphans=in_archive.orphans,
        unread=in_archive.unread,
        in_library=library.holds([text]),
        agents_own=own,
        agents_unread=unread_own,
        projects=projects,
        text=text,
        remote=remote_named(paths.working_folder()),
        settings=tuple(each for each in places.settings_files(projects) if texts.stands_in(each, text)),
    )


def forget(plan: ForgetPlan) -> Forgot:
    """Carry it out and look at everything again; NothingToDoError where nobody has anything of it.

    What only an agent has is remembered, so that it is not taken in later.
    """
    if plan.is_empty:
        raise NothingToDoError(f"leftoff keeps nothing of {plan.words}.")
    with _nobody_sending(plan), library.nobody_reading():
        done = _forgotten(plan)
    is_known = plan.is_local or plan.agents_own or plan.agents_unread or done.remote.erased
    if not is_known and done.remote.trouble is None:
        raise NothingToDoError(f"leftoff keeps nothing of {plan.words}, and neither does the remote.")
    return done


@contextmanager
def _nobody_sending(plan: ForgetPlan) -> Iterator[None]:
    """What a sender has read already would arrive after it was erased."""
    if plan.remote is None:
        yield
        return
    folder = outbox.of_user().folder
    files.make_folder(folder)
    with locks.held(folder / outbox.LOCK_NAME, timeout_seconds=_SENDING_SECONDS):
        yield


def _forgotten(plan: ForgetPlan) -> Forgot:
    settled = [each for each in places.settle(plan.holders) if each in plan.holders or _holds(plan, each)]
    plan = replace(plan, holders=tuple(settled))
    deleted, edited = [*_delete_documents(plan)], []
    copies.erase(plan.archived, plan.orphans)
    erased = [(session.session_id, session.transcript) for session in plan.sessions]
    from_library = library.erase(erased, [*deleted, *plan.documents], plan.text)
    here = paths.working_folder()
    remote = forget_remote(
        [each for each, _ in erased], plan.text, MASK, here, plan.project or paths.project_of(here).root
    )
    for kept in plan.holders:
        if kept.exists():
            needles = [needle for group in plan.needles for needle in group]
            if plan.text is not None:
                texts.mask(kept, plan.text)
            elif places.has_lines(kept):
                places.drop_lines(kept, needles)
            else:
                places.mask(kept, needles)
            edited.append(kept)
    in_archive = _left_in_archive(plan)
    left = [*_left(plan), *in_archive.places, *([] if from_library.is_done else [_library()])]
    return Forgot(
        deleted=tuple(deleted),
        edited=tuple(edited),
        archived=len(plan.archived),
        library=from_library.count,
        remote=remote,
        left=tuple(dict.fromkeys(left)),
        unread=in_archive.unread,
    )


def still_holding(plan: ForgetPlan) -> Iterator[Path]:
    """Every file of ours that holds it, by its bytes, and by what is compressed in it; the form of our documents is no content.

    Copies that cannot be read are among them: not knowing is no proof.
    """
    yield from _left(plan)
    yield from _left_in_archive(plan).places


def _left_in_archive(plan: ForgetPlan) -> copies.Looked:
    if plan.text is not None:
        return copies.with_text(plan.text)
    needles = [needle.words for group in plan.needles for needle in group if not needle.is_name]
    return copies.mentioning({session.session_id for session in plan.sessions}, needles)


def _left(plan: ForgetPlan) -> Iterator[Path]:
    everything = [needle for group in plan.needles for needle in group]
    for kept in places.kept_files(plan.projects):
        if kept.name == REMEMBERED:
            continue  # digests alone
        if _is_called(plan, kept) or _has_bytes(plan, kept, everything):
            yield kept
    forgotten = {session.session_id for session in plan.sessions}
    ids_alone = [each for each in forgotten if ids.is_uuid(each)]
    if library.knows(forgotten) or library.holds([*ids_alone, *([plan.text] if plan.text else [])]):
        yield _library()


def _plan(
    target: Target, words: str, sessions: tuple[Session, ...], documents: tuple[Path, ...]
) -> ForgetPlan:
    ours = {session.session_id for session in sessions if session.is_ours}
    needles = tuple(places.needles_of_id(each) for each in sorted(ours))
    projects = known.projects()
    transcripts = [Path(session.transcript) for session in sessions if session.transcript is not None]
    in_archive = copies.of_sessions(ours)
    return ForgetPlan(
        target=target,
        words=words,
        sessions=sessions,
        needles=needles,
        holders=tuple(_holders(projects, partial(_is_of, needles, sorted(ours)))),
        archived=in_archive.archived,
        orphans=in_archive.orphans,
        in_library=library.knows(ours),
        agents_own=tuple(path for each in transcripts if each.exists() for path in files_of(each)),
        projects=projects,
        documents=documents,
        remote=remote_named(paths.working_folder()),
        settings=tuple(
            kept
            for kept in places.settings_files(projects)
            if any(places.holding(kept, group) for group in needles)
        ),
        project=_project_of(sessions) if target == "session" else Path(words),
    )


def _project_of(sessions: Sequence[Session]) -> Path | None:
    """The project of one session, where anybody knows it and it still stands."""
    folder = Path(sessions[0].project) if sessions and sessions[0].project else None
    return paths.project_of(folder).root if folder is not None and folder.is_dir() else None


def _session(words: str, working_folder: Path) -> Session:
    try:
        session = choose(words, working_folder).open()
        return Session(
            session_id=session.session_id,
            agent=session.agent,
            transcript=session.transcript,
            project=session.project,
        )
    except NotFoundError:
        if (gone := known.recorded(words)) is not None:
            return Session(
                session_id=gone.session_id, agent=gone.agent, transcript=gone.transcript, project=gone.project
            )
        is_ours = ids.is_uuid(words) and _is_mentioned(words)
        if not is_ours and remote_named(working_folder) is None:
            raise
        if len(words) < 8:
            raise InvalidValueError(f"{words!r} is too short to be a whole session id.") from None
        return Session(session_id=ids.checked(words), agent=None, transcript=None, is_ours=is_ours)


def _is_mentioned(session_id: str) -> bool:
    """Whether any file of ours, an orphan of the archive too, is called by the id or holds it."""
    holds = partial(_is_of, [places.needles_of_id(session_id)], [session_id])
    is_held = next(_holders(known.projects(), holds), None) is not None
    return is_held or bool(copies.of_sessions({session_id}).orphans)


def _holders(projects: Sequence[str], holds: Callable[[Path], bool]) -> Iterator[Path]:
    return (kept for kept in places.kept_files(projects) if places.is_text(kept) and holds(kept))


def _is_of(needles: Sequence[Sequence[places.Needle]], session_ids: Sequence[str], kept: Path) -> bool:
    named = any(names.is_named(kept, each) for each in session_ids)
    return named or places.holding(kept, [needle for group in needles for needle in group])


def _holds(plan: ForgetPlan, kept: Path) -> bool:
    if plan.text is not None:
        return texts.holds(kept, plan.text)
    return _is_of(plan.needles, [session.session_id for session in plan.sessions], kept)


def _is_called(plan: ForgetPlan, kept: Path) -> bool:
    """Whether its name holds it, or, of a text, any writing of it in the document."""
    if plan.text is not None:
        return _holds_text(kept, plan.text)
    return any(session.is_ours and names.is_named(kept, session.session_id) for session in plan.sessions)


def _has_bytes(plan: ForgetPlan, kept: Path, needles: Sequence[places.Needle]) -> bool:
    """Whether its bytes hold it; those of a document of ours do not tell whether a text is content, which was asked before."""
    if places.is_database(kept):
        return databases.holding(kept, needles)
    return (plan.text is None or not places.is_text(kept)) and places.holding(kept, needles)


def _holds_text(kept: Path, text: str) -> bool:
    return names.is_called_by(kept, text) or texts.holds(kept, text)


def _called_and_holding(text: str, projects: Sequence[str]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The documents that are called by the text and go whole, and the others that hold it."""
    kept = [each for each in places.kept_files(projects) if places.is_text(each)]
    called = {each for each in kept if names.goes_whole(each, text) and not _is_archived(each)}
    return tuple(sorted(called)), tuple(
        each for each in kept if each not in called and texts.holds(each, text)
    )


def _is_archived(kept: Path) -> bool:
    """Whether the archive takes it out itself, with the copy that it tells of."""
    return kept.parent == archive_here().folder


def _library() -> Path:
    return Path(library_folder(), shelves.NAME)


def _delete_documents(plan: ForgetPlan) -> Iterator[Path]:
    for session in plan.sessions:
        yield from names.delete_documents(plan.holders, session.session_id)
    for document in plan.documents:
        for kept in [*places.files_below(document)]:
            kept.unlink(missing_ok=True)
            yield kept
