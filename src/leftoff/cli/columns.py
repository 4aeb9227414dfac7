"""How wide text is on a terminal, and how to cut or fold it; some scripts take two columns per letter and have no spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Letters that begin no line, in scripts that are written without spaces.
_NEVER_FIRST = "、。，．・：；？！）〕］｝〉》」』】”’ー々"  # noqa: RUF001 - meant as they are


def fold(cell: str, width: int, *, cuts_words: bool = True) -> list[str]:
    """Break a cell into lines of at most ``width`` columns, between words if possible; longer words are cut if asked for."""
    if columns_of(cell) <= width and "\n" not in cell:
        return [cell]
    lines = []
    for line in cell.splitlines():
        taken = ""
        for gap, word in _words(line):
            longer = f"{taken}{gap}{word}" if taken else word
            if columns_of(longer) > width:
                lines += [taken] if taken else []
                *full, longer = _cut(word, width) if cuts_words else [word]
                lines += full
            taken = longer
        lines.append(taken)
    return lines


def _words(line: str) -> Iterator[tuple[str, str]]:
    """Yield the words of a line with the gap before each; scripts without spaces may be broken after any letter.

    A number and its % are one word.
    """
    for word in re.split(" (?!%)", line):
        gap, start = " ", 0
        for at in range(1, len(word)) if not word.isascii() else ():
            is_wide = _columns(word[at - 1]) > 1 or _columns(word[at]) > 1
            if is_wide and word[at] not in _NEVER_FIRST:
                yield gap, word[start:at]
                gap, start = "", at
        yield gap, word[start:]


def _cut(word: str, width: int) -> list[str]:
    """Cut a word into pieces of at most ``width`` columns, after one of the marks that paths and keys have if possible."""
    pieces = [""]
    for letter in word:
        if pieces[-1] and columns_of(pieces[-1] + letter) > width:
            whole = max(pieces[-1].rfind(mark) for mark in "/_,.-") + 1
            kept = whole if whole > width // 2 else len(pieces[-1])
            pieces[-1:] = [pieces[-1][:kept], pieces[-1][kept:]]
        pieces[-1] += letter
    return pieces


def cut(line: str, width: int) -> str:
    """Return a line with … for what exceeds ``width`` columns; some scripts take two columns per letter."""
    if line.isascii():
        return line if len(line) <= width else line[: max(0, width - 1)] + "…"
    taken = 0
    for position, letter in enumerate(line):
        taken += _columns(letter)
        if taken > width:
            return _shorten(line[:position], width - 1) + "…"
    return line


def pad(text: str, width: int) -> str:
    """Return text with spaces up to that many columns."""
    return text + " " * (width - columns_of(text))


def columns_of(text: str) -> int:
    """Return the columns that text takes on a terminal."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _shorten(text: str, width: int) -> str:
    while text and columns_of(text) > width:
        text = text[:-1]
    return text


def _columns(letter: str) -> int:
    if letter.isascii():
        return 1
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
