"""Writes a new session of one message, as Codex lists and resumes it before it has ever been opened.

Without the event of the user's message it would not be listed, without a source it would count as an editor's.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import orjson

from leftoff.agents.codex import finding, forks
from leftoff.agents.codex.configuration import model_provider
from leftoff.agents.codex.known import known
from leftoff.model.copying import Copy, FreshOrder
from leftoff.model.lineage_text import with_name
from leftoff.model.wire import JsonObject, JsonValue
from leftoff.system import files, ids


def write_fresh(home: Path, order: FreshOrder) -> Copy:
    """The session: its head, which carries the metadata, and the message, once for the model and once for the screen."""
    session_id, at = ids.uuid7(order.at), stamp(order.at)
    target = rollout_path(home, session_id, order.at)
    message = with_name(order.first_message, target.name)
    content: list[JsonValue] = [{"type": "input_text", "text": message}]
    lines: list[tuple[str, JsonObject]] = [
        (
            "session_meta",
            {
                **new_meta(session_id, order.at, str(order.project.resolve())),
                "model_provider": _provider(home, order),
                **_parent(order),
                **order.metadata,
            },
        ),
        ("response_item", {"type": "message", "role": "user", "content": content}),
        ("event_msg", {"type": "user_message", "message": message, "images": []}),
    ]
    with files.drafted(target) as file:
        for name, payload in lines:
            line: JsonObject = {"timestamp": at, "type": name, "payload": payload}
            file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
    return Copy(session_id=session_id, transcript=target, size_bytes=target.stat().st_size)


def rollout_path(home: Path, session_id: str, at: datetime) -> Path:
    """Where a session begun at that moment stands."""
    moment = at.astimezone(UTC)
    return home / "sessions" / f"{moment:%Y/%m/%d}" / f"rollout-{moment:%Y-%m-%dT%H-%M-%S}-{session_id}.jsonl"


def new_meta(session_id: str, at: datetime, project: str | None) -> JsonObject:
    """The head of a session that a person began in the terminal."""
    return {
        "session_id": session_id,
        "id": session_id,
        "timestamp": stamp(at),
        "cwd": project or "/",
        "originator": "codex_cli_rs",
        "cli_version": ".".join(map(str, known().newest_version)),
        "source": "cli",
    }


def stamp(at: datetime) -> str:
    """A time as rollouts have it."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _provider(home: Path, order: FreshOrder) -> str:
    """That of the session before, as far as it can be found: what it said stays with whom it was said to."""
    before = finding.rollout(order.parent_id, home, near=home) if order.parent_id else None
    named = forks.lineage(before, home)[-1].meta.model_provider if before else None
    return named or model_provider(home)


def _parent(order: FreshOrder) -> JsonObject:
    return {"forked_from_id": order.parent_id} if order.parent_id else {}
