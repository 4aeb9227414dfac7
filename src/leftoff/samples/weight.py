"""What an event carries: characters that the model is sent, and the bytes it will take in a transcript.

``carried_bytes`` is what ``size_bytes`` of the generator is counted in: the text as UTF-8 twice (escapes, and the
second copy that agents keep of what tools answered), plus ``ENVELOPE_BYTES`` for every line (ids, timestamps, usage).
The transcript that an adapter writes lies between half and twice that.
"""

from __future__ import annotations

from typing import Final

from leftoff.model.script import Asked, Call, Compacted, Delegated, Event, Replied
from leftoff.model.wire import JsonValue

ENVELOPE_BYTES: Final = 900
IMAGE_CHARS: Final = 4_000  # a picture takes about as much of the window as this much text


def carried_bytes(event: Event) -> int:
    """About how many bytes of a transcript the event becomes."""
    text_bytes, lines = _text_and_lines(event)
    return 2 * text_bytes + lines * ENVELOPE_BYTES


def text_bytes(event: Event) -> int:
    """The text of the event alone, as UTF-8; pictures as base64."""
    return _text_and_lines(event)[0]


def sent_chars(call: Call) -> int:
    """Characters of what the model wrote to make this call."""
    total = len(call.tool)
    for key, value in call.input.items():
        total += len(key) + (len(value) if isinstance(value, str) else _chars(value))
    return total


def answered_chars(call: Call) -> int:
    """Characters that the answer adds to the conversation."""
    return len(call.answer or "") + (IMAGE_CHARS if call.image else 0)


def _text_and_lines(event: Event) -> tuple[int, int]:
    if isinstance(event, Replied):
        return _reply(event)
    if isinstance(event, Asked):
        return _utf8(event.text), 1
    if isinstance(event, Compacted):
        return _utf8(event.summary), 2
    return _delegation(event)


def _reply(event: Replied) -> tuple[int, int]:
    total = _utf8(event.text) + _utf8(event.thinking)
    lines = (1 if event.text else 0) + (1 if event.thinking else 0)
    for call in event.calls:
        total += sent_chars(call) + _utf8(call.answer or "") + len(call.image or b"") * 4 // 3
        lines += 1 if call.answer is None else 2
    return total, lines


def _delegation(event: Delegated) -> tuple[int, int]:
    steps = [_reply(step) for step in event.steps]
    total = _utf8(event.task) + _utf8(event.answer) + sum(text for text, _ in steps)
    return total, 2 + sum(lines for _, lines in steps)


def _utf8(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _chars(value: JsonValue) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(_chars(item) for item in value)
    if isinstance(value, dict):
        return sum(len(key) + _chars(item) for key, item in value.items())
    return 4
