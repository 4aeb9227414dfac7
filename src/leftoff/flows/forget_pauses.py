"""The pauses of a session that is forgotten: those that say they are of it go whole, and the pointer names none that is gone.

A pause that merely mentions the session is somebody else's: it stays, and the id is masked in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from leftoff.flows.forget_places import content_of, document_of
from leftoff.flows.own_documents import is_pause
from leftoff.pauses.journal import read_lines
from leftoff.pauses.origin import origin_in
from leftoff.pauses.shelf import kept_in
from leftoff.pauses.snapshot import LATEST_NAME
from leftoff.system import files

_ENDS = re.compile(r"(?:-incremental)?\.(?:jsonl|json|yaml|md)(?:\.gz)?\Z")
_IN_PAGE = re.compile(r"^- \*\*Session\*\*: \S+ (?P<id>.+)$", re.MULTILINE)
_IN_YAML = re.compile(r"^origin:\n(?: +.*\n)*? +session_id: ['\"]?(?P<id>[^'\"\n]+)", re.MULTILINE)


def own_pauses(holders: Sequence[Path], session_id: str) -> list[Path]:
    """All files of the pauses among these that are the session's own."""
    named = dict.fromkeys((kept.parent, _pause_of(kept)) for kept in holders if is_pause(kept))
    found = []
    for folder, pause in named:
        its = [each for each in folder.iterdir() if each.is_file() and _pause_of(each) == pause]
        if any(_told_by(each) == session_id for each in its):
            found += its
    return found


def point_again(folder: Path) -> None:
    """Let the pointer name the newest pause that is left; none where none is."""
    pointer = folder / LATEST_NAME
    named = content_of(pointer).decode("utf-8", "replace").strip()
    left = [each.session_id for each in kept_in(folder) if ".json" in each.files]
    if not named or named in left:
        return
    if left:
        files.write_file(pointer, f"{left[0]}\n".encode())
    else:
        pointer.unlink(missing_ok=True)


def _pause_of(kept: Path) -> str:
    return _ENDS.sub("", document_of(kept).name)


def _told_by(kept: Path) -> str | None:
    """The session that a file of a pause says that it is of, in the very place where it says so; None where it says none."""
    content = content_of(kept)
    match PurePath(document_of(kept).name.removesuffix(".gz")).suffix:
        case ".jsonl":
            actions = (line.action for line in read_lines(content) if line.action is not None)
            return _origin_in(next((each.data for each in actions if each.type == "pause_started"), None))
        case ".json":
            with suppress(ValueError, RecursionError):
                return _origin_in(json.loads(content))
        case ".md":
            head = content.decode("utf-8", "replace").partition("\n\n")[2].partition("\n\n")[0]
            return found["id"] if (found := _IN_PAGE.search(head)) else None
        case ".yaml":
            return found["id"] if (found := _IN_YAML.search(content.decode("utf-8", "replace"))) else None
        case _:
            return None
    return None


def _origin_in(told: Any) -> str | None:
    origin = origin_in(told) if isinstance(told, dict) else None
    return None if origin is None else origin.session_id
