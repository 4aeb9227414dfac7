"""The numbers that were shown with a list stay bound to it until the next list is shown."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from leftoff.system import user_folders

try:
    from _json import (
        encode_basestring_ascii as quoted,  # json itself takes longer to load than all that is done here
    )
except ImportError:  # an interpreter without C: slower, and the same
    from json.encoder import encode_basestring_ascii as quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_NAME = "last-list.json"
_SCHEMA = 1  # as in model.wire, which costs too much to load here; a test holds them together


def remember(transcripts: Sequence[str]) -> None:
    """Bind 1, 2, 3 … to them. Not being able to is no reason not to show the list."""
    listed = ", ".join(map(quoted, transcripts))
    with suppress(OSError):
        user_folders.put(_path(), f'{{"schema": {_SCHEMA}, "transcripts": [{listed}]}}'.encode())


def numbered(number: int) -> Path | None:
    """The transcript that had this number in the list last shown."""
    import json  # noqa: PLC0415 - whoever searches only remembers
    from pathlib import Path  # noqa: PLC0415

    try:
        listed = json.loads(Path(_path()).read_bytes())["transcripts"]
        return Path(listed[number - 1]) if 1 <= number <= len(listed) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _path() -> str:
    return f"{user_folders.user_folder('state')}/{_NAME}"
