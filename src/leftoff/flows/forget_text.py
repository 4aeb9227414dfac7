"""A text in our documents: whether it stands there in any case, spacing or spelling of JSON, and masking it so."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

from leftoff.flows.forget_places import content_of, is_text, needles_of
from leftoff.flows.strings import rewritten
from leftoff.library.erasing import masking
from leftoff.library.forgotten import MASK
from leftoff.system import clock, files, paths
from leftoff.system.register import Register

_PACKED = ".gz"
_DOCUMENTS = {".md", ".json", ".yaml"}


def holds(kept: Path, text: str) -> bool:
    """Whether the document holds the text; one that vanishes meanwhile holds nothing."""
    if not is_text(kept):
        return False
    try:
        content = content_of(kept)
    except FileNotFoundError:
        return False
    return _masked(kept, content, text) != content


def mask(kept: Path, text: str) -> None:
    """Put a mask in its place; JSON and YAML stay valid. A document that this machine wrote stays one that it wrote, unless the
    text stands in its path, which the register must not name.
    """
    register = Register(folder=paths.data_folder())
    is_named = _change(text)(str(kept)) != str(kept)
    was_written = not is_named and kept.suffix in _DOCUMENTS and register.standing(kept) == "written"
    clean = _masked(kept, content_of(kept), text)
    files.write_file(kept, gzip.compress(clean, mtime=0) if kept.suffix == _PACKED else clean)
    if was_written:
        register.note_written(kept, kept.stem.removeprefix("session-"), clock.now())


def _masked(kept: Path, content: bytes, text: str) -> bytes:
    suffix = kept.with_suffix("").suffix if kept.suffix == _PACKED else kept.suffix
    return rewritten(content, suffix, _change(text))


def _change(text: str) -> Callable[[str], str]:
    forms = [needle.words.decode("utf-8", "surrogatepass") for needle in needles_of(text)]
    masked = masking(text)

    def change(other: str) -> str:
        for form in forms:
            other = other.replace(form, MASK)
        return masked(other)

    return change
