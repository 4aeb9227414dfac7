"""Takes fields out of a line of JSON whatever stands there: a field of another type counts as not said."""

from __future__ import annotations

from datetime import UTC, datetime

from leftoff.model.wire import JsonObject, JsonValue

_NOTHING: JsonObject = {}
_MOST = 10**12


def text(line: JsonObject, key: str) -> str | None:
    """The words at ``key``; None when there are none."""
    value = line.get(key)
    return value if isinstance(value, str) and value else None


def count(line: JsonObject, key: str) -> int | None:
    """The whole number at ``key``, from zero on; one that nothing can have counted is not said."""
    value = line.get(key)
    return (
        value if type(value) is int and 0 <= value <= _MOST else None
    )  # not by isinstance: a bool is no count


def table(line: JsonObject, key: str) -> JsonObject:
    """The object at ``key``; an empty one when there is none."""
    value = line.get(key)
    return value if isinstance(value, dict) else _NOTHING


def rows(line: JsonObject, key: str) -> list[JsonValue]:
    """The list at ``key``; an empty one when there is none."""
    value = line.get(key)
    return value if isinstance(value, list) else []


def size(value: JsonValue) -> int:
    """Characters that a value takes; 0 for one nested deeper than Python can follow."""
    try:
        return len(value if isinstance(value, str) else str(value))
    except RecursionError:
        return 0


def moment(line: JsonObject, key: str) -> datetime | None:
    """The time at ``key``, aware and in UTC; a time without a zone is taken as UTC."""
    value = line.get(key)
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
        if found.tzinfo is UTC:
            return found
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
