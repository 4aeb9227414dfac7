"""Load the word lists of extraction from ``phrases.txt``, once.

``LISTS`` has the entries of each list by its name; the file says what each list is for.
"""

from __future__ import annotations

import pkgutil
import re

_HEADING = re.compile(r"\[([a-z][a-z:, -]*)\]")


def _load() -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    entries: list[str] = []
    content = pkgutil.get_data(__package__, "phrases.txt") or b""
    for line in content.decode("utf-8").splitlines():
        if heading := _HEADING.fullmatch(line):
            entries = lists.setdefault(heading[1], [])
        elif line and not line.startswith("# "):
            entries.append(line)
    return lists


LISTS = _load()


def any_of(name: str) -> str:
    """Return the entries of a list as alternatives of a regular expression."""
    return "|".join(LISTS[name])
