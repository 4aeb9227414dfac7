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
from itertools import islice
from typing import NamedTuple

from leftoff.catalogue import database
from leftoff.catalogue.database import library_folder
from leftoff.catalogue.forgotten import Forgotten
from leftoff.errors import DocumentError, LockTimeoutError, NothingToDoError, StorageError, UsageError
from leftoff.platform import paths
from leftoff.search.changes import Changes, find_changes, folder_variables_digest, is_built, was_made_without
from leftoff.search.match import (
    Answers,
    FoundSession,
    Hit,
    SearchOptions,
    find_sessions,
    piece_range,
    read_hits,
)
from leftoff.search.pieces import PIECE_BITS, add_functions
from leftoff.search.query import Query, Term, add_filter, filter_sql, parse_query
from leftoff.search.snippets import Snippet, make_snippet, shorten_text
from leftoff.workspace import Workspace

_UPDATE_SECONDS = 2.0
_MAX_FOLLOW_UPS = 3
_SPARE = 10  # sessions that are looked up in case some are copies of others
Progress = Callable[[int, int], None]
_MAX_WORDS = 50_000
_MIN_SIMILARITY = 0.75


class SearchRequest(NamedTuple):
    """What to search for, and how much to return; with ``root`` only sessions in this folder and those below."""

    query: str = ""
    file: str | None = None
    command: str | None = None
    error: str | None = None
    root: str | None = None
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
    """A session with its hits; ``number`` is for show and resume, None for a document; ``copies`` are the transcripts of its copies."""

    source: FoundSession
    number: int | None
    hits: tuple[HitResult, ...]
    copies: tuple[str, ...] = ()


class Results(NamedTuple):
    """The results of a search. ``suggestion`` is a similar word of the index. ``unread``: not everything was read in time.

    ``leaves_out``: nothing was found and there are forgotten texts. ``reason`` says why nothing can be found, whatever the words.
    """

    sessions: tuple[SessionResult, ...]
    complete: bool
    suggestion: str | None
    unread: bool
    took_ms: float
    leaves_out: bool
    reason: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        hits = [_hit_to_dict(session, hit) for session in self.sessions for hit in session.hits]
        return {
            "hits": hits,
            "took_ms": round(self.took_ms, 1),
            "complete": self.complete,
            "did_you_mean": self.suggestion,
            "unread": self.unread,
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
    query = query._replace(root=request.root)
    with _explain_database_errors():
        connection, unread = open_updated_library(workspace, progress)
    with _explain_database_errors(), closing(connection):
        connection.execute("BEGIN")  # so that all queries see the same state
        options = SearchOptions(
            limit=request.limit + _SPARE,
            hits=request.hits,
            newest=request.newest,
            now=int(now.timestamp()),
        )
        answers = find_sessions(connection, query, options)
        sessions = _add_snippets(connection, answers, query, request)
        reason = None if sessions or unread else _explain_nothing(connection, query)
        suggestion = None if sessions or reason else suggest_word(connection, query)
    return Results(
        sessions,
        answers.complete,
        suggestion,
        unread,
        (time.perf_counter() - started) * 1000,
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
    workspace: Workspace, progress: Progress | None = None
) -> tuple[sqlite3.Connection, bool]:
    """Open the index after a short update; also return whether something is left to read."""
    folder = library_folder()
    connection = _open(folder)
    is_searchable, changes = False, Changes(everywhere=True)
    excluded = workspace.settings.capture.exclude_tools  # not capture, which loads what removes credentials
    if connection is not None:
        if is_searchable := is_built(connection):
            changes = find_changes(connection, folder_variables_digest(paths.environment()))
        if changes == Changes() and was_made_without(connection, excluded):
            return connection, False
        connection.close()
    unread = _update(workspace, changes, progress, is_searchable=is_searchable)
    connection = _open(folder)
    if connection is None:
        raise NothingToDoError("The library is still being built by another process. Try again in a moment.")
    if not was_made_without(connection, excluded):
        connection.close()
        raise NothingToDoError(
            "The index still holds output that capture.exclude_tools now leaves out. To rebuild it: leftoff search --update"
        )
    return connection, unread


def _open(folder: str) -> sqlite3.Connection | None:
    connection = database.open_for_search(folder)
    if connection is not None:
        add_functions(connection)
    return connection


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
        query = _with_phrase(query, request.command)._replace(kinds=("command",))
    if request.error is not None:
        query = _with_phrase(query, request.error)._replace(kinds=("result",), errors=True)
    return query


def _with_phrase(query: Query, words: str) -> Query:
    """Return the query with the words of a command or an error, in their order."""
    if not any(map(str.isalnum, words)):
        raise UsageError(f"{words[:40]!r} has no word to search for.")
    return query._replace(groups=(*query.groups, (Term(words, is_phrase=" " in words.strip()),)))


def _add_snippets(
    connection: sqlite3.Connection, answers: Answers, query: Query, request: SearchRequest
) -> tuple[SessionResult, ...]:
    results, number = [], 0
    for session, copies in islice(_join_copies(answers.sessions), request.limit):
        is_numbered = session.type == "session" and not (
            session.archived and not os.path.exists(session.path)  # noqa: PTH110
        )
        number += is_numbered
        hits = tuple(
            HitResult(
                hit,
                make_snippet(connection, hit, answers.words, query.terms),
                _follow_ups(connection, hit) if request.error is not None else (),
            )
            for hit in session.hits
        )
        results.append(SessionResult(session, number if is_numbered else None, hits, copies))
    return tuple(results)


def _join_copies(found: Sequence[FoundSession]) -> Iterator[tuple[FoundSession, tuple[str, ...]]]:
    """Yield one of the copies of each session, the best, and the paths of the others: they have the same texts."""
    from leftoff.sessions.ancestry import load_family  # noqa: PLC0415 - most searches need no other

    parents = {
        each.session_id: each.parent_id for each in load_family().derived if each.derivation == "trimmed"
    }
    copies: dict[str, list[FoundSession]] = {}
    for each in found:
        origin, seen = each.session_id or "", set[str]()
        while origin in parents and origin not in seen:
            seen.add(origin)
            origin = parents[origin]
        copies.setdefault(origin if each.type == "session" and origin else each.path, []).append(each)
    for first, *others in copies.values():
        yield first, tuple(each.path for each in others)


def _follow_ups(connection: sqlite3.Connection, hit: Hit) -> tuple[FollowUp, ...]:
    """Return the messages and calls after a hit."""
    rows = connection.execute(
        "SELECT id FROM pieces WHERE id > ? AND id <= ? AND kind IN ('reply', 'call', 'command', 'prompt') ORDER BY id LIMIT ?",
        (hit.piece, piece_range(hit.piece >> PIECE_BITS)[1], _MAX_FOLLOW_UPS),
    )
    return tuple(
        FollowUp(each.line, each.kind, shorten_text(each.text), each.exit_code)
        for each in read_hits(connection, [piece for (piece,) in rows.fetchall()])
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
    """Return a similar word of the index for the first plain word of a query that found nothing; None if there is none."""
    word = next((term.text.lower() for term in query.terms if term.text.isalpha()), "")
    terms = connection.execute(
        "SELECT term FROM vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ? LIMIT ?",
        (word[:1], word[:1] + "\U0010ffff", len(word) - 3, len(word) + 2, _MAX_WORDS),
    )
    close = difflib.get_close_matches(word, [term for (term,) in terms], n=1, cutoff=_MIN_SIMILARITY)
    if not word or not close:
        return None
    found = f'"{close[0]}"'  # a stem; what is shown is the word of a text
    rowid = connection.execute("SELECT rowid FROM words WHERE words MATCH ? LIMIT 1", (found,)).fetchone()
    text, marks = make_snippet(connection, read_hits(connection, rowid)[0], found, ())
    return text[slice(*marks[0])].lower() if marks else close[0]
