"""Turn a state into the session state that a resume log is written from, each item with its sources.

Sections are filled by score within their shares of the budget, the user's rules in full; what a rewind removed is left out.
``is_finished`` says whether the work came to its end. Silence is no end: people close windows in the middle of their work, so
the user or the agent must have said that it is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leftoff.core.markdown import ELSEWHERE
from leftoff.core.provenance import Source
from leftoff.core.records import Place
from leftoff.extraction import names, next_steps, past, statements, wording
from leftoff.extraction.names import Name
from leftoff.extraction.next_steps import COMPLETE, Entry, Named, find_open_steps
from leftoff.extraction.past import Fact, FileFact
from leftoff.extraction.phrases import any_of
from leftoff.extraction.scoring import Shares, shares_for
from leftoff.extraction.state import Ref, State, is_rewound, truncate
from leftoff.extraction.user_rules import SUPERSEDING_CHARS
from leftoff.extraction.wording import code_span, relative_path

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_HEADINGS_CHARS = 720  # headings and context metrics
_MAX_THANKS_CHARS = 120  # a longer prompt asks for something else
_CONTENT = re.compile(rf"\b(?:{any_of('content')})\b|^\W*(?:done|finished)\W*$", re.IGNORECASE)
_PARTLY = re.compile(rf"\b(?:{any_of('partly')})\b|n't\b|[?\uff1f]|\d\s?%|\[ \]|\bopen:", re.IGNORECASE)
_THANKS = re.compile(rf"\b(?:{any_of('thanks')})\b", re.IGNORECASE)
_MORE_TO_COME = re.compile(rf"\b(?:{any_of('more to come')})\b|[?\uff1f]", re.IGNORECASE)


@dataclass(slots=True)
class _Draft:
    """The session state while it is put together, with the sources of each item."""

    state: dict[str, Any] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)

    def cite(self, item: str, refs: Iterable[Ref]) -> None:
        """Add the sources of an item."""
        for ref in dict.fromkeys(refs):
            place = Place(ref.transcript, ref.line_idx, ref.start, ref.end)
            self.sources.append(Source(item=item, place=place, sha256=ref.sha256, excerpt=ref.excerpt))


def render(state: State, max_chars: int | None = None) -> dict[str, Any]:
    """Return the session state: the sections of a resume log as plain values, ``sources`` in their JSON form.

    The sections are filled for a text of ``max_chars`` characters; None is the full log.
    """
    content = select_content(state, shares_for(max_chars))
    draft = _Draft()
    draft.state["mission_summary"] = content.mission[0]
    draft.cite("mission_summary", content.mission[1])
    sections: dict[str, Sequence[tuple[Any, list[Ref]]]] = {
        "accomplishments": content.accomplishments,
        "key_findings": content.key_findings,
        "decisions": content.decisions,
        "next_steps": content.next_steps,
    }
    for section, items in sections.items():
        draft.state[section] = [item for item, _ in items]
        for number, (_, refs) in enumerate(items):
            draft.cite(f"{section}/{number}", refs)
    draft.state["critical_context"] = {
        key: _entries(key, entries, draft) for key, entries in content.critical_context.items() if entries
    }
    draft.state["metadata"] = content.metadata
    draft.state["sources"] = [source.to_dict() for source in draft.sources]
    return draft.state


def _entries(key: str, entries: Sequence[Entry | Named], draft: _Draft) -> dict[str, str] | list[str]:
    for number, entry in enumerate(entries):
        name = entry.name if isinstance(entry, Named) else str(number)
        draft.cite(f"critical_context/{key}/{name}", entry.refs)
    under_names = {entry.name: entry.text for entry in entries if isinstance(entry, Named)}
    return under_names or [entry.text for entry in entries]


class Content(NamedTuple):
    """What a log says about a session, section by section, each item with its sources."""

    mission: tuple[str, list[Ref]]
    accomplishments: list[tuple[str, list[Ref]]]
    key_findings: list[tuple[str, list[Ref]]]
    decisions: list[tuple[dict[str, str], list[Ref]]]
    next_steps: list[tuple[str, list[Ref]]]
    critical_context: dict[str, list[Entry] | list[Named]]
    metadata: dict[str, Any]


def select_content(state: State, shares: Shares) -> Content:
    """Select what the log says, within the shares: the facts first, then the names of the recent work where they belong."""
    active = without_rewound(state)
    mission = next_steps.mission(active, shares)
    said = statements.all_statements(active)
    accomplishments, findings = past.accomplishments(active, shares), past.findings(active, said, shares)
    decided, steps = (
        past.decisions(said, active.calls, shares),
        next_steps.next_steps(active, shares, is_finished=is_finished(active)),
    )
    changed = past.changed_files(active, shares)
    context = next_steps.critical_context(active, shares, {fact.file.path for fact in changed})
    texts = [
        mission[0],
        *(each.text for each in (*accomplishments, *findings)),
        *(f"{each['decision']} {each['rationale']}" for each, _ in decided),
        *(text for text, _ in steps),
        *(entry.text for entries in context.values() for entry in entries),
        *(fact.text for fact in changed),
    ]
    chars_left = shares.total - _HEADINGS_CHARS - sum(len(text) + 4 for text in texts)
    ranked = _select_new_names(active, texts, changed, min(shares.names, chars_left))
    placed = _place_names(active, changed, ranked, shares)
    return Content(
        mission=mission,
        accomplishments=_oldest_first([*accomplishments, *placed.changed]),
        key_findings=[*_oldest_first(placed.read), *_oldest_first(findings)],
        decisions=decided,
        next_steps=steps,
        critical_context=context | {"names": placed.elsewhere},
        metadata=past.metadata(active),
    )


class _PlacedNames(NamedTuple):
    """The names by where they are listed: with changed files, with read files, and by themselves."""

    changed: list[Fact]
    read: list[Fact]
    elsewhere: list[Named]


def _select_new_names(state: State, texts: Iterable[str], changed: list[FileFact], chars: int) -> list[Name]:
    """Return the names of the recent work that no text mentions yet, best first."""
    mentioned = {word for text in texts for word in _WORD.findall(text)}
    new = [name for name in names.rank_names(state.glimpses) if name.text not in mentioned]
    return names.select_names(new, chars, (fact.file.path for fact in changed))


def _place_names(state: State, changed: list[FileFact], ranked: list[Name], shares: Shares) -> _PlacedNames:
    by_file = names.group_by_file(ranked)
    read = [fact for fact in past.read_files(state) if fact.file.path in by_file]
    listed_with: dict[str, list[Name]] = {
        fact.file.path: by_file.pop(fact.file.path, [])[: shares.names_per_file] for fact in (*changed, *read)
    }
    listed = {id(name) for found in listed_with.values() for name in found}
    rest = names.group_by_file(name for name in ranked if id(name) not in listed)
    return _PlacedNames(
        changed=[past.with_names(fact, listed_with[fact.file.path]) for fact in changed],
        read=[past.with_names(fact, listed_with[fact.file.path]) for fact in read],
        elsewhere=[
            Named(
                relative_path(path, state.project) or ELSEWHERE,
                code_span(name.text for name in found),
                _refs(found),
            )
            for path, found in rest.items()
        ],
    )


def _refs(found: list[Name]) -> list[Ref]:
    return [*{name.ref: name.ref.with_excerpt(name.text) for name in found}.values()]


def _oldest_first(facts: list[Fact]) -> list[tuple[str, list[Ref]]]:
    return [(each.text, each.refs) for each in sorted(facts, key=lambda each: each.call)]


def without_rewound(state: State) -> State:
    """Return the state without what a rewind removed from the conversation."""
    if not state.rewinds:
        return state
    changed: dict[str, Any] = {}
    for name in ("prompts", "rules", "statements", "todos", "delegations", "commits", "glimpses"):
        changed[name] = [fact for fact in getattr(state, name) if not is_rewound(state, fact.ref)]
    for name in ("files", "commands", "pending"):
        changed[name] = {
            key: fact for key, fact in getattr(state, name).items() if not is_rewound(state, fact.ref)
        }
    gone = {truncate(rule.text, SUPERSEDING_CHARS) for rule in state.rules} - {
        truncate(rule.text, SUPERSEDING_CHARS) for rule in changed["rules"]
    }
    changed["rules"] = [
        rule._replace(superseded_by="") if rule.superseded_by in gone else rule for rule in changed["rules"]
    ]
    if state.last_words is not None and is_rewound(state, state.last_words.ref):
        changed["last_words"] = None
    return state.with_changes(changed)


def is_finished(state: State) -> bool:
    """Return whether nothing is open and the user, the to-do list or the agent's last text says that the work is done."""
    active = without_rewound(state)
    if not active.prompts or find_open_steps(active):
        return False
    return _user_is_content(active) or _list_is_done(active) or _agent_says_done(active)


def _user_is_content(state: State) -> bool:
    """Return whether the last prompt says that the work is done, or is thanks for what the agent had called done."""
    prompt = " ".join(state.prompts[-1].text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split())
    if len(prompt) > _MAX_THANKS_CHARS or _MORE_TO_COME.search(prompt):
        return False
    before = [
        each for each in state.statements if each.kind == "summary" and each.turn < state.prompts[-1].turn
    ]
    is_thanks = _THANKS.search(prompt) is not None and (not before or _says_done(before[-1].text))
    return is_thanks or _CONTENT.search(prompt) is not None


def _list_is_done(state: State) -> bool:
    """Return whether an entry was completed since the last prompt; the caller has checked that none is open."""
    calls_before = state.prompts[-1].call
    return any(todo.status == "completed" and todo.call > calls_before for todo in state.todos)


def _agent_says_done(state: State) -> bool:
    """Return whether the agent's last text says that the work is complete, and not that only a part is."""
    return state.last_words is not None and _says_done(state.last_words.text)


def _says_done(text: str) -> bool:
    sentences = [*wording.sentences(text)]
    return any(map(COMPLETE.search, sentences)) and not any(map(_PARTLY.search, sentences))
