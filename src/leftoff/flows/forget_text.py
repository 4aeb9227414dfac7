"""A text in our documents: whether it stands there in any case, spacing or spelling of JSON, and masking it so."""

from __future__ import annotations

import re
from pathlib import Path

from leftoff.errors import UsageError
from leftoff.flows.forget_places import content_of, document_of, is_text, needles_of, packed, write_again
from leftoff.flows.own_words import Masking, merged, sparing_names
from leftoff.flows.strings import rewritten
from leftoff.library.forgotten import MASK
from leftoff.library.normal import normal, spans, writings
from leftoff.library.words import is_unspaced
from leftoff.system import files

_PACKED = ".gz"
_FEWEST_LETTERS = 4  # less stands everywhere, and erasing it would destroy what is meant to stay
_WEIGHT_UNSPACED = 2  # there two letters are a word


def holds(kept: Path, text: str) -> bool:
    """Whether the document holds the text; one that vanishes meanwhile holds nothing."""
    if not is_text(kept):
        return False
    content = content_of(kept)
    return _masked(kept, content, text) != content


def mask(kept: Path, text: str) -> None:
    """Put a mask in its place; JSON and YAML stay valid. Where the text stands in its path, the register must not name that."""
    clean = _masked(kept, content_of(kept), text)
    if _change(text)(str(kept)) != str(kept):
        files.write_file(kept, packed(kept, clean))
    else:
        write_again(kept, clean)


def stands_in(kept: Path, text: str) -> bool:
    """Whether the text stands anywhere in a file of the user's, as content or as form."""
    content = content_of(kept).decode("utf-8", "surrogateescape")
    return _change(text)(content) != content


def require_telling(text: str) -> None:
    """UsageError for a text that stands everywhere: too few letters, or the very words that stand in the place of others."""
    meant = [each for each, _ in writings(text)]
    if min(map(_weight, meant)) < _FEWEST_LETTERS:
        raise UsageError(
            f"A text to forget has at least {_FEWEST_LETTERS} letters or digits, {_FEWEST_LETTERS // _WEIGHT_UNSPACED} in"
            " Chinese, Japanese, Korean or Thai: less stands everywhere."
        )
    if any(normal(each) in normal(MASK) for each in meant):
        raise UsageError(
            f"{MASK} is what stands in the place of what you had forgotten: it cannot be forgotten itself."
        )


def _masked(kept: Path, content: bytes, text: str) -> bytes:
    document = document_of(kept)
    suffix = document.with_suffix("").suffix if document.suffix == _PACKED else document.suffix
    return rewritten(content, suffix, _change(text))


def _change(text: str) -> Masking:
    forms = [needle.words.decode("utf-8", "surrogatepass") for needle in needles_of(text)]
    exact = re.compile("|".join(map(re.escape, forms)))
    wanted = [letters for _, letters in writings(text)]

    def find(other: str) -> list[tuple[int, int]]:
        alike = (span for letters in wanted for span in spans(other, letters))
        return merged([*(each.span() for each in exact.finditer(other)), *alike])

    return sparing_names(normal(text), Masking(find=find, mask=MASK))


def _weight(text: str) -> int:
    return sum(_WEIGHT_UNSPACED if is_unspaced(letter) else 1 for letter in text if normal(letter))
