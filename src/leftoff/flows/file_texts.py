"""The texts of a transcript or of a file beside it, whichever way they are written down; and whether a text stands among them.

Each string of a record counts, keys too, and where JSON stands within a string (as the arguments of a call do) its escapes are read:
all of them, and one string within another.
A file that holds no records is read across its lines, one that its agent packed is unpacked. A record is taken apart only where the letters of the text stand in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import IO

from leftoff.flows.strings import strings_in
from leftoff.flows.text_sieve import sieve
from leftoff.library.erasing import masking
from leftoff.library.normal import writings
from leftoff.library.zstd import plain

_PIECE = 1024 * 1024
_OVERLAP = 64 * 1024  # what stands on the edge of two pieces is in the next one too
_RECORD_BEGINS = {b"{", b"[", b"\n", b"\r"}  # a torn one too; between them lines may be empty
# A line end or a letter as JSON writes it, also where it is written within a string of another record.
_ESCAPE = re.compile(
    r"\\+(?:u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\+u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})|u(?P<code>[0-9a-fA-F]{4})|[nrtbf])"
)
# The same in one string, where two backslashes are one of the text.
_ESCAPE_HERE = re.compile(_ESCAPE.pattern.replace("+", "") + r"|\\(?P<sign>.)", re.DOTALL)


def texts_in(file: BufferedReader) -> Iterator[str]:
    """All of them."""
    with plain(file) as content:
        for unit in _units(content):
            yield from _texts(unit)


def holding(text: str) -> Callable[[BufferedReader], bool]:
    """What tells whether a file holds the text, in any case and spacing."""
    masked, sieves = masking(text), [sieve(each) for each, _ in writings(text)]

    def holds(file: BufferedReader) -> bool:
        with plain(file) as content:
            units = (unit for unit in _units(content) if any(may_hold(unit) for may_hold in sieves))
            return any(masked(each) != each for unit in units for each in _texts(unit))

    return holds


def _units(file: IO[bytes]) -> Iterator[bytes]:
    """The records that a file begins with, then the pieces of what is none."""
    line = file.readline()
    if _is_record(line):
        while line[:1] in _RECORD_BEGINS:
            yield line
            line = file.readline()
    piece = line + file.read(_PIECE)
    while piece:
        yield piece
        more = file.read(_PIECE)
        piece = piece[-_OVERLAP:] + more if more else b""


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


def _texts(unit: bytes) -> Iterator[str]:
    for text in strings_in(unit):
        yield text
        if "\\" in text:
            yield _ESCAPE.sub(_letter, text)
        while "\\\\" in text:
            text = _ESCAPE_HERE.sub(_letter_or_sign, text)
            yield text


def _letter_or_sign(escape: re.Match[str]) -> str:
    return escape["sign"] or _letter(escape)


def _letter(escape: re.Match[str]) -> str:
    if escape["high"]:
        return (bytes.fromhex(escape["high"]) + bytes.fromhex(escape["low"])).decode("utf-16-be")
    return chr(int(escape["code"], 16)) if escape["code"] else " "
