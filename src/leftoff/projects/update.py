"""A resume state brought up to date: facts, what somebody said, what a session did; and the first one of a new project.

Promises: told the same twice, not a byte changes; ``last_updated`` moves only when something else did; what a person wrote
stays. Pure: text in, text out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from leftoff.model.values import dataclass
from leftoff.projects import blocks, body, lists, sessions, telling, values
from leftoff.projects.body import Item
from leftoff.projects.derive import NOTHING_GIVEN, Given, derived
from leftoff.projects.document import Document
from leftoff.projects.facts import Facts
from leftoff.projects.sessions import Worked
from leftoff.projects.telling import NO_GAUGE, Gauge
from leftoff.projects.values import READS_KEY, VERSION, About, Location, Metadata, Plain, Planning, State
from leftoff.projects.yaml_values import scalar_text
from leftoff.system import clock

_GROUPS = {
    "resume_version": "# Resume State Metadata",
    "project_id": "# Project Context",
    "next_action": "# Loading Manifest",
    "current_phase": "# Current Location",
    "current_section": "# Execution State (for execute-project)",
    values.FLAGS_KEY: "# Planning State (for create-project)",
}
_REMARKS = {
    "compaction_count": "How many times conversation was compacted",
    "total_tokens_approx": "Approximate tokens used this session",
    "session_count": "Number of sessions on this project",
    "project_status": " | ".join(values.STATUSES),
    "current_phase": " | ".join(values.PHASES),
    "current_skill": "Which skill is active",
    "current_workflow_step": "Which step in skill workflow",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What is new about a project. ``words_for_it`` is what a person types to name it."""

    facts: Facts
    at: datetime
    words_for_it: str
    given: Given = NOTHING_GIVEN
    worked: Worked | None = None
    gauge: Gauge = NO_GAUGE


def updated(document: Document, news: News) -> Document:
    """The document with the news in it; itself where there are none."""
    before = document.state
    after = derived(before, news.facts, news.given)
    if news.worked is not None:
        after = sessions.counted(document, after, news.worked)
    after = replace(after, files_to_load=before.files_to_load)
    changes: dict[str, Plain] = values.changed(before, after)
    made = document.with_values(changes).with_reads(news.facts.reads)
    made = lists.with_lists(made, news.given, news.worked)
    if news.worked is not None:
        step = sessions.Step(before=before, after=after, facts=news.facts, at=news.at)
        made = sessions.told(made, step, news.worked, news.given.notes)
    made = lists.with_notes(made, sessions.untold(made, news.worked, news.given.notes))
    made = _with_blocks(made, after, news)
    if made.text == document.text:
        return document
    moment = news.at.replace(microsecond=0)
    made = made.with_values({"last_updated": clock.rfc3339(moment)})
    return made.with_block("header", telling.header(after, moment))


def created(project_id: str, name: str, news: News) -> Document:
    """The first resume state of a project."""
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
    state = derived(empty, news.facts, news.given)
    text = telling.new_document(_front(state), name, _first_blocks(state, news))
    first = Document(text=text, where=project_id).with_reads(news.facts.reads)
    return updated(first, news)


def completed(document: Document, project_id: str, news: News) -> Document:
    """A document of somebody else's making with the keys and sections of 001 that it lacks; what it has stays."""
    fresh = created(project_id, document.state.project.project_name or project_id, news)
    there = document.values
    missing = {
        key: value for key, value in fresh.values.items() if there.get(key) is None and key != READS_KEY
    }
    made = document.with_values(missing).with_reads(news.facts.reads)
    has = {name.lower() for name in body.sections(made.body)}
    added = "".join(
        f"\n\n---\n\n## {heading}\n\n{_without_rule(text)}"
        for heading, text in body.sections(fresh.body).items()
        if heading.lower() not in has
    )
    told = blocks.in_line_ends_of(made.text, f"{added}\n")
    made = made.with_text(lambda text: text.rstrip("\r\n") + told)
    return updated(lists.with_empty_lists(made), news)


def _without_rule(text: str) -> str:
    return text.rstrip().removesuffix("---").rstrip()


def adopted(document: Document, front: dict[str, Plain], body_text: str) -> Document:
    """A new document that takes over what an older form said: its keys, and its whole body below ours."""
    known = {key: value for key, value in front.items() if key in values.KEYS and key != values.FLAGS_KEY}
    if values.FLAGS_KEY in front:
        flags = values.state_of({values.FLAGS_KEY: front[values.FLAGS_KEY]}, where=document.where).planning
        known[values.FLAGS_KEY] = {flag: True for flag in values.FLAGS if getattr(flags, flag)}
    made = document.with_values(known)
    kept = body_text.strip("\r\n")
    if not kept:
        return made
    addition = blocks.in_line_ends_of(made.text, f"\n\n---\n\n{kept}\n")
    return made.with_text(lambda text: text.rstrip("\r\n") + addition)


def with_foreign_keys(document: Document, other: Document, keys: Iterable[str]) -> Document:
    """The document with these keys of another, each with its lines and comments as they stand there."""
    for key in keys:
        lines = other.front.raw(key).replace("\r\n", "\n")
        document = document.with_key_lines(key, lines if lines.endswith("\n") else f"{lines}\n")
    return document


def _with_blocks(document: Document, state: State, news: News) -> Document:
    for name, content in _generated(document, state, news).items():
        document = document.with_block(name, content)
    return document


def _generated(document: Document, state: State, news: News) -> dict[str, str]:
    """The blocks that are told anew each time. The gauge is told of sessions: without one it stays as it was."""
    told = {
        "quick-context": telling.quick_context(state, news.facts),
        "loading": telling.loading(news.facts),
        "quick-start": telling.quick_start(news.words_for_it),
    }
    if news.worked is not None:
        decided = {item.key for item in body.listed(document.body, "decisions")}
        missing = [each for each in news.worked.decisions if Item(text=each).key not in decided]
        told["compaction"] = telling.compaction(news.gauge)
        told["checklist"] = telling.checklist(has_session=True, has_decisions=not missing)
    return told


def _first_blocks(state: State, news: News) -> dict[str, str]:
    told: dict[str, str] = {
        "header": telling.header(state, news.at),
        "quick-context": telling.quick_context(state, news.facts),
        "loading": telling.loading(news.facts),
        "quick-start": telling.quick_start(news.words_for_it),
        "compaction": telling.compaction(news.gauge),
        "checklist": telling.checklist(has_session=False, has_decisions=False),
    }
    told |= {str(name): telling.listed([]) for name in body.LISTS}
    written = {name.replace("-", "_"): blocks.written(name, content) for name, content in told.items()}
    return written | {"history": ""}


def _front(state: State) -> str:
    """The front matter of a new file, in the groups and with the remarks of 001."""
    lines: list[str] = []
    for key, value in state.to_dict().items():
        if key in _GROUPS:
            lines += [""] * bool(lines) + [_GROUPS[key]]
        if isinstance(value, dict):
            lines += [f"{key}:", *(f"  - {flag}: {scalar_text(bool(done))}" for flag, done in value.items())]
        elif key != READS_KEY:
            said = VERSION if key == "resume_version" else scalar_text(value)
            lines.append(f"{key}: {said}" + (f"  # {_REMARKS[key]}" if key in _REMARKS else ""))
    return "".join(f"{line}\n" for line in lines)
