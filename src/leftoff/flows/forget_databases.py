"""Databases among our files: whether their bytes hold words, apart from what is always there.

The names of tables and columns, and the keys of the logs in a store, are form. Where such a name holds the words, bytes alone
cannot tell: then the library and the store are asked by their own ways, as they are anyway.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import get_args

from leftoff.flows.forget_places import Needle, content_of, database_of
from leftoff.library.pieces import KINDS, SourceType, Verb

_KEY = re.compile(rb'"[a-z][a-z0-9_]*" ?:')
# What is written into the library's own columns.
_LIBRARY = " ".join((*KINDS, *get_args(SourceType), *get_args(Verb)))


def holding(kept: Path, needles: Sequence[Needle]) -> bool:
    """Whether the file of a database holds any of them, as far as its bytes can tell."""
    content = content_of(kept)
    found = [needle for needle in needles if needle.is_in(content)]
    if not found:
        return False
    form, content = _form(database_of(kept)), _KEY.sub(b"", content)
    return any(needle.is_in(content) for needle in found if needle.words not in form)


def _form(database: Path) -> bytes:
    """The names that the database keeps of its own parts; none where it cannot be read: then every byte counts."""
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            rows = opened.execute("SELECT name, sql FROM sqlite_master").fetchall()
    except sqlite3.Error:
        return b""
    return " ".join([_LIBRARY, *(each for row in rows for each in row if each)]).encode()
