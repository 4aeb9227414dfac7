"""How many characters of a document are bare lists.

A bare list is three or more names, paths or commands in a row, in lines or between commas, with no other word beside them: words in
back-ticks, or words with a slash, an inner dot, an underscore or an inner capital. It is not bare if its own clause has a verb that
says what happened to them; a heading above it does not help, and blocks of code are left out.

The verbs are English: in another language a list inside a clause counts as bare, so that the figure is rather too high.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_MIN_NAMES = 3
_FENCE = re.compile(r"\s*(?:```|~~~)")
_LINE_START = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:\[[ x]\]\s+)?")
_CLAUSE = re.compile(r".+?(?:[.!?;](?=\s)|$)")
_SEPARATOR = re.compile(r"[,;:](?=\s|$)|\s(?:and|or|und|oder|et|y)\s")
# Nothing in quotes or braces: that is data.
_NAME = re.compile(
    r"`[^`]+`|(?<![\w\"'“])[^\s`\"“{}=,;]*(?:\w[/_.:]\w|[a-z0-9][A-Z]|\w\(\)|/\w)[^\s`\"”{}=,;]*(?<![.:!?])(?![\w\"'”])"
)
_SEVERAL = re.compile(r"`[^`\s,]+(?:, [^`\s,]+)+`")
_MASK = "\0"
_LETTER = re.compile(r"[^\W\d_]")
_VERB = re.compile(
    r"\b(?:add|appl|build|built|call|chang|check|clean|commit|cop[iy]|creat|delet|drop|edit|extract|fail|fix|found|generat|handl|"
    r"implement|install|introduc|merg|modif|mov|pars|pass|print|push|ran|read|refactor|remov|renam|replac|return|revert|run|rewr|"
    r"sav|search|set|show|split|stor|test|updat|us|verif|writ|wrote)(?:e|y|e?d|e?s|ing|ten|ted|ped|ied|ies|ning|ting)?\b",
    re.IGNORECASE,
)


class _Part(NamedTuple):
    """A part of a line between commas. ``is_name`` is None if it has no word at all."""

    start: int
    end: int
    is_name: bool | None


def bare_list_chars(text: str) -> int:
    """Return the number of characters in bare lists."""
    return sum(len(found) for found in bare_lists(text))


def bare_lists(text: str) -> Iterator[str]:
    """Yield the bare lists of a text."""
    run: list[_Part] = []
    for part in (*_parts(text), _Part(len(text), len(text), is_name=False)):
        if part.is_name:
            run.append(part)
        elif part.is_name is False:
            if len(run) >= _MIN_NAMES:
                yield text[run[0].start : run[-1].end]
            run = []


def _parts(text: str) -> Iterator[_Part]:
    at, in_code = 0, False
    for line in text.splitlines(keepends=True):
        if _FENCE.match(line):
            in_code = not in_code
        elif not in_code:
            body = _LINE_START.match(line)
            start = body.end() if body else 0
            for clause in _CLAUSE.finditer(line.rstrip("\n"), start):
                yield from _parts_of_clause(clause[0], at + clause.start())
        at += len(line)


def _parts_of_clause(clause: str, at: int) -> Iterator[_Part]:
    masked = _NAME.sub(_mask, clause)
    has_verb = _VERB.search(masked) is not None
    start = 0
    for end, next_start in [
        *(found.span() for found in _SEPARATOR.finditer(masked)),
        (len(clause), len(clause)),
    ]:
        has_words = _LETTER.search(masked, start, end) is not None
        has_name = _MASK in masked[start:end]
        if has_name or has_words:
            yield _Part(at + start, at + end, is_name=has_name and not has_words and not has_verb)
        start = next_start


def _mask(name: re.Match[str]) -> str:
    """Hide a name; of several in one pair of back-ticks, the commas stay."""
    return re.sub(r"[^, ]" if _SEVERAL.fullmatch(name[0]) else ".", _MASK, name[0])
