"""What Claude Code tells the command behind its status line: ids, folders, and the one sure word on the window's size."""

from __future__ import annotations

from leftoff.agents.fields import count, table, text
from leftoff.model.status_input import StatusInput
from leftoff.model.wire import JsonObject

_PARTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def status_input(said: JsonObject) -> StatusInput | None:
    """What is said; None when it is no input of a status line."""
    session_id = text(said, "session_id")
    window = table(said, "context_window")
    if session_id is None or "workspace" not in said:
        return None
    usage = table(window, "current_usage")
    parts = [tokens for name in _PARTS if (tokens := count(usage, name)) is not None]
    return StatusInput(
        session_id=session_id,
        transcript=text(said, "transcript_path"),
        folder=text(table(said, "workspace"), "project_dir") or text(said, "cwd"),
        model=text(table(said, "model"), "id"),
        window_tokens=count(window, "context_window_size") or None,
        used_tokens=sum(parts) if parts else None,
    )
