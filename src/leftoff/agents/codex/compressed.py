"""Rollouts that Codex has compressed (``.jsonl.zst``), opened like any other; places are bytes of the text within.

Python reads them from 3.14 on; before, the package ``backports.zstd`` does.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from leftoff.errors import TranscriptError

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from typing import IO, Any

if sys.platform == "win32":
    from pathlib import WindowsPath as _NativePath
else:
    from pathlib import PosixPath as _NativePath

_BEGUN_BYTES = 64 * 1024
_MODULES = ("compression.zstd", "backports.zstd")


def readable(transcript: Path) -> Path:
    """The path itself, or one that opens as plain text; TranscriptError when nothing here can decompress it."""
    if transcript.suffix != ".zst" or isinstance(transcript, _CompressedPath):
        return transcript
    try:
        _module()
    except LookupError as error:
        raise TranscriptError(
            f"{transcript}: compressed with zstd, which this Python cannot read. "
            f"Type: {sys.executable} -m pip install backports.zstd",
            path=transcript,
        ) from error
    return _CompressedPath(transcript)


def text_begun(head: bytes) -> bytes | None:
    """The text that a compressed file begins with, as far as ``head`` gives it; None when nothing here can decompress it.

    Then it is taken for a rollout, so that whoever opens it is told what to install.
    """
    try:
        zstd = import_module(_module())
    except LookupError:
        return None
    try:
        text: bytes = zstd.ZstdDecompressor().decompress(head, _BEGUN_BYTES)
    except zstd.ZstdError:
        return b""
    return text


def _module() -> str:
    """The name of what decompresses here; LookupError when there is nothing."""
    for name in _MODULES:
        with suppress(ModuleNotFoundError):
            import_module(name)
            return name
    raise LookupError(_MODULES)


class _CompressedPath(_NativePath):
    """A path whose ``open`` gives the text within; all else is the file's own."""

    def open(self, *_how: Any, buffering: int = -1) -> IO[bytes]:  # type: ignore[override]  # noqa: ARG002 - transcripts are only ever read as bytes
        """The text within, as bytes."""
        return io.BufferedReader(_Text(self))


class _Text(io.RawIOBase):
    """The decompressed bytes of a file; damage is a TranscriptError."""

    def __init__(self, path: Path) -> None:
        zstd = import_module(_module())
        self._path = path
        self._errors: tuple[type[Exception], ...] = (zstd.ZstdError, EOFError)
        self._file: IO[bytes] = zstd.ZstdFile(str(path))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._damage_told():
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with self._damage_told():  # it reads all that stands before
            return self._file.seek(offset, whence)

    @contextmanager
    def _damage_told(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise TranscriptError(f"{self._path}: damaged: {error}.", path=self._path) from error

    def close(self) -> None:
        self._file.close()
        super().close()
