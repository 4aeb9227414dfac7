"""Turn a state into the session state that a resume log is written from, each item with its sources.

What the user asked, rules, open work and the state of the files come first and are always told; the rest of the space goes to the
paragraphs that tell most (``passages``). What a rewind removed is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from leftoff.core.budget import count_quarters
from leftoff.core.open_work import AWAITS_ANSWER, BEGUN, MAY_HAVE_CHANGED, REQUESTS, waits_for_user
from leftoff.core.provenance import Ground, Source
from leftoff.core.records import Place
from leftoff.core.resume_log import ResumeLog
from leftoff.extraction import checks, next_steps, story
from leftoff.extraction.context import critical_context
from leftoff.extraction.state import Ref, State, is_rewound, truncate
from leftoff.extraction.user_rules import SUPERSEDING_CHARS
from leftoff.extraction.wording import relative_path, shorten

_RESERVED_TOKENS = 250  # headings and context metrics
_MAX_METADATA_FILES = 40
_MAX_ERRORS = 5


def render(
    state: State, ground: Ground | None = None, *, max_tokens: int = ResumeLog.MAX_TOTAL_TOKENS
) -> dict[str, Any]:
    """Return the session state: the sections of a resume log as plain values, ``sources`` in their JSON form.

    ``ground`` is what git says about the files now; without it, the transcript tells what was committed.
    """
    active = without_rewound(state)
    mission, mission_refs = next_steps.mission(active)
    steps = next_steps.next_steps(active)
    decided = story.decide(active)
    context = critical_context(active, ground)
    facts = metadata(active)
    fixed = [
        mission,
        *(text for text, _ in steps),
        *(each.text for each in decided),
        *_texts(context),
    ]
    # The same log wherever the transcript is: its path counts as if it were short.
    needed = [*fixed, *_texts({**facts, "transcript": ""})]
    room = (max_tokens - _RESERVED_TOKENS) * 4 - sum(count_quarters(text) + 8 for text in needed)
    told = story.tell(active, room, known="\n".join(fixed))
    draft = _Draft()
    draft.add("mission_summary", [(mission, mission_refs)])
    draft.state["mission_summary"] = mission
    for section in ("accomplishments", "key_findings"):
        draft.add(section, [(each.text, each.refs) for each in told if each.section == section])
    draft.add("decisions", [(story.as_decision(each.text), each.refs) for each in decided])
    draft.add("next_steps", steps)
    draft.add_context(context)
    return {**draft.state, "metadata": facts, "sources": [source.to_dict() for source in draft.sources]}


@dataclass(slots=True)
class _Draft:
    """The session state while it is put together, with the sources of each item."""

    state: dict[str, Any] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)

    def add(self, section: str, items: Sequence[tuple[Any, Iterable[Ref]]]) -> None:
        """Add a section of items, each with its sources."""
        self.state[section] = [text for text, _ in items]
        for number, (_, refs) in enumerate(items):
            self.cite(section if section == "mission_summary" else f"{section}/{number}", refs)

    def add_context(
        self, context: dict[str, dict[str, tuple[str, list[Ref]]] | list[tuple[str, list[Ref]]]]
    ) -> None:
        """Add critical context: lists, and texts under a name."""
        content: dict[str, Any] = {}
        for key, entries in context.items():
            named = entries.items() if isinstance(entries, dict) else enumerate(entries)
            for name, (_, refs) in named:
                self.cite(f"critical_context/{key}/{name}", refs)
            if isinstance(entries, dict):
                content[key] = {name: text for name, (text, _) in entries.items()}
            else:
                content[key] = [text for text, _ in entries]
        self.state["critical_context"] = {key: value for key, value in content.items() if value}

    def cite(self, item: str, refs: Iterable[Ref]) -> None:
        """Add the sources of an item."""
        for ref in dict.fromkeys(refs):
            place = Place(ref.transcript, ref.line_idx, ref.start, ref.end)
            self.sources.append(Source(item=item, place=place, sha256=ref.sha256, excerpt=ref.excerpt))


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in nested values, to count what they take."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner)
    elif isinstance(value, list | tuple) and not isinstance(value, Ref):
        for inner in value:
            yield from _texts(inner)
    elif not isinstance(value, Ref) and value is not None:
        yield str(value)


def metadata(state: State) -> dict[str, Any]:
    """Return the log's metadata as far as the transcript has it."""
    edited = [file for file in state.files.values() if file.edits and file.last not in ("deleted", "moved")]
    edited.sort(key=lambda file: file.edited_at)
    failing = [f"{shorten(each.text, 80)}: {each.said}" for each in checks.unresolved_failures(state)]
    last = state.last_reply
    return {
        "files_modified": [relative_path(file.path, state.project) for file in edited[-_MAX_METADATA_FILES:]],
        "agents_used": list(state.agents),
        "errors": failing[-_MAX_ERRORS:],
        "session_duration_minutes": _minutes(state),
        "model": state.model or None,
        "turns": state.turns,
        REQUESTS: len(next_steps.requests(state)),
        BEGUN: bool(state.calls) or last is not None,
        MAY_HAVE_CHANGED: _may_have_changed_files(state),
        # After a mere answer, without any call, a question is a courtesy.
        AWAITS_ANSWER: last is not None and bool(state.calls) and waits_for_user(last.text),
        "tool_calls": state.calls,
        "failed_calls": state.errors,
        "compactions": state.compactions,
        "transcript": state.transcript,
    }


def _may_have_changed_files(state: State) -> bool:
    """Return whether a file was changed, or a command or subagent may have done that."""
    return (
        any(file.edits or file.last in ("deleted", "moved") for file in state.files.values())
        or any(each.kind == "report" for each in state.passages)
        or bool(state.jobs)
        or not all(checks.only_reads(command.text) for command in state.commands.values())
    )


def _minutes(state: State) -> int | None:
    if not state.started_at:
        return None
    took = datetime.fromisoformat(state.last_at) - datetime.fromisoformat(state.started_at)
    return max(0, round(took.total_seconds() / 60))


def is_finished(state: State) -> bool:
    """Return whether nothing is open and somebody said that the work is done."""
    return next_steps.is_finished(without_rewound(state))


def without_rewound(state: State) -> State:
    """Return the state without what a rewind removed from the conversation."""
    if not state.rewinds:
        return state
    changed: dict[str, Any] = {}
    for name in ("prompts", "rules", "passages", "todos", "commits"):
        changed[name] = [fact for fact in getattr(state, name) if not is_rewound(state, fact.ref)]
    for name in ("files", "commands", "pending", "jobs"):
        changed[name] = {
            key: fact for key, fact in getattr(state, name).items() if not is_rewound(state, fact.ref)
        }
    gone = {truncate(rule.text, SUPERSEDING_CHARS) for rule in state.rules} - {
        truncate(rule.text, SUPERSEDING_CHARS) for rule in changed["rules"]
    }
    changed["rules"] = [
        rule._replace(superseded_by="") if rule.superseded_by in gone else rule for rule in changed["rules"]
    ]
    return state.with_changes(changed)
