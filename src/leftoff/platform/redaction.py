"""Removes credentials from text before anything is written.

A secret is replaced by ``[REDACTED:<kind>]`` and nothing else changes; redacting twice equals redacting once; the time grows
linearly with the text. Fixed strings are searched first, and patterns run only where one occurs. Not found: secrets cut by the
edge of the text, and secrets that neither their format nor a word beside them reveals."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from leftoff.errors import ConfigError
from leftoff.platform.credentials import KINDS, Check, Kind
from leftoff.platform.fixed_strings import TOKEN_CHARACTERS, Heads, heads_of, searches_of

if TYPE_CHECKING:
    from leftoff.core.wire import JsonObject, JsonValue

    _Container: TypeAlias = list[JsonValue] | JsonObject

__all__ = ["KINDS", "Finding", "Kind", "Redaction", "Redactor"]

_DENIED: Final = "denied"  # the kind of matches of the user's own patterns
_MARKER: Final = r"\[REDACTED:[a-z0-9-]{1,40}\]"
_ROUNDS: Final = 4  # at most; only text made to defeat redaction needs more than one
_SHORTEST: Final = 8  # characters; shorter text cannot contain a secret and what reveals it
_SHORT: Final = 128  # characters; records repeat ids, paths and types, which are checked once
_REMEMBERED: Final = 4096  # short clean texts at most
_RUN: Final = b"a" * 20  # every token with a head has this many token characters in a row
_BEFORE_RUN: Final = 20  # how far before its run a head with punctuation can begin
_MIDDLES: Final = (b".", b"~", b"//")  # punctuation inside heads
# The two characters before a run that can be the middle of a head or the beginning of an escape.
_UNUSUAL: Final = frozenset(
    bytes([first, second])
    for first in range(256)
    for second in b".~/\\%[;"
    if second != ord("/") or first == second
)
_ESCAPES: Final = re.compile(rb"[\\%\[;]")  # the beginning of an escape
_OTHER: Final = ord(" ")
_CLASSES: Final = bytes(_RUN[0] if byte in TOKEN_CHARACTERS else _OTHER for byte in range(256))
_SECRET_WORDS: Final = ("pass", "pwd", "secret", "token", "key", "auth", "cookie")

_Span: TypeAlias = tuple[int, int]
_Matcher: TypeAlias = tuple[Callable[[str, int], re.Match[str] | None], int, Check | None, str]


class Finding(NamedTuple):
    """One secret and its place in the searched text."""

    kind: str
    start: int
    end: int


class Redaction(NamedTuple):
    """A text without its secrets, and where they were."""

    text: str
    findings: tuple[Finding, ...]


class Redactor:
    """Finds and replaces credentials. It remembers only short texts without any."""

    def __init__(
        self, *, allow: Iterable[str] = (), deny: Iterable[str] = (), without: Collection[str] = ()
    ) -> None:
        """``allow`` patterns exempt the secrets that they cover; ``deny`` patterns always redact and win over ``allow``."""
        self._allow = [_user_pattern("allow", source) for source in allow]
        self._deny = [_user_pattern("deny", source) for source in deny]
        self._kinds = [kind for kind in KINDS if kind.name not in without]
        self._searches = searches_of(frozenset(word for kind in self._kinds for word in kind.words))
        self._matchers: dict[str, tuple[_Matcher, ...]] = {}
        self._clean: set[str] = set()

    def find(self, text: str) -> Redaction:
        """Return the text without its secrets, and where they were in the original."""
        findings = self._findings(text)
        return Redaction(text=_replace_findings(text, findings), findings=findings)

    def redact(self, text: str) -> str:
        """Return the text without its secrets."""
        findings = self._findings(text)
        return _replace_findings(text, findings) if findings else text

    def redact_value(self, value: JsonValue) -> JsonValue:
        """Return a copy without secrets. A key such as ``password`` counts as a word beside its value."""
        root: list[JsonValue] = [value]
        # An explicit stack, because hostile JSON can be nested deeper than Python can recurse.
        pending: list[_Container] = [root]
        while pending:
            container = pending.pop()
            if isinstance(container, list):
                container[:] = [self._without_secrets(item, "", pending) for item in container]
            else:
                # Settings are often listed as {"name": "API_KEY", "value": ...}.
                title = container.get("name")
                for name, item in container.items():
                    beside = title if name == "value" and isinstance(title, str) else name
                    container[name] = self._without_secrets(item, beside, pending)
        return root[0]

    def _without_secrets(self, item: JsonValue, beside: str, pending: list[_Container]) -> JsonValue:
        if isinstance(item, str):
            return self._redact_beside(beside, item) if beside else self.redact(item)
        if isinstance(item, list):
            pending.append(copy := list(item))
            return copy
        if isinstance(item, dict):
            pending.append(renamed := self._with_clean_names(item))
            return renamed
        return item

    def _redact_beside(self, name: str, text: str) -> str:
        """Redact a string as the value of its name in JSON."""
        if not _names_a_secret(name):
            return self.redact(text)
        ahead = f'"{name}": "'
        shown = text.replace('"', "'")  # same length, but a quote would end the value
        moved = [
            Finding(
                kind=found.kind, start=found.start - len(ahead), end=min(found.end - len(ahead), len(text))
            )
            for found in self._findings(f'{ahead}{shown}"')
            if found.start >= len(ahead)
        ]
        return self.redact(_replace_findings(text, moved))

    def _with_clean_names(self, item: JsonObject) -> JsonObject:
        """Return a copy whose keys contain no token either; keys that become equal are made distinct."""
        clean: JsonObject = {}
        for name, value in item.items():
            new = self.redact(name) if len(name) >= len(_RUN) else name
            while new in clean:
                new += "+"
            clean[new] = value
        return clean

    def _findings(self, text: str) -> tuple[Finding, ...]:
        if len(text) <= _SHORT and text in self._clean:
            return ()
        found = self._scan(text) if len(text) >= _SHORTEST else None
        if found or self._deny:
            return self._repeat_until_clean(text, found or [])
        if len(text) <= _SHORT:
            if len(self._clean) >= _REMEMBERED:
                self._clean.clear()
            self._clean.add(text)
        return ()

    def _repeat_until_clean(self, text: str, found: list[Finding]) -> tuple[Finding, ...]:
        """Search the redacted text again until nothing is found, so that redacting twice equals redacting once."""
        findings = self._apply_user_patterns(text, found)
        for _ in range(_ROUNDS):
            rest = _replace_findings(text, findings)
            more = self._apply_user_patterns(rest, self._scan(rest))
            if not more:
                break
            findings = tuple(_merge([*findings, *_shift_back(more, findings)]))
        return findings

    def _apply_user_patterns(self, text: str, found: Iterable[Finding]) -> tuple[Finding, ...]:
        """Apply the user's patterns, ignore earlier markers, and return the findings in order without overlaps."""
        markers = _Spans([match.span() for match in re.finditer(_MARKER, text)])
        allowed = _Spans([match.span() for pattern in self._allow for match in pattern.finditer(text)])
        confirmed = [
            finding
            for finding in found
            # What touches a marker was rejected beside the secret that the marker replaced.
            if not markers.touch(finding.start, finding.end) and not allowed.cover(finding.start, finding.end)
        ]
        return tuple(_merge([*confirmed, *self._denied(text, markers)]))

    def _denied(self, text: str, markers: _Spans) -> Iterator[Finding]:
        for pattern in self._deny:
            for match in pattern.finditer(text):
                for start, end in markers.outside(*match.span()):
                    yield Finding(kind=_DENIED, start=start, end=end)

    def _scan(self, text: str) -> list[Finding]:
        """Return every secret, in the order in which the fixed strings are searched."""
        found: list[Finding] = []
        # One byte per character: offsets stay the same, and searching is fast in any script.
        plain = text.encode("ascii", "replace")
        classes = plain.translate(_CLASSES)
        if _OTHER in classes:  # a text of token characters alone contains no assignment
            self._scan_words(text, plain.decode("ascii").lower(), found)
        start = classes.find(_RUN)
        if start >= 0:
            self._scan_runs(text, plain, classes, start, found)
        return found

    def _scan_words(self, text: str, lowered: str, found: list[Finding]) -> None:
        for gate, words, search in self._searches:
            if gate not in lowered:  # cheaper than search for the many short texts
                continue
            past = dict.fromkeys(words, 0)
            match = search(lowered)
            while match:
                word = words[(match.lastindex or 1) - 1]
                place = match.end() - len(word)
                if place >= past[word]:  # not in the secret that the same word revealed before
                    past[word] = self._try_kinds(word, text, place, found)
                match = search(lowered, match.end())

    def _scan_runs(self, text: str, plain: bytes, classes: bytes, start: int, found: list[Finding]) -> None:
        """Search for heads only in runs of twenty or more token characters: one pass instead of one per head."""
        heads, find_class = self._heads, classes.find
        beginnings, unusual, run = heads.beginnings, _UNUSUAL, len(_RUN)
        while start >= 0:
            end = find_class(_OTHER, start + run)
            if end < 0:
                end = len(plain)
            head = None
            if plain[start : start + 3] in beginnings or plain[start - 2 : start] in unusual or start == 1:
                head = self._first_head(plain, start, end)
            elif plain.find(b"-", start, end) >= 0 and not _is_uuid(plain, start, end):
                head = heads.next.search(plain, start, end)
            while head:
                place = head.start(1)
                past = self._try_kinds(head[1].decode(), text, place, found)
                look = heads.next if place >= start else heads.escaped
                head = look.search(plain, max(past, place + 1), end)
            start = find_class(_RUN, end)

    def _first_head(self, plain: bytes, start: int, end: int) -> re.Match[bytes] | None:
        """Return the first head of a run, which can begin before it (``ya29.``) or after an escape (``\\n``)."""
        heads = self._heads
        ahead = max(0, start - _BEFORE_RUN) if plain.endswith(_MIDDLES, 0, start) else start
        if ahead == 0 or _ESCAPES.search(plain, ahead - 1, start):
            return heads.escaped.search(plain, max(0, ahead - 1), end)
        return heads.next.search(plain, ahead - 1, end)

    @cached_property
    def _heads(self) -> Heads:
        return heads_of(tuple([head for kind in self._kinds for head in kind.heads]))

    def _try_kinds(self, fixed: str, text: str, place: int, found: list[Finding]) -> int:
        """Match the kinds of a fixed string at its place; return the end of the last secret there, else 0."""
        past = 0
        for match_at, before, check, kind in self._matchers.get(fixed) or self._compile(fixed):
            match = match_at(text, place - before) if place >= before else None
            if match and (check is None or check(match)):
                start, end = match.span(match.lastindex or 0)
                found.append(Finding(kind=kind, start=start, end=end))
                past = max(past, end)
        return past

    def _compile(self, fixed: str) -> tuple[_Matcher, ...]:
        """Compile the matchers of a fixed string when it first occurs."""
        self._matchers[fixed] = tuple(
            (kind.pattern.match, kind.before, kind.check, kind.name)
            for kind in self._kinds
            if fixed in kind.words or any(fixed.startswith(head) for head in kind.heads)
        )
        return self._matchers[fixed]


def _is_uuid(plain: bytes, start: int, end: int) -> bool:
    """Return whether a run is a UUID. Every line of a transcript has several, and no token starts with one."""
    return end - start == 36 and plain[start + 8] == plain[start + 13] == plain[start + 18] == ord("-")


class _Spans:
    """Spans of a text with fast lookup by place."""

    def __init__(self, spans: Iterable[_Span]) -> None:
        self._spans = sorted(spans)
        self._starts = [start for start, _ in self._spans]
        self._furthest = list(accumulate((end for _, end in self._spans), max))

    def touch(self, start: int, end: int) -> bool:
        """Return whether one of the spans overlaps or adjoins this one."""
        return self._reach(end) >= start

    def cover(self, start: int, end: int) -> bool:
        """Return whether one of the spans contains this one."""
        return self._reach(start) >= end

    def outside(self, start: int, end: int) -> Iterator[_Span]:
        """Return the parts of this span that are in none of the spans."""
        for index in range(max(0, bisect_right(self._starts, start) - 1), len(self._spans)):
            hole_start, hole_end = self._spans[index]
            if hole_start >= end:
                break
            if start < hole_start:
                yield start, hole_start
            start = max(start, hole_end)
        if start < end:
            yield start, end

    def _reach(self, place: int) -> int:
        """Return the furthest end of the spans that begin at or before a place."""
        index = bisect_right(self._starts, place)
        return self._furthest[index - 1] if index else -1


def _merge(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Return the findings in order, overlapping ones merged; the widest, else the first kind, gives the name."""
    rank = {kind.name: place for place, kind in enumerate(KINDS)}
    group: list[Finding] = []
    end = 0
    for finding in sorted(findings, key=lambda one: one.start):
        if group and finding.start >= end:
            yield _union(group, end, rank)
            group = []
        group.append(finding)
        end = max(end, finding.end)
    if group:
        yield _union(group, end, rank)


def _union(group: Sequence[Finding], end: int, rank: dict[str, int]) -> Finding:
    widest = min(group, key=lambda one: (one.start - one.end, rank.get(one.kind, len(rank))))
    return Finding(kind=widest.kind, start=group[0].start, end=end)


def _shift_back(more: Iterable[Finding], findings: Sequence[Finding]) -> Iterator[Finding]:
    """Convert findings in a redacted text to places in the text before."""
    grown = list(accumulate(len(_marker(found.kind)) - (found.end - found.start) for found in findings))
    ends = [found.end + shift for found, shift in zip(findings, grown, strict=True)]
    for found in more:
        index = bisect_right(ends, found.start)
        shift = grown[index - 1] if index else 0
        yield Finding(kind=found.kind, start=found.start - shift, end=found.end - shift)


def _replace_findings(text: str, findings: Iterable[Finding]) -> str:
    parts: list[str] = []
    past = 0
    for finding in findings:
        parts += text[past : finding.start], _marker(finding.kind)
        past = finding.end
    return "".join([*parts, text[past:]])


def _marker(kind: str) -> str:
    return f"[REDACTED:{kind}]"


def _names_a_secret(name: str) -> bool:
    """Return whether a name suggests a secret value, and can be quoted as it is."""
    lowered = name.lower()
    return (any(map(lowered.__contains__, _SECRET_WORDS)) or lowered.endswith("_pat")) and not re.search(
        r"[\"'\\\s]", name
    )


def _user_pattern(setting: str, source: str) -> re.Pattern[str]:
    try:
        return re.compile(source)
    except re.error as error:
        raise ConfigError(
            f"redaction.{setting}: {source!r} is not a regular expression ({error}). Fix or remove it."
        ) from error
