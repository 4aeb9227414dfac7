"""Which files belong to a session and go with it: those that are named after it, and its own pauses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from leftoff.errors import StorageError
from leftoff.forget import masking, places
from leftoff.pause.journal import parse_origin, read_lines
from leftoff.pause.snapshot import LATEST_NAME
from leftoff.pause.snapshot_store import list_finished
from leftoff.platform import files
from leftoff.search.documents import is_pause

_PAUSE_ENDINGS = re.compile(r"(?:-incremental)?\.(?:jsonl|json|yaml|md)(?:\.gz)?\Z")
_ORIGIN_IN_MARKDOWN = re.compile(r"^- \*\*Session\*\*: \S+ (?P<id>.+)$", re.MULTILINE)


def files_of_sessions(found: Sequence[Path], session_ids: Iterable[str]) -> list[Path]:
    """Return those of the files that belong to one of the sessions, and go with it."""
    own = [
        path
        for session_id in session_ids
        for path in (
            *(each for each in found if places.is_named_after(each, session_id)),
            *_own_pauses(found, session_id),
        )
    ]
    return [*dict.fromkeys(own)]


def _own_pauses(holders: Iterable[Path], session_id: str) -> list[Path]:
    """Return all files of the session's own pauses; a pause of another session that mentions it stays, with the id masked."""
    pauses = dict.fromkeys((path.parent, pause_name(path)) for path in holders if is_pause(path))
    found = []
    for folder, name in pauses:
        parts = [each for each in folder.iterdir() if each.is_file() and pause_name(each) == name]
        if any(_origin_of(each) == session_id for each in parts):
            found += parts
    return found


def _origin_of(path: Path) -> str | None:
    """Return the session that a part of a pause says it is of; None where it does not say, or cannot be parsed."""
    value = None
    try:
        content = masking.read(path)
    except StorageError:  # too large for a part of a pause
        return None
    match Path(places.document_of(path).name.removesuffix(".gz")).suffix:
        case ".jsonl":
            actions = (line.action for line in read_lines(content) if line.action is not None)
            value = next((each.data for each in actions if each.type == "pause_started"), None)
        case ".json":
            with suppress(ValueError, RecursionError):
                value = json.loads(content)
        case ".md":
            head = content.decode("utf-8", "replace").partition("\n\n")[2].partition("\n\n")[0]
            return found["id"] if (found := _ORIGIN_IN_MARKDOWN.search(head)) else None
        case _:
            return None
    origin = parse_origin(value) if isinstance(value, dict) else None
    return None if origin is None else origin.session_id


def pause_name(path: Path) -> str:
    """Return the name that the files of one pause share."""
    return _PAUSE_ENDINGS.sub("", places.document_of(path).name)


def update_pointer(folder: Path) -> None:
    """Let the pointer to the latest pause name the newest one that is left; delete it where none is."""
    pointer = folder / LATEST_NAME
    named = masking.read(pointer).decode("utf-8", "replace").strip()
    left = [each.session_id for each in list_finished(folder) if ".json" in each.files]
    if not named or named in left:
        return
    if left:
        files.write_file(pointer, f"{left[0]}\n".encode())
    else:
        pointer.unlink(missing_ok=True)
