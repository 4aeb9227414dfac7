"""Build a resume log from a session state, say whether one is due, and inherit from the log of the session before.

A session state is a mapping whose keys are the fields of a resume log, each optional. Its shape is read leniently, because other
programs write it: one text counts as a list of one, a mapping with a known key as its text; unknown keys are named and left out.
Sources and ground are read strictly. Rules of a parent's log come before the session's own, unchanged and with their sources, and only from a
log that this machine wrote or the user trusts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from leftoff.config.load import thresholds
from leftoff.core.budget import estimate_tokens
from leftoff.core.metrics import ContextMetrics
from leftoff.core.provenance import Ground, Source
from leftoff.core.resume_log import NOTES_KEY, ResumeLog
from leftoff.core.session import Session
from leftoff.core.triggers import MANUAL_PAUSE, is_due, triggers_of
from leftoff.errors import InvalidValueError, LeftoffError
from leftoff.extraction.user_rules import contradicts
from leftoff.extraction.wording import first_sentences
from leftoff.resume_logs.custom_sections import any_condition_triggers
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


def inherit_from_parent(
    session_state: dict[str, Any], session: Session, repository: LogRepository, *, rule_tokens: int
) -> None:
    """Add the user's rules and the background of the parent's log to a session state; without such a log nothing is added."""
    parent = _load_parent_log(session, repository)
    if parent is None:
        return
    context, sources = (
        session_state["critical_context"],
        [Source.from_dict(source) for source in session_state["sources"]],
    )
    own = _items(context, sources, _RULES)
    rules = _fit(_join_rules(_items(parent.critical_context, parent.sources, _RULES), own), rule_tokens)
    others = [source for source in sources if not source.item.startswith(f"critical_context/{_RULES}/")]
    background = _background(parent)
    inherited = {_RULES: rules, _BACKGROUND: background}
    session_state["critical_context"] = {
        **{key: [item.text for item in items] for key, items in inherited.items() if items},
        **{key: value for key, value in context.items() if key not in inherited},
    }
    all_sources = [*_cite(_RULES, rules), *_cite(_BACKGROUND, background), *others]
    session_state["sources"] = [source.to_dict() for source in all_sources]


def copy_parent(session_state: dict[str, Any], session: Session, repository: LogRepository) -> None:
    """Copy the parent's log into the state of a session without a prompt yet. Pins are left out: the caller adds them."""
    parent = _load_parent_log(session, repository)
    if parent is None:
        return
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


def _load_parent_log(session: Session, repository: LogRepository) -> ResumeLog | None:
    parent_id = session.parent.session_id if session.parent else None
    if parent_id is None or parent_id == session.session_id:
        return None
    try:
        found = repository.local.find(parent_id)
        if found is None:
            return None
        repository.register.require(found.json or found.path)
        return found.log()
    except LeftoffError as error:  # the session's own log is built without it
        repository.troubles.append(error)
        return None


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
    text = f"Session {parent.session_id}: {first_sentences(parent.mission_summary, _BACKGROUND_CHARS)}"
    sources = [source for source in parent.sources if source.item == "mission_summary"]
    return [*before[:1], _Item(text, sources)]


def _cite(key: str, items: list[_Item]) -> list[Source]:
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
