"""Restored text as data (L40): a fence that nothing inside can close, and a sentence before it that says what it is.

The marker holds a hash of what it encloses, so that no text can hold its own marker; what looks like a fence of ours, or
like the wrappers in which agents put such text, loses its angle bracket besides. Lengths never change by that.
"""

from __future__ import annotations

import hashlib
import re

_TAG = "leftoff-record"
# Wrappers that agents put around what hooks and clients say: closing one from inside would let text out of it.
_WRAPPERS = (
    _TAG,
    "system-reminder",
    "hook_context",
    "hook_prompt",
    "user-prompt-submit-hook",
    "user_instructions",
    "environment_context",
    "command-name",
    "task-notification",
)
_OPENING = re.compile(rf"<(?=[\s/\\]*(?:{'|'.join(_WRAPPERS)})\b)", re.IGNORECASE)
_HASH_CHARS = 8
FRAME_CHARS = len(f"\n\n<{_TAG}->\n\n</{_TAG}->") + 2 * _HASH_CHARS


def fenced(sentence: str, body: str) -> str:
    """``body`` between two markers, with ``sentence`` ahead of them: longer by FRAME_CHARS than both."""
    inside = neutral(body)
    mark = f"{_TAG}-{hashlib.sha256(inside.encode('utf-8', 'replace')).hexdigest()[:_HASH_CHARS]}"
    return f"{neutral(sentence)}\n\n<{mark}>\n{inside}\n</{mark}>"


def neutral(text: str) -> str:
    """``text`` in which no marker can be seen, as long as it was: ``<leftoff-record`` becomes ``(leftoff-record``."""
    return _OPENING.sub("(", text)


def width(text: str) -> int:
    """Characters as agents count them: one outside the basic plane counts as two (UTF-16), so no count is above ours."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
