"""JSON that an agent's client hands us: read even where it holds half a character, as JavaScript's texts may."""

from __future__ import annotations

import json

import orjson

from leftoff.model.wire import JsonValue, as_json


def told(raw: bytes) -> JsonValue:
    """The value; halves of characters are shown as U+FFFD. ValueError for what is no JSON."""
    try:
        value: JsonValue = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return as_json(json.loads(raw.decode("utf-8", "replace")))
    return value
