"""What time it is: aware and UTC inside, RFC 3339 with Z outside. A flow asks once and passes the answer down."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import UTC as UTC
    from datetime import datetime as datetime
else:
    try:
        from _datetime import UTC, datetime  # the same, without reading them in Python first
    except ImportError:
        from datetime import UTC, datetime


def now() -> datetime:
    """This moment."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """As it stands in our files: ``2026-01-06T12:00:00Z``, with microseconds where there are any."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def from_rfc3339(text: str) -> datetime | None:
    """The moment that ``text`` names, taken as UTC where it names no zone; None when it is no time at all."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (
        ValueError,
        OverflowError,
    ):  # the first and last hours of the calendar lie outside it in another zone
        return None
