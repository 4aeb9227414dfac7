"""Separate what the user typed from the template of a command, which some agents put into the prompt in place of the command.

Nothing marks a template but its field for the user's words.
"""

from __future__ import annotations

import re

from leftoff.extraction.phrases import any_of
from leftoff.extraction.wording import shorten

_MAX_NAME_CHARS = 120
# A heading or label of the field, and the block that the words were put into.
_FIELD = re.compile(
    rf"^(?:#+ )?(?:{any_of('input field')}):?[ \t]*\n\s*```\w*\n(?P<typed>.*?)\n?^```[ \t]*$",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\$\w+|\{\{\w+\}\}")  # in a template that was not expanded, but pasted
_HEADING = re.compile(r"^#{1,6} +(\S.*)", re.MULTILINE)


def without_template(prompt: str) -> str:
    """Return what the user typed; a prompt in which that is nothing is named by the template's first heading."""
    found = _FIELD.search(prompt) if "```" in prompt else None
    typed = found["typed"].strip() if found else ""
    template = f"{prompt[: found.start()]}{prompt[found.end() :]}".strip() if found else ""
    if not template or _PLACEHOLDER.fullmatch(typed):
        return prompt
    heading = _HEADING.search(template)
    name = heading[1] if heading else template
    return typed or f"(command template: {shorten(name, _MAX_NAME_CHARS)})"
