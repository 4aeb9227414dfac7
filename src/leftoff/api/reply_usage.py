"""The token counts of a model's reply, in whichever of the common forms its API reports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leftoff.api.arguments import token_count
from leftoff.core.records import Usage
from leftoff.errors import UsageError

# The first name with a value counts. The last names are those of ContextUsageTracker's own arguments.
_INPUT = ("input_tokens", "prompt_tokens")
_OUTPUT = ("output_tokens", "completion_tokens")
_CACHE_READ = ("cache_read_input_tokens", "cache_read_tokens", "cache_read")
_CACHE_CREATION = ("cache_creation_input_tokens", "cache_creation_tokens", "cache_creation")
# Cached tokens that the API has already counted as input.
_CACHED_INPUT = ("cached_input_tokens",)
_INPUT_DETAILS = ("input_tokens_details", "prompt_tokens_details")


def read_usage(usage: object) -> Usage:
    """Return the counts of a reply's ``usage``: a mapping, or an object of an SDK with the same names as attributes.

    Null counts as missing, text of digits as a number; unknown names are ignored. Raise UsageError if a count is anything else than
    a whole number of at least 0, or if it is missing.
    """
    fields = _fields("usage", usage)
    if all(fields.get(name) is None for name in (*_INPUT, *_OUTPUT, *_CACHE_READ, *_CACHE_CREATION)):
        raise UsageError(f"usage has none of the token counts of a reply: {', '.join((*_INPUT, *_OUTPUT))}.")
    input_tokens = _count(fields, _INPUT)
    cached_tokens = min(input_tokens, _count(fields, _CACHED_INPUT) or _cached_by_details(fields))
    # Some programs report the same cached tokens in both forms: then the input includes them.
    is_included = cached_tokens > 0
    reply = Usage(
        input_tokens=input_tokens - cached_tokens,
        output_tokens=_count(fields, _OUTPUT),
        cache_read_tokens=cached_tokens if is_included else _count(fields, _CACHE_READ),
        cache_creation_tokens=0 if is_included else _count(fields, _CACHE_CREATION),
    )
    # After a compaction some programs report only the total.
    unexplained_tokens = max(0, _count(fields, ("total_tokens",)) - reply.occupancy_tokens)
    return reply._replace(input_tokens=reply.input_tokens + unexplained_tokens)


def _count(fields: Mapping[str, Any], names: tuple[str, ...]) -> int:
    for name in names:
        value = fields.get(name)
        if value is None:
            continue
        if isinstance(value, str | int | float):
            return token_count(name, _number(value))
        # The tokens written to the cache, by how long they are kept there.
        parts = _fields(name, value)
        return sum(_count(parts, (part,)) for part in parts if part.endswith("_tokens"))
    return 0


def _number(value: str | float) -> object:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal():
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _cached_by_details(fields: Mapping[str, Any]) -> int:
    details = next((fields[name] for name in _INPUT_DETAILS if fields.get(name) is not None), None)
    return 0 if details is None else _count(_fields("input_tokens_details", details), ("cached_tokens",))


def _fields(name: str, value: object) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    if hasattr(value, "__dict__"):
        return vars(value)
    raise UsageError(f"{name} is {value!r:.60}: a mapping of token counts was expected.")
