"""What a text claims that anybody can check: paths, commands, numbers and names, and whether another text holds them.

Claims are found by their shape alone: what stands in back-ticks or a code block, what looks like a path or a URL, what no
ordinary word looks like (snake_case, CamelCase), and every number but those that count a list. Two kinds more are asked
for by name: what stands in quotation marks, and whether tests pass. Other prose is not judged.
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
_LIST_COUNT = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?\d{1,3}[.)](?=\s)", re.MULTILINE)
_QUOTED = re.compile(r"“(?P<curly>[^“”]{1,600})”|(?<!\w)\"(?P<plain>[^\"\n]{1,600})\"(?!\w)")
_LEAST_QUOTED_WORDS = 3  # fewer are a title, or a word that somebody doubts
_LEFT_OUT = re.compile(r"\[REDACTED:[a-z0-9-]{1,40}\]|…|\.\.\.")
_SENTENCE = re.compile(r"[^.!?\n]+")
_TESTS = re.compile(r"\b(?:tests?|(?:test )?suite)\b", re.IGNORECASE)
_PASS = re.compile(r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b", re.IGNORECASE)
_FAIL = re.compile(r"\b(?:fail(?:s|ed|ing)?|broken|red)\b", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:no|not|none|never|cannot)\b|n['\N{RIGHT SINGLE QUOTATION MARK}]t\b", re.IGNORECASE
)
_NOT_SAID_TO_BE = re.compile(
    r"\b(?:if|once|when|until|unless|should|must|will|would|make|get|ensure|fix|so that|whether|had)\b"
    r"|\bto (?:be|pass|fail|succeed)\b",
    re.IGNORECASE,
)
_ABBREVIATIONS = {"e.g", "i.e", "a.m", "p.m", "u.s"}


class Claim(NamedTuple):
    """Something exact that a text says, and where in the text it stands."""

    kind: ClaimKind
    value: str
    start: int
    end: int


def claims(text: str) -> tuple[Claim, ...]:
    """Everything in ``text`` that can be checked, in the order it stands there; nothing twice at the same place."""
    found: list[Claim] = []
    rest = _LIST_COUNT.sub(lambda match: " " * len(match[0]), text)
    for find in (_coded, _urls, _paths, _names, _numbers):
        new = [*find(rest)]
        rest = without(rest, new)
        found += new
    return tuple(sorted(found, key=lambda claim: claim.start))


def quotations(text: str) -> tuple[Claim, ...]:
    """What ``text`` says that somebody said or wrote, word for word."""
    found = ((match, match["curly"] or match["plain"]) for match in _QUOTED.finditer(text))
    return tuple(
        Claim("quotation", words, *match.span())
        for match, words in found
        if len(words.split()) >= _LEAST_QUOTED_WORDS
    )


def outcomes(text: str) -> tuple[Claim, ...]:
    """Where ``text`` says that tests pass or fail, as things stand; the claim stands at the word that says so.

    A sentence that tells of both, of the past or of what should be, claims neither.
    """
    found = []
    for sentence in _SENTENCE.finditer(text):
        words = sentence[0]
        good, bad = _PASS.search(words), _FAIL.search(words)
        said = good or bad
        if said is None or (good and bad) or not _TESTS.search(words) or _NOT_SAID_TO_BE.search(words):
            continue
        passes = (good is not None) != (_DENIED.search(words) is not None)
        start = sentence.start() + said.start()
        found.append(Claim("tests", PASS if passes else FAIL, start, start + len(said[0])))
    return tuple(found)


def holds(text: str, claim: Claim) -> bool:
    """Whether ``text`` holds what the claim names, as a whole word; blanks in commands and quotations may differ."""
    match claim.kind:
        case "quotation":
            flat = _plain(text)
            return all(_plain(part).rstrip(" .,;:!?") in flat for part in _LEFT_OUT.split(claim.value))
        case "number":
            return any(_counted_in(text, form) for form in _forms(claim.value))
        case "command":
            return (
                claim.value in " ".join(text.split()) if " " in claim.value else _stands_in(text, claim.value)
            )
        case _:
            return _stands_in(text, claim.value)


def not_held(wanted: Iterable[Claim], texts: Iterable[str]) -> tuple[Claim, ...]:
    """The claims that none of ``texts`` holds; no more texts are asked for than it takes."""
    open_claims = [*wanted]
    for text in texts if open_claims else ():
        open_claims = [claim for claim in open_claims if not holds(text, claim)]
        if not open_claims:
            break
    return tuple(open_claims)


def without(text: str, found: Iterable[Claim]) -> str:
    """``text`` with blanks where claims were found, so that nothing is found twice and places stay."""
    for claim in found:
        text = text[: claim.start] + " " * (claim.end - claim.start) + text[claim.end :]
    return text


def _coded(text: str) -> Iterator[Claim]:
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


def _urls(text: str) -> Iterator[Claim]:
    return (Claim("name", match[0], *match.span()) for match in _URL.finditer(text))


def _paths(text: str) -> Iterator[Claim]:
    for match in _PATH.finditer(text):
        value = match[0]
        told = "." in value.strip(".") or value.count("/") > 1 or value[0] in "~/."
        if told and value.casefold() not in _ABBREVIATIONS and not value.replace(".", "").isdigit():
            yield Claim("path", value, *match.span())


def _names(text: str) -> Iterator[Claim]:
    found = (match for shape in (_NAME, _HASH) for match in shape.finditer(text))
    return (Claim("name", match[0], *match.span()) for match in found)


def _numbers(text: str) -> Iterator[Claim]:
    return (Claim("number", match[0], *match.span()) for match in _NUMBER.finditer(text))


def _plain(text: str) -> str:
    """Blanks, upper case and the shape of apostrophes are no difference between two quotations."""
    return " ".join(text.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split())


def _forms(number: str) -> tuple[str, ...]:
    """12600 and 12,600 are the same number."""
    plain = number.replace(",", "")
    return (number, plain, f"{int(plain):,}") if plain.isdecimal() and len(plain) < 19 else (number,)


def _counted_in(text: str, number: str) -> bool:
    """Not as a part of a longer number; a unit may follow."""
    return re.search(rf"(?<!\d)(?<!\d[.,]){re.escape(number)}(?![.,]?\d)", text) is not None


def _stands_in(text: str, value: str) -> bool:
    """As a whole word: ``a.py`` stands in ``src/a.py``, and not in ``data.py`` or ``a.pyc``."""
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(value) : at + len(value) + 1]
        if not (_joins(before) and _joins(value[0])) and not (_joins(after) and _joins(value[-1])):
            return True
        at = text.find(value, at + 1)
    return False


def _joins(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
