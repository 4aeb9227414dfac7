"""Find a word in anything that leftoff keeps: raw bytes, compressed files, archives, and every table of a database."""

from __future__ import annotations

import gzip
import io
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from leftoff.platform.zstd import open_zstd
from leftoff.search.pieces import unpack_texts

_SIGNS = re.compile(rb"\\[nrt]|[^0-9a-z\x80-\xff]+")


def traces(word: str, folders: Iterable[Path]) -> list[str]:
    """Return the files in which the word occurs in any case, with anything but letters and digits in between."""
    return [
        str(path)
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if any(word.encode() in letters(each) for each in _contents(path))
    ]


def letters(content: bytes | str) -> bytes:
    """Return the letters and digits alone, in lower case."""
    raw = content.encode() if isinstance(content, str) else content
    return _SIGNS.sub(b"", raw.lower())


def _contents(path: Path) -> Iterator[bytes]:
    """Yield the name of a file, and its content in every form that it can be unpacked to."""
    yield path.name.encode()
    if not path.is_file():
        return
    raw = path.read_bytes()
    yield raw
    if path.suffix == ".gz":
        yield gzip.decompress(raw)
    elif path.suffix == ".zst":
        with open_zstd(io.BytesIO(raw), "rb") as plain:
            yield plain.read()
    elif raw.startswith(b"SQLite format 3"):
        yield from _rows(path)


def _rows(path: Path) -> Iterator[bytes]:
    """Yield all values of all tables; the texts of the library's blocks are compressed."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for table in tables:
            with suppress(sqlite3.OperationalError):  # of the index, only its vocabulary can be read
                for row in connection.execute(f'SELECT * FROM "{table}"'):
                    yield "\n".join(str(value) for value in row).encode("utf-8", "replace")
        if "blocks" in tables:
            for (data,) in connection.execute("SELECT data FROM blocks"):
                yield "\n".join(unpack_texts(data)).encode("utf-8", "replace")
