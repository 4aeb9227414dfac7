"""What a session that goes on from another takes over from that one's log: the user's rules, and what it was all about.

Rules are carried unchanged, with the sources that they had, before the session's own; the same words stand once. Only a log that
this machine wrote, or that the user trusts, is taken over: a rule in a cloned repository's log is nobody's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from leftoff.errors import LeftoffError
from leftoff.extract.phrases import condensed
from leftoff.extract.rules import contradicts
from leftoff.flows.shelf import Shelf
from leftoff.model.resume_log import ResumeLog
from leftoff.model.session import Session
from leftoff.model.sources import Source
from leftoff.model.tokens import estimate_tokens

MOST_RULE_TOKENS = 2_000
_RULES = "user_rules"
_BACKGROUND = "background"
_BACKGROUND_CHARS = 300
_MOST_NAMED_PLACES = 20


class _Item(NamedTuple):
    """An entry of critical context with what it rests on."""

    text: str
    sources: list[Source]


def inherit(made: dict[str, Any], session: Session, shelf: Shelf, *, rule_tokens: int) -> None:
    """Put what the parent's log hands on into a session state; nothing happens where there is no such log."""
    parent = _log_of_parent(session, shelf)
    if parent is None:
        return
    context, sources = made["critical_context"], [Source.from_dict(source) for source in made["sources"]]
    own = _items(context, sources, _RULES)
    rules = _fitting(_joined(_items(parent.critical_context, parent.sources, _RULES), own), rule_tokens)
    others = [source for source in sources if not source.item.startswith(f"critical_context/{_RULES}/")]
    background = _background(parent)
    taken = {_RULES: rules, _BACKGROUND: background}
    made["critical_context"] = {
        **{key: [item.text for item in items] for key, items in taken.items() if items},
        **{key: value for key, value in context.items() if key not in taken},
    }
    cited = [*_cited(_RULES, rules), *_cited(_BACKGROUND, background), *others]
    made["sources"] = [source.to_dict() for source in cited]


def take_over(made: dict[str, Any], session: Session, shelf: Shelf) -> None:
    """The whole of the parent's log, for a session in which nothing was asked yet. Pins are left out: they are read anew."""
    parent = _log_of_parent(session, shelf)
    if parent is None:
        return
    pins = "critical_context/pins/"
    made |= {
        "mission_summary": parent.mission_summary,
        "accomplishments": [*parent.accomplishments],
        "key_findings": [*parent.key_findings],
        "decisions": [*parent.decisions],
        "next_steps": [*parent.next_steps],
        "critical_context": {key: value for key, value in parent.critical_context.items() if key != "pins"},
        "sources": [source.to_dict() for source in parent.sources if not source.item.startswith(pins)],
    }


def _log_of_parent(session: Session, shelf: Shelf) -> ResumeLog | None:
    wanted = session.parent.session_id if session.parent else None
    if wanted is None or wanted == session.session_id:
        return None
    try:
        found = shelf.local.find(wanted)
        if found is None:
            return None
        shelf.register.require(found.json or found.path)
        return found.log()
    except LeftoffError as error:  # named, and the session's own log is made without it
        shelf.troubles.append(error)
        return None


def _items(context: dict[str, Any], sources: list[Source], key: str) -> list[_Item]:
    entries = context.get(key)
    texts = entries if isinstance(entries, list) else []
    return [
        _Item(str(text), [source for source in sources if source.item == f"critical_context/{key}/{number}"])
        for number, text in enumerate(texts)
    ]


def _joined(earlier: list[_Item], own: list[_Item]) -> list[_Item]:
    """All of them, the parent's first; one that a later rule contradicts says so."""
    now = {item.text: item for item in own}
    joined = [
        _Item(item.text, [*item.sources, *now[item.text].sources]) if item.text in now else _marked(item, own)
        for item in earlier
    ]
    known = {item.text for item in earlier}
    return [*joined, *(item for item in own if item.text not in known)]


def _marked(item: _Item, own: list[_Item]) -> _Item:
    later = next(
        (rule.text for rule in own if _is_open(item.text) and contradicts(item.text, rule.text)), None
    )
    return item if later is None else _Item(f"{item.text} (superseded by: {later})", item.sources)


def _is_open(rule: str) -> bool:
    """Whether it is a plain quotation that nothing has superseded yet."""
    return rule.startswith("“") and rule.endswith("”")


def _fitting(items: list[_Item], most_tokens: int) -> list[_Item]:
    """The newest that fit; the others are named with their places."""
    kept: list[_Item] = []
    left = most_tokens
    for item in reversed(items):
        left -= estimate_tokens(item.text)
        if left < 0:
            break
        kept.append(item)
    gone = items[: len(items) - len(kept)]
    return [*_named(gone), *reversed(kept)]


def _named(gone: list[_Item]) -> list[_Item]:
    if not gone:
        return []
    sources = [source for item in gone for source in item.sources][:_MOST_NAMED_PLACES]
    places = ", ".join(
        f"line {source.place.line_idx + 1} of {source.place.transcript}" for source in sources[:3]
    )
    return [_Item(f"({len(gone)} earlier rules do not fit: {places} and on)", sources)]


def _background(parent: ResumeLog) -> list[_Item]:
    """Where it all began, and the session before this one; what lies between is told by their own logs."""
    before = _items(parent.critical_context, parent.sources, _BACKGROUND)
    if not parent.mission_summary.strip():
        return before
    told = f"Session {parent.session_id}: {condensed(parent.mission_summary, _BACKGROUND_CHARS)}"
    sources = [source for source in parent.sources if source.item == "mission_summary"]
    return [*before[:1], _Item(told, sources)]


def _cited(key: str, items: list[_Item]) -> list[Source]:
    return [
        Source(
            item=f"critical_context/{key}/{number}",
            place=source.place,
            sha256=source.sha256,
            excerpt=source.excerpt,
        )
        for number, item in enumerate(items)
        for source in item.sources
    ]
