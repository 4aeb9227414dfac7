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

from leftoff.errors import InvalidValueError, LeftoffError, NotFoundError, NothingToDoError, UsageError
from leftoff.flows import forget_known as known
from leftoff.flows import forget_library as library
from leftoff.flows import forget_names as names
from leftoff.flows import forget_places as places
from leftoff.flows import forget_text as texts
from leftoff.flows.archive_sessions import archive_here, files_of
from leftoff.flows.choose import choose
from leftoff.flows.library_folder import library_folder
from leftoff.flows.purge import kept_data
from leftoff.flows.remote_forget import RemoteForgot, forget_remote, remote_named
from leftoff.flows.sessions import found_sessions
from leftoff.library import shelf as shelves
from leftoff.library.archive import Archived, contains
from leftoff.library.erasing import masking
from leftoff.library.forgotten import MASK
from leftoff.library.forgotten import NAME as REMEMBERED
from leftoff.model.values import dataclass
from leftoff.stores import outbox
from leftoff.system import files, ids, locks, paths

_SENDING_SECONDS = 60.0
_SHORTEST_TEXT = 4  # characters; less stands everywhere, and erasing it would destroy what is meant to stay

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
    called: int = 0  # sources of the library that have the text in their path, project or id: they go whole
    project: Path | None = None  # whose logs of the remote are meant; None: of the project we are in

    @property
    def is_local(self) -> bool:
        """Whether this machine keeps anything of it."""
        return bool(self.holders or self.archived or self.orphans or self.in_library or self.documents)

    @property
    def is_empty(self) -> bool:
        """Whether we keep nothing of it, and there is nobody else to ask."""
        return not self.is_local and self.remote is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgot:
    """What was done. ``left`` are files of ours that still hold it: none, if all is well."""

    deleted: tuple[Path, ...]
    edited: tuple[Path, ...]
    archived: int
    library: int
    remote: RemoteForgot
    left: tuple[Path, ...] = field(default=())


def plan_session(words: str, working_folder: Path) -> ForgetPlan:
    """Forget one session: by number, id, path or ``latest``; one that the agent has deleted by its whole id."""
    session = _session(words, working_folder)
    return _plan("session", session.session_id, (session,), ())


def plan_project(folder: Path) -> ForgetPlan:
    """Forget every session that ran in the project of ``folder``, and all documents of it."""
    project = paths.project_of(folder)
    listed = {
        each.session_id: Session(session_id=each.session_id, agent=each.agent, transcript=each.transcript)
        for each in known.sessions_of(folder)
    }
    documents = tuple(each.path for each in kept_data(folder) if each.path.parent == project.folder)
    return _plan("project", str(project.root), tuple(listed.values()), documents)


def plan_text(text: str) -> ForgetPlan:
    """Forget a text wherever it stands."""
    if len(text.strip()) < _SHORTEST_TEXT:
        raise UsageError(
            f"A text to forget has at least {_SHORTEST_TEXT} characters: less stands everywhere."
        )
    needles = places.needles_of(text)
    literal = [needle.words for needle in needles]
    projects = known.projects()
    masked = masking(text)
    own = [
        found.transcript
        for found in found_sessions()
        if masked(str(found.transcript)) != str(found.transcript) or _file_holds(found.transcript, literal)
    ]
    documents, holders = _called_and_holding(text, projects)
    return ForgetPlan(
        target="text",
        words=f"a text of {len(text)} characters",
        sessions=(),
        needles=(needles,),
        documents=documents,
        holders=holders,
        archived=tuple(
            each
            for each in archive_here().sessions()
            if any(masked(name) != name for name in _names_of(each)) or _archive_holds(each, literal)
        ),
        called=library.called_by(text),
        orphans=tuple(
            each
            for each in archive_here().orphans()
            if names.is_called_by(each, text) or archive_here().may_hold(each, literal)
        ),
        in_library=library.holds([text]),
        agents_own=tuple(own),
        projects=projects,
        text=text,
        remote=remote_named(paths.working_folder()),
    )


def forget(plan: ForgetPlan) -> Forgot:
    """Carry it out and look at everything again; NothingToDoError where neither we nor the remote keep anything of it."""
    if plan.is_empty:
        raise NothingToDoError(f"leftoff keeps nothing of {plan.words}.")
    with _nobody_sending(plan), library.nobody_reading():
        done = _forgotten(plan)
    if not plan.is_local and not done.remote.erased and done.remote.trouble is None:
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
    for each in plan.archived:
        archive_here().remove(each)
    for orphan in plan.orphans:
        orphan.unlink(missing_ok=True)
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
    return Forgot(
        deleted=tuple(deleted),
        edited=tuple(edited),
        archived=len(plan.archived),
        library=from_library.count,
        remote=remote,
        left=tuple(dict.fromkeys([*still_holding(plan), *([] if from_library.is_done else [_library()])])),
    )


def still_holding(plan: ForgetPlan) -> Iterator[Path]:
    """Every file of ours that holds it, by its bytes, and by what is compressed in it."""
    everything = [needle for group in plan.needles for needle in group]
    for kept in places.kept_files(plan.projects):
        if kept.name == REMEMBERED:
            continue  # digests alone
        if places.holding(kept, everything) or _is_called(plan, kept):
            yield kept
    literal = [needle.words for needle in everything if not needle.is_name]
    forgotten = {session.session_id for session in plan.sessions}
    yield from (
        Path(each.transcript)
        for each in archive_here().sessions()
        if each.session_id in forgotten or _archive_holds(each, literal)
    )
    yield from (each for each in plan.orphans if each.exists())
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
    return ForgetPlan(
        target=target,
        words=words,
        sessions=sessions,
        needles=needles,
        holders=tuple(_holders(projects, partial(_is_of, needles, sorted(ours)))),
        archived=tuple(each for each in archive_here().sessions() if each.session_id in ours),
        orphans=tuple(each for each in archive_here().orphans() if any(name in each.name for name in ours)),
        in_library=library.knows(ours),
        agents_own=tuple(path for each in transcripts if each.exists() for path in files_of(each)),
        projects=projects,
        documents=documents,
        remote=remote_named(paths.working_folder()),
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
    orphans = (each for each in archive_here().orphans() if session_id in each.name)
    return next(_holders(known.projects(), holds), None) is not None or next(orphans, None) is not None


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
        for kept in [*document.rglob("*")] if document.is_dir() else [document]:
            if kept.is_file() or kept.is_symlink():
                kept.unlink(missing_ok=True)
                yield kept


def _names_of(archived: Archived) -> tuple[str, ...]:
    """What the archive writes down of a copy in plain letters."""
    return archived.session_id, archived.transcript, archived.project or "", archived.first_prompt or ""


def _archive_holds(archived: Archived, needles: Sequence[bytes]) -> bool:
    try:
        return archive_here().holds(archived, needles)
    except (LeftoffError, OSError):
        return False


def _file_holds(path: Path, needles: Sequence[bytes]) -> bool:
    try:
        with path.open("rb") as file:
            return contains(file, needles)
    except OSError:
        return False
