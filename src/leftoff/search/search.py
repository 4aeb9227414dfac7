"""Search all sessions: update the index if necessary, query it, and say what to type next.

If nothing is new, no agent is loaded and no transcript opened. The first search builds the index; later ones read what was
appended, for two seconds at most, and then answer with what is there.
"""

from __future__ import annotations

import difflib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from typing import NamedTuple

from leftoff.catalogue import database
from leftoff.catalogue.database import library_folder
from leftoff.catalogue.forgotten import Forgotten
from leftoff.errors import DocumentError, LockTimeoutError, NothingToDoError, StorageError, UsageError
from leftoff.platform import paths
from leftoff.search.changes import Changes, find_changes, folder_variables_digest, is_built
from leftoff.search.match import find_sessions
from leftoff.search.pieces import unpack_texts
from leftoff.search.query import Query, Term, add_filter, filter_sql, parse_query, plain_terms
from leftoff.search.results import (
    Answers,
    FoundSession,
    Hit,
    SearchOptions,
    Snippet,
    highlight_pattern,
    next_pieces,
    snippet,
)
from leftoff.search.tokens import fold, stem
from leftoff.sessions import listing
from leftoff.sessions.grouping import group_copies
from leftoff.workspace import Workspace

SNIPPET_CHARS = 200
_UPDATE_SECONDS = 2.0
_MAX_FOLLOW_UPS = 3
Progress = Callable[[int, int], None]
_MAX_WORDS = 50_000
_MIN_SIMILARITY = 0.75


class SearchRequest(NamedTuple):
    """What to search for, and how much to return."""

    query: str = ""
    file: str | None = None
    command: str | None = None
    error: str | None = None
    newest: bool = False
    limit: int = 10
    hits: int = 3


class FollowUp(NamedTuple):
    """What came after an error."""

    line: int
    kind: str
    snippet: str
    exit_code: int | None


class HitResult(NamedTuple):
    """A hit with its snippet."""

    hit: Hit
    snippet: Snippet
    follow_ups: tuple[FollowUp, ...]


class SessionResult(NamedTuple):
    """A session with its hits; ``number`` is for show and resume, None for a document.

    ``is_copy`` says that it was trimmed from the session above it.
    """

    source: FoundSession
    number: int | None
    hits: tuple[HitResult, ...]
    is_copy: bool = False


class Results(NamedTuple):
    """The results of a search. ``suggestion`` is a similar word of the index. ``unread``: not everything was read in time.

    ``cut_short``: not all texts that might match were checked. ``leaves_out``: nothing was found and there are forgotten texts.
    ``reason`` says why nothing can be found, whatever the words.
    """

    sessions: tuple[SessionResult, ...]
    complete: bool
    suggestion: str | None
    unread: bool
    took_ms: float
    cut_short: bool
    leaves_out: bool
    reason: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        hits = [_hit_to_dict(session, hit) for session in self.sessions for hit in session.hits]
        return {
            "hits": hits,
            "took_ms": round(self.took_ms, 1),
            "complete": self.complete and not self.cut_short,
            "did_you_mean": self.suggestion,
            "unread": self.unread,
            "cut_short": self.cut_short,
            "leaves_out": self.leaves_out,
            "reason": self.reason,
        }


def search(
    workspace: Workspace, request: SearchRequest, now: datetime, progress: Progress | None = None
) -> Results:
    """Return the matching sessions, best first."""
    started = time.perf_counter()
    query = _build_query(request, now)
    if query.is_empty:
        raise UsageError("Search for what? Example: leftoff search retry timeout")
    with _explain_database_errors():
        connection, unread = open_updated_library(workspace, now, progress)
    with _explain_database_errors(), closing(connection):
        connection.execute("BEGIN")  # so that all queries see the same state
        options = SearchOptions(
            limit=request.limit, hits=request.hits, newest=request.newest, now=int(now.timestamp())
        )
        answers = find_sessions(connection, query, options)
        if not answers.sessions and (request.command or request.error):
            query = _split_phrases(query)
            answers = find_sessions(connection, query, options)._replace(complete=False)
        sessions = _add_snippets(connection, answers, query, request)
        reason = None if sessions or unread else _explain_nothing(connection, query)
        suggestion = None if sessions or reason else suggest_word(connection, query)
    _remember_numbers(sessions)
    return Results(
        sessions,
        answers.complete,
        suggestion,
        unread,
        (time.perf_counter() - started) * 1000,
        cut_short=answers.cut_short,
        leaves_out=not sessions and _has_forgotten_texts(),
        reason=reason,
    )


@contextmanager
def _explain_database_errors() -> Iterator[None]:
    """Turn database errors into a DocumentError that says how to rebuild the index."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise DocumentError(
            f"{library_folder()}/{database.FILE_NAME}: cannot be read: {error}. Rebuild it: leftoff search --rebuild"
        ) from error


def open_updated_library(
    workspace: Workspace, now: datetime, progress: Progress | None
) -> tuple[sqlite3.Connection, bool]:
    """Open the index after a short update; also return whether something is left to read."""
    folder = library_folder()
    connection = database.open_for_search(folder)
    is_searchable, changes = False, Changes(everywhere=True)
    if connection is not None:
        if is_searchable := is_built(connection):
            changes = find_changes(
                connection, folder, folder_variables_digest(paths.environment()), now.timestamp()
            )
        if changes == Changes():
            return connection, False
        connection.close()
    unread = _update(workspace, changes, progress, is_searchable=is_searchable)
    connection = database.open_for_search(folder)
    if connection is None:
        raise NothingToDoError("The library is still being built by another process. Try again in a moment.")
    return connection, unread


def _update(
    workspace: Workspace, changes: Changes, progress: Progress | None, *, is_searchable: bool
) -> bool:
    """Update the index; return whether something is left to read."""
    from leftoff.search.update_index import update_library  # noqa: PLC0415 - loads every agent; most searches need none

    try:
        return not update_library(
            workspace,
            budget_seconds=_UPDATE_SECONDS if is_searchable else None,
            progress=progress,
            patience_seconds=_UPDATE_SECONDS,
            changed=() if changes.everywhere else changes.changed,
        ).finished
    except LockTimeoutError:
        return True
    except StorageError:
        if not is_searchable:
            raise
        return True


def _build_query(request: SearchRequest, now: datetime) -> Query:
    query = parse_query(request.query, now)
    if request.file is not None:
        query = add_filter(query, "file", request.file, now)
    if request.command is not None:
        query = _combine(query, _as_phrase(request.command))._replace(kinds=("command",))
    if request.error is not None:
        query = _combine(query, _as_phrase(request.error))._replace(kinds=("result",), errors=True)
    return query


def _as_phrase(words: str) -> Query:
    """Return a query for a command or an error: its words in their order."""
    return Query(groups=((Term(words, is_phrase=" " in words.strip()),),))


def _split_phrases(query: Query) -> Query:
    """Return the query with the words of its phrases in any order, none of which is a filter."""
    groups: list[tuple[Term, ...]] = []
    for group in query.groups:
        if len(group) == 1 and group[0].is_phrase:
            groups += [(word,) for word in plain_terms(group[0].text)]
        else:
            groups.append(group)
    return query._replace(groups=tuple(groups))


def _combine(query: Query, other: Query) -> Query:
    return query._replace(groups=(*query.groups, *other.groups), without=(*query.without, *other.without))


def _add_snippets(
    connection: sqlite3.Connection, answers: Answers, query: Query, request: SearchRequest
) -> tuple[SessionResult, ...]:
    results, number = [], 0
    for session, is_copy in _group_copies(answers.sessions):
        is_numbered = session.type == "session" and not (
            session.archived and not os.path.exists(session.path)  # noqa: PTH110
        )
        number += is_numbered
        hits = tuple(
            HitResult(
                hit,
                snippet(hit.text, query.terms, SNIPPET_CHARS),
                _follow_ups(connection, hit) if request.error is not None else (),
            )
            for hit in session.hits
        )
        results.append(SessionResult(session, number if is_numbered else None, hits, is_copy))
    return tuple(results)


def _group_copies(found: Sequence[FoundSession]) -> list[tuple[FoundSession, bool]]:
    """Put trimmed copies after the sessions they were made from: they hold the same texts."""
    from leftoff.sessions.ancestry import load_family  # noqa: PLC0415 - most searches need no other

    parents = {
        each.session_id: each.parent_id for each in load_family().derived if each.derivation == "trimmed"
    }
    return group_copies(found, lambda each: each.session_id, lambda each: parents.get(each.session_id or ""))


def _follow_ups(connection: sqlite3.Connection, hit: Hit) -> tuple[FollowUp, ...]:
    rows = next_pieces(connection, hit.piece, _MAX_FOLLOW_UPS)
    return tuple(
        FollowUp(line, kind, snippet(text, (), SNIPPET_CHARS).text, code) for line, kind, text, code in rows
    )


def _explain_nothing(connection: sqlite3.Connection, query: Query) -> str | None:
    """Return why nothing can be found: no session at all, none of that agent or of that project. Else None."""

    def has_any(of: Query) -> bool:
        condition, values = filter_sql(of)
        return (
            connection.execute(f"SELECT 1 FROM sources s WHERE {condition} LIMIT 1", values).fetchone()
            is not None
        )

    if not has_any(Query()):
        return "There are no sessions to search. leftoff doctor shows where it looked."
    if query.agent is not None and not has_any(Query(agent=query.agent)):
        rows = connection.execute("SELECT DISTINCT agent FROM sources WHERE agent IS NOT NULL ORDER BY agent")
        agents = ", ".join(row[0] for row in rows) or "no agent"
        return f"agent:{query.agent}: no session is of it. There are sessions of: {agents}"
    if query.project is not None and not has_any(Query(project=query.project)):
        return f"project:{query.project}: no session's folder has that in its path. To see them: leftoff sessions"
    return None


def _has_forgotten_texts() -> bool:
    if not os.path.lexists(f"{library_folder()}/{database.FORGOTTEN_FILE}"):
        return False
    try:
        return Forgotten(library_folder()).has_texts
    except StorageError:  # the next update reports it; this is only a hint
        return False


def _remember_numbers(sessions: tuple[SessionResult, ...]) -> None:
    numbered = [session.source.path for session in sessions if session.number is not None]
    if numbered:
        listing.remember_numbers(numbered)


def _hit_to_dict(session: SessionResult, shown: HitResult) -> dict[str, object]:
    source, hit = session.source, shown.hit
    return {
        "session_id": source.session_id,
        "agent": source.agent,
        "project": source.project,
        "line": hit.line,
        "kind": hit.kind,
        "snippet": shown.snippet.text,
        "score": source.score,
        "number": session.number,
        "source": source.type,
        "path": source.path,
        "offset": hit.offset,
        "at": hit.at,
        "tool": hit.tool,
        "failed": hit.failed,
        "exit_code": hit.exit_code,
        "archived": source.archived,
        "followed": [each._asdict() for each in shown.follow_ups],
    }


def suggest_word(connection: sqlite3.Connection, query: Query) -> str | None:
    """Return a similar word for the first word of the query that is not in the index; None if there is none."""
    for term in query.terms:
        word = fold(term.text)
        if term.is_phrase or not word.isascii() or not word.isalnum():
            continue
        token = stem(word)
        if connection.execute("SELECT 1 FROM vocabulary WHERE term = ?", (token,)).fetchone():
            continue
        near = _closest_word(connection, token)
        if near is not None:
            return _word_in_text(connection, near)
    return None


def _closest_word(connection: sqlite3.Connection, token: str) -> str | None:
    """Return the closest word with the same first letter, or with the second one, in case two were swapped."""
    known: dict[str, int] = {}
    for letter in dict.fromkeys(token[:2]):
        rows = connection.execute(
            "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ? LIMIT ?",
            (letter, chr(ord(letter) + 1), len(token) - 2, len(token) + 2, _MAX_WORDS),
        )
        known.update(dict(rows.fetchall()))
    close = difflib.get_close_matches(token, known, n=5, cutoff=_MIN_SIMILARITY)
    return max(
        close,
        key=lambda each: known[each] * difflib.SequenceMatcher(None, token, each).ratio() ** 8,
        default=None,
    )


def _word_in_text(connection: sqlite3.Connection, token: str) -> str:
    """Return a word of the texts with this stem, since people do not know stems."""
    row = connection.execute(
        "SELECT b.data, p.slot FROM words w JOIN pieces p ON p.id = w.rowid JOIN blocks b ON b.id = p.block"
        " WHERE words MATCH ? LIMIT 1",
        (f'"{token}"',),
    ).fetchone()
    seen = highlight_pattern(token).search(unpack_texts(row[0])[row[1]]) if row else None
    return seen[0].lower() if seen else token
