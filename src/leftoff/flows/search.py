"""Find anything in any session: bring the library up to date if need be, ask it, and say what to type next.

The way through here is short on purpose: where nothing is new, no agent is loaded and no transcript opened. The first search
builds the library; later ones read what was appended, for a moment at most, and then answer with what is there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from leftoff.errors import DocumentError, LockTimeoutError, NothingToDoError, StorageError, UsageError
from leftoff.flows.library_folder import library_folder
from leftoff.flows.library_stale import News, folder_variables, is_built, news
from leftoff.library import shelf as shelves
from leftoff.library.answers import Answers, FoundSession, Hit, Order, what_followed
from leftoff.library.filters import where
from leftoff.library.finding import found
from leftoff.library.query import Query, Term, bare_terms, filtered, parsed
from leftoff.library.snippets import Snippet, snippet
from leftoff.library.sqlite import sqlite3
from leftoff.model.tuples import NamedTuple
from leftoff.system import user_folders
from leftoff.system.clock import datetime

SNIPPET_CHARS = 200
_UPDATE_SECONDS = 2.0
_FOLLOWED = 3

Progress = Callable[[int, int], None]


class Asked(NamedTuple):
    """What somebody wants to know."""

    query: str = ""
    file: str | None = None
    command: str | None = None
    error: str | None = None
    newest: bool = False
    limit: int = 10
    hits: int = 3


class Followed(NamedTuple):
    """What came after an error."""

    line: int
    kind: str
    snippet: str
    exit_code: int | None


class Shown(NamedTuple):
    """A hit as it is shown."""

    hit: Hit
    snippet: Snippet
    followed: tuple[Followed, ...]


class ShownSession(NamedTuple):
    """A session with its hits; ``number`` is for show and resume, None for a document."""

    found: FoundSession
    number: int | None
    hits: tuple[Shown, ...]


class Results(NamedTuple):
    """The answer. ``meant`` is a word that may have been meant; ``unread`` says that not all could be read in time, ``cut_short`` that
    not all texts were looked at which might hold it, and ``leaves_out`` that nothing was found and there are forgotten texts.
    ``reason`` says why nothing could be found, whatever the words."""

    sessions: tuple[ShownSession, ...]
    complete: bool
    meant: str | None
    unread: bool
    took_ms: float
    cut_short: bool
    leaves_out: bool
    reason: str | None = None

    def to_dict(self) -> dict[str, object]:
        """The shape that scripts rely on."""
        hits = [_wire(session, shown) for session in self.sessions for shown in session.hits]
        return {
            "hits": hits,
            "took_ms": round(self.took_ms, 1),
            "complete": self.complete and not self.cut_short,
            "did_you_mean": self.meant,
            "unread": self.unread,
            "cut_short": self.cut_short,
            "leaves_out": self.leaves_out,
            "reason": self.reason,
        }


def search(asked: Asked, now: datetime, progress: Progress | None = None) -> Results:
    """The sessions that answer, best first."""
    begun = time.perf_counter()
    query = _query(asked, now)
    if query.is_empty:
        raise UsageError("Search for what? Example: leftoff search retry timeout")
    with _said_in_a_sentence():
        shelf, unread = up_to_date(now, progress)
    with _said_in_a_sentence(), closing(shelf):
        shelf.execute("BEGIN")  # one state of the library, whoever writes meanwhile
        order = Order(limit=asked.limit, hits=asked.hits, newest=asked.newest, now=int(now.timestamp()))
        answers = found(shelf, query, order)
        if not answers.sessions and (asked.command or asked.error):
            query = _loosened(query)
            answers = found(shelf, query, order)._replace(complete=False)
        sessions = _shown(shelf, answers, query, asked)
        reason = None if sessions or unread else _why_nothing(shelf, query)
        meant = None if sessions or reason else _meant(shelf, query)
    _remember(sessions)
    return Results(
        sessions,
        answers.complete,
        meant,
        unread,
        (time.perf_counter() - begun) * 1000,
        cut_short=answers.cut_short,
        leaves_out=not sessions and _has_forgotten_texts(),
        reason=reason,
    )


@contextmanager
def _said_in_a_sentence() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise DocumentError(
            f"{library_folder()}/{shelves.NAME}: cannot be read: {error}. Make it anew: leftoff search --rebuild"
        ) from error


def up_to_date(now: datetime, progress: Progress | None) -> tuple[sqlite3.Connection, bool]:
    """The library with all there is, as far as that can be read in a moment; and whether something is left to read."""
    folder = library_folder()
    shelf = shelves.opened_to_read(folder)
    has_answers, new = False, News(everywhere=True)
    if shelf is not None:
        if has_answers := is_built(shelf):
            new = news(shelf, folder, folder_variables(user_folders.environment()), now.timestamp())
        if new == News():
            return shelf, False
        shelf.close()
    unread = _updated(new, progress, has_answers=has_answers)
    shelf = shelves.opened_to_read(folder)
    if shelf is None:
        raise NothingToDoError("The library is still being built by another process. Try again in a moment.")
    return shelf, unread


def _updated(new: News, progress: Progress | None, *, has_answers: bool) -> bool:
    """Read it; whether something is left to read."""
    from leftoff.flows.library_update import update_library  # noqa: PLC0415 - loads every agent; most searches need none

    try:
        return not update_library(
            budget_seconds=_UPDATE_SECONDS if has_answers else None,
            progress=progress,
            patience_seconds=_UPDATE_SECONDS,
            changed=() if new.everywhere else new.changed,
        ).finished
    except LockTimeoutError:
        return True
    except StorageError:
        if not has_answers:
            raise
        return True


def _query(asked: Asked, now: datetime) -> Query:
    query = parsed(asked.query, now)
    if asked.file is not None:
        query = filtered(query, "file", asked.file, now)
    if asked.command is not None:
        query = _joined(query, _quoted(asked.command))._replace(kinds=("command",))
    if asked.error is not None:
        query = _joined(query, _quoted(asked.error))._replace(kinds=("result",), errors=True)
    return query


def _quoted(words: str) -> Query:
    """Commands and errors are given as they stand: the words in their order."""
    return Query(groups=((Term(words, is_phrase=" " in words.strip()),),))


def _loosened(query: Query) -> Query:
    """The same with the words of its phrases in any order. They are somebody's output, so nothing in them is a filter."""
    groups: list[tuple[Term, ...]] = []
    for group in query.groups:
        if len(group) == 1 and group[0].is_phrase:
            groups += [(word,) for word in bare_terms(group[0].text)]
        else:
            groups.append(group)
    return query._replace(groups=tuple(groups))


def _joined(query: Query, other: Query) -> Query:
    return query._replace(groups=(*query.groups, *other.groups), without=(*query.without, *other.without))


def _shown(
    shelf: sqlite3.Connection, answers: Answers, query: Query, asked: Asked
) -> tuple[ShownSession, ...]:
    shown, number = [], 0
    for session in answers.sessions:
        is_numbered = session.type == "session" and not (
            session.archived and not os.path.exists(session.path)  # noqa: PTH110
        )
        number += is_numbered
        hits = tuple(
            Shown(
                hit,
                snippet(hit.text, query.terms, SNIPPET_CHARS),
                _followed(shelf, hit) if asked.error is not None else (),
            )
            for hit in session.hits
        )
        shown.append(ShownSession(session, number if is_numbered else None, hits))
    return tuple(shown)


def _followed(shelf: sqlite3.Connection, hit: Hit) -> tuple[Followed, ...]:
    rows = what_followed(shelf, hit.piece, _FOLLOWED)
    return tuple(
        Followed(line, kind, snippet(text, (), SNIPPET_CHARS).text, code) for line, kind, text, code in rows
    )


def _why_nothing(shelf: sqlite3.Connection, query: Query) -> str | None:
    """Why nothing can be found, whatever the words: there is no session, none of that agent or of that project."""

    def has_any(of: Query) -> bool:
        condition, values = where(of)
        return (
            shelf.execute(f"SELECT 1 FROM sources s WHERE {condition} LIMIT 1", values).fetchone() is not None
        )

    if not has_any(Query()):
        return "There is no session to search. Where they are looked for: leftoff doctor"
    if query.agent is not None and not has_any(Query(agent=query.agent)):
        rows = shelf.execute("SELECT DISTINCT agent FROM sources WHERE agent IS NOT NULL ORDER BY agent")
        agents = ", ".join(row[0] for row in rows) or "no agent"
        return f"agent:{query.agent}: no session is of it. There are sessions of: {agents}"
    if query.project is not None and not has_any(Query(project=query.project)):
        return f"project:{query.project}: no session's folder has that in its path. To see them: leftoff sessions"
    return None


def _meant(shelf: sqlite3.Connection, query: Query) -> str | None:
    from leftoff.library.spelling import meant  # noqa: PLC0415 - only where nothing was found

    return meant(shelf, query)


def _has_forgotten_texts() -> bool:
    if not os.path.lexists(f"{library_folder()}/{shelves.REMEMBERED}"):
        return False
    from leftoff.library.forgotten import Forgotten  # noqa: PLC0415 - takes as long as all before

    try:
        return Forgotten(library_folder()).has_texts
    except StorageError:  # whoever reads in next says so; this is only a hint
        return False


def _remember(sessions: tuple[ShownSession, ...]) -> None:
    numbered = [session.found.path for session in sessions if session.number is not None]
    if numbered:
        from leftoff.flows import numbers  # noqa: PLC0415 - only where there is something to remember

        numbers.remember(numbered)


def _wire(session: ShownSession, shown: Shown) -> dict[str, object]:
    found_in, hit = session.found, shown.hit
    return {
        "session_id": found_in.session_id,
        "agent": found_in.agent,
        "project": found_in.project,
        "line": hit.line,
        "kind": hit.kind,
        "snippet": shown.snippet.text,
        "score": found_in.score,
        "number": session.number,
        "source": found_in.type,
        "path": found_in.path,
        "offset": hit.offset,
        "at": hit.at,
        "tool": hit.tool,
        "failed": hit.failed,
        "exit_code": hit.exit_code,
        "archived": found_in.archived,
        "followed": [each._asdict() for each in shown.followed],
    }
