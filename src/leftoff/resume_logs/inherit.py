"""Inherit from the logs of the sessions that a session continues: rules, mission, open steps, and what they were about.

Rules of an earlier session come before the session's own, unchanged and with their sources. Only logs that this machine wrote or the
user trusts pass anything on. However long a chain of sessions is, what is inherited does not grow: it is kept once, and within a budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from leftoff.core.budget import estimate_tokens
from leftoff.core.markdown import is_open_step
from leftoff.core.open_work import is_open
from leftoff.core.provenance import Source
from leftoff.core.resume_log import ResumeLog
from leftoff.core.session_ids import short_id
from leftoff.errors import LeftoffError
from leftoff.extraction import State, is_finished
from leftoff.extraction.next_steps import FIRST_ASKED, is_settled, requests
from leftoff.extraction.sections import without_rewound
from leftoff.extraction.user_rules import SUPERSEDING_CHARS, contradicts, retractions
from leftoff.extraction.wording import first_sentences
from leftoff.sessions.ancestry import Link
from leftoff.storage.repository import LogRepository

_MAX_RULE_TOKENS = 2_000
_RULES = "user_rules"
_BACKGROUND = "background"
_BACKGROUND_CHARS = 300
_MAX_PARENTS_NAMED = 3
_MISSION = "mission_summary"
_IN_THIS_SESSION = "Then, in this session, the user asked:"
_BEFORE = "The latest request before this session:"
_EARLIER = "The session before was about:"
_EXCERPT_CHARS = 60  # enough to tell whose words a mission quotes
_MAX_NEXT_STEPS = 14
_MAX_NAMED_PLACES = 20


class _Item(NamedTuple):
    """An entry of critical context with its sources."""

    text: str
    sources: list[Source]


class ParentLog(NamedTuple):
    """The log of a session that this one continues. ``is_copied`` says that this transcript has all of that session's records."""

    log: ResumeLog
    is_copied: bool


def load_parents(links: Iterable[Link], repository: LogRepository) -> list[ParentLog]:
    """Return the logs of these sessions, as far as they can be read and are trusted."""
    logs = ((link, _load_log(link.session_id, repository)) for link in links)
    return [ParentLog(log, link.derivation != "continued") for link, log in logs if log is not None]


def _load_log(session_id: str, repository: LogRepository) -> ResumeLog | None:
    try:
        found = repository.local.find(session_id)
        if found is None:
            return None
        repository.register.require(found.json or found.path)
        return found.log()
    except LeftoffError as error:  # the session's own log is built without it
        repository.troubles.append(error)
        return None


def inherit_from_parents(session_state: dict[str, Any], parents: Sequence[ParentLog], state: State) -> None:
    """Add to a session state what the logs of the parents pass on: rules, mission, open steps, what they were about.

    A copy has the requests and steps of its parent in its own transcript.
    """
    active = without_rewound(state)
    continued = [parent.log for parent in parents if not parent.is_copied]
    _inherit_rules(session_state, [parent.log for parent in parents], retractions(active))
    if continued:
        is_left_open = _inherit_steps(session_state, continued, active)
        _inherit_mission(session_state, continued[-1], leads=is_left_open)


def _inherit_rules(
    session_state: dict[str, Any], parents: Sequence[ResumeLog], retracted: Sequence[str]
) -> None:
    context, sources = session_state["critical_context"], _sources(session_state)
    rules = _items(context, sources, _RULES)
    for parent in reversed(parents):
        rules = _join_rules(_items(parent.critical_context, parent.sources, _RULES), rules, retracted)
    about = {item.text: item for parent in parents[-_MAX_PARENTS_NAMED:] for item in _background(parent)}
    inherited = {_RULES: _fit(rules, _MAX_RULE_TOKENS), _BACKGROUND: [*about.values()]}
    others = [source for source in sources if not source.item.startswith(f"critical_context/{_RULES}/")]
    session_state["critical_context"] = {
        **{key: [item.text for item in items] for key, items in inherited.items() if items},
        **{key: value for key, value in context.items() if key not in inherited},
    }
    cited = [source for key, items in inherited.items() for source in _cite(f"critical_context/{key}", items)]
    session_state["sources"] = [source.to_dict() for source in (*cited, *others)]


def _inherit_steps(session_state: dict[str, Any], parents: Sequence[ResumeLog], state: State) -> bool:
    """Add the steps that the parents left open and this session did not settle; return whether there are any."""
    if state.calls and not requests(state) and is_finished(state):
        return False  # it was only told to continue, it worked, and it says that all is done
    inherited = {
        item.text: item
        for parent in reversed(parents)
        for item in _open_steps(parent)
        if not is_settled(item.text, state)
    }
    if not inherited:
        return False
    sources = _sources(session_state)
    own = [
        _Item(step, [source for source in sources if source.item == f"next_steps/{number}"])
        for number, step in enumerate(session_state["next_steps"])
        if is_open_step(step)
    ]
    steps = [*({item.text: item for item in own} | inherited).values()][:_MAX_NEXT_STEPS]
    others = [source for source in sources if not source.item.startswith("next_steps/")]
    session_state["next_steps"] = [item.text for item in steps]
    session_state["sources"] = [source.to_dict() for source in (*others, *_cite("next_steps", steps))]
    return True


def _open_steps(parent: ResumeLog) -> list[_Item]:
    """Return the open steps of a log; where its work is open without one, a step that names its latest request."""
    found = [
        _Item(step, [source for source in parent.sources if source.item == f"next_steps/{number}"])
        for number, step in enumerate(parent.next_steps)
        if is_open_step(step)
    ]
    if found or not is_open(parent):
        return found
    latest = _paragraphs(parent.mission_summary)[-1]
    step = f"Continue what session {short_id(parent.session_id)} left open: {_quoted(latest)}"
    return [_Item(step, [source for source in parent.sources if source.item == _MISSION])]


def _inherit_mission(session_state: dict[str, Any], parent: ResumeLog, *, leads: bool) -> None:
    """Put the parent's mission before what the user asked in this session; after it, where that work is settled.

    Of the parent's, the first and the latest request are kept, so that a chain of sessions does not grow.
    """
    own, earlier = _paragraphs(session_state[_MISSION]), _paragraphs(parent.mission_summary)
    if not earlier or own[:1] == earlier[:1]:
        return
    if not own:
        mission = earlier
    elif leads:
        before = [f"{_BEFORE} {_quoted(earlier[-1])}"] if len(earlier) > 1 else []
        first = f"{_IN_THIS_SESSION} {own[0].removeprefix(FIRST_ASKED).strip()}"
        mission = [earlier[0], *before, first, *own[1:]]
    else:
        mission = [own[0], f"{_EARLIER} {_quoted(earlier[0])}", *own[1:]]
    session_state[_MISSION] = "\n\n".join(mission)
    words = " ".join(session_state[_MISSION].split())
    quoted = [
        source
        for source in parent.sources
        if source.item == _MISSION and " ".join(source.excerpt.split())[:_EXCERPT_CHARS] in words
    ]
    session_state["sources"] = [source.to_dict() for source in quoted] + session_state["sources"]


def _paragraphs(mission: str) -> list[str]:
    return [text for text in mission.split("\n\n") if text.strip()]


def _quoted(paragraph: str) -> str:
    """Return the user's words in a paragraph of a mission, without our words before them."""
    before, mark, words = paragraph.partition("“")
    return mark + words if mark else before


def _sources(session_state: dict[str, Any]) -> list[Source]:
    return [Source.from_dict(source) for source in session_state["sources"]]


def copy_parent(session_state: dict[str, Any], parent: ResumeLog) -> None:
    """Copy the parent's log into the state of a session without a prompt yet. Pins are left out: the caller adds them."""
    pins = "critical_context/pins/"
    session_state |= {
        "mission_summary": parent.mission_summary,
        "accomplishments": [*parent.accomplishments],
        "key_findings": [*parent.key_findings],
        "decisions": [*parent.decisions],
        "next_steps": [*parent.next_steps],
        "critical_context": {key: value for key, value in parent.critical_context.items() if key != "pins"},
        "sources": [source.to_dict() for source in parent.sources if not source.item.startswith(pins)],
    }


def _items(context: dict[str, Any], sources: list[Source], key: str) -> list[_Item]:
    entries = context.get(key)
    texts = entries if isinstance(entries, list) else []
    return [
        _Item(str(text), [source for source in sources if source.item == f"critical_context/{key}/{number}"])
        for number, text in enumerate(texts)
    ]


def _join_rules(earlier: list[_Item], own: list[_Item], retracted: Sequence[str]) -> list[_Item]:
    """Return all rules, the parent's first; one that a later rule contradicts, or the user took back in this session, is marked."""
    now = {item.text: item for item in own}
    joined = [
        _Item(item.text, [*item.sources, *now[item.text].sources])
        if item.text in now
        else _mark_if_superseded(item, own, retracted)
        for item in earlier
    ]
    known = {item.text for item in earlier}
    return [*joined, *(item for item in own if item.text not in known)]


def _mark_if_superseded(item: _Item, own: list[_Item], retracted: Sequence[str]) -> _Item:
    if not _is_plain_quote(item.text):
        return item
    said = [*(rule.text for rule in own), *(f"“{each[:SUPERSEDING_CHARS]}”" for each in retracted)]
    later = next((each for each in said if contradicts(item.text, each)), None)
    return item if later is None else _Item(f"{item.text} (superseded by: {later})", item.sources)


def _is_plain_quote(rule: str) -> bool:
    """Return whether a rule is a quotation that is not superseded yet."""
    return rule.startswith("“") and rule.endswith("”")


def _fit(items: list[_Item], max_tokens: int) -> list[_Item]:
    """Return the newest rules that fit; of the others only their places are named."""
    newest: list[_Item] = []
    left = max_tokens
    for item in reversed(items):
        left -= estimate_tokens(item.text)
        if left < 0:
            break
        newest.append(item)
    return [*_name_places(items[: len(items) - len(newest)]), *reversed(newest)]


def _name_places(left_out: list[_Item]) -> list[_Item]:
    if not left_out:
        return []
    sources = [source for item in left_out for source in item.sources][:_MAX_NAMED_PLACES]
    places = ", ".join(
        f"line {source.place.line_idx + 1} of {source.place.transcript}" for source in sources[:3]
    )
    return [_Item(f"({len(left_out)} earlier rules do not fit: {places} and on)", sources)]


def _background(parent: ResumeLog) -> list[_Item]:
    """Return what the first session and the session before this one were about."""
    before = _items(parent.critical_context, parent.sources, _BACKGROUND)
    if not parent.mission_summary.strip():
        return before
    own = parent.mission_summary.partition(_IN_THIS_SESSION)[2] or parent.mission_summary
    about = first_sentences(own.strip(), _BACKGROUND_CHARS)
    if before and before[-1].text.endswith(about):  # it was only told to continue
        return before
    text = f"Session {parent.session_id}: {about}"
    sources = [source for source in parent.sources if source.item == _MISSION]
    return [*before[:1], _Item(text, sources)]


def _cite(section: str, items: list[_Item]) -> list[Source]:
    return [
        Source(
            item=f"{section}/{number}",
            place=source.place,
            sha256=source.sha256,
            excerpt=source.excerpt,
        )
        for number, item in enumerate(items)
        for source in item.sources
    ]
