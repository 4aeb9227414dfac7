"""Words that SQLite's tokenizer cannot split, and words that say nothing.

SQLite splits a text at every sign and reduces words to their stems, so names like ``parse_user_name`` and paths are phrases. The
others are indexed in a second column: ``parseUserName`` as three words, and Chinese, Japanese, Korean and Thai, which have no
spaces between words, as overlapping pairs of letters.
"""

from __future__ import annotations

import re
import unicodedata

# Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
RUN = re.compile(f"[{UNSPACED}]+")
_CAMEL = re.compile(r"\b(?=\w*?(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z]))\w{3,64}\b", re.ASCII)
_PARTS = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_VERSION = re.compile(r"\bv(\d+(?:\.\d+)+)", re.ASCII)
_MAX_PARTS = 8  # of a name; what has more is a key or an encoded file

# Words that questions are full of and that narrow down nothing.
COMMON_WORDS = frozenset({
    "a", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
    "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "into", "is", "it", "its", "me",
    "my", "no", "not", "of", "on", "or", "our", "s", "she", "should", "so", "t", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "to", "us", "was", "we", "were", "what", "when", "where",
    "which", "who", "whom", "whose", "why", "will", "with", "would", "you", "your",
})  # fmt: skip


def more_words(text: str) -> str:
    """Return the words of the second column: parts of names, and pairs of letters."""
    found = [" ".join(name_parts(name)) for name in dict.fromkeys(_CAMEL.findall(text))]
    found += dict.fromkeys(_VERSION.findall(text))  # 1.2.3 is found in v1.2.3
    if not text.isascii():
        found += [" ".join((*pairs(run), run[-1])) for run in dict.fromkeys(RUN.findall(_composed(text)))]
    return " ".join(found)


def name_parts(word: str) -> list[str]:
    """Return the parts of ``parseUserName``; empty for any other word."""
    parts = _PARTS.findall(word) if _CAMEL.fullmatch(word) else []
    return parts if len(parts) <= _MAX_PARTS else []


def pairs(run: str) -> list[str]:
    """Return the overlapping pairs of letters of a run without spaces; none of a single letter."""
    letters = "".join(filter(str.isalnum, run))  # SQLite drops the vowel signs of Thai
    return [letters[at : at + 2] for at in range(len(letters) - 1)]


def runs(word: str) -> list[str]:
    """Return the parts of a word that have no spaces between words."""
    return [] if word.isascii() else RUN.findall(_composed(word))


def without_runs(word: str) -> str:
    """Return the rest of a word."""
    return RUN.sub(" ", _composed(word)) if runs(word) else word


def is_unspaced(word: str) -> bool:
    """Return whether a word contains letters of a script without spaces."""
    return not word.isascii() and RUN.search(word) is not None


def _composed(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
