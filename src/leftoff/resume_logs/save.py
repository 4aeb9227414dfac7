"""Save the resume log of a session, and let a person edit it.

A log is built from what extraction found, the context metrics, the pins and the state of git. Every save goes through
``store_log``: redaction, the person's edits, the local files, the storage backend, clean-up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from leftoff.core.markdown import is_open_step
from leftoff.core.metrics import ContextMetrics
from leftoff.core.open_work import CLEARED, CONTINUES, ENDED, FINISHED, HEADLESS, LAST_ACTIVITY
from leftoff.core.provenance import Ground, Source
from leftoff.core.resume_log import Edit, ResumeLog
from leftoff.core.session import Session
from leftoff.core.wire import JsonObject
from leftoff.errors import LeftoffError, NothingToDoError, UsageError
from leftoff.extraction import State, is_finished, render
from leftoff.platform import clock, files, git, paths
from leftoff.platform.register import Judgement
from leftoff.resume_logs import build, pins
from leftoff.resume_logs.build import USUAL_STOP_REASON
from leftoff.resume_logs.cleanup import clean_up_after_save
from leftoff.resume_logs.custom_sections import build_custom_sections
from leftoff.resume_logs.edits import apply_edits, find_changes, is_empty
from leftoff.resume_logs.inherit import (
    ParentLog,
    copy_parent,
    inherit_from_parents,
    load_parents,
)
from leftoff.resume_logs.list_logs import OWN, find_log
from leftoff.resume_logs.pins import Pin
from leftoff.resume_logs.restore_text import Profile, restoration_body, restoration_text
from leftoff.sessions import live_state
from leftoff.sessions.ancestry import Heir, Link, is_forgotten, links_of, note_continued
from leftoff.sessions.facts import extract_facts, extract_facts_once
from leftoff.sessions.find import find_session
from leftoff.sessions.status import status_of
from leftoff.storage import outbox
from leftoff.storage.file_store import FileStore
from leftoff.storage.repository import LogRepository
from leftoff.storage.store_base import redact_log
from leftoff.workspace import SessionRef, Workspace

_MAX_HASHED_FILES = 60
_SESSION_IS_OVER = frozenset({"session_end", "caught_up"})  # stop reasons after which the session has ended


def save_log(
    selector: str, workspace: Workspace, *, stop_reason: str = "manual_pause", ended: str | None = None
) -> SavedLog:
    """Save the log of the session that ``selector`` names, in the session's own project.

    ``ended`` says how the session ended, if it did: logs of ``cleared`` and ``finished`` sessions are kept but not offered.
    """
    return save_session_log(
        find_session(selector, workspace), workspace, stop_reason=stop_reason, ended=ended
    )


def save_session_log(
    ref: SessionRef, workspace: Workspace, *, stop_reason: str, ended: str | None = None
) -> SavedLog:
    """Save the log of a session, reading only what is new in its transcript."""
    workspace = _session_workspace(ref.session, workspace) or workspace
    return _save(_gather_for_save(ref, workspace), workspace, stop_reason=stop_reason, ended=ended)


def log_text(
    ref: SessionRef,
    workspace: Workspace,
    *,
    profile: Profile | None = None,
    max_chars: int | None = None,
    summary: str | None = None,
) -> str:
    """Return the log of a session as Markdown, whole or shortened, or exactly what an agent would be given; nothing is written."""
    log = build_log(ref, workspace)
    if profile is None and max_chars is None:
        return log.to_markdown(workspace.settings.resume_logs.max_tokens)
    most = workspace.settings.restore.max_chars if max_chars is None else max_chars
    if profile is None:
        return restoration_body(log, most - 1, "fresh") + "\n"
    path = LogRepository.open(workspace).local.path_of(log.session_id)
    text = restoration_text(
        log, profile=profile, max_chars=most - 1, drift=None, log_path=str(path), summary=summary
    )
    return f"{text}\n"


def build_log(ref: SessionRef, workspace: Workspace, *, at: datetime | None = None) -> ResumeLog:
    """Return the log of a session without credentials; nothing is written. ``at`` is the moment whose pins count, if not now."""
    facts = gather_facts(ref, workspace, extract_facts_once(ref, workspace), at=at)
    return facts.log(workspace)


def session_state_of(ref: SessionRef, workspace: Workspace) -> dict[str, Any]:
    """Return the session state with its metrics and ground, before custom sections and redaction."""
    return gather_facts(ref, workspace, extract_facts_once(ref, workspace)).session_state()


class SessionFacts(NamedTuple):
    """What the log of a session is built from, gathered once."""

    ref: SessionRef
    state: State
    metrics: ContextMetrics
    ground: Ground | None  # None where the session's folder is gone
    pins: tuple[Pin, ...]
    links: tuple[Link, ...]  # the sessions that this one continues
    parents: tuple[ParentLog, ...]  # their logs, as far as there are any

    @property
    def session(self) -> Session:
        """The session that the log is about."""
        return self.ref.session

    def log(self, workspace: Workspace) -> ResumeLog:
        """Return the log, without credentials."""
        log = build.from_session_state(self.session.session_id, self.session_state())
        return _redact(log, workspace)

    def session_state(self) -> dict[str, Any]:
        """Return the session state that a resume log is built from."""
        session_state = render(self.state, self.ground)
        session_state["context_metrics"] = self.metrics
        session_state["metadata"]["project"] = self.session.project
        parent = self.session.parent
        if parent is not None or self.links:
            named = self.links[-1].session_id if parent is None else parent.session_id or parent.transcript
            session_state["metadata"]["parent"] = named
            session_state["metadata"][CONTINUES] = {link.session_id: link.at for link in self.links}
        if self.parents and self.state.prompts:
            inherit_from_parents(session_state, self.parents, self.state)
        elif self.parents:
            copy_parent(session_state, self.parents[-1].log)
        if self.ground is not None:
            session_state["ground"] = self.ground
        if self.pins:  # before everything else
            session_state["critical_context"] = {
                "pins": [pin.text for pin in self.pins],
                **session_state["critical_context"],
            }
            session_state["sources"] += [
                Source(
                    item=f"critical_context/pins/{number}",
                    place=pin.place,
                    sha256=pin.sha256,
                    excerpt=pin.text,
                ).to_dict()
                for number, pin in enumerate(self.pins)
            ]
        return session_state


def gather_facts(
    ref: SessionRef,
    workspace: Workspace,
    state: State,
    *,
    fallback: Workspace | None = None,
    at: datetime | None = None,
) -> SessionFacts:
    """Gather what the log of a session is built from, with the pins in force ``at`` a moment; None is now.

    ``fallback`` provides the pins where the folder that the session ran in is gone; None provides none.
    """
    own = _session_workspace(ref.session, workspace)
    pins_from = own or fallback
    links = _links(ref, state)
    return SessionFacts(
        ref=ref,
        state=state,
        metrics=status_of(ref, workspace).metrics,
        ground=None if own is None else git.read_ground(own.project.root, _touched_files(state, own)),
        pins=() if pins_from is None else pins.read(pins.file_of(pins_from.project), at),
        links=links,
        parents=tuple(load_parents(links, LogRepository.open(own))) if links and own is not None else (),
    )


def _links(ref: SessionRef, state: State) -> tuple[Link, ...]:
    """Return the sessions that this one continues: those that are recorded, and those whose logs the user pasted."""
    recorded = links_of(ref.session)
    known = {ref.session_id, *(link.session_id for link in recorded)}
    pasted = (
        Link(each, "continued", state.started_at or None)
        for each in state.restored
        if each not in known and not is_forgotten(each)
    )
    return (*recorded, *pasted)


def _gather_for_save(ref: SessionRef, workspace: Workspace) -> SessionFacts:
    workspace.config.require_sound()
    return gather_facts(ref, workspace, extract_facts(ref, workspace), fallback=workspace)


def _session_workspace(session: Session, workspace: Workspace) -> Workspace | None:
    """Return the workspace of the folder that the session ran in; None where that is gone or not known."""
    folder = Path(session.project) if session.project else None
    return workspace.at(folder) if folder is not None and files.is_folder(folder) else None


def _touched_files(state: State, workspace: Workspace) -> list[str]:
    """Return the files whose content is remembered by hash, relative to the project's root."""
    root = workspace.project.root
    last_used = sorted(state.files.values(), key=lambda each: -each.call)[:_MAX_HASHED_FILES]
    paths_here = (workspace.folder / file.path for file in last_used)
    return [str(path.relative_to(root)) for path in paths_here if path.is_relative_to(root)]


def _save(
    facts: SessionFacts, workspace: Workspace, *, stop_reason: str, ended: str | None = None
) -> SavedLog:
    repository = LogRepository.open(workspace)
    session_state = facts.session_state()
    heir = Heir(facts.ref.agent.id, facts.session.session_id, str(facts.ref.transcript))
    for link in facts.links:
        if link.session_id in facts.state.restored:  # the user pasted its log, which no hook has seen
            at = clock.parse_rfc3339(link.at) if link.at else None
            note_continued(heir, link.session_id, None, at or clock.now())
    active_at = datetime.fromtimestamp(facts.ref.transcript.stat().st_mtime, UTC)
    session_state["metadata"][LAST_ACTIVITY] = clock.format_rfc3339(active_at)
    is_left_open = any(map(is_open_step, session_state["next_steps"]))  # also by a session before this one
    if ended != CLEARED and stop_reason in _SESSION_IS_OVER and is_finished(facts.state) and not is_left_open:
        ended = FINISHED
    if ended is not None:
        session_state["metadata"][ENDED] = ended
    if live_state.load(facts.ref.agent.id, facts.session.session_id).is_headless:
        session_state["metadata"][HEADLESS] = True
    log = build_with_sections(facts.session.session_id, session_state, repository, stop_reason=stop_reason)
    return store_log(log, repository)


class SavedLog(NamedTuple):
    """A saved log, its files, and what was skipped because it failed. ``removed`` are logs that were cleaned up."""

    log: ResumeLog
    markdown_file: Path
    json_file: Path
    max_tokens: int
    removed: tuple[Path, ...]
    troubles: tuple[LeftoffError, ...]

    @property
    def estimated_tokens(self) -> int:
        """About how many tokens the Markdown takes."""
        return self.log.estimate_tokens(self.log.to_markdown(self.max_tokens))

    def to_dict(self) -> JsonObject:
        """Return the JSON form that scripts rely on."""
        return {
            "session_id": self.log.session_id,
            "markdown_file": str(self.markdown_file),
            "json_file": str(self.json_file),
            "estimated_tokens": self.estimated_tokens,
        }


def build_with_sections(
    session_id: str,
    session_state: dict[str, Any],
    repository: LogRepository,
    *,
    stop_reason: str = USUAL_STOP_REASON,
) -> ResumeLog:
    """Return the log of a session state with the sections of the plugins."""
    log = build.from_session_state(session_id, session_state, stop_reason=stop_reason)
    return add_custom_sections(log, session_state, repository)


def add_custom_sections(
    log: ResumeLog, session_state: dict[str, Any], repository: LogRepository
) -> ResumeLog:
    """Return the log with the sections of the plugins; a plugin that fails is recorded in the repository's troubles."""
    sections, troubles = build_custom_sections(repository.providers, session_state)
    repository.troubles += troubles
    return replace(log, custom_sections=[*log.custom_sections, *sections])


def store_log(log: ResumeLog, repository: LogRepository, *, active: Collection[str] = ()) -> SavedLog:
    """Save the log: the local files first, then the backend in the background. ``active`` logs are not cleaned up."""
    if repository.local.folder.is_relative_to(repository.project.folder):
        paths.make_project_folder(repository.project)
    clean = _redact(log, repository.workspace)
    stored = repository.local.update(
        log.session_id, lambda existing: apply_edits(clean, _trusted_edits(existing, repository))
    )
    if repository.backend is not None:
        repository.call_plugin(repository.backend, partial(repository.backend.save, stored))
    if repository.remote is not None:
        outbox.queue_and_send(stored, repository)
    removed = clean_up_after_save(repository, active={*active, log.session_id})
    return SavedLog(
        log=stored,
        markdown_file=repository.local.path_of(stored.session_id),
        json_file=repository.local.path_of(stored.session_id, ".json"),
        max_tokens=repository.settings.resume_logs.max_tokens,
        removed=tuple(removed),
        troubles=tuple(repository.troubles),
    )


def _trusted_edits(existing: ResumeLog | None, repository: LogRepository) -> list[Edit]:
    """Return a person's edits in the log that is replaced; none if that came from elsewhere."""
    if existing is None or not existing.edits:
        return []
    files = repository.local.find(existing.session_id)
    try:
        if files is not None:
            repository.register.require(files.json or files.path)
    except LeftoffError as error:  # the session's own log is saved without them
        repository.troubles.append(error)
        return []
    return existing.edits


def _redact(log: ResumeLog, workspace: Workspace) -> ResumeLog:
    return log if workspace.redactor is None else redact_log(log, workspace.redactor)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedLog:
    """A log with a person's edits. ``not_kept`` names the headings whose content is computed at each save.

    ``judgement``: a log that waits for the user's trust still does.
    """

    session_id: str
    markdown_file: Path
    json_file: Path
    count: int
    not_kept: tuple[str, ...]
    judgement: Judgement


def edit_log(
    selector: str,
    workspace: Workspace,
    edit: Callable[[str], str],
    may_remove: Callable[[tuple[str, ...]], bool],
) -> EditedLog:
    """Pass the Markdown of the log that ``selector`` names to ``edit``, and keep the changes in this and every later save.

    An empty text means no change. ``may_remove`` is asked before whole sections are removed. The log may be saved again while
    the person edits: the changes are then applied to the newer log.
    """
    repository = LogRepository.open(workspace)
    files, origin = find_log(selector, repository)
    session_id = files.session_id
    if origin != OWN:
        raise UsageError(f"{files.path}: this log was written by {origin}, and leftoff only reads it.")
    stored = files.log()
    before = stored.to_markdown(workspace.settings.resume_logs.max_tokens)
    after = edit(before)
    if is_empty(after):
        raise NothingToDoError(
            f"The file came back empty: nothing kept, and the log of {session_id} is unchanged."
        )
    changes = find_changes(before, after)
    if changes.removed and not may_remove(changes.removed):
        raise NothingToDoError(f"Nothing removed, nothing kept: the log of {session_id} is unchanged.")
    if not changes.edits:
        where = (
            f": {' and '.join(changes.not_kept)} is written again at each save" if changes.not_kept else ""
        )
        raise NothingToDoError(f"The log of {session_id} stays as it was{where}.")
    judgement, store = repository.register.judge(files.json or files.path), repository.local
    if judgement.standing == "foreign":  # what is not registered stays so
        store = FileStore(store.folder, max_tokens=workspace.settings.resume_logs.max_tokens)
    edited = store.update(
        session_id, lambda existing: _redact(apply_edits(existing or stored, changes.edits), workspace)
    )
    if repository.remote is not None:
        outbox.queue_and_send(edited, repository)
    return EditedLog(
        session_id=session_id,
        markdown_file=repository.local.path_of(session_id),
        json_file=repository.local.path_of(session_id, ".json"),
        count=len(changes.edits),
        not_kept=changes.not_kept,
        judgement=judgement,
    )
