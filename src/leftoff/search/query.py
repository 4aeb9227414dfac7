"""Parse a query, and turn it into FTS5 expressions and SQL conditions.

Words may be a question. ``"a phrase"`` and ``begin*`` must occur, ``-not`` must not, ``one OR another`` counts as one word. Filters:
``agent:``, ``project:``, ``tool:``, ``file:``, ``kind:``, ``since:``, ``before:``, ``errors:``. An invalid filter raises UsageError with
what it accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from leftoff.errors import UsageError
from leftoff.search.pieces import KINDS
from leftoff.search.words import COMMON_WORDS, name_parts, pairs, runs, without_runs

FILTERS = ("agent", "project", "tool", "file", "kind", "since", "before", "errors")
# -force is excluded. Before a second minus or a single letter it is part of a command and is searched: --force, -q.
_PART = r'((?:-(?!-|[0-9A-Za-z](?:\s|$)))?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))'
_AGO = r"(\d{1,5})(min|h|d|w|m|y)"
_UNIT_HOURS = {"min": 1 / 60, "h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}
_MAX_QUERY_CHARS = 2000
_MAX_WORDS = 200
_MIN_STEM_CHARS = 4
_COMPARISONS = {
    "agent": "s.agent = ?",
    "tool": "lower(p.tool) = lower(?)",
    "since": "coalesce(p.at, s.modified_ns / 1000000000) >= ?",
    "before": "coalesce(p.at, s.modified_ns / 1000000000) < ?",
}
_ENDINGS = (
    *("ing", "ed", "es", "er", "ly", "ation", "ional", "ment", "ness", "able"),
    *("ible", "ance", "ence", "ive", "ize"),
)


class Term(NamedTuple):
    """Something that a text must contain: a word, a phrase or a prefix."""

    text: str
    is_phrase: bool = False
    is_prefix: bool = False

    @property
    def expression(self) -> str:
        """The FTS5 expression of the whole term."""
        plain = without_runs(self.text)
        words = [plain] if self.is_phrase or self.is_prefix else plain.split()
        needed = [self._words(each) for each in words if _has_word(each)]
        return f"({' AND '.join([*needed, *map(_run_expression, runs(self.text))])})"

    @property
    def parts(self) -> list[str]:
        """The expressions of which any may be found: the term, and the pairs of letters of a script without spaces."""
        found = [] if self.is_phrase else [pair for run in runs(self.text) for pair in pairs(run)]
        return [self.expression, *(f"(parts : {_quoted(pair)})" for pair in found if len(found) > 1)]

    def _words(self, words: str) -> str:
        if not self.is_prefix or runs(self.text):
            parts = name_parts(words)
            return f"({_quoted(words)} OR {_quoted(' '.join(parts))})" if parts else _quoted(words)
        spellings = [words, " ".join(name_parts(words))]
        begun = [f"{_quoted(each)} *" for each in spellings if each]
        return f"({' OR '.join([*begun, *map(_quoted, _shorter_stems(words))])})"


class Query(NamedTuple):
    """A text must match one term of each group, and none of ``without``. Filters that are not set are None.

    ``root``: only sessions in this folder and those below.
    """

    groups: tuple[tuple[Term, ...], ...] = ()
    without: tuple[Term, ...] = ()
    agent: str | None = None
    project: str | None = None
    tool: str | None = None
    file: str | None = None
    kinds: tuple[str, ...] = ()
    since: int | None = None
    before: int | None = None
    errors: bool | None = None
    root: str | None = None

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms of the groups."""
        return tuple(term for group in self.groups for term in group)

    @property
    def without_common_words(self) -> Query:
        """The query without words that every text contains, unless there are no others."""
        kept = tuple(group for group in self.groups if not _is_common(group))
        return self._replace(groups=kept) if kept else self

    @property
    def without_phrases(self) -> Query:
        """The query with the words of its phrases and of names such as ``cart.py:42`` in any order."""
        groups = [
            group
            for each in self.groups
            for group in (
                [each]
                if each[0].is_prefix
                else ((word,) for term in each for word in plain_terms(re.sub(r"[\W_]+", " ", term.text)))
            )
        ]
        return self._replace(groups=tuple(groups))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search for."""
        return self == Query()


def parse_query(text: str, now: datetime) -> Query:
    """Parse a query. Raise UsageError for a part that cannot be understood."""
    if len(text) > _MAX_QUERY_CHARS:
        raise UsageError(f"The query is {len(text):,} characters long; {_MAX_QUERY_CHARS:,} are allowed.")
    query = Query()
    groups: list[tuple[Term, ...]] = []
    is_or = False
    for minus, name, phrase, word in re.findall(_PART, text):
        if word in {"OR", "|"} and not (minus or name):
            is_or = bool(groups)
            continue
        filter_name = name or (word[:-1] if word.endswith(":") else "")
        if filter_name in FILTERS:
            query = _with_filter(query, minus, filter_name, phrase or word if name else "", now)
            continue
        term = _term(
            f"{name}:{word}" if name and word else word, f"{name}:{phrase}" if name and phrase else phrase
        )
        if term is None:
            continue
        if minus:
            query = query._replace(without=(*query.without, term))
        elif is_or:
            groups[-1] = (*groups[-1], term)
        else:
            groups.append((term,))
        is_or = False
    return _check_length(query._replace(groups=tuple(groups)))


def _check_length(query: Query) -> Query:
    count = len(query.terms) + len(query.without)
    if count > _MAX_WORDS:
        raise UsageError(f"The query has {count:,} words; {_MAX_WORDS} are allowed.")
    return query


def _with_filter(query: Query, minus: str, name: str, value: str, now: datetime) -> Query:
    if minus:
        raise UsageError(f"-{name}: a filter cannot be turned round. What must not be there is a word: -word")
    return add_filter(query, name, value, now)


def add_filter(query: Query, name: str, value: str, now: datetime) -> Query:
    """Return the query with one more filter."""
    if not value:
        raise UsageError(f"{name}: wants something behind the colon.")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise UsageError(f"{name}: what follows the colon is not UTF-8 text.")
    wanted: Any = value
    match name:
        case "kind":
            name, wanted = "kinds", tuple(value.split(","))
            if unknown := [kind for kind in wanted if kind not in KINDS]:
                raise UsageError(f"kind:{unknown[0]} is not a kind. There are: {', '.join(KINDS)}.")
        case "errors":
            if value not in {"yes", "no", "only", "true", "false"}:
                raise UsageError(f"errors:{value} is not understood. Type errors:yes or errors:no.")
            wanted = value not in {"no", "false"}
        case "since" | "before":
            wanted = int(parse_time(value, now).timestamp())
        case _:
            pass
    return query._replace(**{name: wanted})


def parse_time(text: str, now: datetime) -> datetime:
    """Parse ``2026-01-31``, ``2026-01-31T12:00``, ``7d`` ago (min, h, d, w, m, y), ``today`` or ``yesterday``."""
    if text in {"today", "yesterday"}:
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return day - timedelta(days=text == "yesterday")
    try:
        if ago := re.fullmatch(_AGO, text):
            return now - timedelta(hours=int(ago[1]) * _UNIT_HOURS[ago[2]])
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is not a time. Type a day (2026-01-31), or how long ago: 7d, 12h, 3w."
        ) from error


def all_words(query: Query) -> str:
    """Return the FTS5 expression for the texts that contain everything; the query has words."""
    return _without(query, " AND ".join(map(_any, query.groups)))


def any_word(query: Query, rare: Sequence[str]) -> str:
    """Return the FTS5 expression for the texts that contain any word, of the rare ones if there are some, and every phrase and prefix."""
    required = [group for group in query.groups if all(each.is_phrase or each.is_prefix for each in group)]
    words = " AND ".join(map(_any, required))
    parts = [part for group in query.groups if group not in required for term in group for part in term.parts]
    parts = [part for part in parts if part in rare] or parts
    if parts and words:
        words = f"{words} AND ({' OR '.join([*parts, words])})"  # the others count where they are
    return _without(query, words or " OR ".join(parts))


def _any(group: tuple[Term, ...]) -> str:
    return f"({' OR '.join(term.expression for term in group)})" if len(group) > 1 else group[0].expression


def _without(query: Query, words: str) -> str:
    return (
        f"({words})" + "".join(f" NOT {term.expression}" for term in query.without)
        if query.without
        else words
    )


def plain_terms(text: str) -> list[Term]:
    """Return the words of a text that is not a query, up to the limit."""
    found = (_term(word.rstrip("*"), "") for word in dict.fromkeys(text.replace('"', " ").split()))
    return [term for term in found if term is not None][:_MAX_WORDS]


def _term(word: str, phrase: str) -> Term | None:
    if phrase:
        return Term(phrase, is_phrase=True) if _has_word(phrase) else None
    if word.endswith("*") and _has_word(word):
        return Term(word.rstrip("*"), is_prefix=True)
    bare = word.strip(".,;:!?()[]{}'`<>")
    return Term(bare) if _has_word(bare) else None


def _has_word(text: str) -> bool:
    return any(letter.isalnum() for letter in text)


def _is_common(group: tuple[Term, ...]) -> bool:
    return all(
        not term.is_phrase and not term.is_prefix and term.text.lower() in COMMON_WORDS for term in group
    )


def _shorter_stems(start: str) -> Iterator[str]:
    """Yield stems that lack a part of what was typed: configura* is to find configuration, which is stored as configur."""
    for end in range(3, len(start)):
        stem = start[:end]
        if any(ending.startswith(start[end:]) for ending in _ENDINGS):
            yield from (stem,) if end >= _MIN_STEM_CHARS else ()
            yield from (stem[:-1],) if stem[-1] == stem[-2] else ()  # run for running
    if start[-1:] == start[-2:-1]:
        yield start[:-1]


def _run_expression(run: str) -> str:
    """Return the expression of a run without spaces: its pairs in their order, or any pair that a single letter begins."""
    letters = pairs(run)
    return f"(parts : {_quoted(' '.join(letters))})" if letters else f"(parts : {_quoted(run)} *)"


def _quoted(token: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in token):
        raise UsageError(f"{token[:60]!r} is not UTF-8 text.")
    return '"' + token.replace('"', "").replace("\0", " ") + '"'


def filter_sql(query: Query) -> tuple[str, list[object]]:
    """Return all filters as one condition on a piece ``p`` of the source ``s``, with its values."""
    conditions = [*_conditions(query)]
    return (
        " AND ".join(condition for condition, _ in conditions),
        [value for _, values in conditions for value in values],
    )


def _conditions(query: Query) -> Iterator[tuple[str, list[object]]]:
    """Yield the condition of each filter with its values; first one that is always true."""
    yield "1", []
    for name, condition in _COMPARISONS.items():
        if (value := getattr(query, name)) is not None:
            yield condition, [value]
    if query.project is not None:
        # A slash at the end ends the name of a folder: work/ does not mean workshop.
        yield "s.project || '/' LIKE ? ESCAPE '!'", [f"%{_escaped(query.project)}%"]
    if query.root is not None:
        yield "s.project || '/' LIKE ? ESCAPE '!'", [f"{_escaped(query.root)}/%"]
    if query.kinds:
        yield f"p.kind IN ({', '.join('?' * len(query.kinds))})", [*query.kinds]
    if query.errors is not None:
        yield "p.failed = 1" if query.errors else "p.failed IS NOT 1", []
    if query.file is not None:
        yield _touched_file(query.file)


def _touched_file(path: str) -> tuple[str, list[object]]:
    """Return the condition that a piece touched a file with this name, or with a path that ends so."""
    named = path.replace("\\", "/").removeprefix("./")
    name = named.rpartition("/")[2]
    return (
        "p.id IN (SELECT t.piece FROM paths f JOIN touches t ON t.path = f.id WHERE f.name = ?"
        " AND (f.path = ? OR f.path LIKE ? ESCAPE '!'))",
        [name, named, f"%/{_escaped(named)}"],
    )


def _escaped(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
