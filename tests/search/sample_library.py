"""A small library for tests."""

from contextlib import contextmanager
from datetime import UTC, datetime

from leftoff.catalogue import database
from leftoff.search.index_writer import IndexWriter
from leftoff.search.match import SearchOptions, find_sessions
from leftoff.search.pieces import Piece, ReadPosition, Source, add_functions
from leftoff.search.query import parse_query

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY_NS = 86_400_000_000_000
NOW_NS = int(NOW.timestamp()) * 1_000_000_000


def source(name, **changes):
    """Return a session with that name."""
    known = Source(
        type="session",
        path=f"/home/dev/{name}.jsonl",
        agent="claude",
        session_id=name,
        project="/home/dev/shop",
        title=f"About {name}",
        modified_ns=NOW_NS - DAY_NS,
        size_bytes=100,
    )
    return known._replace(**changes)


def piece(text, line=1, kind="prompt", **changes):
    """Return one piece."""
    return Piece(kind=kind, text=text, line=line, start=line * 100, **changes)


def reached(line):
    """Return the position after a line."""
    return ReadPosition(line - 1, line * 100, line * 100 + 99, b"d" * 16)


def fill(folder, sessions):
    """Create a library of these sessions: name → pieces, or (source, pieces)."""
    writer = IndexWriter(str(folder))
    for name, pieces in sessions.items():
        assert writer.add(source(name), pieces, before=None, after=reached(len(pieces)))
    writer.close()


@contextmanager
def opened(folder):
    """Open the library for reading."""
    connection = database.open_for_search(str(folder))
    assert connection is not None
    add_functions(connection)
    connection.execute("BEGIN")
    try:
        yield connection
    finally:
        connection.close()


def ask(folder, words, *, limit=10, hits=3, newest=False):
    """Return the answers to a query."""
    order = SearchOptions(limit, hits, newest, int(NOW.timestamp()))
    with opened(folder) as connection:
        return find_sessions(connection, parse_query(words, NOW), order)


def names(answers):
    """Return the names of the sessions in order."""
    return [session.session_id for session in answers.sessions]


def everything(folder):
    """Return all bytes of all files in a folder."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
