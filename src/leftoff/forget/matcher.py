"""Find what is to be forgotten in other texts: a text, ids of sessions, or the paths of folders.

A text, and an id that is a UUID, is found in any case, spacing and punctuation, also inside longer words. Any other id is
found only as a whole, because ``session-1`` is part of ``session-10``; one that is a plain word only where ids are written.
A folder is found as the beginning of a path, so that what is below it is found too, but not another whose name begins alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from leftoff.catalogue.forgotten import (
    MASK,
    find_letters,
    letter_positions,
    letters_only,
    replace_spans,
    spellings,
)
from leftoff.errors import UsageError
from leftoff.platform import clock
from leftoff.search.words import is_unspaced

Span = tuple[int, int]
_MIN_LETTERS = 4  # less is part of too many words: replacing it would destroy what should stay
_UNSPACED_WEIGHT = 2  # in scripts without spaces two letters are a word
# Names that leftoff gives to its own folders and files, in paths that documents mention.
_OWN_NAMES = re.compile(
    r"/\.leftoff/(?:(?:resume-logs|sessions|chats)/)?(?:session-)?|/session-(?=[^/\s]+\.(?:md|json)\b)"
)
# Of JSON: such a letter after a backslash is not part of the text. After a backslash of a backslash, or as a number, it may be.
_ESCAPES = (r"\n", r"\t", r"\r", r"\b", r"\f")
_AMBIGUOUS = (rb"\u", rb"\\")
_NAME = r"(?:(?<![A-Za-z0-9_.-])|(?<=/session-)){}(?![A-Za-z0-9_-]|\.[A-Za-z0-9_-]*[0-9])"
_FOLDER = r"(?:(?<![\w.~/\\-])|(?<=file://)){}(?![\w-]|\.\w)"
_WORD = r"\A\s*{0}\s*\Z|(?<=/session-){0}(?=\.(?:md|json)\b)|(?<=/){0}(?=\.jsonl\b)"


class Matcher:
    """Finds and masks the given texts, session ids and folders; ``other_folders`` are inside them and stay."""

    def __init__(
        self,
        texts: Iterable[str] = (),
        session_ids: Iterable[str] = (),
        folders: Collection[Path] = (),
        other_folders: Iterable[Path] = (),
    ) -> None:
        ids = [*session_ids]
        spelled = [each for text in (*texts, *filter(clock.is_uuid, ids)) for each in spellings(text)]
        names = [each for each in ids if not clock.is_uuid(each)]
        # With the punctuation around it, where that is the same.
        forms = [re.escape(text) for text, _ in spelled]
        forms += [(_WORD if each.isalpha() else _NAME).format(re.escape(each)) for each in names]
        within = "|".join(_FOLDER.format(re.escape(str(each))) for each in other_folders)
        inside = f"(?!{within})" if within else ""
        paths = [inside + _FOLDER.format(re.escape(str(each))) for each in folders]
        self.is_empty = not (forms or paths)
        self._exact = re.compile("|".join([*forms, *paths]) or r"(?!)")
        self._letters = [letters for _, letters in spelled if letters]
        self._hints = [*self._letters, *(letters_only(str(each)) for each in folders)]
        self._has_hints = not names and all(self._hints) and len(self._letters) == len(spelled)

    def find(self, text: str, protected: re.Pattern[str] | None = None) -> list[Span]:
        """Return the matches in order, without overlaps and without those that lie in a ``protected`` part of the text."""
        reduced = letters_only(text) if self._letters else ""
        found = [
            span for letters in self._letters if letters in reduced for span in find_letters(text, letters)
        ]
        found += [match.span() for match in self._exact.finditer(text)]
        if not found:
            return []
        fixed = [match.span() for form in (_OWN_NAMES, protected) if form for match in form.finditer(text)]
        return _merge(each for each in found if not any(_is_inside(each, other) for other in fixed))

    def mask(self, text: str, protected: re.Pattern[str] | None = None) -> str:
        """Return the text with a mask in place of each match."""
        return replace_spans(text, self.find(text, protected), MASK)

    def is_in(self, *texts: str | None) -> bool:
        """Whether any of the texts holds a match."""
        return any(text is not None and bool(self.find(text)) for text in texts)

    def without_half(self, text: str) -> str:
        """Return a text that was cut off at its end without the beginning of a match there."""
        reduced = letters_only(text)
        halves = (letters[:size] for letters in self._letters for size in range(1, len(letters)))
        most = max((len(half) for half in halves if reduced.endswith(half)), default=0)
        return text[: letter_positions(text)[-most]] if most else text

    def may_be_in(self, data: bytes) -> bool:
        """Whether a line of JSON or text may hold a match, without taking it apart: true for every line that does."""
        if not self._has_hints or not data.isascii() or any(each in data for each in _AMBIGUOUS):
            return True
        as_text = as_json = data.decode()
        for escape in _ESCAPES:
            as_json = as_json.replace(escape, " ")
        readings = letters_only(as_text), letters_only(as_json)
        return any(letters in reading for letters in self._hints for reading in readings)


def require_distinctive(text: str) -> None:
    """Raise UsageError for a text that is too short to be forgotten, or that is a part of the mask itself."""
    meant = [each for each, _ in spellings(text)]
    if min(map(_weight, meant)) < _MIN_LETTERS:
        raise UsageError(
            f"A text to forget has at least {_MIN_LETTERS} letters or digits, {_MIN_LETTERS // _UNSPACED_WEIGHT} in"
            " Chinese, Japanese, Korean or Thai: anything shorter occurs everywhere."
        )
    if any(letters_only(each) in letters_only(MASK) for each in meant):
        raise UsageError(f"{MASK} replaces what you had leftoff forget: it cannot be forgotten itself.")


def _weight(text: str) -> int:
    """Count the letters and digits; a letter of a script without spaces counts as several."""
    letters = filter(letters_only, text)
    return sum(_UNSPACED_WEIGHT if is_unspaced(letter) else 1 for letter in letters)


def _merge(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _is_inside(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
