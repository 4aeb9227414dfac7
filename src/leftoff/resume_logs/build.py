"""Build a resume log from a session state, and say whether one is due.

A session state is a mapping whose keys are the fields of a resume log, each optional. Its shape is read leniently, because other
programs write it: one text counts as a list of one, a mapping with a known key as its text; unknown keys are named and left out.
Sources and ground are read strictly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from leftoff.config.load import thresholds
from leftoff.core.metrics import ContextMetrics
from leftoff.core.provenance import Ground, Source
from leftoff.core.resume_log import NOTES_KEY, ResumeLog
from leftoff.core.triggers import MANUAL_PAUSE, is_due, triggers_of
from leftoff.errors import InvalidValueError
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
