"""Writes a new session of one message, as the client would have begun it, where the client looks for those of the folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import orjson

from leftoff.agents.claude.homes import sessions_folder
from leftoff.agents.claude.known import known
from leftoff.model.copying import Copy, FreshOrder
from leftoff.model.lineage_text import with_name
from leftoff.model.wire import JsonObject
from leftoff.system import files, ids


def write_fresh(home: Path, order: FreshOrder) -> Copy:
    """The session; its one line carries the metadata, so that it survives a fork."""
    session_id, project = ids.uuid4(), order.project.resolve()
    target = sessions_folder(home, project) / f"{session_id}.jsonl"
    line: JsonObject = {
        "parentUuid": None,
        "isSidechain": False,
        "promptId": ids.uuid4(),
        "type": "user",
        "message": {"role": "user", "content": with_name(order.first_message, target.name)},
        "uuid": ids.uuid4(),
        "timestamp": _stamp(order.at),
        "userType": "external",
        "entrypoint": "cli",  # what was begun without a terminal is not in the client's list
        "cwd": str(project),
        "sessionId": session_id,
        "version": ".".join(map(str, known().newest_version)),
        **order.metadata,
    }
    with files.drafted(target) as file:
        file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
    return Copy(session_id=session_id, transcript=target, size_bytes=target.stat().st_size)


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
