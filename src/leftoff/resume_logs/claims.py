"""Find the claims of a text that can be checked, and check whether other texts contain them.

Claims are found by shape alone: code in back-ticks, paths, URLs, identifiers (snake_case, CamelCase) and numbers. Quotations and
statements about test results are separate, because only some callers want them. Other prose is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

ClaimKind = Literal["path", "command", "name", "number", "quotation", "tests"]
PASS, FAIL = "pass", "fail"  # the values of a claim about tests
_CODE = re.compile(
    r"^[ \t]*```[^\n]*\n(?P<block>.*?)^[ \t]*```|`(?P<span>[^`\n]+)`", re.DOTALL | re.MULTILINE
)
_URL = re.compile(r"\bhttps?://[^\s<>\"'`)\]]*[^\s<>\"'`)\].,;:!?]")
_SLASHED = r"(?:~?/|\.{1,2}/)?(?:[\w.@+-]+/)+[\w.@+-]*\w"
_DOTTED = r"\.?[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,7}\b"
_PATH = re.compile(rf"(?<![\w/.@-])(?:{_SLASHED}|{_DOTTED})")
_NAME = re.compile(r"\b(?:[A-Za-z]\w*_\w+|_+\w+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*)\b")
_HASH = re.compile(r"\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,64}\b")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[,.]\d+)*(?=(?:ms|s|k|[KMG]B|x)?(?!\w))")
_LIST_NUMBER = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?\d{1,3}[.)](?=\s)", re.MULTILINE)
_QUOTED = re.compile(r"“(?P<curly>[^“”]{1,600})”|(?<!\w)\"(?P<plain>[^\"\n]{1,600})\"(?!\w)")
_MIN_QUOTED_WORDS = 3  # fewer are a title, or a word in scare quotes
_ELLIPSIS = re.compile(r"\[REDACTED:[a-z0-9-]{1,40}\]|…|\.\.\.")
_SENTENCE = re.compile(r"[^.!?\n]+")
_TESTS = re.compile(r"\b(?:tests?|(?:test )?suite)\b", re.IGNORECASE)
_PASS = re.compile(r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b", re.IGNORECASE)
_FAIL = re.compile(r"\b(?:fail(?:s|ed|ing)?|broken|red)\b", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(?:no|not|none|never|cannot)\b|n['\N{RIGHT SINGLE QUOTATION MARK}]t\b", re.IGNORECASE
)
_NOT_A_FACT = re.compile(
    r"\b(?:if|once|when|until|unless|should|must|will|would|make|get|ensure|fix|so that|whether|had)\b"
    r"|\bto (?:be|pass|fail|succeed)\b",
    re.IGNORECASE,
)
_ABBREVIATIONS = {"e.g", "i.e", "a.m", "p.m", "u.s"}


class Claim(NamedTuple):
    """Something in a text that can be checked, and its position."""

    kind: ClaimKind
    value: str
    start: int
    end: int


def find_claims(text: str) -> tuple[Claim, ...]:
    """Return the paths, commands, names and numbers in ``text``, in their order, without overlaps."""
    found: list[Claim] = []
    rest = _LIST_NUMBER.sub(lambda match: " " * len(match[0]), text)
    for find in (_find_code, _find_urls, _find_paths, _find_names, _find_numbers):
        new = [*find(rest)]
        rest = blank_out(rest, new)
        found += new
    return tuple(sorted(found, key=lambda claim: claim.start))


def find_quotations(text: str) -> tuple[Claim, ...]:
    """Return the quotations in ``text``."""
    found = ((match, match["curly"] or match["plain"]) for match in _QUOTED.finditer(text))
    return tuple(
        Claim("quotation", words, *match.span())
        for match, words in found
        if len(words.split()) >= _MIN_QUOTED_WORDS
    )


def find_test_outcomes(text: str) -> tuple[Claim, ...]:
    """Return where ``text`` says that tests pass or fail now; the position is that of the word that says so.

    A sentence about both, about the past or about what should be is no claim.
    """
    found = []
    for sentence in _SENTENCE.finditer(text):
        words = sentence[0]
        good, bad = _PASS.search(words), _FAIL.search(words)
        outcome = good or bad
        if outcome is None or (good and bad) or not _TESTS.search(words) or _NOT_A_FACT.search(words):
            continue
        passes = (good is not None) != (_NEGATION.search(words) is not None)
        start = sentence.start() + outcome.start()
        found.append(Claim("tests", PASS if passes else FAIL, start, start + len(outcome[0])))
    return tuple(found)


def contains(text: str, claim: Claim) -> bool:
    """Return whether ``text`` contains what is claimed, as whole words; blanks in commands and quotations may differ."""
    match claim.kind:
        case "quotation":
            flat = _normalise(text)
            return all(_normalise(part).rstrip(" .,;:!?") in flat for part in _ELLIPSIS.split(claim.value))
        case "number":
            return any(_contains_number(text, form) for form in _number_forms(claim.value))
        case "command":
            return (
                claim.value in " ".join(text.split())
                if " " in claim.value
                else _contains_word(text, claim.value)
            )
        case _:
            return _contains_word(text, claim.value)


def find_missing(claims: Iterable[Claim], texts: Iterable[str]) -> tuple[Claim, ...]:
    """Return the claims that none of ``texts`` contains; no more texts are read than necessary."""
    missing = [*claims]
    for text in texts if missing else ():
        missing = [claim for claim in missing if not contains(text, claim)]
        if not missing:
            break
    return tuple(missing)


def blank_out(text: str, claims: Iterable[Claim]) -> str:
    """Return ``text`` with blanks in place of the claims, so that nothing is found twice and positions stay the same."""
    for claim in claims:
        text = text[: claim.start] + " " * (claim.end - claim.start) + text[claim.end :]
    return text


def _find_code(text: str) -> Iterator[Claim]:
    for match in _CODE.finditer(text):
        if match["span"] is not None:
            value = " ".join(match["span"].split())
            if value:
                yield Claim(_kind_of(value), value, *match.span())
            continue
        start = match.start("block")
        for line in match["block"].splitlines(keepends=True):
            if value := " ".join(line.split()).removeprefix("$ "):
                yield Claim("command", value, start, start + len(line.rstrip("\n")))
            start += len(line)


def _kind_of(code: str) -> ClaimKind:
    if " " in code:
        return "command"
    return "path" if "/" in code or _PATH.fullmatch(code) else "name"


def _find_urls(text: str) -> Iterator[Claim]:
    return (Claim("name", match[0], *match.span()) for match in _URL.finditer(text))


def _find_paths(text: str) -> Iterator[Claim]:
    for match in _PATH.finditer(text):
        value = match[0]
        is_path = "." in value.strip(".") or value.count("/") > 1 or value[0] in "~/."
        if is_path and value.casefold() not in _ABBREVIATIONS and not value.replace(".", "").isdigit():
            yield Claim("path", value, *match.span())


def _find_names(text: str) -> Iterator[Claim]:
    found = (match for shape in (_NAME, _HASH) for match in shape.finditer(text))
    return (Claim("name", match[0], *match.span()) for match in found)


def _find_numbers(text: str) -> Iterator[Claim]:
    return (Claim("number", match[0], *match.span()) for match in _NUMBER.finditer(text))


def _normalise(text: str) -> str:
    """Return a text without differences in blanks, case and the shape of apostrophes."""
    return " ".join(text.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split())


def _number_forms(number: str) -> tuple[str, ...]:
    """Return the ways to write a number: 12600 and 12,600 are the same."""
    plain = number.replace(",", "")
    return (number, plain, f"{int(plain):,}") if plain.isdecimal() and len(plain) < 19 else (number,)


def _contains_number(text: str, number: str) -> bool:
    """Return whether the number is in the text, not as part of a longer one; a unit may follow."""
    return re.search(rf"(?<!\d)(?<!\d[.,]){re.escape(number)}(?![.,]?\d)", text) is not None


def _contains_word(text: str, value: str) -> bool:
    """Return whether the text contains a whole word: ``src/a.py`` contains ``a.py``, ``data.py`` and ``a.pyc`` do not."""
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(value) : at + len(value) + 1]
        if not (_joins(before) and _joins(value[0])) and not (_joins(after) and _joins(value[-1])):
            return True
        at = text.find(value, at + 1)
    return False


def _joins(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
