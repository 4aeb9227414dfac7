"""The filters of a query in SQL: what is asked of a session (``s``) and of a piece (``p``)."""

from __future__ import annotations

from collections.abc import Iterator

from leftoff.library.query import Query

# The plus keeps SQLite from going through the source's pieces and asking for the words anew at each: 300 times as slow.
OF_SOURCE = "+p.source = ?"


def where(query: Query) -> tuple[str, list[object]]:
    """All conditions as one, with their values."""
    asked = [("1", []), *conditions(query)]
    return " AND ".join(each for each, _ in asked), [value for _, values in asked for value in values]


def without(query: Query) -> tuple[str, list[object]]:
    """What must not be there, as a condition by itself: for who asks for no words that it could be taken from."""
    refused = [term.expression for term in query.without if not term.needs_look and term.expression]
    condition = "p.id NOT IN (SELECT rowid FROM words WHERE words MATCH ?)"
    return " AND ".join(["1", *[condition] * len(refused)]), [*refused]


def conditions(query: Query) -> list[tuple[str, list[object]]]:
    """Each condition with its values; none where nothing is asked but words."""
    return [*_of_source(query), *_of_piece(query)]


def _of_source(query: Query) -> Iterator[tuple[str, list[object]]]:
    """What is asked of the session."""
    if query.agent is not None:
        yield "s.agent = ?", [query.agent]
    if query.project is not None:
        yield "s.project LIKE ? ESCAPE '!'", [f"%{_escaped(query.project.rstrip('/'))}%"]


def _of_piece(query: Query) -> Iterator[tuple[str, list[object]]]:
    """What is asked of the piece."""
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
        yield _touching(query.file)


def _touching(path: str) -> tuple[str, list[object]]:
    """The condition that a piece touched a file: of that name, or of that path from its end on."""
    named = path.replace("\\", "/").removeprefix("./")
    name = named.rpartition("/")[2]
    return (
        "p.id IN (SELECT t.piece FROM paths f JOIN touches t ON t.path = f.id WHERE f.name = ?"
        " AND (f.path = ? OR f.path LIKE ? ESCAPE '!'))",
        [name, named, f"%/{_escaped(named)}"],
    )


def _escaped(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
