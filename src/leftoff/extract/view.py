"""Puts the parts together: what is told for itself first, then the names in play where they belong, within the shares."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from leftoff.extract import happened, names, needed, statements
from leftoff.extract.happened import Place, Told
from leftoff.extract.names import Name
from leftoff.extract.needed import Entry, Named
from leftoff.extract.phrases import coded, relative
from leftoff.extract.rules import SUPERSEDING_CHARS
from leftoff.extract.shares import Shares
from leftoff.extract.state import Ref, State, begun, is_taken_back
from leftoff.model.entries import ELSEWHERE
from leftoff.model.values import dataclass

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_FRAME_CHARS = 720  # headings and gauge


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is told of a session, section by section, each item with the records it rests on."""

    mission: tuple[str, list[Ref]]
    accomplishments: list[tuple[str, list[Ref]]]
    key_findings: list[tuple[str, list[Ref]]]
    decisions: list[tuple[dict[str, str], list[Ref]]]
    next_steps: list[tuple[str, list[Ref]]]
    critical_context: dict[str, list[Entry] | list[Named]]
    metadata: dict[str, Any]


def view(state: State, shares: Shares) -> View:
    """The state as it is told."""
    living = without_taken_back(state)
    mission = needed.mission(living, shares)
    said = statements.said(living)
    accounts, findings = happened.accounts(living, shares), happened.findings(living, said, shares)
    decided, steps = happened.decisions(said, living.calls, shares), needed.next_steps(living, shares)
    changed = happened.changed_places(living, shares)
    exact = needed.exact_things(living, shares, {place.file.path for place in changed})
    told = [
        mission[0],
        *(each.text for each in (*accounts, *findings)),
        *(f"{each['decision']} {each['rationale']}" for each, _ in decided),
        *(text for text, _ in steps),
        *(entry.text for entries in exact.values() for entry in entries),
        *(place.text for place in changed),
    ]
    room = shares.total - _FRAME_CHARS - sum(len(text) + 4 for text in told)
    ranked = _not_yet_told(living, told, changed, min(shares.names, room))
    placed = _placed(living, changed, ranked, shares)
    return View(
        mission=mission,
        accomplishments=_in_time([*accounts, *placed.changed]),
        key_findings=[*_in_time(placed.read), *_in_time(findings)],
        decisions=decided,
        next_steps=steps,
        critical_context=exact | {"names": placed.elsewhere},
        metadata=happened.metadata(living),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """The names where they belong: with the files that were changed, those that were read, and elsewhere."""

    changed: list[Told]
    read: list[Told]
    elsewhere: list[Named]


def _not_yet_told(state: State, told: Iterable[str], changed: list[Place], chars: int) -> list[Name]:
    """The names in play that no sentence has spoken of, the worthiest first."""
    spoken = {word for text in told for word in _WORD.findall(text)}
    fresh = [name for name in names.in_play(state.glimpses) if name.text not in spoken]
    return names.best(fresh, chars, (place.file.path for place in changed))


def _placed(state: State, changed: list[Place], ranked: list[Name], shares: Shares) -> _Placed:
    by_file = names.by_file(ranked)
    read = [place for place in happened.read_places(state) if place.file.path in by_file]
    told_with: dict[str, list[Name]] = {
        place.file.path: by_file.pop(place.file.path, [])[: shares.names_per_file]
        for place in (*changed, *read)
    }
    kept = {id(name) for found in told_with.values() for name in found}
    rest = names.by_file(name for name in ranked if id(name) not in kept)
    return _Placed(
        changed=[happened.named(place, told_with[place.file.path]) for place in changed],
        read=[happened.named(place, told_with[place.file.path]) for place in read],
        elsewhere=[
            Named(
                relative(path, state.project) or ELSEWHERE, coded(name.text for name in found), _refs(found)
            )
            for path, found in rest.items()
        ],
    )


def _refs(found: list[Name]) -> list[Ref]:
    return [*{name.ref: name.ref.saying(name.text) for name in found}.values()]


def _in_time(told: list[Told]) -> list[tuple[str, list[Ref]]]:
    return [(each.text, each.refs) for each in sorted(told, key=lambda each: each.call)]


def without_taken_back(state: State) -> State:
    """The state without what a rewind took off the conversation."""
    if not state.rewinds:
        return state
    changed: dict[str, Any] = {}
    for name in ("prompts", "rules", "statements", "todos", "delegations", "commits", "glimpses"):
        changed[name] = [fact for fact in getattr(state, name) if not is_taken_back(state, fact.ref)]
    for name in ("files", "commands", "pending"):
        changed[name] = {
            key: fact for key, fact in getattr(state, name).items() if not is_taken_back(state, fact.ref)
        }
    gone = {begun(rule.text, SUPERSEDING_CHARS) for rule in state.rules} - {
        begun(rule.text, SUPERSEDING_CHARS) for rule in changed["rules"]
    }
    changed["rules"] = [
        rule._replace(superseded_by="") if rule.superseded_by in gone else rule for rule in changed["rules"]
    ]
    if state.last_words is not None and is_taken_back(state, state.last_words.ref):
        changed["last_words"] = None
    return state.replaced(changed)
