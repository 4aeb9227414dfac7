"""Separate what the user typed from the template of a command, which some agents put into the prompt in place of the command.

Nothing marks a template. It is recognised by a field for the user's words; or because most of its lines were in an earlier long prompt,
and its headings: nobody types a long text twice, so what differs is the user's.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

from leftoff.extraction.phrases import any_of
from leftoff.extraction.wording import shorten

_MIN_CHARS = 1_500  # of a text that nobody types twice
_MIN_SHARE = 0.75  # of its characters, in lines that the other prompt has too
_MIN_HEADINGS = 2  # a log that was pasted twice has none
_MAX_NAME_CHARS = 120
# A heading or label of the field, and the block that the words were put into.
_FIELD = re.compile(
    rf"^(?:#+ )?(?:{any_of('input field')}):?[ \t]*\n\s*```\w*\n(?P<typed>.*?)\n?^```[ \t]*$",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\$\w+|\{\{\w+\}\}")  # in a template that was not expanded, but pasted
_HEADING = re.compile(r"^#{1,6} +(\S.*)", re.MULTILINE)
_BULLET = re.compile(r"\A(?:[-*+]|\d{1,2}[.)])\s+")


class Parts(NamedTuple):
    """A prompt without the template that it was expanded from; ``template`` is empty where the user typed it all."""

    typed: str
    template: str


def separate_field(prompt: str) -> Parts | None:
    """Return the parts of a prompt whose template has a field for the user's words; None for any other prompt."""
    found = _FIELD.search(prompt) if "```" in prompt else None
    if found is None:
        return None
    typed = found["typed"].strip()
    template = f"{prompt[: found.start()]}{prompt[found.end() :]}".strip()
    if not template or _PLACEHOLDER.fullmatch(typed):
        return None
    return Parts(typed or _name(template), template)


def separate_shared(prompt: str, other: str) -> tuple[Parts, Parts] | None:
    """Return the parts of two long prompts that a template was expanded to; None where they don't have one in common."""
    if min(len(prompt), len(other)) <= _MIN_CHARS:
        return None
    mine, theirs = prompt.splitlines(), other.splitlines()
    if _share(mine, theirs) < _MIN_SHARE or _share(theirs, mine) < _MIN_SHARE:
        return None
    common: list[str] = []
    typed: tuple[list[str], list[str]] = ([], [])
    for tag, begin, end, begin_other, end_other in SequenceMatcher(
        None, mine, theirs, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            common += mine[begin:end]
        else:
            typed[0].extend(mine[begin:end])
            typed[1].extend(theirs[begin_other:end_other])
    template = "\n".join(common).strip()
    if len(_HEADING.findall(template)) < _MIN_HEADINGS:
        return None
    first, second = ("\n".join(lines).strip() or _name(template) for lines in typed)
    return Parts(first, template), Parts(second, template)


def _share(lines: list[str], others: list[str]) -> float:
    """Return how much of the text is in lines that the other text has."""
    known = {*others}
    return sum(len(line) for line in lines if line in known) / sum(map(len, lines))


def _name(template: str) -> str:
    """Name a template by its first heading and the line below, in place of a prompt in which the user typed nothing."""
    heading = _HEADING.search(template)
    below = template[heading.end() :] if heading else template
    lines = [heading[1] if heading else "", *below.strip().splitlines()[:1]]
    return f"(command template: {shorten(': '.join(_BULLET.sub('', line) for line in lines if line), _MAX_NAME_CHARS)})"
