"""Build a resume log from a session state, say whether one is due, and inherit from the log of the session before.

A session state is a mapping whose keys are the fields of a resume log, each optional. Its shape is read leniently, because other
programs write it: one text counts as a list of one, a mapping with a known key as its text; unknown keys are named and left out.
Sources and ground are read strictly. Rules of a parent's log come before the session's own, unchanged and with their sources, and only from a
log that this machine wrote or the user trusts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from leftoff.config.load import thresholds
from leftoff.core.budget import estimate_tokens
from leftoff.core.markdown import is_open_step
from leftoff.core.metrics import ContextMetrics
from leftoff.core.open_work import is_open
from leftoff.core.provenance import Ground, Source
from leftoff.core.resume_log import NOTES_KEY, ResumeLog
from leftoff.core.session import short_id
from leftoff.core.triggers import MANUAL_PAUSE, is_due, triggers_of
from leftoff.errors import InvalidValueError, LeftoffError
from leftoff.extraction import State, is_finished
from leftoff.extraction.next_steps import FIRST_ASKED, is_settled, requests
from leftoff.extraction.sections import without_rewound
from leftoff.extraction.user_rules import contradicts
from leftoff.extraction.wording import first_sentences
from leftoff.resume_logs.custom_sections import any_condition_triggers
from leftoff.sessions.ancestry import Link
from leftoff.storage.repository import LogRepository

USUAL_STOP_REASON = "end_turn"
_TOP_LEVEL_METADATA = ("files_modified", "agents_used", "errors", "warnings", "session_duration_minutes")
_NAMEABLE_KEYS = (
    *("context_metrics", "mission_summary", "accomplishments", "key_findings", "decisions", "next_steps"),
    *("critical_context", "metadata", "sources", "ground", *_TOP_LEVEL_METADATA),
)
# The JSON form of a log is a session state too, and a todo list is kept for plugins.
_KNOWN_KEYS = frozenset({*_NAMEABLE_KEYS, "schema", "session_id", "todos"})
_TEXT_KEYS = ("content", "text", "description", "task", "title", "summary", "finding", "message")
_DONE = {"completed", "done"}
_DROPPED = {"cancelled", "canceled"}
MAX_RULE_TOKENS = 2_000
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


def from_session_state(
    session_id: str, session_state: Mapping[str, Any], *, stop_reason: str = USUAL_STOP_REASON
) -> ResumeLog:
    """Return the log of a session state; ``stop_reason`` is used unless it is the usual one and the state has its own."""
    return ResumeLog(
        session_id=session_id,
        context_metrics=_metrics(session_state.get("context_metrics"), stop_reason),
        mission_summary=_text(session_state.get("mission_summary")),
        accomplishments=_texts(session_state.get("accomplishments")),
        key_findings=_texts(session_state.get("key_findings")),
        decisions=_decisions(session_state.get("decisions")),
        next_steps=_texts(session_state.get("next_steps")),
        critical_context=_mapping(session_state.get("critical_context")),
        metadata=_metadata(session_state),
        sources=[_source(source) for source in session_state.get("sources") or ()],
        ground=_ground(session_state.get("ground")),
    )


def unused_keys(session_state: Mapping[str, Any], *, with_plugins: bool) -> list[InvalidValueError]:
    """Return one error for each key that no part of the log is made from, with the nearest key that is.

    With plugins, which may read keys of their own, only those that look like a mistake are named.
    """
    unknown = [key for key in session_state if key not in _KNOWN_KEYS]
    nearest = {key: _nearest_key(str(key)) for key in unknown}
    return [
        InvalidValueError(
            f"session_state[{str(key)[:60]!r}] is not in the log: a session state has no such key."
            + (f" Did you mean {near}?" if near else f" It has: {', '.join(_NAMEABLE_KEYS)}.")
        )
        for key, near in nearest.items()
        if near or not with_plugins
    ]


def _nearest_key(key: str) -> str | None:
    """Return the key that was probably meant: the most similar one, also to a key's beginning, as in ``mision``."""
    from difflib import get_close_matches  # noqa: PLC0415 - needed only for a mistake

    begins = {known[: len(key) + 1]: known for known in _NAMEABLE_KEYS}
    return next(
        (begins.get(near, near) for near in get_close_matches(key, [*_NAMEABLE_KEYS, *begins], n=1)), None
    )


def from_todos(session_id: str, todos: Iterable[Mapping[str, Any]], metrics: ContextMetrics) -> ResumeLog:
    """Return the log of a to-do list: what is done, and what is open, work in progress first; cancelled work is left out."""
    done: list[str] = []
    in_progress: list[str] = []
    still_open: list[str] = []
    for todo in todos:
        text, status = _text(todo), str(todo.get("status") or "pending").lower()
        if not text or status in _DROPPED:
            continue
        (done if status in _DONE else in_progress if status == "in_progress" else still_open).append(text)
    count = len(done) + len(in_progress) + len(still_open)
    return ResumeLog(
        session_id=session_id,
        context_metrics=metrics,
        mission_summary=f"Work from a todo list: {len(done)} of {count} done." if count else "",
        accomplishments=done,
        next_steps=[*(f"{text} (in progress)" for text in in_progress), *still_open],
    )


def _metrics(value: object, stop_reason: str) -> ContextMetrics:
    """Compute derived values again: older programs stored negative remainders, and 0 % for what was not known."""
    if value is None:
        return ContextMetrics(total_budget=None, used_tokens=None, stop_reason=stop_reason)
    if isinstance(value, ContextMetrics):
        value = value.to_dict()
    if not isinstance(value, Mapping):
        raise InvalidValueError(f"context_metrics of the session state is {value!r:.80}, not a mapping.")
    fields = dict(value)
    if fields.get("total_budget") is not None and fields.get("used_tokens") is not None:
        fields |= {"percentage_used": None, "remaining_tokens": None}
    if stop_reason != USUAL_STOP_REASON or fields.get("stop_reason") is None:
        fields["stop_reason"] = stop_reason
    return ContextMetrics.from_dict(fields)


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case Mapping():
            if texts := [value[key] for key in _TEXT_KEYS if key in value]:
                return _text(next(filter(None, texts), None))
            return ", ".join(f"{key}: {_text(each)}" for key, each in value.items())
        case list() | tuple():
            return "\n".join(filter(None, map(_text, value)))
        case _:
            return str(value)


def _texts(value: object) -> list[str]:
    entries = value if isinstance(value, list | tuple | set | frozenset) else [value]
    if {*map(type, entries)} == {str}:  # true of most, and quicker
        return [*filter(str.strip, entries)]
    return [text for entry in entries if (text := _text(entry)).strip()]


def _decisions(value: object) -> list[dict[str, Any]]:
    if isinstance(value, Mapping) and "decision" not in value:  # decision → rationale
        return [{"decision": str(what), "rationale": _text(reason)} for what, reason in value.items()]
    entries = value if isinstance(value, list | tuple) else [value]
    return [decision for entry in entries if (decision := _decision(entry))]


def _decision(entry: object) -> dict[str, Any]:
    if isinstance(entry, Mapping) and ("decision" in entry or "rationale" in entry):
        return dict(entry)
    text = _text(entry)
    return {"decision": text} if text.strip() else {}


def _mapping(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    return {NOTES_KEY: value} if value else {}


def _metadata(session_state: Mapping[str, Any]) -> dict[str, Any]:
    top_level = {key: session_state[key] for key in _TOP_LEVEL_METADATA if session_state.get(key) is not None}
    return top_level | _mapping(session_state.get("metadata"))


def _source(value: Any) -> Source:
    return value if isinstance(value, Source) else Source.from_dict(value)


def _ground(value: Any) -> Ground | None:
    return value if value is None or isinstance(value, Ground) else Ground.from_dict(value)


def is_log_due(
    trigger: str,
    metrics: ContextMetrics,
    repository: LogRepository,
    session_state: dict[str, Any] | None = None,
) -> bool:
    """Return whether ``trigger`` or a condition of a plugin makes a log due; failing plugins are recorded in the troubles."""
    wanted = repository.settings.resume_logs
    if not wanted.enabled or (not wanted.auto_generate and trigger != MANUAL_PAUSE):
        return False
    if is_due(trigger, metrics, thresholds(repository.settings), wanted.triggers):
        return True
    triggered, troubles = any_condition_triggers(repository.conditions, metrics, session_state or {})
    repository.troubles += troubles
    return triggered


def is_log_due_by_metrics(
    metrics: ContextMetrics, repository: LogRepository, session_state: dict[str, Any] | None = None
) -> bool:
    """Return whether a trigger that the metrics show, or a condition of a plugin, makes a log due."""
    # Conditions are asked in any case.
    triggers = triggers_of(metrics, thresholds(repository.settings)) or ("",)
    return any(is_log_due(trigger, metrics, repository, session_state) for trigger in triggers)


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


def inherit_from_parents(
    session_state: dict[str, Any], parents: Sequence[ParentLog], state: State, *, rule_tokens: int
) -> None:
    """Add to a session state what the logs of the parents pass on: rules, mission, open steps, what they were about.

    A copy has the requests and steps of its parent in its own transcript.
    """
    active = without_rewound(state)
    continued = [parent.log for parent in parents if not parent.is_copied]
    _inherit_rules(session_state, [parent.log for parent in parents], rule_tokens)
    if continued:
        is_left_open = _inherit_steps(session_state, continued, active)
        _inherit_mission(session_state, continued[-1], leads=is_left_open)


def _inherit_rules(session_state: dict[str, Any], parents: Sequence[ResumeLog], rule_tokens: int) -> None:
    context, sources = session_state["critical_context"], _sources(session_state)
    rules = _items(context, sources, _RULES)
    for parent in reversed(parents):
        rules = _join_rules(_items(parent.critical_context, parent.sources, _RULES), rules)
    about = {item.text: item for parent in parents[-_MAX_PARENTS_NAMED:] for item in _background(parent)}
    inherited = {_RULES: _fit(rules, rule_tokens), _BACKGROUND: [*about.values()]}
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
    step = f"Go on with what session {short_id(parent.session_id)} left open: {_quoted(latest)}"
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


def _join_rules(earlier: list[_Item], own: list[_Item]) -> list[_Item]:
    """Return all rules, the parent's first; one that a later rule contradicts is marked."""
    now = {item.text: item for item in own}
    joined = [
        _Item(item.text, [*item.sources, *now[item.text].sources])
        if item.text in now
        else _mark_if_superseded(item, own)
        for item in earlier
    ]
    known = {item.text for item in earlier}
    return [*joined, *(item for item in own if item.text not in known)]


def _mark_if_superseded(item: _Item, own: list[_Item]) -> _Item:
    later = next(
        (rule.text for rule in own if _is_plain_quote(item.text) and contradicts(item.text, rule.text)), None
    )
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
