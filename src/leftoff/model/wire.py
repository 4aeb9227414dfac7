"""How our values stand in files: the kinds of document, their schema numbers, and how older ones are read.

A number goes up when a reader of the old form would misread the new one; the upgrade from the number before is
then added to ``_UPGRADES``. A document without a number was written by a predecessor and counts as schema 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from leftoff.errors import DocumentError, InvalidValueError

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

    JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
    JsonObject: TypeAlias = dict[str, JsonValue]

    Kind = Literal[
        "resume_log",
        "pause_action",
        "register",
        "last_list",
        "compactions",
        "pin",
        "extraction",
        "pause_snapshot",
        "discarded_pause",
        "last_pauses",
        "usage_state",
        "installations",
        "seen_window",
        "outbox_entry",
        "watch_state",
        "archived",
        "forgotten",
        "lineage",
        "baton",
        "chat",
        "chat_index",
        "last_chats",
    ]
else:
    JsonValue, JsonObject, Kind = object, dict, str

SCHEMAS: Mapping[Kind, int] = {
    "resume_log": 1,  # 0: the logs of a predecessor, without number, sources or ground
    "pause_action": 1,  # stands in the data of a pause's first line
    "register": 1,
    "last_list": 1,
    "compactions": 1,
    "pin": 1,
    "extraction": 1,
    "pause_snapshot": 1,  # the .json and .yaml of a finished pause
    "discarded_pause": 1,
    "last_pauses": 1,
    "usage_state": 1,
    "installations": 1,  # what was put into the settings of agents
    "seen_window": 1,  # the size of a session's window, as its agent told the status line
    "outbox_entry": 1,  # a log on its way to the storage backend
    "archived": 1,  # what stands beside a session in the archive
    "forgotten": 1,  # digests of what the library must not take in again
    "watch_state": 1,  # of a live session; the fast path reads it too, and knows this number
    "chat": 1,  # the Markdown of a saved chat; 0: a predecessor's, which says no number
    "chat_index": 1,
    "last_chats": 1,
    "lineage": 1,  # the registry of derived sessions
    "baton": 1,  # the session that a running agent is to be followed by
}

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_DEEPEST = 50


def upgraded(kind: Kind, data: JsonValue, *, where: str) -> JsonObject:
    """``data`` in the newest form of its kind; refuses what is no object or comes from a newer leftoff."""
    if not isinstance(data, dict):
        raise DocumentError(f"{where}: not a {_words(kind)}: a JSON object was expected.", path=where)
    schema = data.get("schema", 0)
    newest = SCHEMAS[kind]
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 0:
        raise DocumentError(f"{where}: schema {schema!r} is not a schema number.", path=where)
    if schema > newest:
        raise DocumentError(
            f"{where}: written by a newer leftoff (schema {schema}, this one reads up to {newest}). "
            "Upgrade leftoff to read it.",
            path=where,
        )
    for step in range(schema, newest):
        if (kind, step) not in _UPGRADES:
            raise DocumentError(f"{where}: there is no {_words(kind)} of schema {schema}.", path=where)
        data = _UPGRADES[kind, step](data)
    return data


def as_json(value: object, *, depth: int = 0) -> JsonValue:
    """``value`` as JSON can hold it, sharing nothing with the original.

    Tuples and sets become lists, keys become text, and what JSON has no word for (a path, a time, infinity) its text.
    """
    if depth > _DEEPEST:
        raise InvalidValueError(f"A value is nested more than {_DEEPEST} deep, or holds itself.")
    match value:
        case str():
            return well_formed(value)
        case None | bool() | int() | float() if not isinstance(value, float) or math.isfinite(value):
            return value
        case dict() | list() | tuple() if (copy := _copy_of_texts(value)) is not None:
            return copy
        case dict() | Mapping():
            return {well_formed(str(key)): as_json(inner, depth=depth + 1) for key, inner in value.items()}
        case list() | tuple():
            return [as_json(inner, depth=depth + 1) for inner in value]
        case set() | frozenset():
            return [as_json(inner, depth=depth + 1) for inner in sorted(value, key=str)]
        case _:
            return well_formed(str(value))


def _copy_of_texts(value: Any) -> JsonValue:
    """A copy of what holds nothing but texts that stay as they are, as most does: seen at one look; None for any other."""
    if isinstance(value, dict):
        return dict(value) if _are_plain_texts([*value, *value.values()]) else None
    if {*map(type, value)} == {dict}:  # decisions
        pairs = [text for entry in value for pair in entry.items() for text in pair]
        return [*map(dict, value)] if _are_plain_texts(pairs) else None
    return [*value] if _are_plain_texts(value) else None


def _are_plain_texts(values: Sequence[Any]) -> bool:
    return {*map(type, values)} == {str} and "".join(values).isascii()


def well_formed(text: str) -> str:
    """``text`` that can be written as UTF-8: the half of a character cut in two is shown as U+FFFD."""
    return text if text.isascii() else _HALF_CHARACTER.sub("\ufffd", text)


def _words(kind: Kind) -> str:
    return kind.replace("_", " ")


def _from_predecessor(log: JsonObject) -> JsonObject:
    """A log of claude-mpm, as designed (000) and as it really writes them.

    Its derived numbers are computed anew: they could be negative, or 0 where nobody had computed them.
    """
    metrics, metadata = log.get("context_metrics"), log.get("metadata") or {}
    if isinstance(metrics, dict):
        metrics = {"timestamp": log.get("created_at")} | metrics
        if None not in (metrics.get("total_budget"), metrics.get("used_tokens")):
            metrics = {key: metrics[key] for key in metrics.keys() - {"percentage_used", "remaining_tokens"}}
    if isinstance(metadata, dict):
        metadata = {key: log[old] for old, key in _BESIDE_METADATA.items() if log.get(old)} | metadata
    decisions = log.get("decisions", log.get("decisions_made"))
    return log | {"schema": 1, "context_metrics": metrics, "metadata": metadata, "decisions": decisions}


_BESIDE_METADATA = {
    "files_modified": "files_modified",
    "agents_used": "agents_used",
    "errors_encountered": "errors",
    "warnings": "warnings",
    "previous_session_id": "previous_session_id",
}

_UPGRADES: Mapping[tuple[Kind, int], Callable[[JsonObject], JsonObject]] = {
    ("resume_log", 0): _from_predecessor,
}
