"""Bring the resume state of a project up to date, create the first one, and complete one of an older form.

An update with nothing new changes no byte; ``last_updated`` moves only if something else did; what a person wrote stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from leftoff.platform import clock
from leftoff.projects import body, find_project, history, lists, progress, project_state, render
from leftoff.projects.body import Item
from leftoff.projects.condense import HistoryFile, condense
from leftoff.projects.document import Document
from leftoff.projects.find_project import ProjectSet, SavedState
from leftoff.projects.history import SessionWork
from leftoff.projects.layout import Home
from leftoff.projects.progress import NO_INPUT, Facts, UserInput, derive_state
from leftoff.projects.project_state import (
    READS_KEY,
    VERSION,
    About,
    Location,
    Metadata,
    Plain,
    Planning,
    State,
)
from leftoff.projects.render import Gauge

_GROUP_COMMENTS = {
    "resume_version": "# Resume State Metadata",
    "project_id": "# Project Context",
    "next_action": "# Loading Manifest",
    "current_phase": "# Current Location",
    "current_section": "# Execution State (for execute-project)",
    project_state.FLAGS_KEY: "# Planning State (for create-project)",
}
_KEY_COMMENTS = {
    "compaction_count": "How many times conversation was compacted",
    "total_tokens_approx": "Approximate tokens used this session",
    "session_count": "Number of sessions on this project",
    "project_status": " | ".join(project_state.STATUSES),
    "current_phase": " | ".join(project_state.PHASES),
    "current_skill": "Which skill is active",
    "current_workflow_step": "Which step in skill workflow",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectUpdate:
    """What is new about a project. ``short_id`` is what a person types to select it."""

    facts: Facts
    at: datetime
    short_id: str
    gauge: Gauge
    given: UserInput = NO_INPUT
    work: SessionWork | None = None


def update_document(document: Document, news: ProjectUpdate) -> Document:
    """Return the document with the news in it; the same document if nothing is new."""
    before = document.state
    after = derive_state(before, news.facts, news.given)
    moved = HistoryFile(document.moved)
    moved_sessions = moved.sessions
    if news.work is not None:
        after = history.count_session(document, after, news.work, moved_sessions)
    after = after._replace(files_to_load=before.files_to_load)
    changes: dict[str, Plain] = project_state.changed_keys(before, after)
    updated = document.with_values(changes).with_reads(news.facts.reads)
    updated = lists.with_lists(updated, news.given, news.work, moved.keys("decisions"))
    if news.work is not None:
        step = history.StateChange(before=before, after=after, facts=news.facts, at=news.at)
        updated = history.record_session(updated, step, news.work, news.given.notes, moved_sessions)
    updated = lists.with_notes(updated, history.notes_without_entry(updated, news.work, news.given.notes))
    blocks = _generated_blocks(updated, after, news)
    blocks["header"] = render.header(after, before.metadata.last_updated or news.at)
    for name, content in blocks.items():
        updated = updated.with_block(name, content)
    updated = condense(updated)
    if updated.text == document.text:
        return document
    moment = news.at.replace(microsecond=0)
    updated = updated.with_values({"last_updated": clock.format_rfc3339(moment)})
    return updated.with_block("header", render.header(after, moment))


def create_document(project_id: str, name: str, news: ProjectUpdate) -> Document:
    """Return the first resume state of a project."""
    empty = State(
        metadata=Metadata(
            resume_version=VERSION,
            last_updated=news.at.replace(microsecond=0),
            compaction_count=0,
            total_tokens_approx=0,
            session_count=0,
        ),
        project=About(project_id=project_id, project_name=name, project_status="RESEARCH"),
        location=Location(current_phase="research"),
        planning=Planning(),
    )
    state = derive_state(empty, news.facts, news.given)
    text = render.new_document(_front(state), name, _first_blocks(state, news))
    first = Document(text=text, where=project_id).with_reads(news.facts.reads)
    return update_document(first, news)


def complete_document(document: Document, project_id: str, news: ProjectUpdate) -> Document:
    """Return a document of an older form with the keys and sections that it lacks; what it has stays."""
    fresh = create_document(project_id, document.state.project.project_name or project_id, news)
    missing = {
        key: value
        for key, value in fresh.values.items()
        if document.values.get(key) is None and key != READS_KEY
    }
    completed = document.with_values(missing).with_reads(news.facts.reads)
    present = {heading.lower() for heading in body.split_sections(completed.body)}
    added = "".join(
        f"\n\n---\n\n## {heading}\n\n{text.rstrip().removesuffix('---').rstrip()}"
        for heading, text in body.split_sections(fresh.body).items()
        if heading.lower() not in present
    )
    completed = _append(completed, f"{added}\n")
    return update_document(lists.with_empty_lists(completed), news)


def adopt_older(document: Document, front: dict[str, Plain], body_text: str) -> Document:
    """Return a new document with the known keys of an older form, and its whole body below the new one."""
    known = {
        key: value
        for key, value in front.items()
        if key in project_state.KEYS and key != project_state.FLAGS_KEY
    }
    if project_state.FLAGS_KEY in front:
        flags = project_state.parse_state(
            {project_state.FLAGS_KEY: front[project_state.FLAGS_KEY]}, where=document.where
        ).planning
        known[project_state.FLAGS_KEY] = {flag: True for flag in project_state.FLAGS if getattr(flags, flag)}
    adopted = document.with_values(known)
    old_body = body_text.strip("\r\n")
    return _append(adopted, f"\n\n---\n\n{old_body}\n") if old_body else adopted


def _append(document: Document, addition: str) -> Document:
    addition = body.match_line_ends(document.text, addition)
    return document.with_text(lambda text: text.rstrip("\r\n") + addition)


def copy_unknown_keys(document: Document, other: Document, keys: Iterable[str]) -> Document:
    """Return the document with these keys of another, each with its lines and comments unchanged."""
    for key in keys:
        lines = other.front.entry(key).replace("\r\n", "\n")
        document = document.with_unknown_key(key, lines if lines.endswith("\n") else f"{lines}\n")
    return document


def _generated_blocks(document: Document, state: State, news: ProjectUpdate) -> dict[str, str]:
    """Return the blocks that are rendered at every update. That about tokens stays as it is without a session."""
    blocks = {
        "quick-context": render.quick_context(state, news.facts),
        "loading": render.loading(news.facts),
        "quick-start": render.quick_start(news.short_id),
    }
    decided = {item.key for item in body.list_items(document.body, "decisions")}
    decided |= HistoryFile(document.moved).keys("decisions")
    made = news.work.decisions if news.work is not None else ()
    blocks["checklist"] = render.checklist(
        has_session=bool(state.metadata.session_count),
        has_decisions=bool(decided or news.work) and all(Item(text=text).key in decided for text in made),
    )
    if news.work is not None:
        blocks["compaction"] = render.compaction(news.gauge)
    return blocks


def _first_blocks(state: State, news: ProjectUpdate) -> dict[str, str]:
    blocks: dict[str, str] = {
        "header": render.header(state, news.at),
        "quick-context": render.quick_context(state, news.facts),
        "loading": render.loading(news.facts),
        "quick-start": render.quick_start(news.short_id),
        "compaction": render.compaction(news.gauge),
        "checklist": render.checklist(has_session=False, has_decisions=False),
    }
    blocks |= {str(name): render.render_list([]) for name in body.LISTS}
    rendered = {name.replace("-", "_"): body.render_block(name, content) for name, content in blocks.items()}
    return rendered | {"history": ""}


def _front(state: State) -> str:
    """Return the front matter of a new file, with a comment above each group."""
    from leftoff.projects.front_matter import scalar_text  # noqa: PLC0415 - slow to import

    lines: list[str] = []
    for key, value in state.to_dict().items():
        if key in _GROUP_COMMENTS:
            lines += [""] * bool(lines) + [_GROUP_COMMENTS[key]]
        if isinstance(value, dict):
            lines += [f"{key}:", *(f"  - {flag}: {scalar_text(bool(done))}" for flag, done in value.items())]
        elif key != READS_KEY:
            text = VERSION if key == "resume_version" else scalar_text(value)
            lines.append(f"{key}: {text}" + (f"  # {_KEY_COMMENTS[key]}" if key in _KEY_COMMENTS else ""))
    return "".join(f"{line}\n" for line in lines)


def update_state(
    projects: ProjectSet,
    home: Home,
    at: datetime,
    *,
    given: UserInput = NO_INPUT,
    work: SessionWork | None = None,
    then: Callable[[Document], Document] = lambda document: document,
) -> SavedState:
    """Write all that is new into the resume state, under its lock; ``then`` is a last step of the same write."""

    def step(document: Document) -> Document:
        return then(update_document(document, gather_update(projects, home, at, given=given, work=work)))

    with find_project.project_lock(home):
        return find_project.change_state(home, step, projects.register, at)


def gather_update(
    projects: ProjectSet,
    home: Home,
    at: datetime,
    *,
    given: UserInput = NO_INPUT,
    work: SessionWork | None = None,
    steps_text: str | None = None,
) -> ProjectUpdate:
    """Return what is new about a project; ``steps_text`` is the content that the steps are about to get."""
    return ProjectUpdate(
        facts=progress.gather_facts(home, steps_text),
        at=at,
        short_id=short_id(home),
        given=given,
        work=work,
        gauge=Gauge(
            used_tokens=work.used_tokens if work is not None else None,
            usable_tokens=work.usable_tokens if work is not None else None,
            warn_fraction=projects.settings.warn,
            save_fraction=projects.settings.auto_save,
        ),
    )


def short_id(home: Home) -> str:
    """Return what a person types to select the project."""
    return home.id if home.number is None else str(home.number)
