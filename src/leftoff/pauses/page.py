"""A snapshot as a page for a person in a hurry: what is next first, then what was said and done, then the small print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from leftoff.model import markdown as md
from leftoff.model.pause_action import PauseAction
from leftoff.model.wire import JsonObject, JsonValue
from leftoff.pauses.summary import sparkline
from leftoff.pauses.words import described
from leftoff.system import clock

_MOST_ACTIONS = 60
_MOST_CHANGES = 40
_MOST_TOOLS = 8
_LINE_WIDTH = 30
_SILENT = {"pause_started", "pause_finalized"}  # said elsewhere on the page


def markdown(state: JsonObject, actions: Sequence[PauseAction]) -> str:
    """The page."""
    return "\n".join([*_head(state, actions), *_sections(state, actions), *_files(state)]) + "\n"


def _head(state: JsonObject, actions: Sequence[PauseAction]) -> Iterator[str]:
    yield f"# Paused: {md.inline(PurePath(str(state['project'])).name) or 'session'}"
    yield ""
    yield f"- **Id**: {state['session_id']}"
    yield f"- **Paused**: {_when(state)}"
    yield f"- **Context**: {_context(state, actions)}"
    yield f"- **Git**: {_git(state)}"
    yield f"- **Project**: {md.inline(str(state['project']))}"
    if isinstance(origin := state.get("origin"), dict):
        yield f"- **Session**: {md.inline(str(origin['agent']))} {md.inline(str(origin['session_id']))}"
    if message := state.get("message"):
        yield ""
        yield md.block(str(message))


def _sections(state: JsonObject, actions: Sequence[PauseAction]) -> Iterator[str]:
    yield from _section("Mission", [str(state["mission_summary"])] if state.get("mission_summary") else [])
    yield from _section("Next Steps", _texts(state["next_steps"]))
    yield from _section("What the User Said", _said(state["user_messages"]))
    yield from _section("Accomplishments", _texts(state["accomplishments"]))
    yield from _section("Incremental Pause", _pause(state["incremental_pause"]))
    yield from _section("What Happened", _happened(actions))
    git = state["git"]
    changes = _texts(git.get("changes")) if isinstance(git, dict) else []
    more = [f"and {len(changes) - _MOST_CHANGES:,} more"] if len(changes) > _MOST_CHANGES else []
    yield from _section("Changed Files", changes[:_MOST_CHANGES] + more)


def _section(heading: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield from ("", f"## {heading}", "")
        yield from (f"- {md.item(item)}" for item in items)


def _files(state: JsonObject) -> Iterator[str]:
    name = state["session_id"]
    yield from ("", "## Files", "")
    yield f"- `{name}.json` and `{name}.yaml`: the same for programs and for people"
    pause = state["incremental_pause"]
    if isinstance(pause, dict) and pause.get("enabled"):
        yield f"- `{name}-incremental.jsonl`: every action, line by line"


def _when(state: JsonObject) -> str:
    at = clock.from_rfc3339(str(state["paused_at"]))
    shown = f"{at:%Y-%m-%d %H:%M} UTC" if at else str(state["paused_at"])
    pause = state["incremental_pause"]
    seconds = pause.get("duration_seconds") if isinstance(pause, dict) else None
    lasted = f", {_length(seconds)} after the pause began" if isinstance(seconds, int) and seconds else ""
    reason = f" ({md.inline(str(state['reason']))})" if state.get("reason") else ""
    return shown + lasted + reason


def _length(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 3600 else f"{seconds // 3600} h {seconds % 3600 // 60} min"


def _context(state: JsonObject, actions: Sequence[PauseAction]) -> str:
    usage, pause = state["context_usage"], state["incremental_pause"]
    assert isinstance(usage, dict)
    assert isinstance(pause, dict)
    used, total, percentage = (usage.get(name) for name in ("tokens_used", "tokens_total", "percentage"))
    if percentage is None:
        return "not known"
    words = f"{percentage} %"
    if isinstance(used, int) and isinstance(total, int):
        words += f", {used:,} of {total:,} tokens"
    match pause.get("context_range"):
        case [float() | int() as first, float() | int()] if len(actions) > 1:
            line = sparkline([action.context_percentage for action in actions], _LINE_WIDTH)
            words += f"; from {first:.0%} {line}"
    return words


def _git(state: JsonObject) -> str:
    git = state["git"]
    assert isinstance(git, dict)
    if git.get("head") is None and git.get("branch") is None:
        return "not a repository"
    changes = git.get("changes")
    dirty = "changes not known" if not isinstance(changes, list) else f"{len(changes)} changed files"
    branch = git.get("branch") or f"no branch, at {str(git.get('head'))[:12]}"
    worktree = f" in worktree {md.inline(str(git['worktree']))}" if git.get("worktree") else ""
    return f"{md.inline(str(branch))}{worktree}, {'clean' if changes == [] else dirty}"


def _pause(told: JsonValue) -> list[str]:
    """The recorded pause in numbers; nothing where none was recorded."""
    if not isinstance(told, dict) or not told.get("enabled"):
        return []
    tools = told.get("tools")
    counts = (
        [(name, times) for name, times in tools.items() if isinstance(times, int)]
        if isinstance(tools, dict)
        else []
    )
    most = sorted(counts, key=lambda count: -count[1])[:_MOST_TOOLS]
    used = ", ".join(f"{md.inline(name)} {times}" for name, times in most)
    numbers = [
        f"Actions: {told['action_count']} in {_length(int(str(told['duration_seconds'])))}",
        f"Tool calls: {told['tool_calls']}" + (f" ({used})" if used else ""),
    ]
    bad = [f"Lines that cannot be read: {told['bad_lines']}; they stand in the archive as they are"]
    return numbers + (bad if told["bad_lines"] else [])


def _said(messages: JsonValue) -> list[str]:
    told = messages if isinstance(messages, list) else []
    return [f"{_clock(each['timestamp'])} {each['message']}" for each in told if isinstance(each, dict)]


def _happened(actions: Sequence[PauseAction]) -> list[str]:
    shown = [action for action in actions if action.type not in _SILENT and not _is_said(action)]
    earlier = len(shown) - _MOST_ACTIONS
    first = [f"{earlier:,} earlier actions stand in the archive"] if earlier > 0 else []
    return first + [f"{_clock(action.timestamp)} {described(action)}" for action in shown[-_MOST_ACTIONS:]]


def _is_said(action: PauseAction) -> bool:
    """Whether it stands among what the user said: a prompt without words does not."""
    return action.type == "user_message" and isinstance(action.data.get("message"), str)


def _clock(timestamp: JsonValue) -> str:
    at = clock.from_rfc3339(str(timestamp))
    return f"{at:%H:%M}" if at else "--:--"


def _texts(items: JsonValue) -> list[str]:
    return [str(each) for each in items] if isinstance(items, list) else []
