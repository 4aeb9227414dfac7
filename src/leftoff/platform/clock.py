"""The current time, RFC 3339 texts, and ids that cannot collide or lead out of a folder.

Times are aware UTC inside and RFC 3339 with Z outside. A use case reads the clock once and passes the time down."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

from leftoff.errors import InvalidIdError

LONGEST_ID = 128
_ALLOWED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
# Device names on some systems: a file of such a name can be neither written nor deleted there.
_DEVICES = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}


def now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)


def format_rfc3339(moment: datetime) -> str:
    """Return the time as ``2026-01-06T12:00:00Z``, with microseconds if it has any."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_rfc3339(text: str) -> datetime | None:
    """Parse a time, as UTC if it has no zone; None if it is not a time."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):  # overflow: the first and last hours of the calendar in another zone
        return None


def check_id(text: str, *, what: str = "session id") -> str:
    """Return ``text`` if it may become part of a file name; else raise InvalidIdError."""
    if not isinstance(text, str):
        raise InvalidIdError(f"The {what} is {text!r:.40}: text was expected.")
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
    """Return whether ``text`` is a complete UUID as agents write them."""
    import uuid  # noqa: PLC0415 - hooks do without, and it loads much

    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def timed_id(prefix: str, moment: datetime) -> str:
    """Return an id such as ``session-20260106-120000-123456-9f3a51c8``, which sorts by time and is unique."""
    return f"{prefix}-{moment:%Y%m%d-%H%M%S-%f}-{os.urandom(4).hex()}"


def uuid4() -> str:
    """Return a random UUID."""
    import uuid  # noqa: PLC0415 - see is_uuid

    return str(uuid.uuid4())


def uuid7(moment: datetime) -> str:
    """Return a UUID that sorts by time (RFC 9562)."""
    import uuid  # noqa: PLC0415 - see is_uuid

    milliseconds = int(moment.timestamp() * 1000)
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10))
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return str(uuid.UUID(int=value))
