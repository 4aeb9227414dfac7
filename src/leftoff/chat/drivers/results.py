"""What foreign agents return, read: the text and the token usage in the shapes that the common frameworks use.

Nothing is imported from any framework: an answer is known by its fields. What is not understood becomes its own text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from leftoff.conversations.values import Tokens

# Where the text of an answer may stand, the most telling first.
_TEXT_FIELDS = (
    "final_output",
    "output",
    "output_text",
    "content",
    "text",
    "answer",
    "response",
    "result",
    "message",
    "data",
)
_USAGE_FIELDS = ("usage", "usage_metadata", "token_usage", "usageMetadata")
_INPUT = ("input_tokens", "prompt_tokens", "inputTokens", "request_tokens", "promptTokenCount")
_OUTPUT = ("output_tokens", "completion_tokens", "outputTokens", "response_tokens", "candidatesTokenCount")
# Part of the prompt, counted beside it. Where it is counted inside, the name says so (``…_details``).
_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
_DEEPEST = 8


def text_of(result: Any, depth: int = 0) -> str | None:
    """The words of an answer; None when there are none."""
    if result is None or depth > _DEEPEST:
        return None
    if isinstance(result, str):
        return result or None
    if isinstance(result, bytes | bytearray):
        return bytes(result).decode("utf-8", "replace") or None
    if isinstance(result, list | tuple):
        return "".join(filter(None, (_part(each, depth + 1) for each in result))) or None
    if isinstance(result, bool | int | float):
        return str(result)
    return _text_in(result, depth) or _own_words(result)


def _text_in(result: Any, depth: int) -> str | None:
    """The text in the fields of a mapping or object: choices and messages first, where the last one counts."""
    choices = field(result, "choices")
    if isinstance(choices, list | tuple) and choices:
        return text_of(field(choices[0], "message") or choices[0], depth + 1)
    messages = field(result, "messages")
    if isinstance(messages, list | tuple) and messages:
        return text_of(messages[-1], depth + 1)
    for name in _TEXT_FIELDS:
        value = field(result, name)
        if value is not None and not callable(value) and (text := text_of(value, depth + 1)):
            return text
    return None


def _part(part: Any, depth: int) -> str | None:
    """One of several blocks of content: its text; tools that are called, thoughts and images have none."""
    if isinstance(part, str):
        return part
    kind = field(part, "type")
    if isinstance(kind, str) and kind not in {"text", "output_text", "message"}:
        return None
    text = field(part, "text")
    return text if isinstance(text, str) else text_of(field(part, "content"), depth + 1)


def _own_words(result: Any) -> str | None:
    """What an object says of itself, if it says anything but where it stands in memory."""
    if isinstance(result, Mapping):
        return None
    words = str(result)
    return words if words and words != object.__repr__(result) else None


def tokens_of(result: Any) -> Tokens | None:
    """What the answer took, from its own report; None when it has none."""
    for usage in _usages(result):
        given, taken = _number(usage, _INPUT), _number(usage, _OUTPUT)
        if given is not None and taken is not None and given + taken > 0:
            cached = sum(_number(usage, (name,)) or 0 for name in _CACHED)
            return Tokens(input_tokens=given + cached, output_tokens=taken)
    return None


def _usages(result: Any) -> Iterable[Any]:
    """The places where a report may stand: the result's own, that of this run alone, that of the last message."""
    for name in _USAGE_FIELDS:
        yield _called(field(result, name))
    invocations = field(field(result, "metrics"), "agent_invocations")
    if isinstance(invocations, list) and invocations:
        yield field(invocations[-1], "usage")
    yield field(field(result, "context_wrapper"), "usage")
    for inner in ("response_metadata", "metadata"):
        for name in _USAGE_FIELDS:
            yield field(field(result, inner), name)


def model_of(result: Any) -> str | None:
    """The model that an answer names."""
    for holder in (result, field(result, "response_metadata")):
        for name in ("model", "model_name", "model_id"):
            value = field(holder, name)
            if isinstance(value, str) and value:
                return value
    return None


def piece_of(event: Any) -> str | None:
    """What one event of a stream adds to the answer; None when it adds nothing."""
    if isinstance(event, str | bytes):
        return text_of(event)
    for name in ("data", "delta", "chunk", "token", "text", "content"):
        value = field(event, name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return text_of(value)
        if value is not None and isinstance(inner := field(value, "text") or field(value, "content"), str):
            return inner
    return None


def end_of(event: Any) -> Any:
    """The whole result that the last event of a stream may carry; None when it carries none."""
    return field(event, "result") if not isinstance(event, str | bytes) else None


def field(holder: Any, name: str) -> Any:
    """A key of a mapping or an attribute of an object; None when there is none, or asking for it fails."""
    if holder is None:
        return None
    if isinstance(holder, Mapping):
        return holder.get(name)
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of somebody else's class can raise anything
        return None


def _called(value: Any) -> Any:
    if not callable(value):
        return value
    try:
        return value()
    except Exception:  # noqa: BLE001 - foreign code
        return None


def _number(usage: Any, names: Iterable[str]) -> int | None:
    for name in names:
        value = field(usage, name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None
