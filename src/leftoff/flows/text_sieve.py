"""Whether a text may stand in bytes of a transcript, found out quickly: a gigabyte has to be looked through while somebody waits.

Never False where it stands there, in any case, spacing, accents or spelling of JSON; True also where its letters only meet by chance,
so who wants to know reads on. Bytes are thrown away and replaced, never looked at one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from leftoff.library.normal import normal

_ASCII = bytes(range(128))
_NO_LETTERS = bytes(code for code in range(256) if code >= 128 or not chr(code).isalnum())
_ESCAPING = b"nrtbf"  # the letters that stand for a space behind a backslash
_CODES = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+")
_ESCAPED = re.compile(rb"(?P<codes>(?:\\u[0-9a-fA-F]{4})+)|\\(?P<sign>.)", re.DOTALL)


def sieve(text: str) -> Callable[[bytes], bool]:
    """What tells it of one text."""
    letters = normal(text).lower()  # some signs come to a capital letter
    plain, others = letters.encode("ascii", "ignore"), {each for each in letters if not each.isascii()}
    sure = plain.translate(None, _ESCAPING)

    def stands_in(line: bytes) -> bool:
        folded = _folded(line, others)
        if folded is None or sure not in folded.lower().translate(None, _NO_LETTERS + _ESCAPING):
            return False
        return any(plain in each.lower().translate(None, _NO_LETTERS) for each in _readings(folded))

    return lambda line: (
        stands_in(line)
        or (
            rb"\u" in line
            and (stands_in(_decoded(line)) or (rb"\\" in line and any(map(stands_in, _unescaped(line)))))
        )
    )


def _decoded(line: bytes) -> bytes:
    """The line with the letters that JSON writes as codes."""
    while rb"\\u" in line:  # within a string
        line = line.replace(rb"\\u", rb"\u")
    return _CODES.sub(lambda codes: _letters(codes[0]), line)


def _letters(codes: bytes) -> bytes:
    return bytes.fromhex(codes.replace(rb"\u", b"").decode()).decode("utf-16-be", "replace").encode()


def _folded(line: bytes, wanted: set[str]) -> bytes | None:
    """The line with the plain letters that others come to; None where not all stand in it that are wanted."""
    if line.isascii():
        return None if wanted else line
    signs = {*line.translate(None, _ASCII).decode("utf-8", "replace")}
    letters = {sign: normal(sign).lower() for sign in signs}
    if not wanted.issubset("".join(letters.values())):
        return None
    for sign, folded in letters.items():
        if any(map(str.isascii, folded)):
            line = line.replace(sign.encode(), folded.encode())
    return line


def _readings(line: bytes) -> Iterator[bytes]:
    """The line as it is and without its escapes: where backslashes begin one, also within a string; and one string within another,
    where two of them are one of the text."""
    yield line
    if b"\\" in line:
        within = line
        while rb"\\" in within:
            within = within.replace(rb"\\", b"\\")
        yield _spaced(within)
        yield from _unescaped(line)


def _unescaped(line: bytes) -> Iterator[bytes]:
    while rb"\\" in line:
        line = _ESCAPED.sub(_sign, line)
        yield line


def _sign(escape: re.Match[bytes]) -> bytes:
    if escape["codes"]:
        return _letters(escape["codes"])
    return b" " if escape["sign"] in _ESCAPING else escape["sign"]


def _spaced(line: bytes) -> bytes:
    for letter in _ESCAPING.decode():
        line = line.replace(f"\\{letter}".encode(), b" ")
    return line
