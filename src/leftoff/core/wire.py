"""JSON forms of leftoff's documents: schema numbers, upgrades from older schemas, and tolerant parsing of JSON from clients.

A schema number goes up when a reader of the old form would misread the new one; ``_UPGRADES`` then gets the step from the number
before. A document without a number was written by a predecessor and counts as schema 0."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import orjson

from leftoff.errors import DocumentError, InvalidValueError

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]
DocumentKind = Literal[
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
SCHEMAS: Mapping[DocumentKind, int] = {
    "resume_log": 1,  # 0: logs of claude-mpm, without number, sources or ground
    "pause_action": 1,  # in the data of a pause's first line
    "register": 1,
    "last_list": 1,
    "compactions": 1,
    "pin": 1,
    "extraction": 3,  # of an earlier one, the transcript is read again
    "pause_snapshot": 1,  # the .json and .yaml of a finished pause
    "discarded_pause": 1,
    "last_pauses": 1,
    "usage_state": 1,
    "installations": 1,  # what `leftoff install` put into the settings of agents
    "seen_window": 1,  # the size of a session's window, as reported to the status line
    "outbox_entry": 1,  # a log on its way to the storage backend
    "archived": 1,  # the file beside a session in the archive
    "forgotten": 1,  # digests of what must not be indexed again
    "watch_state": 1,  # of a live session; the fast path reads it too and has the same number
    "chat": 1,  # the Markdown of a saved chat; 0: written by a predecessor, without number
    "chat_index": 1,
    "last_chats": 1,
    "lineage": 1,  # the registry of derived sessions
    "baton": 1,  # the session that follows a running agent's
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_DEEPEST = 50
_PREDECESSOR_METADATA = {
    "files_modified": "files_modified",
    "agents_used": "agents_used",
    "errors_encountered": "errors",
    "warnings": "warnings",
    "previous_session_id": "previous_session_id",
}


def upgrade_document(kind: DocumentKind, data: JsonValue, *, where: str) -> JsonObject:
    """Return ``data`` in the newest schema of its kind; DocumentError if it is not an object or too new."""
    name = kind.replace("_", " ")
    if not isinstance(data, dict):
        raise DocumentError(f"{where}: not a {name}: a JSON object was expected.", path=where)
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
            raise DocumentError(f"{where}: there is no {name} of schema {schema}.", path=where)
        data = _UPGRADES[kind, step](data)
    return data


def as_json(value: object, *, depth: int = 0) -> JsonValue:
    """Return a deep copy of ``value`` that JSON can represent.

    Tuples and sets become lists, keys become text, and other types (a path, a time, infinity) become their text.
    """
    if depth > _DEEPEST:
        raise InvalidValueError(f"A value is nested more than {_DEEPEST} deep, or holds itself.")
    match value:
        case str():
            return replace_surrogates(value)
        case None | bool() | int() | float() if not isinstance(value, float) or math.isfinite(value):
            return value
        case dict() | list() | tuple() if (copy := _copy_plain_texts(value)) is not None:
            return copy
        case dict() | Mapping():
            return {
                replace_surrogates(str(key)): as_json(inner, depth=depth + 1) for key, inner in value.items()
            }
        case list() | tuple():
            return [as_json(inner, depth=depth + 1) for inner in value]
        case set() | frozenset():
            return [as_json(inner, depth=depth + 1) for inner in sorted(value, key=str)]
        case _:
            return replace_surrogates(str(value))


def _copy_plain_texts(value: Any) -> JsonValue:
    """Return a copy if all values are ASCII texts, which is the usual case and fast to check; else None."""
    if isinstance(value, dict):
        return dict(value) if _are_plain_texts([*value, *value.values()]) else None
    if {*map(type, value)} == {dict}:  # decisions
        pairs = [text for entry in value for pair in entry.items() for text in pair]
        return [*map(dict, value)] if _are_plain_texts(pairs) else None
    return [*value] if _are_plain_texts(value) else None


def _are_plain_texts(values: Sequence[Any]) -> bool:
    return {*map(type, values)} == {str} and "".join(values).isascii()


def encode_json(value: object) -> bytes:
    """Return compact JSON. A file name that is not UTF-8 holds lone surrogates; those are escaped, and json reads them back."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def replace_surrogates(text: str) -> str:
    """Replace surrogates, which UTF-8 cannot encode, by U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _upgrade_predecessor_log(log: JsonObject) -> JsonObject:
    """Upgrade a log of claude-mpm, as documented and as it really writes them.

    Its derived numbers are dropped and computed again, because they could be negative, or 0 for unknown.
    """
    metrics, metadata = log.get("context_metrics"), log.get("metadata") or {}
    if isinstance(metrics, dict):
        metrics = {"timestamp": log.get("created_at")} | metrics
        if None not in (metrics.get("total_budget"), metrics.get("used_tokens")):
            metrics = {key: metrics[key] for key in metrics.keys() - {"percentage_used", "remaining_tokens"}}
    if isinstance(metadata, dict):
        metadata = {key: log[old] for old, key in _PREDECESSOR_METADATA.items() if log.get(old)} | metadata
    decisions = log.get("decisions", log.get("decisions_made"))
    return log | {"schema": 1, "context_metrics": metrics, "metadata": metadata, "decisions": decisions}


_UPGRADES: Mapping[tuple[DocumentKind, int], Callable[[JsonObject], JsonObject]] = {
    ("resume_log", 0): _upgrade_predecessor_log,
}


def parse_client_json(raw: bytes) -> JsonValue:
    """Parse JSON from a client; surrogates become U+FFFD. ValueError if it is not JSON."""
    try:
        value: JsonValue = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return as_json(json.loads(raw.decode("utf-8", "replace")))
    return value
