"""What a person asks for, in words that the library understands.

``words`` must all be there; ``"a phrase"`` as it stands; ``begin*``; ``-not``; ``one OR another``. Filters: ``agent:``,
``project:``, ``tool:``, ``file:``, ``kind:``, ``since:``, ``before:``, ``errors:``. What is wrong with a filter is said, with
what it takes. Pure: what time it is comes from the caller.
"""

from __future__ import annotations

from leftoff.errors import UsageError
from leftoff.library.words import (
    COMMON,
    beginning,
    begun,
    is_exact,
    is_name,
    is_small_number,
    joined,
    linked,
    segments,
    stems_within,
    wanted,
)
from leftoff.model.tuples import NamedTuple
from leftoff.system.clock import UTC, datetime

FILTERS = ("agent", "project", "tool", "file", "kind", "since", "before", "errors")
# A second minus is part of the word: --force is looked for, -force is refused.
_PART = r'((?:-(?!-))?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))'
_AGO = r"(\d{1,5})(min|h|d|w|m|y)"
_HOURS = {"min": 1 / 60, "h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}
_LONGEST = 2000  # characters; a query is typed
_MOST_WORDS = 200


class Term(NamedTuple):
    """Something that a text must hold: words as they were typed, whether they are a phrase or a beginning."""

    text: str
    is_phrase: bool = False
    is_prefix: bool = False

    @property
    def needs_look(self) -> bool:
        """Whether the text itself must be looked at, because its tokens do not tell."""
        return self.is_phrase or self.is_prefix or not is_exact(self.text)

    @property
    def expression(self) -> str | None:
        """In FTS5's own language; None where no token can be asked for, and texts must be looked at."""
        if self.is_prefix:
            *whole, last = segments(self.text)
            needed = [*map(_named, whole), _beginning(last)]
        else:
            needed = [_all_of(wanted(self.text))] if self.is_phrase else [*map(_named, segments(self.text))]
        if held := [each for each in needed if each is not None]:
            return f"({' AND '.join(held)})"
        start = beginning(self.text)  # a single letter of a script that is cut into pairs
        return f"{_quoted(start)}*" if start is not None and not start.isascii() else None

    @property
    def apart(self) -> Term:
        """The same where its parts may stand apart: a name as the words it is made of."""
        return self._replace(is_phrase=not self.is_prefix and self.needs_look)


class Query(NamedTuple):
    """All of ``groups`` must be there, of each any one; none of ``without``. Filters are None where none was given."""

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
        """Everything that is looked for."""
        return tuple(term for group in self.groups for term in group)

    @property
    def telling(self) -> Query:
        """Without the words that any text holds, unless there are no others."""
        kept = tuple(group for group in self.groups if not _is_common(group))
        return self._replace(groups=kept) if kept else self

    @property
    def apart(self) -> Query:
        """The same where the parts of a name may stand apart."""
        return self._replace(groups=tuple(tuple(term.apart for term in group) for group in self.groups))

    @property
    def asks_of_session(self) -> bool:
        """Whether a filter wants to know whose the text is, or of when."""
        return any(each is not None for each in (self.agent, self.project, self.since, self.before))

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is asked for."""
        return self == Query()


def parsed(text: str, now: datetime) -> Query:
    """The query; UsageError says which part cannot be understood."""
    if len(text) > _LONGEST:
        raise UsageError(f"The query is {len(text):,} characters long; {_LONGEST:,} are allowed.")
    query = Query()
    groups: list[tuple[Term, ...]] = []
    is_or = False
    for minus, name, phrase, word in _parts(text):
        if word in {"OR", "|"} and not (minus or name):
            is_or = bool(groups)
            continue
        asked_of = name or (word[:-1] if word.endswith(":") else "")
        if asked_of in FILTERS:
            query = _with_filter(query, minus, asked_of, phrase or word if name else "", now)
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
    return _bounded(query._replace(groups=tuple(groups)))


def _parts(text: str) -> list[tuple[str, str, str, str]]:
    """Minus, name of a filter, phrase and word of each part."""
    words = text.split()
    if all(word.isalnum() and word != "OR" for word in words):
        return [("", "", "", word) for word in words]  # as most are, for which patterns need not be loaded
    import re  # noqa: PLC0415

    return re.findall(_PART, text)


def _with_filter(query: Query, minus: str, name: str, value: str, now: datetime) -> Query:
    if minus:
        raise UsageError(f"-{name}: a filter cannot be turned round. What must not be there is a word: -word")
    return filtered(query, name, value, now)


def _bounded(query: Query) -> Query:
    count = len(query.terms) + len(query.without)
    if count > _MOST_WORDS:
        raise UsageError(f"The query has {count:,} words; {_MOST_WORDS} are allowed.")
    return query


def filtered(query: Query, name: str, value: str, now: datetime) -> Query:
    """The query with one more filter."""
    _check_value(name, value)
    match name:
        case "kind":
            return query._replace(kinds=_kinds(value))
        case "errors":
            if value not in {"yes", "no", "only", "true", "false"}:
                raise UsageError(f"errors:{value} is not understood. Type errors:yes or errors:no.")
            return query._replace(errors=value not in {"no", "false"})
        case "since":
            return query._replace(since=int(moment(value, now).timestamp()))
        case "before":
            return query._replace(before=int(moment(value, now).timestamp()))
        case _:
            return _with_name(query, name, value)


def _kinds(value: str) -> tuple[str, ...]:
    from leftoff.library.pieces import KINDS  # noqa: PLC0415 - few searches ask for a kind

    kinds = tuple(value.split(","))
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise UsageError(f"kind:{unknown[0]} is no kind. There are: {', '.join(KINDS)}.")
    return kinds


def _check_value(name: str, value: str) -> None:
    if not value:
        raise UsageError(f"{name}: wants something behind the colon.")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise UsageError(
            f"{name}: what stands behind the colon is not UTF-8, and nothing in the library is called so."
        )


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


def moment(text: str, now: datetime) -> datetime:
    """``2026-01-31``, ``2026-01-31T12:00``, ``7d`` ago (min, h, d, w, m, y), ``today``, ``yesterday``."""
    import re  # noqa: PLC0415 - few searches ask for a time
    from datetime import timedelta  # noqa: PLC0415

    if text in {"today", "yesterday"}:
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return day - timedelta(days=text == "yesterday")
    try:
        if ago := re.fullmatch(_AGO, text):
            return now - timedelta(hours=int(ago[1]) * _HOURS[ago[2]])
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is no time. Type a day (2026-01-31), or how long ago: 7d, 12h, 3w."
        ) from error


def expression(groups: tuple[tuple[Term, ...], ...], without: tuple[Term, ...]) -> str | None:
    """In FTS5's language; None where no word narrows it down and every piece must be looked at."""
    needed = []
    for group in groups:
        alternatives = [term.expression for term in group]
        if all(alternatives):
            needed.append("(" + " OR ".join(filter(None, alternatives)) + ")")
    if not needed:
        return None
    refused = [term.expression for term in without if not term.needs_look and term.expression]
    return " AND ".join(needed) + "".join(f" NOT {each}" for each in refused)


def bare_terms(text: str) -> list[Term]:
    """The words of a text that is no query, as many as are allowed."""
    found = (_term(word.rstrip("*"), "") for word in dict.fromkeys(text.replace('"', " ").split()))
    return [term for term in found if term is not None][:_MOST_WORDS]


def _term(word: str, phrase: str) -> Term | None:
    if phrase:
        return Term(phrase, is_phrase=True) if _says_something(phrase) else None
    if word.endswith("*") and _says_something(word):
        return Term(word.rstrip("*"), is_prefix=True)
    bare = word.strip(".,;:!?()[]{}'`<>")
    return Term(bare) if _says_something(bare) else None


def _says_something(text: str) -> bool:
    return any(letter.isalnum() or letter == "_" for letter in text)


def _is_common(group: tuple[Term, ...]) -> bool:
    return all(not term.is_phrase and not term.is_prefix and term.text.lower() in COMMON for term in group)


def _named(segment: str) -> str | None:
    """What a text has that holds a word or a name: the name by itself, or its neighbouring parts in a longer one."""
    if not is_name(segment):
        return _all_of(wanted(segment))
    whole, links = joined(segment), linked(segment)
    if whole is None or not links or links == (whole,):
        return _all_of(links)
    return f"({_quoted(whole)} OR {_all_of(links)})"


def _beginning(word: str) -> str | None:
    """What a text has that holds a word or a name beginning so: by itself, or as part of a longer name."""
    start = beginning(word)
    if start is None or is_small_number(start):
        return None
    whole, last = begun(word) or ((), start)
    if not whole or last == start:
        return _beginning_so(start)
    within = [_all_of(whole), None if last is None else _beginning_so(last)]
    return f"({_beginning_so(start)} OR ({' AND '.join(filter(None, within))}))"


def _beginning_so(start: str) -> str:
    return f"({' OR '.join([_quoted(start) + '*', *map(_quoted, stems_within(start))])})"


def _all_of(tokens: tuple[str, ...]) -> str | None:
    return f"({' AND '.join(map(_quoted, tokens))})" if tokens else None


def _quoted(token: str) -> str:
    return '"' + token.replace('"', "") + '"'
