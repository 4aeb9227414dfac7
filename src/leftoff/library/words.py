"""Which words a text is found by, and how a text is looked at once more where words alone do not tell.

A word is found in any case and number, by its stem (``merged`` finds ``merging``). A name in code is found whole and by its
parts: ``parse_user_name`` and ``parseUserName`` are the same word, and each holds ``parse``, ``user`` and ``name``. Neighbouring
parts are a token too, so that ``user_name`` is found in it without looking at all that holds ``user`` and ``name``. Scripts
without spaces are cut into pairs of letters, so that any part of two letters is found. What a token cannot say (order,
neighbours, exact spelling) is looked up in the text itself: ``patterns``. Pure; ``VERSION`` goes up when the tokens change.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# 1: parts of a name were known, not which of them are neighbours. 2: accents and digits cut a name apart, signs stayed in a token.
VERSION = 3
LONGEST_TOKEN = 64

# Patterns are compiled when they are first needed: for plain words none is, and compiling all takes as long as a search.
# Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese: scripts in which a space does not end a word.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = f"[{UNSPACED}]+"
_WORD = r"[^\W_]+"
_COMPOUND = r"[^\W_]+(?:[_.-]+[^\W_]+)+"
_PARTS = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+"
_HUMP = r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]"
_ENDINGS = ("ing", "ies", "ed", "es", "s", "e", "y")
_DOUBLING = ("ing", "ed")  # before these a letter may stand twice: running
_LONGEST_TAIL = 4  # letters that a stem may lack
# Sha256 in getSha256Sum, I18n in getI18n
_NUMBERED = r"(?:[A-Z]+|[A-Z]?[a-z]+)[0-9]{1,3}[a-z]*(?![0-9])"
_SMALL_NUMBER = 3  # digits; line numbers would be most of the index, and are found by their neighbours
_STEM_AT_LEAST = 4
# So many spellings are remembered; they come again and again, and cutting one takes longer than finding it.
_MOST_REMEMBERED = 200_000
_remembered: dict[str | bytes, tuple[str, ...]] = {}
_CHUNK = r"[\w.-]+"
_SIGNS = r"[\W_]+"
_PLAIN = bytes(code if chr(code).isalnum() or code in b"_.-" else 32 for code in range(128)) + bytes(128)

# Words that a question is full of and that no answer is found by.
COMMON = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "should",
        "so",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


def tokens(text: str) -> set[str]:
    """All that the text is found by."""
    found: set[str] = set()
    for chunk in _chunks(text):
        known = _remembered.get(chunk)
        if known is None:
            known = _tokens_of(chunk)
            if len(_remembered) < _MOST_REMEMBERED and len(chunk) <= LONGEST_TOKEN:
                _remembered[chunk] = known
        found.update(known)
    return found


def _chunks(text: str) -> set[str] | set[bytes]:
    """What stands between spaces and signs; each once. Letters of plain English are cut in one stroke."""
    if text.isascii():
        return {*text.encode().translate(_PLAIN).split()}
    return {*_compiled(_CHUNK).findall(text)}


def _tokens_of(chunk: str | bytes) -> tuple[str, ...]:
    text = chunk.decode() if isinstance(chunk, bytes) else chunk
    words = {*words_in(text), *_compiled(_COMPOUND).findall(text)}
    return tuple({token for word in words for token in _cut(word)})


def wanted(word: str) -> tuple[str, ...]:
    """The tokens that a text must have to hold ``word`` by its parts; none where any text may hold it."""
    found: list[str] = []
    for part in words_in(word):
        if is_unspaced(part):
            found += _wanted_part(part)
        else:
            found += [token for each in _humps(part) for token in _single(each)]
    return tuple(dict.fromkeys(found))


def joined(word: str) -> str | None:
    """The one token of a name that is made of parts, as a text has it that holds the name by itself; None for other words."""
    return next(iter(_single(_compiled(_SIGNS).sub("", word))), None) if is_name(word) else None


def is_name(word: str) -> bool:
    """Whether it is a name in code that is made of parts."""
    is_made = len(_humps(word)) > 1 if word.isalnum() else bool(_compiled(_COMPOUND).fullmatch(word))
    return is_made and not is_unspaced(word)


def linked(name: str) -> tuple[str, ...]:
    """The tokens that a text must have to hold the name as part of a longer one: its neighbouring parts, and its other parts."""
    parts = parts_of(name)
    links = {at: _link(*pair) for at, pair in enumerate(pairwise(parts))}
    rest = (part for at, part in enumerate(parts) if not links.get(at - 1) and not links.get(at))
    found = [
        *(token for link in links.values() for token in link),
        *(t for part in rest for t in _single(part)),
    ]
    return tuple(dict.fromkeys(found))


def segments(word: str) -> list[str]:
    """A path in what stands between its slashes; any other word as it is."""
    return [word] if word.isalnum() else _compiled(_CHUNK).findall(word)


def begun(name: str) -> tuple[tuple[str, ...], str | None] | None:
    """The same for a name whose last part is only its beginning: whole tokens, and what one more begins with; None for other words.

    Digits alone begin no token, since small numbers are none. Where letters are begun, the part goes on with letters.
    """
    if not is_name(name):
        return None
    *whole, before, last = parts_of(name)
    start = before + last if before.isalpha() and last.isalpha() else last
    return linked("_".join([*whole, before])), None if last.isdigit() else fold(start)


def parts_of(name: str) -> list[str]:
    """The words and humps that it is made of."""
    return [each for part in words_in(name) for each in _humps(part)]


def _link(first: str, second: str) -> tuple[str, ...]:
    """Two neighbouring parts as a token; digits link nothing, or every id and every version would be a row of new words."""
    return _single(first + second) if first.isalpha() and second.isalpha() else ()


def _humps(word: str) -> list[str]:
    """``parseUserName`` in three; any other word as it is."""
    plain = word if word.isascii() else _without_accents(word)
    if plain == plain.lower() or not _compiled(_HUMP).search(plain):
        return [word]
    return [word[slice(*found.span())] for found in _compiled(_PARTS).finditer(plain)]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    import re  # noqa: PLC0415 - plain words are looked for without

    return re.compile(pattern)


def words_in(text: str) -> list[str]:
    """What stands between signs and spaces."""
    return [text] if text.isalnum() else _compiled(_WORD).findall(text)


def is_unspaced(word: str) -> bool:
    """Whether a part of it is of a script in which a space does not end a word."""
    return not word.isascii() and _compiled(_RUN).search(word) is not None


def _runs(word: str) -> Iterator[re.Match[str]]:
    return iter(()) if word.isascii() else _compiled(_RUN).finditer(word)


def _without_accents(word: str) -> str:
    """Letter by letter; the word as it is where a letter is written as several."""
    letters = unicodedata.normalize("NFD", word)
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return plain if len(plain) == len(word) else word


def beginning(word: str) -> str | None:
    """What a token of a text begins with that holds a word beginning so, unless it is one of ``stems_within``; None for nothing."""
    folded = fold(_compiled(_SIGNS).sub("", word))
    runs = [*_runs(folded)]
    return runs[-1][0][:2] if runs else folded or None


def stems_within(start: str) -> tuple[str, ...]:
    """The stems of words that begin so which are shorter than ``start`` itself: ``run`` for ``runn`` and ``running``."""
    found = []
    for at in range(max(1, len(start) - _LONGEST_TAIL), len(start)):
        rest = start[:at]
        tails = (*_ENDINGS, *(rest[-1] + ending for ending in _DOUBLING))
        words = (rest + tail for tail in tails if tail.startswith(start[at:]))
        if any(stem(word) == rest for word in words):
            found.append(rest)
    return tuple(found)


def is_exact(word: str) -> bool:
    """Whether the tokens of a word say all about it, so that no text need be looked at."""
    is_plain = word.isalnum() and len(_humps(word)) == 1 and not is_unspaced(word)
    return is_plain and bool(wanted(word))


def fold(word: str) -> str:
    """The letters and digits of it, without case and accents."""
    if word.isascii():
        return word.lower()
    plain = word.casefold()
    # Voiced kana and Hangul stay whole.
    letters = (
        unicodedata.normalize("NFKC", plain) if is_unspaced(word) else unicodedata.normalize("NFKD", plain)
    )
    # Some letters are written as several words, or in brackets: a token has no spaces and no signs.
    return "".join(filter(str.isalnum, letters))


def stem(word: str) -> str:
    """What is left of a lower-case word without its usual endings; short words and words with digits stay."""
    if len(word) <= _STEM_AT_LEAST or not word.isascii() or not word.isalpha():
        return word
    return root_of(word)


def root_of(word: str) -> str:
    """A word in lower case without its usual endings, however short."""
    lowered = word.lower()
    if not lowered.isascii() or not lowered.isalpha():
        return word
    for ending in _ENDINGS:
        rest = lowered.removesuffix(ending)
        if rest != lowered and len(rest) >= _STEM_AT_LEAST and not (ending == "s" and rest[-1] in "siu"):
            return (
                rest[:-1] if ending in _DOUBLING and rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            )
    return lowered


def _cut(word: str) -> tuple[str, ...]:
    """The tokens of one word or compound."""
    if is_unspaced(word):
        return tuple(token for part in words_in(word) for token in _of_script(part))
    bare = _compiled(_SIGNS).sub("", word)
    found = dict.fromkeys(_single(bare))
    if bare == word and len(_humps(word)) == 1:
        return tuple(found)
    parts = parts_of(word)
    if bare == word:  # the parts of a compound come by themselves
        numbered = _compiled(_NUMBERED).findall(word) if len(word) <= LONGEST_TOKEN else ()
        found |= dict.fromkeys(token for part in (*parts, *numbered) for token in _single(part))
    if len(parts) > 2:
        found |= dict.fromkeys(token for pair in pairwise(parts) for token in _link(*pair))
    return tuple(found)


def is_small_number(word: str) -> bool:
    """Whether no token is made of it, and texts must be looked at."""
    return word.isdigit() and len(word) <= _SMALL_NUMBER


def _single(word: str) -> tuple[str, ...]:
    folded = fold(word)
    if not folded or len(folded) > LONGEST_TOKEN or is_small_number(folded):
        return ()
    return (stem(folded),)


def _of_script(word: str) -> list[str]:
    """Pairs of letters of each run, its last letter by itself, and what stands between runs as words."""
    folded, past = fold(word), 0
    found: list[str] = []
    for run in _runs(folded):
        found += _single(folded[past : run.start()])
        found += [folded[at : at + 2] for at in range(run.start(), run.end() - 1)]
        found.append(folded[run.end() - 1])
        past = run.end()
    return [*found, *_single(folded[past:])]


def _wanted_part(word: str) -> list[str]:
    """As ``_of_script``, without the last letters: a longer run in the text has them in pairs. One letter is a beginning."""
    folded, past = fold(word), 0
    found: list[str] = []
    for run in _runs(folded):
        found += _single(folded[past : run.start()])
        found += [folded[at : at + 2] for at in range(run.start(), run.end() - 1)]
        past = run.end()
    return [*found, *_single(folded[past:])]
