"""What the user typed while the agent worked, in versions that wrote no attachment of it.

Such words stand in a ``queue-operation`` line when they are typed; they count as a prompt at the line that says they were
taken up (``remove``), because the user may also have taken them back (``popAll``), or they became a user's line of their
own (``dequeue``). So a record depends on a stretch of the file before it, and on nothing a reader remembers.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from leftoff.agents.claude.known import known, version
from leftoff.agents.claude.reading import record
from leftoff.agents.claude.typed import is_typed
from leftoff.agents.fields import text
from leftoff.agents.jsonl import Piece, opened
from leftoff.model.quick_json import loads
from leftoff.model.records import Message, Record, RecordKind, Text
from leftoff.model.wire import JsonObject

_LOOK_BACK_BYTES = 1024 * 1024
_OPERATION = b'"queue-operation"'
_BEGINNING_BYTES = 80  # of a line, in which its type stands
_VERSION = re.compile(rb'"version": ?"([0-9.]+)"')


def record_of(transcript: Path, piece: Piece) -> Record:
    """The record that a piece of the file is; a line that takes up the user's words has them."""
    found = record(piece)
    if found.type != "queue-operation" or not piece.value or not _takes_up(piece.value):
        return found
    words = _taken_up(_before(transcript, piece.place.start))
    if words is None or not is_typed(words):
        return found
    return found._replace(
        kind=RecordKind.PROMPT, messages=(Message(role="user", blocks=(Text(text=words),)),)
    )


def _takes_up(line: JsonObject) -> bool:
    """Newer clients repeat the words here, and write the attachment."""
    return line.get("operation") == "remove" and "content" not in line


def _before(transcript: Path, start: int) -> bytes:
    """The whole lines before ``start``, as far as we look back."""
    begin = max(0, start - _LOOK_BACK_BYTES)
    with opened(transcript) as file:
        file.seek(begin)
        before = file.read(start - begin)
    return before[before.find(b"\n") + 1 :] if begin else before


def _taken_up(before: bytes) -> str | None:
    """The oldest words in the queue; None when it is empty, or when an attachment will have them."""
    if _version(before) >= known().queued_attachments_since:
        return None
    queue: deque[str] = deque()
    for line in _operations(before):
        match line.get("operation"):
            case "enqueue":
                queue.append(text(line, "content") or "")
            case "popAll":
                queue.clear()
            case "remove" | "dequeue" if queue:
                queue.popleft()
            case _:
                pass
    return queue[0] if queue else None


def _version(before: bytes) -> tuple[int, ...]:
    """Of the client that wrote the lines, as the last of them says."""
    found = _VERSION.match(before, max(0, before.rfind(b'"version":')))
    return version(found[1].decode("ascii")) if found else ()


def _operations(before: bytes) -> Iterator[JsonObject]:
    end = 0
    while (found := before.find(_OPERATION, end)) >= 0:
        begin = before.rfind(b"\n", end, found) + 1 or end
        end = before.find(b"\n", found) + 1 or len(before)
        if found - begin < _BEGINNING_BYTES:
            with suppress(ValueError):
                line = loads(before[begin:end])
                if isinstance(line, dict):
                    yield line
