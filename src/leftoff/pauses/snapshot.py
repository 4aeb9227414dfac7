"""A finished pause as a set of documents: JSON for programs, YAML and Markdown for people, the lines as an archive.

``state_of`` puts together what the snapshot says, in the form of 004; ``documents`` writes it down. Nothing is asked of the
world here: what is known beside the actions comes as an ``Occasion``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from leftoff.model.pause_action import PauseAction
from leftoff.model.sources import Ground
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS, JsonObject, JsonValue, as_json
from leftoff.pauses import page
from leftoff.pauses.journal import Line, Recorded
from leftoff.pauses.origin import origin_in
from leftoff.pauses.summary import PauseSummary, summarised
from leftoff.pauses.words import described
from leftoff.system import clock

LATEST_NAME = "LATEST-SESSION.txt"
ARCHIVE_END = "-incremental.jsonl"
_LAST_ACTIONS = 10
_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """What is known of the moment beside the actions. None: not known."""

    paused_at: datetime
    project: str
    ground: Ground
    reason: str | None = None
    message: str | None = None
    used_tokens: int | None = None
    total_tokens: int | None = None
    session_state: Mapping[str, Any] | None = None


def closing(recorded: Recorded, occasion: Occasion) -> Recorded:
    """The pause with its last action, ``pause_finalized``, which tells how many there are and how long it took."""
    summary = summarised(recorded, occasion.paused_at)
    data: JsonObject = {
        "action_count": summary.action_count + 1,
        "duration_seconds": summary.duration_seconds,
        "reason": occasion.reason,
    }
    fraction = summary.context_range[1] if summary.context_range else 0.0
    action = PauseAction(
        "pause_finalized", clock.rfc3339(occasion.paused_at), recorded.session_id, data, fraction
    )
    return Recorded(lines=(*recorded.lines, _line(action)), modified_at=recorded.modified_at)


def state_of(session_id: str, recorded: Recorded, occasion: Occasion) -> JsonObject:
    """What the snapshot of a closed pause says; without a single action nothing was recorded (``enabled`` is false)."""
    summary = summarised(recorded, occasion.paused_at)
    session_state = occasion.session_state or {}
    return {
        "schema": SCHEMAS["pause_snapshot"],
        "session_id": session_id,
        "paused_at": clock.rfc3339(occasion.paused_at),
        "duration_hours": round(summary.duration_seconds / _SECONDS_PER_HOUR, 2),
        "reason": occasion.reason,
        "message": occasion.message,
        "context_usage": _context_usage(summary, occasion),
        "mission_summary": as_json(session_state.get("mission_summary")) or None,
        "next_steps": _items(session_state.get("next_steps")),
        "accomplishments": _items(session_state.get("accomplishments")),
        "user_messages": _user_messages(recorded.actions),
        "git": {
            "branch": occasion.ground.branch,
            "head": occasion.ground.head,
            "worktree": occasion.ground.worktree,
            "changes": None if occasion.ground.dirty is None else [*occasion.ground.dirty],
        },
        "project": occasion.project,
        "origin": origin.to_dict() if (origin := origin_in(recorded.first_data)) else None,
        "incremental_pause": _incremental(recorded, summary),
    }


def documents(state: JsonObject, recorded: Recorded) -> dict[str, bytes]:
    """File name → content, the JSON last; the archive is not among them."""
    name = str(state["session_id"])
    return {
        name + ".md": page.markdown(state, recorded.actions).encode(),
        name + ".yaml": _yaml(state),
        name + ".json": (json.dumps(state, indent=2, ensure_ascii=False) + "\n").encode(),
    }


def archive(recorded: Recorded) -> bytes:
    """The lines as they are kept, those that could not be read among them."""
    return b"".join(line.raw + b"\n" for line in recorded.lines)


def reworded(recorded: Recorded, actions: Sequence[PauseAction]) -> Recorded:
    """The same lines, with ``actions`` in the place of the good ones; one that did not change stays byte for byte."""
    new = iter(actions)
    lines = tuple(
        line if line.action is None or (action := next(new)) == line.action else _line(action)
        for line in recorded.lines
    )
    return Recorded(lines=lines, modified_at=recorded.modified_at)


def renamed(recorded: Recorded, session_id: str) -> Recorded:
    """The same pause under another id."""
    if not recorded.actions:
        return Recorded(lines=recorded.lines, modified_at=recorded.modified_at, own_id=session_id)
    return reworded(recorded, [replace(action, session_id=session_id) for action in recorded.actions])


def _line(action: PauseAction) -> Line:
    return Line(action.to_json_line().encode(), action)


def _context_usage(summary: PauseSummary, occasion: Occasion) -> JsonObject:
    fraction = summary.context_range[1] if summary.context_range else None
    used, total = occasion.used_tokens, occasion.total_tokens
    if used is None and total is not None and fraction is not None:
        used = round(fraction * total)
    percentage = None if fraction is None else round(fraction * 100, 1)
    if used is not None and total:
        percentage = round(used / total * 100, 1)
    return {"tokens_used": used, "tokens_total": total, "percentage": percentage}


def _incremental(recorded: Recorded, summary: PauseSummary) -> JsonObject:
    return {
        "enabled": summary.action_count > 0,
        "action_count": summary.action_count,
        "duration_seconds": summary.duration_seconds,
        "context_range": None if summary.context_range is None else [*summary.context_range],
        "tool_calls": summary.tool_calls,
        "tools": dict(summary.tools),
        "bad_lines": summary.bad_lines,
        "actions_summary": [
            {"type": action.type, "timestamp": action.timestamp, "words": described(action)}
            for action in recorded.actions[-_LAST_ACTIONS:]
        ],
    }


def _user_messages(actions: Sequence[PauseAction]) -> list[JsonValue]:
    return [
        {"timestamp": action.timestamp, "message": action.data["message"]}
        for action in actions
        if action.type == "user_message" and isinstance(action.data.get("message"), str)
    ]


def _items(value: object) -> list[JsonValue]:
    items = as_json(value)
    return items if isinstance(items, list) else []


def _yaml(state: JsonObject) -> bytes:
    from ruamel.yaml import YAML  # noqa: PLC0415 - takes longer to load than all the rest

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.allow_unicode = True
    yaml.width = 110
    yaml.representer.sort_base_mapping_type_on_output = False
    out = io.BytesIO()
    yaml.dump(state, out)
    return out.getvalue()
