"""From a session state to a resume log: lenient about how others shape what happened, strict about sources and ground.

A session state is a mapping. Its keys are the fields of a resume log, each optional; what 000 also puts at the top
(``files_modified``, ``errors`` …) counts as metadata, and keys that are nobody's are passed over. One text stands for a list
of one; a mapping with a telling key stands for its text; nothing stands for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from leftoff.errors import InvalidValueError
from leftoff.model.context_metrics import ContextMetrics
from leftoff.model.resume_log import ResumeLog
from leftoff.model.sources import Ground, Source

USUAL_STOP_REASON = "end_turn"
_BESIDE_METADATA = ("files_modified", "agents_used", "errors", "warnings", "session_duration_minutes")
_TEXT_KEYS = ("content", "text", "description", "task", "title", "summary", "finding", "message")
_NOTES = "notes"  # what stands in critical context without a name
_DONE = {"completed", "done"}
_DROPPED = {"cancelled", "canceled"}


def from_session_state(
    session_id: str, session_state: Mapping[str, Any], *, stop_reason: str = USUAL_STOP_REASON
) -> ResumeLog:
    """The log of a session; ``stop_reason`` counts where the state does not say, or where it says more than the usual."""
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


def from_todos(session_id: str, todos: Iterable[Mapping[str, Any]], metrics: ContextMetrics) -> ResumeLog:
    """The log of a todo list: what is done, and what is open, work in progress first. Cancelled work is left out."""
    done: list[str] = []
    begun: list[str] = []
    still_open: list[str] = []
    for todo in todos:
        text, status = _text(todo), str(todo.get("status") or "pending").lower()
        if not text or status in _DROPPED:
            continue
        (done if status in _DONE else begun if status == "in_progress" else still_open).append(text)
    count = len(done) + len(begun) + len(still_open)
    return ResumeLog(
        session_id=session_id,
        context_metrics=metrics,
        mission_summary=f"Work from a todo list: {len(done)} of {count} done." if count else "",
        accomplishments=done,
        next_steps=[*(f"{text} (in progress)" for text in begun), *still_open],
    )


def _metrics(value: object, stop_reason: str) -> ContextMetrics:
    """What can be computed is computed anew: predecessors kept remainders below zero, and 0 % for what nobody had counted."""
    if value is None:
        return ContextMetrics(total_budget=None, used_tokens=None, stop_reason=stop_reason)
    if isinstance(value, ContextMetrics):
        value = value.to_dict()
    if not isinstance(value, Mapping):
        raise InvalidValueError(f"context_metrics of the session state is {value!r:.80}, not a mapping.")
    known = dict(value)
    if known.get("total_budget") is not None and known.get("used_tokens") is not None:
        known |= {"percentage_used": None, "remaining_tokens": None}
    if stop_reason != USUAL_STOP_REASON or known.get("stop_reason") is None:
        known["stop_reason"] = stop_reason
    return ContextMetrics.from_dict(known)


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case Mapping():
            if telling := [value[key] for key in _TEXT_KEYS if key in value]:
                return _text(next(filter(None, telling), None))
            return ", ".join(f"{key}: {_text(each)}" for key, each in value.items())
        case list() | tuple():
            return "\n".join(filter(None, map(_text, value)))
        case _:
            return str(value)


def _texts(value: object) -> list[str]:
    entries = value if isinstance(value, list | tuple | set | frozenset) else [value]
    if {*map(type, entries)} == {str}:  # as most are
        return [*filter(str.strip, entries)]
    return [text for entry in entries if (text := _text(entry)).strip()]


def _decisions(value: object) -> list[dict[str, Any]]:
    if isinstance(value, Mapping) and "decision" not in value:  # decision → rationale
        return [{"decision": str(what), "rationale": _text(reason)} for what, reason in value.items()]
    entries = value if isinstance(value, list | tuple) else [value]
    return [made for entry in entries if (made := _decision(entry))]


def _decision(entry: object) -> dict[str, Any]:
    if isinstance(entry, Mapping) and ("decision" in entry or "rationale" in entry):
        return dict(entry)
    text = _text(entry)
    return {"decision": text} if text.strip() else {}


def _mapping(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    return {_NOTES: value} if value else {}


def _metadata(session_state: Mapping[str, Any]) -> dict[str, Any]:
    beside = {key: session_state[key] for key in _BESIDE_METADATA if session_state.get(key) is not None}
    return beside | _mapping(session_state.get("metadata"))


def _source(value: Any) -> Source:
    return value if isinstance(value, Source) else Source.from_dict(value)


def _ground(value: Any) -> Ground | None:
    return value if value is None or isinstance(value, Ground) else Ground.from_dict(value)
