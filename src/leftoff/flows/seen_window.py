"""The size of a session's window, as its agent told the status line: the one sure word, kept for the hooks.

One small file per session in the state folder; what cannot be read or written counts as not known.
"""

from __future__ import annotations

from pathlib import Path

from leftoff.errors import StorageError
from leftoff.model.quick_json import loads
from leftoff.model.wire import SCHEMAS
from leftoff.system import files, ids, paths

FOLDER = "windows"


def path_of(agent_id: str, session_id: str) -> Path:
    """Where it is kept; InvalidIdError for what is no id."""
    return paths.inside(
        paths.state_folder() / FOLDER, f"{ids.checked(agent_id)}-{ids.checked(session_id)}.json"
    )


def seen_window(agent_id: str, session_id: str) -> int | None:
    """The size in tokens; None when nobody has told it."""
    try:
        said = loads(path_of(agent_id, session_id).read_bytes())
    except (OSError, ValueError):
        return None
    is_known = isinstance(said, dict) and said.get("schema") == SCHEMAS["seen_window"]
    tokens = said.get("window_tokens") if is_known else None
    return tokens if type(tokens) is int and tokens > 0 else None


def remember_window(agent_id: str, session_id: str, window_tokens: int) -> None:
    """Keep it, if it is news."""
    if seen_window(agent_id, session_id) == window_tokens:
        return
    import orjson  # noqa: PLC0415 - there is news once in a session

    try:
        content = {"schema": SCHEMAS["seen_window"], "window_tokens": window_tokens}
        files.write_file(path_of(agent_id, session_id), orjson.dumps(content))
    except StorageError:
        return  # a status line is shown all the same
