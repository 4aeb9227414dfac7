"""The texts in a transcript or a file beside it, in every way that JSON may write them.

Each string of a record counts, keys too; JSON inside a string (such as the arguments of a call) is also unescaped. A file
without records is read in overlapping chunks, a compressed one is uncompressed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import BufferedReader
from typing import IO, Any

from leftoff.platform.zstd import open_plain

_PIECE = 1024 * 1024
_OVERLAP = 64 * 1024  # of consecutive chunks, so that a text on their edge is complete in one
# Also of an incomplete one; there may be empty lines between records.
_RECORD_BEGINS = {
    b"{",
    b"[",
    b"\n",
    b"\r",
}
# An escaped line end or letter, at any depth of JSON strings inside JSON strings.
_ESCAPE = re.compile(
    r"\\+(?:u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\+u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})|u(?P<code>[0-9a-fA-F]{4})|[nrtbf])"
)
# The same at one level, where two backslashes mean one.
_ESCAPE_HERE = re.compile(_ESCAPE.pattern.replace("+", "") + r"|\\(?P<sign>.)", re.DOTALL)


def texts_in(file: BufferedReader) -> Iterator[str]:
    """Yield all texts of a file."""
    with open_plain(file) as content:
        for unit in read_units(content):
            yield from unit_texts(unit)


def read_units(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the records at the beginning of a file, then the rest in overlapping chunks."""
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


def unit_texts(unit: bytes) -> Iterator[str]:
    """Yield the strings of one record or chunk, also with their escapes resolved."""
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


def strings_in(line: bytes) -> Iterator[str]:
    """Yield every string of a JSON line, with keys and numbers; the line itself if it is not JSON or repeats a key."""
    text = line.decode("utf-8", "replace")
    try:
        value = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=distinct_keys)
    except (ValueError, RecursionError):
        yield text
        return
    yield from _strings(value)


def distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dict. Raise ValueError for a repeated key, since one value would hide the other."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a key occurs twice")
    return entries


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _strings(each)
        case dict():
            yield from (str(key) for key in value)
            yield from _strings([*value.values()])
        case _:
            return
