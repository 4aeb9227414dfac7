"""Takes credentials out of text before anything is written.

Promises: what is found is replaced by ``[REDACTED:<kind>]`` and nothing else changes; redacting twice equals
redacting once; the work grows with the length of the text, whatever stands in it. Fixed strings are looked for
first, and patterns run only where one stands. Leaves out: secrets cut by the edge of the text, and secrets
that neither a format nor a word beside them gives away.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final, TypeAlias

from leftoff.errors import ConfigError
from leftoff.model.values import dataclass
from leftoff.system.credentials import KINDS, Check, Kind

if TYPE_CHECKING:
    from leftoff.model.wire import JsonObject, JsonValue

    _Container: TypeAlias = list[JsonValue] | JsonObject

__all__ = ["KINDS", "Finding", "Kind", "Redaction", "Redactor"]

_DENIED: Final = "denied"  # the kind of what the user's own patterns find
_MARKER: Final = r"\[REDACTED:[a-z0-9-]{1,40}\]"
_ROUNDS: Final = 4  # at most; the second finds nothing in any text that was not made to defeat it
_SHORTEST: Final = 8  # characters; nothing shorter holds both a secret and what gives it away
_SHORT: Final = 128  # characters; records repeat their ids, paths and types, and those need one look
_REMEMBERED: Final = 4096  # short texts at most
_RUN: Final = b"a" * 20  # every token with a head has as many token characters in a row
_BEFORE_RUN: Final = 20  # how far ahead of its run a head with punctuation in it may begin
_MIDDLES: Final = (b".", b"~", b"//")  # such punctuation
# The two characters ahead of a run that may be the middle of a head, or the beginning of an escape.
_UNUSUAL: Final = frozenset(
    bytes([first, second])
    for first in range(256)
    for second in b".~/\\%[;"
    if second != ord("/") or first == second
)
_ESCAPES: Final = re.compile(rb"[\\%\[;]")  # what such a beginning is
_ESCAPE: Final = r"(?:[nrtbf]|u[0-9a-fA-F]{4}|[0-9A-F]{2}|[0-9]{1,2}m)"
_OTHER: Final = ord(" ")
_TOKEN_CHARACTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_CLASSES: Final = bytes(_RUN[0] if byte in _TOKEN_CHARACTERS else _OTHER for byte in range(256))
_OTHER_ENDINGS: Final = "efghijmqrsuxyz"  # tokens, passed, author: with these a word becomes another
_TELLING: Final = ("pass", "pwd", "secret", "token", "key", "auth", "cookie")

_Span: TypeAlias = tuple[int, int]
_Matcher: TypeAlias = tuple[Callable[[str, int], re.Match[str] | None], int, Check | None, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One secret, by its place in the text that was searched."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """A text without its secrets, and where they were."""

    text: str
    findings: tuple[Finding, ...]


class Redactor:
    """Finds and replaces credentials; of the texts it saw it keeps only some short ones that hold none."""

    def __init__(
        self, *, allow: Iterable[str] = (), deny: Iterable[str] = (), without: Collection[str] = ()
    ) -> None:
        """``allow`` spares a secret that one of its matches covers; ``deny`` always redacts, and wins over it."""
        self._allow = [_user_pattern("allow", source) for source in allow]
        self._deny = [_user_pattern("deny", source) for source in deny]
        self._kinds = [kind for kind in KINDS if kind.name not in without]
        self._words = sorted({word for kind in self._kinds for word in kind.words})
        self._matchers: dict[str, tuple[_Matcher, ...]] = {}
        self._clean: set[str] = set()

    def find(self, text: str) -> Redaction:
        """The text without its secrets, and where they were in the text as given."""
        findings = self._findings(text)
        return Redaction(text=_replaced(text, findings), findings=findings)

    def redact(self, text: str) -> str:
        """The text without its secrets."""
        findings = self._findings(text)
        return _replaced(text, findings) if findings else text

    def redact_value(self, value: JsonValue) -> JsonValue:
        """A copy without secrets; a name such as ``password`` tells about the string that stands under it."""
        root: list[JsonValue] = [value]
        # A stack of our own: hostile JSON nests deeper than Python may recurse.
        pending: list[_Container] = [root]
        while pending:
            container = pending.pop()
            if isinstance(container, list):
                container[:] = [self._without_secrets(item, "", pending) for item in container]
            else:
                title = container.get("name")  # {"name": "API_KEY", "value": ...} is how settings are listed
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
        """Redact a string as if it stood in JSON under its name."""
        if not _is_telling(name):
            return self.redact(text)
        ahead = f'"{name}": "'
        shown = text.replace('"', "'")  # of the same length, and a quote would end it
        moved = [
            Finding(
                kind=found.kind, start=found.start - len(ahead), end=min(found.end - len(ahead), len(text))
            )
            for found in self._findings(f'{ahead}{shown}"')
            if found.start >= len(ahead)
        ]
        return self.redact(_replaced(text, moved))

    def _with_clean_names(self, item: JsonObject) -> JsonObject:
        """A copy whose names hold no token either; two names that become one are told apart."""
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
            return self._settled(text, found or [])
        if len(text) <= _SHORT:
            if len(self._clean) >= _REMEMBERED:
                self._clean.clear()
            self._clean.add(text)
        return ()

    def _settled(self, text: str, found: list[Finding]) -> tuple[Finding, ...]:
        """Look again at what is left until nothing is found: so redacting twice cannot differ from once."""
        findings = self._confirmed(text, found)
        for _ in range(_ROUNDS):
            rest = _replaced(text, findings)
            more = self._confirmed(rest, self._scan(rest))
            if not more:
                break
            findings = tuple(_merged([*findings, *_moved_back(more, findings)]))
        return findings

    def _confirmed(self, text: str, found: Iterable[Finding]) -> tuple[Finding, ...]:
        """What stays after the user's word and earlier markers, in order and without overlaps."""
        markers = _Spans([match.span() for match in re.finditer(_MARKER, text)])
        allowed = _Spans([match.span() for pattern in self._allow for match in pattern.finditer(text)])
        kept = [
            finding
            for finding in found
            # What touches a marker was refused beside the secret that the marker replaced, and is refused again.
            if not markers.touch(finding.start, finding.end) and not allowed.cover(finding.start, finding.end)
        ]
        return tuple(_merged([*kept, *self._denied(text, markers)]))

    def _denied(self, text: str, markers: _Spans) -> Iterator[Finding]:
        for pattern in self._deny:
            for match in pattern.finditer(text):
                for start, end in markers.outside(*match.span()):
                    yield Finding(kind=_DENIED, start=start, end=end)

    def _scan(self, text: str) -> list[Finding]:
        """Every secret of the kinds, in the order in which their fixed strings are looked for."""
        found: list[Finding] = []
        # One byte for each character: places stay the same, and searching is fast in any script.
        plain = text.encode("ascii", "replace")
        classes = plain.translate(_CLASSES)
        if _OTHER in classes:  # token characters alone assign nothing
            self._scan_words(text, plain.decode("ascii").lower(), found)
        start = classes.find(_RUN)
        if start >= 0:
            self._scan_runs(text, plain, classes, start, found)
        return found

    def _scan_words(self, text: str, lowered: str, found: list[Finding]) -> None:
        for word in self._words:
            if word not in lowered:  # much cheaper than find in the many short texts
                continue
            endings = _OTHER_ENDINGS if word.isalpha() else ""
            place = lowered.find(word)
            while place >= 0:
                past = place + len(word)
                if lowered[past : past + 1] not in endings:
                    past = max(past, self._try_kinds(word, text, place, found))
                place = lowered.find(word, past)

    def _scan_runs(self, text: str, plain: bytes, classes: bytes, start: int, found: list[Finding]) -> None:
        """Look for heads where twenty token characters or more stand in a row: one pass instead of one per head."""
        heads, find_class = self._heads, classes.find
        while start >= 0:
            end = find_class(_OTHER, start + len(_RUN))
            if end < 0:
                end = len(plain)
            head = None
            if (
                plain[start : start + 2] in heads.beginnings
                or plain[start - 2 : start] in _UNUSUAL
                or start == 1
            ):
                head = self._first_head(plain, start, end)
            elif plain.find(b"-", start, end) >= 0 and not _is_uuid(plain, start, end):
                head = heads.next(plain, start, end)
            while head:
                place = head.start(1)
                past = self._try_kinds(head[1].decode(), text, place, found)
                look = heads.next if place >= start else heads.escaped.search
                head = look(plain, max(past, place + 1), end)
            start = find_class(_RUN, end)

    def _first_head(self, plain: bytes, start: int, end: int) -> re.Match[bytes] | None:
        """The first head of a run, which may begin before it (``ya29.``) or behind an escape (``\\n``)."""
        heads = self._heads
        ahead = max(0, start - _BEFORE_RUN) if plain.endswith(_MIDDLES, 0, start) else start
        if ahead == 0 or _ESCAPES.search(plain, ahead - 1, start):
            return heads.escaped.search(plain, max(0, ahead - 1), end)
        return heads.next(plain, ahead - 1, end)

    @cached_property
    def _heads(self) -> _Heads:
        return _heads_of(tuple([head for kind in self._kinds for head in kind.heads]))

    def _try_kinds(self, fixed: str, text: str, place: int, found: list[Finding]) -> int:
        """Match the kinds of a fixed string where it stands; return where the last secret found there ends, else 0."""
        past = 0
        for match_at, before, check, kind in self._matchers.get(fixed) or self._compile(fixed):
            match = match_at(text, place - before) if place >= before else None
            if match and (check is None or check(match)):
                start, end = match.span(match.lastindex or 0)
                found.append(Finding(kind=kind, start=start, end=end))
                past = max(past, end)
        return past

    def _compile(self, fixed: str) -> tuple[_Matcher, ...]:
        """The matchers of a fixed string, made when it is first seen."""
        self._matchers[fixed] = tuple(
            (kind.pattern.match, kind.before, kind.check, kind.name)
            for kind in self._kinds
            if fixed in kind.words or any(fixed.startswith(head) for head in kind.heads)
        )
        return self._matchers[fixed]


class _Heads:
    """Where any of the heads stands: at the edge of a word, or also behind an escape, which takes longer."""

    def __init__(self, heads: Sequence[str]) -> None:
        tree = _any_of(heads) or "(?!)"
        first = "".join(sorted({re.escape(head[0]) for head in heads})) or r"\0"
        self.beginnings = frozenset(head[:2].encode() for head in heads)
        self.next = re.compile(rf"[^A-Za-z0-9_](?=[{first}])({tree})".encode()).search
        self.escaped = re.compile(rf"(?:\A|[^A-Za-z0-9_]){_ESCAPE}??({tree})".encode())


@lru_cache(maxsize=4)  # to make one takes as long as to look through a whole log
def _heads_of(heads: tuple[str, ...]) -> _Heads:
    return _Heads(heads)


def _is_uuid(plain: bytes, start: int, end: int) -> bool:
    """By its length and dashes: every line of a transcript has several, and they begin no token."""
    return end - start == 36 and plain[start + 8] == plain[start + 13] == plain[start + 18] == ord("-")


def _any_of(strings: Iterable[str]) -> str:
    """A pattern for the longest of some strings, as a tree: each character is looked at once."""
    tails: dict[str, list[str]] = {}
    for string in strings:
        tails.setdefault(string[:1], []).append(string[1:])
    optional = "?" if tails.pop("", None) else ""
    branches = "|".join(re.escape(first) + _any_of(rest) for first, rest in tails.items())
    return f"(?:{branches}){optional}" if branches else ""


class _Spans:
    """Spans of a text, asked about by place in little time however many there are."""

    def __init__(self, spans: Iterable[_Span]) -> None:
        self._spans = sorted(spans)
        self._starts = [start for start, _ in self._spans]
        self._furthest = list(accumulate((end for _, end in self._spans), max))

    def touch(self, start: int, end: int) -> bool:
        """Tell whether one of the spans overlaps or adjoins this one."""
        return self._reach(end) >= start

    def cover(self, start: int, end: int) -> bool:
        """Tell whether this span lies wholly in one of the spans."""
        return self._reach(start) >= end

    def outside(self, start: int, end: int) -> Iterator[_Span]:
        """What of this span lies in none of the spans."""
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
        """How far the spans reach that begin at a place or before it."""
        index = bisect_right(self._starts, place)
        return self._furthest[index - 1] if index else -1


def _merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings in order, those that overlap as one: the widest gives its name, else the first of the table."""
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


def _moved_back(more: Iterable[Finding], findings: Sequence[Finding]) -> Iterator[Finding]:
    """Findings in a redacted text, at their places in the text before."""
    grown = list(accumulate(len(_marker(found.kind)) - (found.end - found.start) for found in findings))
    ends = [found.end + shift for found, shift in zip(findings, grown, strict=True)]
    for found in more:
        index = bisect_right(ends, found.start)
        shift = grown[index - 1] if index else 0
        yield Finding(kind=found.kind, start=found.start - shift, end=found.end - shift)


def _replaced(text: str, findings: Iterable[Finding]) -> str:
    parts: list[str] = []
    past = 0
    for finding in findings:
        parts += text[past : finding.start], _marker(finding.kind)
        past = finding.end
    return "".join([*parts, text[past:]])


def _marker(kind: str) -> str:
    return f"[REDACTED:{kind}]"


def _is_telling(name: str) -> bool:
    """Tell whether a name says something about its value, and can stand in quotes as it is."""
    lowered = name.lower()
    return any(map(lowered.__contains__, _TELLING)) and not re.search(r"[\"'\\\s]", name)


def _user_pattern(setting: str, source: str) -> re.Pattern[str]:
    try:
        return re.compile(source)
    except re.error as error:
        raise ConfigError(
            f"redaction.{setting}: {source!r} is not a regular expression ({error}). Mend or remove it."
        ) from error
