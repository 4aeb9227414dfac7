"""A finished pause as documents: JSON for programs, YAML and Markdown for people, and the recorded lines as an archive.

``build_state`` puts together what the snapshot says, and ``render_documents`` writes it down. Both are pure: what is known
beside the actions is passed in as a ``SnapshotContext``. The Markdown page puts what is next first and the details last.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import PurePath
from typing import Any, NamedTuple

from leftoff.core import markdown as md
from leftoff.core.metrics import whole_percentage
from leftoff.core.provenance import Ground
from leftoff.core.quantities import count
from leftoff.core.wire import SCHEMAS, JsonObject, JsonValue, as_json
from leftoff.pause.journal import Line, PauseAction, Recording, parse_origin
from leftoff.pause.texts import PauseSummary, describe_action, sparkline, summarize
from leftoff.platform import clock

LATEST_NAME = "LATEST-SESSION.txt"
ARCHIVE_SUFFIX = "-incremental.jsonl"
_LAST_ACTIONS = 10
_SECONDS_PER_HOUR = 3600
_MOST_ACTIONS = 60
_MOST_CHANGES = 40
_MOST_TOOLS = 8
_SPARKLINE_WIDTH = 30
_SHOWN_ELSEWHERE = {"pause_started", "pause_finalized"}  # in other places on the page


class SnapshotContext(NamedTuple):
    """What is known about the end of a pause beside its actions. None means not known."""

    paused_at: datetime
    project: str
    ground: Ground
    reason: str | None = None
    message: str | None = None
    used_tokens: int | None = None
    total_tokens: int | None = None
    session_state: Mapping[str, Any] | None = None


def close_recording(recorded: Recording, context: SnapshotContext) -> Recording:
    """Return the pause with its last action, ``pause_finalized``, which holds the number of actions and the duration."""
    summary = summarize(recorded, context.paused_at)
    data: JsonObject = {
        "action_count": summary.action_count + 1,
        "duration_seconds": summary.duration_seconds,
        "reason": context.reason,
    }
    fraction = summary.context_range[1] if summary.context_range else 0.0
    action = PauseAction(
        "pause_finalized", clock.format_rfc3339(context.paused_at), recorded.session_id, data, fraction
    )
    return Recording(lines=(*recorded.lines, _line(action)), modified_at=recorded.modified_at)


def build_state(recorded: Recording, context: SnapshotContext) -> JsonObject:
    """Return what the snapshot of a closed pause says. Without any action, ``enabled`` is false: nothing was recorded."""
    summary = summarize(recorded, context.paused_at)
    session_state = context.session_state or {}
    return {
        "schema": SCHEMAS["pause_snapshot"],
        "session_id": recorded.session_id,
        "paused_at": clock.format_rfc3339(context.paused_at),
        "duration_hours": round(summary.duration_seconds / _SECONDS_PER_HOUR, 2),
        "reason": context.reason,
        "message": context.message,
        "context_usage": _context_usage(summary, context),
        "mission_summary": as_json(session_state.get("mission_summary")) or None,
        "next_steps": _items(session_state.get("next_steps")),
        "accomplishments": _items(session_state.get("accomplishments")),
        "user_messages": _user_messages(recorded.actions),
        "git": {
            "branch": context.ground.branch,
            "head": context.ground.head,
            "worktree": context.ground.worktree,
            "changes": None if context.ground.dirty is None else [*context.ground.dirty],
        },
        "project": context.project,
        "origin": origin.to_dict() if (origin := parse_origin(recorded.first_data)) else None,
        "incremental_pause": _incremental(recorded, summary),
    }


def render_documents(state: JsonObject, recorded: Recording) -> dict[str, bytes]:
    """Return the contents by file name, the JSON last; the archive is not among them."""
    name = str(state["session_id"])
    return {
        name + ".md": render_page(state, recorded.actions).encode("utf-8", "backslashreplace"),
        name + ".yaml": _yaml(state),
        name + ".json": (json.dumps(state, indent=2, ensure_ascii=False) + "\n").encode(
            "utf-8", "backslashreplace"
        ),
    }


def archive_bytes(recorded: Recording) -> bytes:
    """Return the lines of the archive, including those that could not be read."""
    return b"".join(line.raw + b"\n" for line in recorded.lines)


def replace_actions(recorded: Recording, actions: Sequence[PauseAction]) -> Recording:
    """Return the same lines with ``actions`` in place of the old ones; unchanged actions keep their bytes."""
    new = iter(actions)
    lines = tuple(
        line if line.action is None or (action := next(new)) == line.action else _line(action)
        for line in recorded.lines
    )
    return Recording(lines=lines, modified_at=recorded.modified_at)


def rename_recording(recorded: Recording, session_id: str) -> Recording:
    """Return the same pause under another id."""
    if not recorded.actions:
        return Recording(lines=recorded.lines, modified_at=recorded.modified_at, fallback_id=session_id)
    return replace_actions(recorded, [replace(action, session_id=session_id) for action in recorded.actions])


def _line(action: PauseAction) -> Line:
    return Line(action.to_json_line().encode(), action)


def _context_usage(summary: PauseSummary, context: SnapshotContext) -> JsonObject:
    fraction = summary.context_range[1] if summary.context_range else None
    used, total = context.used_tokens, context.total_tokens
    if used is None and total is not None and fraction is not None:
        used = round(fraction * total)
    percentage = None if fraction is None else round(fraction * 100, 1)
    if used is not None and total:
        percentage = round(used / total * 100, 1)
    return {"tokens_used": used, "tokens_total": total, "percentage": percentage}


def _incremental(recorded: Recording, summary: PauseSummary) -> JsonObject:
    return {
        "enabled": summary.action_count > 0,
        "action_count": summary.action_count,
        "duration_seconds": summary.duration_seconds,
        "context_range": None if summary.context_range is None else [*summary.context_range],
        "tool_calls": summary.tool_calls,
        "tools": dict(summary.tools),
        "bad_lines": summary.bad_lines,
        "actions_summary": [
            {"type": action.type, "timestamp": action.timestamp, "words": describe_action(action)}
            for action in recorded.actions[-_LAST_ACTIONS:]
        ],
    }


def _user_messages(actions: Sequence[PauseAction]) -> list[JsonValue]:
    return [
        {"timestamp": action.timestamp, "message": action.data["message"]}
        for action in actions
        if _has_user_text(action)
    ]


def _items(value: object) -> list[JsonValue]:
    items = as_json(value)
    return items if isinstance(items, list) else []


def _yaml(state: JsonObject) -> bytes:
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to load, and most commands about pauses write no YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.allow_unicode = True
    yaml.width = 110
    yaml.representer.sort_base_mapping_type_on_output = False
    out = io.BytesIO()
    yaml.dump(state, out)
    return out.getvalue()


def render_page(state: JsonObject, actions: Sequence[PauseAction]) -> str:
    """Return the Markdown page of a snapshot."""
    return "\n".join([*_head(state, actions), *_sections(state, actions), *_files(state)]) + "\n"


def _head(state: JsonObject, actions: Sequence[PauseAction]) -> Iterator[str]:
    yield f"# Paused: {md.escape_inline(PurePath(str(state['project'])).name) or 'session'}"
    yield ""
    yield f"- **Id**: {state['session_id']}"
    yield f"- **Paused**: {_pause_time(state)}"
    yield f"- **Context**: {_format_context(state, actions)}"
    yield f"- **Git**: {_format_git(state)}"
    yield f"- **Project**: {md.escape_inline(str(state['project']))}"
    if isinstance(origin := state.get("origin"), dict):
        yield f"- **Session**: {md.escape_inline(str(origin['agent']))} {md.escape_inline(str(origin['session_id']))}"
    if message := state.get("message"):
        yield ""
        yield md.escape_block(str(message))


def _sections(state: JsonObject, actions: Sequence[PauseAction]) -> Iterator[str]:
    yield from _section("Mission", [str(state["mission_summary"])] if state.get("mission_summary") else [])
    yield from _section("Next Steps", _texts(state["next_steps"]))
    yield from _section("What the User Said", _user_message_lines(state["user_messages"]))
    yield from _section("Accomplishments", _texts(state["accomplishments"]))
    yield from _section("Incremental Pause", _pause_lines(state["incremental_pause"]))
    yield from _section("What Happened", _action_lines(actions))
    git = state["git"]
    changes = _texts(git.get("changes")) if isinstance(git, dict) else []
    more = [f"and {len(changes) - _MOST_CHANGES:,} more"] if len(changes) > _MOST_CHANGES else []
    yield from _section("Changed Files", changes[:_MOST_CHANGES] + more)


def _section(heading: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield from ("", f"## {heading}", "")
        yield from (f"- {md.escape_item(item)}" for item in items)


def _files(state: JsonObject) -> Iterator[str]:
    name = state["session_id"]
    yield from ("", "## Files", "")
    yield f"- `{name}.json` and `{name}.yaml`: the same for programs and for people"
    pause = state["incremental_pause"]
    if isinstance(pause, dict) and pause.get("enabled"):
        yield f"- `{name}-incremental.jsonl`: every action, line by line"


def _pause_time(state: JsonObject) -> str:
    at = clock.parse_rfc3339(str(state["paused_at"]))
    shown = f"{at:%Y-%m-%d %H:%M} UTC" if at else str(state["paused_at"])
    pause = state["incremental_pause"]
    seconds = pause.get("duration_seconds") if isinstance(pause, dict) else None
    lasted = (
        f", {_format_duration(seconds)} after the pause began" if isinstance(seconds, int) and seconds else ""
    )
    reason = f" ({md.escape_inline(str(state['reason']))})" if state.get("reason") else ""
    return shown + lasted + reason


def _format_duration(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 3600 else f"{seconds // 3600} h {seconds % 3600 // 60} min"


def _format_context(state: JsonObject, actions: Sequence[PauseAction]) -> str:
    usage, pause = state["context_usage"], state["incremental_pause"]
    assert isinstance(usage, dict)
    assert isinstance(pause, dict)
    used, total, percentage = (usage.get(name) for name in ("tokens_used", "tokens_total", "percentage"))
    if percentage is None:
        return "not known"
    text = f"{percentage} %"
    if isinstance(used, int) and isinstance(total, int):
        text += f", {used:,} of {total:,} tokens"
    match pause.get("context_range"):
        case [float() | int() as first, float() | int()] if len(actions) > 1:
            line = sparkline([action.context_percentage for action in actions], _SPARKLINE_WIDTH)
            text += f"; from {whole_percentage(first)}% {line}"
    return text


def _format_git(state: JsonObject) -> str:
    git = state["git"]
    assert isinstance(git, dict)
    if git.get("head") is None and git.get("branch") is None:
        return "not a repository"
    changes = git.get("changes")
    dirty = "changes not known" if not isinstance(changes, list) else count(len(changes), "changed file")
    branch = git.get("branch") or f"no branch, at {str(git.get('head'))[:12]}"
    worktree = f" in worktree {md.escape_inline(str(git['worktree']))}" if git.get("worktree") else ""
    return f"{md.escape_inline(str(branch))}{worktree}, {'clean' if changes == [] else dirty}"


def _pause_lines(pause: JsonValue) -> list[str]:
    """Return the numbers of the recorded pause; nothing if none was recorded."""
    if not isinstance(pause, dict) or not pause.get("enabled"):
        return []
    tools = pause.get("tools")
    counts = (
        [(name, times) for name, times in tools.items() if isinstance(times, int)]
        if isinstance(tools, dict)
        else []
    )
    most = sorted(counts, key=lambda count: -count[1])[:_MOST_TOOLS]
    used = ", ".join(f"{md.escape_inline(name)} {times}" for name, times in most)
    numbers = [
        f"Actions: {pause['action_count']} in {_format_duration(int(str(pause['duration_seconds'])))}",
        f"Tool calls: {pause['tool_calls']}" + (f" ({used})" if used else ""),
    ]
    bad = [f"Lines that cannot be read: {pause['bad_lines']}; they are in the archive as they were"]
    return numbers + (bad if pause["bad_lines"] else [])


def _user_message_lines(messages: JsonValue) -> list[str]:
    entries = messages if isinstance(messages, list) else []
    return [
        f"{_format_time(entry['timestamp'])} {entry['message']}"
        for entry in entries
        if isinstance(entry, dict)
    ]


def _action_lines(actions: Sequence[PauseAction]) -> list[str]:
    shown = [
        action for action in actions if action.type not in _SHOWN_ELSEWHERE and not _has_user_text(action)
    ]
    earlier = len(shown) - _MOST_ACTIONS
    first = [f"{earlier:,} earlier actions are in the archive"] if earlier > 0 else []
    return first + [
        f"{_format_time(action.timestamp)} {describe_action(action)}" for action in shown[-_MOST_ACTIONS:]
    ]


def _has_user_text(action: PauseAction) -> bool:
    """Return whether the action is a prompt whose text is known; the page lists those in a section of their own."""
    return action.type == "user_message" and isinstance(action.data.get("message"), str)


def _format_time(timestamp: JsonValue) -> str:
    at = clock.parse_rfc3339(str(timestamp))
    return f"{at:%H:%M}" if at else "--:--"


def _texts(items: JsonValue) -> list[str]:
    return [str(each) for each in items] if isinstance(items, list) else []
