"""A small library to look things up in."""

from datetime import UTC, datetime

from leftoff.library import shelf as shelves
from leftoff.library.answers import Order
from leftoff.library.finding import found
from leftoff.library.pieces import Piece, Reached, Source
from leftoff.library.query import parsed
from leftoff.library.writing import Writer

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY_NS = 86_400_000_000_000
NOW_NS = int(NOW.timestamp()) * 1_000_000_000


def source(name, **changes):
    """A session of that name."""
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
    """One text."""
    return Piece(kind=kind, text=text, line=line, start=line * 100, **changes)


def reached(line):
    """The place behind that line."""
    return Reached(line - 1, line * 100, line * 100 + 99, b"d" * 16)


def fill(folder, sessions):
    """A library of these sessions: name → pieces, or (source, pieces)."""
    writer = Writer(str(folder))
    for name, pieces in sessions.items():
        assert writer.add(source(name), pieces, before=None, after=reached(len(pieces)))
    writer.close()


def ask(folder, words, *, limit=10, hits=3, newest=False):
    """The answers to a query."""
    shelf = shelves.opened_to_read(str(folder))
    assert shelf is not None
    try:
        order = Order(limit=limit, hits=hits, newest=newest, now=int(NOW.timestamp()))
        return found(shelf, parsed(words, NOW), order)
    finally:
        shelf.close()


def names(answers):
    """The sessions of an answer, in order."""
    return [session.session_id for session in answers.sessions]


def everything(folder):
    """All bytes of all files of a folder."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
