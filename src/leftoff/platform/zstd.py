"""Reads and writes files that are compressed with zstd, in Python from 3.14 on, before with ``backports.zstd``."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

from leftoff.errors import DocumentError, StorageError

MODULES = ("compression.zstd", "backports.zstd")
_LEVEL = 3
MAGIC = b"\x28\xb5\x2f\xfd"  # the first bytes of a compressed file
_CHUNK = 1024 * 1024


def is_available() -> bool:
    """Return whether this Python can use zstd."""
    try:
        _module()
    except StorageError:
        return False
    return True


@contextmanager
def open_plain(file: BufferedReader) -> Iterator[IO[bytes]]:
    """Give the file itself, or the content of a compressed one; StorageError or DocumentError if it cannot be read."""
    if not file.peek(len(MAGIC)).startswith(MAGIC):
        yield file
        return
    decoding_errors = decode_errors()
    try:
        with open_zstd(file, "rb") as text:
            yield text
    except decoding_errors as error:
        raise DocumentError(f"The file is packed and damaged: {error}.") from error


def digest_plain(packed: Path, size: int) -> str | None:
    """Return the SHA-256 of the first ``size`` bytes of the content; None if there are fewer."""
    digest = hashlib.sha256()
    try:
        with packed.open("rb") as file, open_plain(file) as text:
            while size and (chunk := text.read(min(size, _CHUNK))):
                digest.update(chunk)
                size -= len(chunk)
    except (OSError, StorageError):
        return None
    return None if size else digest.hexdigest()


def open_zstd(file: Path | IO[bytes], mode: str) -> IO[bytes]:
    """Open a compressed file for reading (``rb``) or writing (``wb``); StorageError if this Python lacks zstd."""
    options = {"level": _LEVEL} if mode == "wb" else {}
    opened: IO[bytes] = _module().ZstdFile(file, mode, **options)
    return opened


def decode_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that a truncated or damaged file raises."""
    return (EOFError, _module().ZstdError)


def _module() -> Any:
    for name in MODULES:
        with suppress(ModuleNotFoundError):
            return import_module(name)
    raise StorageError(
        f"The archive needs zstd, which this Python lacks. Type: {sys.executable} -m pip install backports.zstd"
    )
