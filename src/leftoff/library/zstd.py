"""Files that are packed with zstd: which Python has from 3.14 on, and before where ``backports.zstd`` is."""

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

_MODULES = ("compression.zstd", "backports.zstd")
_LEVEL = 3
_BEGINNING = b"\x28\xb5\x2f\xfd"  # of a packed file
_CHUNK = 1024 * 1024


def is_possible() -> bool:
    """Whether this Python can compress so."""
    try:
        _module()
    except StorageError:
        return False
    return True


@contextmanager
def plain(file: BufferedReader) -> Iterator[IO[bytes]]:
    """The file itself, or the text of one that its agent packed; StorageError or DocumentError where that cannot be read."""
    if not file.peek(len(_BEGINNING)).startswith(_BEGINNING):
        yield file
        return
    torn = errors()
    try:
        with opened(file, "rb") as text:
            yield text
    except torn as error:
        raise DocumentError(f"The file is packed and damaged: {error}.") from error


def plain_digest(packed: Path, size: int) -> str | None:
    """The digest of so many bytes of the text in a packed file; None where they are not there."""
    digest = hashlib.sha256()
    try:
        with packed.open("rb") as file, plain(file) as text:
            while size and (chunk := text.read(min(size, _CHUNK))):
                digest.update(chunk)
                size -= len(chunk)
    except (OSError, StorageError):
        return None
    return None if size else digest.hexdigest()


def opened(file: Path | IO[bytes], mode: str) -> IO[bytes]:
    """To read (``rb``) or write (``wb``) what is packed in it; StorageError where this Python cannot."""
    options = {"level": _LEVEL} if mode == "wb" else {}
    packed: IO[bytes] = _module().ZstdFile(file, mode, **options)
    return packed


def errors() -> tuple[type[Exception], ...]:
    """What is raised by a file that is torn or garbled."""
    return (EOFError, _module().ZstdError)


def _module() -> Any:
    for name in _MODULES:
        with suppress(ModuleNotFoundError):
            return import_module(name)
    raise StorageError(
        f"The archive needs zstd, which this Python lacks. Type: {sys.executable} -m pip install backports.zstd"
    )
