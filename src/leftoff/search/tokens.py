"""The tokens by which a text is found.

A word is found in any case and number, by its stem (``merged`` finds ``merging``). A name in code is found whole and by its
parts: ``parse_user_name`` and ``parseUserName`` are the same token, and each contains ``parse``, ``user`` and ``name``. Adjacent
parts are a token too. Scripts without spaces are split into pairs of letters. Order and exact spelling are checked in the text
itself. ``TOKENS_VERSION`` in the database goes up when the tokens change.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

MAX_TOKEN_CHARS = 64

# Patterns are compiled on first use: plain words need none, and compiling all takes as long as a search.
# Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese: scripts without spaces between words.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = f"[{UNSPACED}]+"
_WORD = r"[^\W_]+"
_COMPOUND = r"[^\W_]+(?:[_.-]+[^\W_]+)+"
_PARTS = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+"
_HUMP = r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]"
_ENDINGS = ("ing", "ies", "ed", "es", "s", "e", "y")
_DOUBLING = ("ing", "ed")  # before these a letter may be doubled: running
_MAX_TAIL_CHARS = 4  # that a stem may lack
# Sha256 in getSha256Sum, I18n in getI18n
_NUMBERED = r"(?:[A-Z]+|[A-Z]?[a-z]+)[0-9]{1,3}[a-z]*(?![0-9])"
_MAX_SMALL_DIGITS = 3  # line numbers would be most of the index, and are found by checking the text
_MIN_STEM_CHARS = 4
# The tokens of so many words are cached, because splitting one takes longer than looking it up.
_MAX_CACHED = 200_000
_token_cache: dict[str | bytes, tuple[str, ...]] = {}
_CHUNK = r"[\w.-]+"
_SIGNS = r"[\W_]+"
_PLAIN = bytes(code if chr(code).isalnum() or code in b"_.-" else 32 for code in range(128)) + bytes(128)

# Words that queries are full of and that narrow down nothing.
COMMON_WORDS = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
    "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my",
    "no", "not", "of", "on", "or", "our", "should", "so", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "to", "was", "we", "were", "what", "when", "where", "which", "who",
    "why", "will", "with", "would", "you", "your",
})  # fmt: skip


def tokens(text: str) -> set[str]:
    """Return all tokens of a text."""
    found: set[str] = set()
    for chunk in _chunks(text):
        known = _token_cache.get(chunk)
        if known is None:
            known = _tokens_of(chunk)
            if len(_token_cache) < _MAX_CACHED and len(chunk) <= MAX_TOKEN_CHARS:
                _token_cache[chunk] = known
        found.update(known)
    return found


def _chunks(text: str) -> set[str] | set[bytes]:
    """Return the distinct parts between spaces and punctuation; ASCII text is split in one step."""
    if text.isascii():
        return {*text.encode().translate(_PLAIN).split()}
    return {*_compiled(_CHUNK).findall(text)}


def _tokens_of(chunk: str | bytes) -> tuple[str, ...]:
    text = chunk.decode() if isinstance(chunk, bytes) else chunk
    words = {*split_words(text), *_compiled(_COMPOUND).findall(text)}
    return tuple({token for word in words for token in _word_tokens(word)})


def required_tokens(word: str) -> tuple[str, ...]:
    """Return the tokens that a text must have to contain ``word`` by its parts; empty if any text may."""
    found: list[str] = []
    for part in split_words(word):
        if is_unspaced(part):
            found += _required_script_tokens(part)
        else:
            found += [token for each in _humps(part) for token in _token(each)]
    return tuple(dict.fromkeys(found))


def joined_token(word: str) -> str | None:
    """Return the token of a whole name that consists of parts; None for other words."""
    return next(iter(_token(_compiled(_SIGNS).sub("", word))), None) if is_name(word) else None


def is_name(word: str) -> bool:
    """Return whether a word is a name in code that consists of parts."""
    is_made = len(_humps(word)) > 1 if word.isalnum() else bool(_compiled(_COMPOUND).fullmatch(word))
    return is_made and not is_unspaced(word)


def linked_tokens(name: str) -> tuple[str, ...]:
    """Return the tokens that a text must have to contain the name inside a longer one: adjacent and other parts."""
    parts = split_name(name)
    links = {at: _link(*pair) for at, pair in enumerate(pairwise(parts))}
    rest = (part for at, part in enumerate(parts) if not links.get(at - 1) and not links.get(at))
    found = [
        *(token for link in links.values() for token in link),
        *(t for part in rest for t in _token(part)),
    ]
    return tuple(dict.fromkeys(found))


def path_segments(word: str) -> list[str]:
    """Return the segments of a path; any other word unchanged."""
    return [word] if word.isalnum() else _compiled(_CHUNK).findall(word)


def prefix_tokens(name: str) -> tuple[tuple[str, ...], str | None] | None:
    """Return, for a name whose last part is a prefix, its complete tokens and the prefix of one more; None for other words.

    Digits alone are not a prefix of a token, since small numbers have none.
    """
    if not is_name(name):
        return None
    *whole, before, last = split_name(name)
    start = before + last if before.isalpha() and last.isalpha() else last
    return linked_tokens("_".join([*whole, before])), None if last.isdigit() else fold(start)


def split_name(name: str) -> list[str]:
    """Return the words and capitalised parts of a name."""
    return [each for part in split_words(name) for each in _humps(part)]


def _link(first: str, second: str) -> tuple[str, ...]:
    """Return two adjacent parts as a token; not with digits, which would add every id and version to the index."""
    return _token(first + second) if first.isalpha() and second.isalpha() else ()


def _humps(word: str) -> list[str]:
    """Split ``parseUserName`` into three; return any other word unchanged."""
    plain = word if word.isascii() else _without_accents(word)
    if plain == plain.lower() or not _compiled(_HUMP).search(plain):
        return [word]
    return [word[slice(*found.span())] for found in _compiled(_PARTS).finditer(plain)]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def split_words(text: str) -> list[str]:
    """Return the words between punctuation and spaces."""
    return [text] if text.isalnum() else _compiled(_WORD).findall(text)


def is_unspaced(word: str) -> bool:
    """Return whether a word contains letters of a script without spaces."""
    return not word.isascii() and _compiled(_RUN).search(word) is not None


def _runs(word: str) -> Iterator[re.Match[str]]:
    return iter(()) if word.isascii() else _compiled(_RUN).finditer(word)


def _without_accents(word: str) -> str:
    """Return the word without accents; unchanged if that would change its length."""
    letters = unicodedata.normalize("NFD", word)
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return plain if len(plain) == len(word) else word


def prefix_token(word: str) -> str | None:
    """Return the beginning of the token of a word with this prefix, unless that is one of ``shorter_stems``; None if empty."""
    folded = fold(_compiled(_SIGNS).sub("", word))
    runs = [*_runs(folded)]
    return runs[-1][0][:2] if runs else folded or None


def shorter_stems(start: str) -> tuple[str, ...]:
    """Return stems, shorter than ``start``, of words that begin so: ``run`` for ``runn`` and ``running``."""
    found = []
    for at in range(max(1, len(start) - _MAX_TAIL_CHARS), len(start)):
        rest = start[:at]
        tails = (*_ENDINGS, *(rest[-1] + ending for ending in _DOUBLING))
        words = (rest + tail for tail in tails if tail.startswith(start[at:]))
        if any(stem(word) == rest for word in words):
            found.append(rest)
    return tuple(found)


def is_exact(word: str) -> bool:
    """Return whether the tokens of a word are enough, so that no text needs to be checked."""
    is_plain = word.isalnum() and len(_humps(word)) == 1 and not is_unspaced(word)
    return is_plain and bool(required_tokens(word))


def fold(word: str) -> str:
    """Return the letters and digits of a word without case and accents."""
    if word.isascii():
        return word.lower()
    plain = word.casefold()
    # NFKC keeps voiced kana and Hangul whole.
    letters = (
        unicodedata.normalize("NFKC", plain) if is_unspaced(word) else unicodedata.normalize("NFKD", plain)
    )
    # Some characters decompose into several words or brackets; a token has neither spaces nor punctuation.
    return "".join(filter(str.isalnum, letters))


def stem(word: str) -> str:
    """Return a lower-case word without its usual endings; short words and words with digits unchanged."""
    if len(word) <= _MIN_STEM_CHARS or not word.isascii() or not word.isalpha():
        return word
    return word_root(word)


def word_root(word: str) -> str:
    """Return a word in lower case without its usual endings, however short."""
    lowered = word.lower()
    if not lowered.isascii() or not lowered.isalpha():
        return word
    for ending in _ENDINGS:
        rest = lowered.removesuffix(ending)
        if rest != lowered and len(rest) >= _MIN_STEM_CHARS and not (ending == "s" and rest[-1] in "siu"):
            return (
                rest[:-1] if ending in _DOUBLING and rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            )
    return lowered


def _word_tokens(word: str) -> tuple[str, ...]:
    """Return the tokens of one word or compound."""
    if is_unspaced(word):
        return tuple(token for part in split_words(word) for token in _script_tokens(part))
    bare = _compiled(_SIGNS).sub("", word)
    found = dict.fromkeys(_token(bare))
    if bare == word and len(_humps(word)) == 1:
        return tuple(found)
    parts = split_name(word)
    if bare == word:  # the parts of a compound are words of the chunk already
        numbered = _compiled(_NUMBERED).findall(word) if len(word) <= MAX_TOKEN_CHARS else ()
        found |= dict.fromkeys(token for part in (*parts, *numbered) for token in _token(part))
    if len(parts) > 2:
        found |= dict.fromkeys(token for pair in pairwise(parts) for token in _link(*pair))
    return tuple(found)


def is_small_number(word: str) -> bool:
    """Return whether a number is too small to have a token."""
    return word.isdigit() and len(word) <= _MAX_SMALL_DIGITS


def _token(word: str) -> tuple[str, ...]:
    folded = fold(word)
    if not folded or len(folded) > MAX_TOKEN_CHARS or is_small_number(folded):
        return ()
    return (stem(folded),)


def _script_tokens(word: str) -> list[str]:
    """Return pairs of letters of each run, its last letter, and the words between runs."""
    folded, past = fold(word), 0
    found: list[str] = []
    for run in _runs(folded):
        found += _token(folded[past : run.start()])
        found += [folded[at : at + 2] for at in range(run.start(), run.end() - 1)]
        found.append(folded[run.end() - 1])
        past = run.end()
    return [*found, *_token(folded[past:])]


def _required_script_tokens(word: str) -> list[str]:
    """Return the same without the last letters, which a longer run has in pairs."""
    folded, past = fold(word), 0
    found: list[str] = []
    for run in _runs(folded):
        found += _token(folded[past : run.start()])
        found += [folded[at : at + 2] for at in range(run.start(), run.end() - 1)]
        past = run.end()
    return [*found, *_token(folded[past:])]
