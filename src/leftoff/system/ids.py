"""Ids: made so that they cannot collide (L13), checked so that they cannot lead anywhere (L14)."""

from __future__ import annotations

import os
import re

from leftoff.errors import InvalidIdError

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from datetime import datetime

LONGEST_ID = 128
_ALLOWED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
# Names that some systems take for devices; a file called so can be neither written nor deleted there.
_DEVICES = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}


def checked(text: str, *, what: str = "session id") -> str:
    """``text`` itself when it may become part of a file name; InvalidIdError otherwise."""
    if not text:
        raise InvalidIdError(f"The {what} is empty.")
    shown = text if len(text) <= 40 else text[:37] + "…"
    if len(text) > LONGEST_ID:
        raise InvalidIdError(
            f"The {what} {shown!r} is {len(text)} characters long; {LONGEST_ID} are allowed."
        )
    if not _ALLOWED.fullmatch(text) or ".." in text or text.endswith("."):
        raise InvalidIdError(f"The {what} {shown!r} may hold letters, digits, '-', '_' and single dots only.")
    if text.split(".", 1)[0].lower() in _DEVICES:
        raise InvalidIdError(f"The {what} {shown!r} is a reserved name on some systems.")
    return text


def is_uuid(text: str) -> bool:
    """Whether it is a UUID as agents write them: then it names one session in the world, and is part of no other id."""
    import uuid  # noqa: PLC0415 - brings much with it; ids are checked more often than made

    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def timed_id(prefix: str, moment: datetime) -> str:
    """``session-20260106-120000-123456-9f3a51c8``: sorts by time, and two of the same microsecond still differ."""
    return f"{prefix}-{moment:%Y%m%d-%H%M%S-%f}-{os.urandom(4).hex()}"


def uuid4() -> str:
    """A random UUID."""
    import uuid  # noqa: PLC0415

    return str(uuid.uuid4())


def uuid7(moment: datetime) -> str:
    """A UUID that sorts by time (RFC 9562)."""
    import uuid  # noqa: PLC0415

    milliseconds = int(moment.timestamp() * 1000)
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10))
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return str(uuid.UUID(int=value))
