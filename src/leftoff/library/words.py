"""Which words a text is found by, and how a text is looked at once more where words alone do not tell.

A word is found in any case and number, by its stem (``merged`` finds ``merging``). A name in code is found whole and by its
parts: ``parse_user_name`` and ``parseUserName`` are the same word, and each holds ``parse``, ``user`` and ``name``. Scripts
without spaces are cut into pairs of letters, so that any part of two letters is found. What a token cannot say (order,
neighbours, exact spelling) is said by a pattern on the text itself. Pure; ``VERSION`` goes up when the tokens change.
"""

from __future__ import annotations

import re
import unicodedata

VERSION = 1
LONGEST_TOKEN = 64

# Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese: scripts in which a space does not end a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(r"[^\W_]+")
_COMPOUND = re.compile(r"[^\W_]+(?:[_.-]+[^\W_]+)+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")
_SMALL_NUMBER = 3  # digits; line numbers would be most of the index, and are found by their neighbours
_STEM_AT_LEAST = 4
# So many spellings are remembered; they come again and again, and cutting one takes longer than finding it.
_MOST_REMEMBERED = 200_000
_remembered: dict[str | bytes, tuple[str, ...]] = {}
_CHUNK = re.compile(r"[\w.-]+")
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
    return {*_CHUNK.findall(text)}


def _tokens_of(chunk: str | bytes) -> tuple[str, ...]:
    text = chunk.decode() if isinstance(chunk, bytes) else chunk
    words = {*_WORD.findall(text), *_COMPOUND.findall(text)}
    return tuple({token for word in words for token in _cut(word)})


def wanted(word: str) -> tuple[str, ...]:
    """The tokens that a text must have to hold ``word`` by its parts; none where any text may hold it."""
    found: list[str] = []
    for part in _WORD.findall(word):
        if _RUN.search(part):
            found += _wanted_part(part)
        else:
            found += [token for each in _humps(part) for token in _single(each)]
    return tuple(dict.fromkeys(found))


def joined(word: str) -> str | None:
    """The one token of a name that is made of parts, as a text has it that holds the name by itself; None for other words."""
    bare = re.sub(r"[\W_]+", "", word)
    is_name = bool(_COMPOUND.fullmatch(word)) or (word == bare and len(_humps(word)) > 1)
    return next(iter(_single(bare)), None) if is_name and not _RUN.search(word) else None


def _humps(word: str) -> list[str]:
    """``parseUserName`` in three; any other word as it is."""
    return [found[0] for found in _PARTS.finditer(word)] if _HUMP.search(word) else [word]


def beginning(word: str) -> str | None:
    """What the tokens of a text must begin with to hold a word that begins so; None where nothing can be said.

    A stem is shorter than its word, so only as much of the beginning is asked for as every stem has.
    """
    folded = fold(re.sub(r"[\W_]+", "", word))
    if not folded:
        return None
    runs = [*_RUN.finditer(folded)]
    if runs:
        return runs[-1][0][:2]
    return folded if len(folded) <= _STEM_AT_LEAST else min(folded, stem(folded), key=len)


def pattern(words: str, *, is_prefix: bool = False) -> re.Pattern[str]:
    """What a text must hold, to be looked for in the text as it stands: these words, in this order, as neighbours."""
    parts = [re.escape(each) for part in _WORD.findall(words) for each in _humps(part)]
    if not parts:
        return re.compile(re.escape(words.strip()), re.IGNORECASE)
    inner = r"[\W_]*".join(parts)
    edge = rf"(?-i:(?<=[a-z0-9])(?=[A-Z]))|(?<=[{_UNSPACED}])|(?=[{_UNSPACED}])"
    ends = "" if is_prefix else rf"(?:(?![^\W_])|{edge})"
    version = r"|(?<=[A-Za-z])(?=[0-9])"  # 1.2.3 is found in v1.2.3
    return re.compile(rf"(?:(?<![^\W_])|{edge}{version}){inner}{ends}", re.IGNORECASE)


def light(word: str) -> re.Pattern[str]:
    """Where in a text a word was found: for showing it, so any word of the same stem will do."""
    parts = [re.escape(_root(part)) for part in re.findall(r"[^\W_]+", word)]
    tail = "" if _RUN.search(word) else r"[^\W_]*"
    starts = r"(?:(?<![^\W_])|(?-i:(?<=[a-z0-9])(?=[A-Z])))" if not _RUN.search(word) else ""
    return re.compile(starts + rf"{tail}[\W_]*".join(parts) + tail, re.IGNORECASE)


def is_exact(word: str) -> bool:
    """Whether the tokens of a word say all about it, so that no text need be looked at."""
    is_plain = bool(_WORD.fullmatch(word)) and len(_humps(word)) == 1 and not _RUN.search(word)
    return is_plain and bool(wanted(word))


def fold(word: str) -> str:
    """Without case and accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    if _RUN.search(word):  # voiced kana and Hangul must stay whole
        return unicodedata.normalize("NFKC", word.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def stem(word: str) -> str:
    """What is left of a lower-case word without its usual endings; short words and words with digits stay."""
    if len(word) <= _STEM_AT_LEAST or not word.isascii() or not word.isalpha():
        return word
    return _root(word)


def _root(word: str) -> str:
    lowered = word.lower()
    if not lowered.isascii() or not lowered.isalpha():
        return word
    for ending in ("ing", "ies", "ed", "es", "s", "e", "y"):
        rest = lowered.removesuffix(ending)
        if rest != lowered and len(rest) >= _STEM_AT_LEAST and not (ending == "s" and rest[-1] in "siu"):
            return (
                rest[:-1]
                if ending in {"ing", "ed"} and rest[-1] == rest[-2] and rest[-1] not in "lsz"
                else rest
            )
    return lowered


def _cut(word: str) -> tuple[str, ...]:
    """The tokens of one word or compound."""
    if _RUN.search(word):
        return tuple(token for part in _WORD.findall(word) for token in _of_script(part))
    bare = re.sub(r"[\W_]+", "", word)
    found = dict.fromkeys(_single(bare))
    if bare == word and _HUMP.search(word):  # the parts of a compound come by themselves
        found |= dict.fromkeys(token for part in _humps(word) for token in _single(part))
    return tuple(found)


def _single(word: str) -> tuple[str, ...]:
    folded = fold(word)
    if not folded or len(folded) > LONGEST_TOKEN or (folded.isdigit() and len(folded) <= _SMALL_NUMBER):
        return ()
    return (stem(folded),)


def _of_script(word: str) -> list[str]:
    """Pairs of letters of each run, its last letter by itself, and what stands between runs as words."""
    folded, past = fold(word), 0
    found: list[str] = []
    for run in _RUN.finditer(folded):
        found += _single(folded[past : run.start()])
        found += [folded[at : at + 2] for at in range(run.start(), run.end() - 1)]
        found.append(folded[run.end() - 1])
        past = run.end()
    return [*found, *_single(folded[past:])]


def _wanted_part(word: str) -> list[str]:
    """As ``_of_script``, without the last letters: a longer run in the text has them in pairs. One letter is a beginning."""
    folded, past = fold(word), 0
    found: list[str] = []
    for run in _RUN.finditer(folded):
        found += _single(folded[past : run.start()])
        found += [folded[at : at + 2] for at in range(run.start(), run.end() - 1)]
        past = run.end()
    return [*found, *_single(folded[past:])]
