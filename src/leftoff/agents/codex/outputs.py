"""What a tool's answer says about itself. The model is sent the answer as it stands; these are for readers of it.

Four shapes were seen: JSON with ``output`` and ``metadata.exit_code`` (``shell``, until 2025), a head of lines such as
"Exit code: 1" or "Process exited with code 1" that ends in "Output:", bare words, and a list of parts.
"""

from __future__ import annotations

import re

from leftoff.agents.codex.known import known
from leftoff.agents.fields import table
from leftoff.model.quick_json import loads

_JSON = '{"output":'
_HEAD = re.compile(
    r"\A(?:(?:Exit code: (-?\d+)|Process exited with code (-?\d+)"
    r"|(?:Chunk ID|Wall time|Process running|Original token count|Total output lines)\b[^\n]*)\n)+(?:Output:(?:\n|\Z))?"
)


def output_of(text: str) -> tuple[str, int | None]:
    """What the command printed, and its exit code; None where the answer gives none."""
    if text.startswith(_JSON):
        return _output_of_json(text)
    head = _HEAD.match(text)
    return (text, None) if head is None else (text[head.end() :], _code(head))


def is_error(text: str) -> bool | None:
    """Whether the answer says that the call failed: by its exit code, or in words; None where it says nothing."""
    if text.startswith(_JSON):
        code = _output_of_json(text)[1]
    else:  # not by ``output_of``, which copies the output
        head = _HEAD.match(text)
        code = _code(head) if head else None
    if code is not None:
        return code != 0
    return True if text.startswith(known().failed) else None


def _code(head: re.Match[str]) -> int | None:
    code = head[1] or head[2]
    return int(code) if code else None


def _output_of_json(text: str) -> tuple[str, int | None]:
    try:
        value = loads(text)
    except ValueError:  # cut short by a trimmer
        return text, None
    output = value.get("output")
    code = table(value, "metadata").get("exit_code")
    return output if isinstance(output, str) else text, code if isinstance(code, int) else None
