"""The snapshot of a pause as a resume log, so that a pause without an agent's session can be resumed like one."""

from __future__ import annotations

from leftoff.core.metrics import ContextMetrics
from leftoff.core.provenance import Ground
from leftoff.core.resume_log import CustomSection, ResumeLog
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.pause.snapshot_store import FinishedPause
from leftoff.platform import clock

_ACTIONS = {"tool_call", "assistant_response", "system_event"}
_SECTION_TOKENS = 1000


def snapshot_log(pause: FinishedPause) -> ResumeLog:
    """Return what the snapshot says about the work; the user's note is the mission where no other is known."""
    state = pause.state or {}
    said, mission = user_messages(pause), state.get("mission_summary")
    sections = {
        "Note": [pause.message] if pause.message and mission else [],
        "What the User Said": said,
        "What Happened": recorded_actions(pause),
    }
    return ResumeLog(
        session_id=pause.session_id,
        context_metrics=_metrics(pause, state.get("context_usage")),
        mission_summary=str(mission or pause.message or next(iter(said), "")),
        accomplishments=_texts(state.get("accomplishments")),
        next_steps=_texts(state.get("next_steps")),
        metadata={"project": state.get("project")},
        custom_sections=[
            CustomSection(
                name=name, budget_tokens=_SECTION_TOKENS, content="\n".join(f"- {item}" for item in items)
            )
            for name, items in sections.items()
            if items
        ],
        ground=_ground(state.get("git")),
    )


def user_messages(pause: FinishedPause) -> list[str]:
    """Return what the user said during the pause."""
    return [
        str(each["message"])
        for each in _objects((pause.state or {}).get("user_messages"))
        if "message" in each
    ]


def recorded_actions(pause: FinishedPause) -> list[str]:
    """Return the last actions in words, without what the user said."""
    recorded = (pause.state or {}).get("incremental_pause")
    actions = recorded.get("actions_summary") if isinstance(recorded, dict) else None
    return [
        str(each["words"]) for each in _objects(actions) if each.get("type") in _ACTIONS and each.get("words")
    ]


def _metrics(pause: FinishedPause, usage: JsonValue) -> ContextMetrics:
    used, total = (
        (usage.get("tokens_used"), usage.get("tokens_total")) if isinstance(usage, dict) else (None, None)
    )
    return ContextMetrics(
        total_budget=total if isinstance(total, int) and total > 0 else None,
        used_tokens=used if isinstance(used, int) and used >= 0 else None,
        model="unknown",
        timestamp=clock.format_rfc3339(pause.paused_at),
    )


def _ground(git: JsonValue) -> Ground | None:
    match git:
        case {"head": str(head), "branch": str() | None as branch, "changes": list() | None as changes}:
            dirty = None if changes is None else tuple(map(str, changes))
            return Ground(head=head, branch=branch, dirty=dirty)
        case _:
            return None


def _objects(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _texts(value: JsonValue) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
