"""Parse a query, and turn it into FTS5 expressions and SQL conditions.

All ``words`` must occur; ``"a phrase"`` literally; ``begin*``; ``-not``; ``one OR another``. Filters: ``agent:``, ``project:``,
``tool:``, ``file:``, ``kind:``, ``since:``, ``before:``, ``errors:``. An invalid filter raises UsageError with what it accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from leftoff.errors import UsageError
from leftoff.search.pieces import KINDS
from leftoff.search.tokens import (
    COMMON_WORDS,
    is_exact,
    is_name,
    is_small_number,
    joined_token,
    linked_tokens,
    path_segments,
    prefix_token,
    prefix_tokens,
    required_tokens,
    shorter_stems,
)

FILTERS = ("agent", "project", "tool", "file", "kind", "since", "before", "errors")
# A second minus is part of the word: --force is searched, -force is excluded.
_PART = r'((?:-(?!-))?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))'
_AGO = r"(\d{1,5})(min|h|d|w|m|y)"
_UNIT_HOURS = {"min": 1 / 60, "h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}
_MAX_QUERY_CHARS = 2000
_MAX_WORDS = 200
# The plus keeps SQLite from scanning the source's pieces and matching the words for each: 300 times as slow.
OF_SOURCE = "+p.source = ?"


class Term(NamedTuple):
    """Something that a text must contain: a word, a phrase or a prefix."""

    text: str
    is_phrase: bool = False
    is_prefix: bool = False

    @property
    def needs_text(self) -> bool:
        """Whether the text itself must be checked, because its tokens are not enough."""
        return self.is_phrase or self.is_prefix or not is_exact(self.text)

    @property
    def expression(self) -> str | None:
        """The FTS5 expression; None if no token can be searched for, and texts must be checked."""
        if self.is_prefix:
            *whole, last = path_segments(self.text)
            needed = [*map(_name_expression, whole), _prefix_expression(last)]
        else:
            needed = (
                [_all_tokens(required_tokens(self.text))]
                if self.is_phrase
                else [*map(_name_expression, path_segments(self.text))]
            )
        if held := [each for each in needed if each is not None]:
            return f"({' AND '.join(held)})"
        start = prefix_token(self.text)  # a single letter of a script that is cut into pairs
        return f"{_quoted(start)}*" if start is not None and not start.isascii() else None

    @property
    def with_separate_parts(self) -> Term:
        """The term as the separate parts of a name."""
        return self._replace(is_phrase=not self.is_prefix and self.needs_text)


class Query(NamedTuple):
    """A text must match one term of each group, and none of ``without``. Filters that are not set are None."""

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
    def with_separate_parts(self) -> Query:
        """The query with names as their separate parts."""
        return self._replace(
            groups=tuple(tuple(term.with_separate_parts for term in group) for group in self.groups)
        )

    @property
    def filters_sessions(self) -> bool:
        """Whether a filter concerns the session or the time."""
        return any(each is not None for each in (self.agent, self.project, self.since, self.before))

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
    for minus, name, phrase, word in _parts(text):
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


def _parts(text: str) -> list[tuple[str, str, str, str]]:
    """Return minus, filter name, phrase and word of each part."""
    words = text.split()
    if all(word.isalnum() and word != "OR" for word in words):
        return [("", "", "", word) for word in words]
    return re.findall(_PART, text)


def _with_filter(query: Query, minus: str, name: str, value: str, now: datetime) -> Query:
    if minus:
        raise UsageError(f"-{name}: a filter cannot be turned round. What must not be there is a word: -word")
    return add_filter(query, name, value, now)


def _check_length(query: Query) -> Query:
    count = len(query.terms) + len(query.without)
    if count > _MAX_WORDS:
        raise UsageError(f"The query has {count:,} words; {_MAX_WORDS} are allowed.")
    return query


def add_filter(query: Query, name: str, value: str, now: datetime) -> Query:
    """Return the query with one more filter."""
    _check_value(name, value)
    match name:
        case "kind":
            return query._replace(kinds=_kinds(value))
        case "errors":
            if value not in {"yes", "no", "only", "true", "false"}:
                raise UsageError(f"errors:{value} is not understood. Type errors:yes or errors:no.")
            return query._replace(errors=value not in {"no", "false"})
        case "since":
            return query._replace(since=int(parse_time(value, now).timestamp()))
        case "before":
            return query._replace(before=int(parse_time(value, now).timestamp()))
        case _:
            return _with_name(query, name, value)


def _kinds(value: str) -> tuple[str, ...]:
    kinds = tuple(value.split(","))
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise UsageError(f"kind:{unknown[0]} is not a kind. There are: {', '.join(KINDS)}.")
    return kinds


def _check_value(name: str, value: str) -> None:
    if not value:
        raise UsageError(f"{name}: wants something behind the colon.")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise UsageError(f"{name}: what follows the colon is not UTF-8 text.")


def _with_name(query: Query, name: str, value: str) -> Query:
    match name:
        case "agent":
            return query._replace(agent=value)
        case "project":
            return query._replace(project=value)
        case "tool":
            return query._replace(tool=value)
        case _:
            return query._replace(file=value)


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


def expression(groups: tuple[tuple[Term, ...], ...], without: tuple[Term, ...]) -> str | None:
    """Return the FTS5 expression; None if no word narrows it down and every piece must be checked."""
    needed = []
    for group in groups:
        alternatives = [term.expression for term in group]
        if all(alternatives):
            needed.append("(" + " OR ".join(filter(None, alternatives)) + ")")
    if not needed:
        return None
    refused = [term.expression for term in without if not term.needs_text and term.expression]
    return " AND ".join(needed) + "".join(f" NOT {each}" for each in refused)


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
    return any(letter.isalnum() or letter == "_" for letter in text)


def _is_common(group: tuple[Term, ...]) -> bool:
    return all(
        not term.is_phrase and not term.is_prefix and term.text.lower() in COMMON_WORDS for term in group
    )


def _name_expression(segment: str) -> str | None:
    """Return the tokens of a text with this word or name: the whole name, or its adjacent parts in a longer one."""
    if not is_name(segment):
        return _all_tokens(required_tokens(segment))
    whole, links = joined_token(segment), linked_tokens(segment)
    if whole is None or not links or links == (whole,):
        return _all_tokens(links)
    return f"({_quoted(whole)} OR {_all_tokens(links)})"


def _prefix_expression(word: str) -> str | None:
    """Return the tokens of a text with a word or name that begins so, also as part of a longer name."""
    start = prefix_token(word)
    if start is None or is_small_number(start):
        return None
    whole, last = prefix_tokens(word) or ((), start)
    if not whole or last == start:
        return _prefix_or_stems(start)
    within = [_all_tokens(whole), None if last is None else _prefix_or_stems(last)]
    return f"({_prefix_or_stems(start)} OR ({' AND '.join(filter(None, within))}))"


def _prefix_or_stems(start: str) -> str:
    return f"({' OR '.join([_quoted(start) + '*', *map(_quoted, shorter_stems(start))])})"


def _all_tokens(tokens: tuple[str, ...]) -> str | None:
    return f"({' AND '.join(map(_quoted, tokens))})" if tokens else None


def _quoted(token: str) -> str:
    return '"' + token.replace('"', "") + '"'


def filter_sql(query: Query) -> tuple[str, list[object]]:
    """Return all filter conditions as one, with their values."""
    conditions = [("1", []), *filter_conditions(query)]
    return (
        " AND ".join(condition for condition, _ in conditions),
        [value for _, values in conditions for value in values],
    )


def exclusion_sql(query: Query) -> tuple[str, list[object]]:
    """Return the condition that excluded words are absent, for queries without an FTS5 expression."""
    refused = [term.expression for term in query.without if not term.needs_text and term.expression]
    condition = "p.id NOT IN (SELECT rowid FROM words WHERE words MATCH ?)"
    return " AND ".join(["1", *[condition] * len(refused)]), [*refused]


def filter_conditions(query: Query) -> list[tuple[str, list[object]]]:
    """Return each filter condition with its values."""
    return [*_source_conditions(query), *_piece_conditions(query)]


def _source_conditions(query: Query) -> Iterator[tuple[str, list[object]]]:
    """Yield the conditions on the session."""
    if query.agent is not None:
        yield "s.agent = ?", [query.agent]
    if query.project is not None:
        yield "s.project LIKE ? ESCAPE '!'", [f"%{_escaped(query.project.rstrip('/'))}%"]


def _piece_conditions(query: Query) -> Iterator[tuple[str, list[object]]]:
    """Yield the conditions on the piece."""
    if query.tool is not None:
        yield "lower(p.tool) = ?", [query.tool.lower()]
    if query.kinds:
        yield f"p.kind IN ({', '.join('?' * len(query.kinds))})", [*query.kinds]
    if query.since is not None:
        yield "coalesce(p.at, s.modified_ns / 1000000000) >= ?", [query.since]
    if query.before is not None:
        yield "coalesce(p.at, s.modified_ns / 1000000000) < ?", [query.before]
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
