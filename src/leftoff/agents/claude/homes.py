"""Where the client keeps the sessions of a folder: the folder's path with everything but letters and digits made dashes."""

from __future__ import annotations

import os
import re
from pathlib import Path

_ODD = re.compile(r"[^a-zA-Z0-9]")
_LONGEST = 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def sessions_folder(home: Path, project: Path) -> Path:
    """The folder for the sessions of ``project``; it need not be there yet."""
    real = os.path.realpath(project)
    slug = _ODD.sub(
        lambda odd: "--" if odd[0] > "\uffff" else "-", real
    )  # JavaScript sees two characters there
    if len(slug) > _LONGEST:
        slug = f"{slug[:_LONGEST]}-{_in_base_36(abs(_hash(real)))}"
    return home / "projects" / slug


def _hash(text: str) -> int:
    """As in Java and as everybody writes it in JavaScript: 31 times what was there, in 32 bits with a sign."""
    found = 0
    units = text.encode("utf-16-le", "surrogatepass")
    for low, high in zip(units[::2], units[1::2], strict=True):
        found = (found * 31 + low + 256 * high) & 0xFFFFFFFF
    return found - 0x1_0000_0000 if found & 0x8000_0000 else found


def _in_base_36(number: int) -> str:
    digits = ""
    while number:
        number, last = divmod(number, 36)
        digits = _DIGITS[last] + digits
    return digits or "0"
