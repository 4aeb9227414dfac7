"""Keep finished sessions in the archive, list them, and put one back that its agent has deleted.

Only what the user wants is kept (``archive.enabled``), nothing of what was forgotten, and for as long as
``archive.keep_days`` says. A session counts as finished when its agent said so, or when it was left alone for an hour. One that
holds a text that was forgotten is not archived at all: a copy is exact or it is none. Of a session whose transcript lost something
there are several copies.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from leftoff.errors import AmbiguousSessionError, NotFoundError, NothingToDoError, StorageError
from leftoff.flows.file_texts import texts_in
from leftoff.flows.library_folder import LOCK, library_folder
from leftoff.flows.sessions import Found, entries, found_sessions
from leftoff.flows.settings import settings_here
from leftoff.library import zstd
from leftoff.library.archive import Archive, Archived
from leftoff.library.forgotten import Forgotten
from leftoff.library.writing import Writer
from leftoff.model.session import SessionEntry
from leftoff.model.values import dataclass
from leftoff.system import clock, locks, own_log, paths, reasons

NAME = "archive"
_QUIET = timedelta(hours=1)
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A session of the archive; ``deleted``: its agent no longer has it; ``copies``: how many there are of it."""

    archived: Archived
    deleted: bool
    copies: int = 1


def archive_here() -> Archive:
    """The user's archive."""
    return Archive(folder=paths.data_folder() / NAME)


def keep_finished(
    now: datetime, *, deadline: float | None = None, ended: str | None = None
) -> list[Archived]:
    """Archive what is finished and not archived yet; ``ended`` is the transcript of a session that ended just now."""
    settings = settings_here().settings.archive
    if not settings.enabled:
        return []
    archive = archive_here()
    folder = Path(library_folder())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locks.held(folder / LOCK, timeout_seconds=_PATIENCE_SECONDS):
        if settings.keep_days:
            _drop_old(archive, now - timedelta(days=settings.keep_days))
        return [*_kept(archive, _due(archive, now, ended), now, deadline)]


def _due(archive: Archive, now: datetime, ended: str | None) -> list[Found]:
    known = {
        (each.transcript, each.files[0].size_bytes, each.files[0].modified_ns) for each in archive.sessions()
    }
    quiet_ns = int((now - _QUIET).timestamp() * 1e9)
    return [
        found
        for found in found_sessions()
        if (str(found.transcript), found.size_bytes, found.modified_ns) not in known
        and (found.modified_ns < quiet_ns or str(found.transcript) == ended)
    ]


def list_archive() -> list[Listed]:
    """All sessions in the archive, newest first."""
    archived = archive_here().sessions()
    copies = Counter((each.agent, each.session_id) for each in archived)
    return [
        Listed(
            archived=each,
            deleted=not Path(each.transcript).exists(),
            copies=copies[each.agent, each.session_id],
        )
        for each in archived
    ]


def restore_session(words: str, copy: str | None = None) -> tuple[Archived, list[Path], tuple[Archived, ...]]:
    """Put back the session whose id begins with ``words``; its files that were missing, and the copies of other transcripts of
    that id. Of several copies ``copy``, or the fullest of those whose transcript is missing."""
    archive = archive_here()
    matches = [each for each in archive.sessions() if each.session_id.startswith(words)] if words else []
    exact = [each for each in matches if each.session_id == words] or matches
    if not matches:
        raise NotFoundError(
            f"No session {words[:60]!r} is in the archive. leftoff archive list --all shows what is."
        )
    if len(sessions := {(each.agent, each.session_id) for each in exact}) > 1:
        some = ", ".join(session_id for _, session_id in sorted(sessions)[:4])
        raise AmbiguousSessionError(
            f"{words[:60]!r} names {len(sessions)} sessions: {some}. Give more of the id."
        )
    chosen = _chosen(exact, copy)
    restored = archive.restore(chosen)
    others = tuple(each for each in exact if each.transcript != chosen.transcript)
    if not restored:
        named = "".join(
            f" {each.transcript} is another: leftoff archive restore {each.session_id} --copy {each.copy}"
            for each in others
        )
        raise NothingToDoError(f"{chosen.transcript}: it is all there.{named}")
    return chosen, restored, others


def _chosen(copies: list[Archived], copy: str | None) -> Archived:
    gone = [each for each in copies if not os.path.lexists(each.transcript)]
    wanted = (gone or copies) if copy is None else [each for each in copies if each.copy == copy]
    if not wanted:
        there = ", ".join(sorted(each.copy for each in copies))
        raise NotFoundError(f"No copy {str(copy)[:60]!r} of {copies[0].session_id} is there: {there}.")
    return fullest(wanted)


def fullest(copies: Iterable[Archived]) -> Archived:
    """The copy with the longest transcript; the newest of those."""
    return max(copies, key=lambda each: (each.files[0].size_bytes, each.archived_at))


def files_of(transcript: Path) -> list[Path]:
    """The transcript and what its agent put beside it: the files in the folder of the same name."""
    beside = transcript.with_suffix("")
    inner = sorted(path for path in beside.rglob("*") if path.is_file() and not path.is_symlink())
    return [transcript, *(inner if beside.is_dir() else ())]


def _kept(archive: Archive, due: list[Found], now: datetime, deadline: float | None) -> list[Archived]:
    kept = []
    with closing(Writer(library_folder())) as writer:
        forgotten = writer.forgotten
        holds_forgotten = partial(_holds_forgotten, forgotten)
        for entry in entries(due):
            if deadline is not None and time.monotonic() >= deadline:
                break
            of_session = files_of(Path(entry.transcript))
            names = (entry.session_id, entry.transcript, entry.project or "")
            if forgotten.is_session(entry.session_id) or forgotten.holds(names):
                continue
            if not any(map(holds_forgotten, of_session)):
                kept += _kept_one(archive, _archived(entry, now), of_session)
        writer.mark_archived([each.transcript for each in archive.sessions()])
    return kept


def _kept_one(archive: Archive, what: Archived, of_session: list[Path]) -> list[Archived]:
    """None where it cannot be packed, which is said of it and is no reason to lose others; StorageError where none can be."""
    try:
        return [archive.keep(what, of_session)]
    except StorageError as error:
        if not zstd.is_possible():
            raise
        own_log.note(f"archive: {error.message}")
        return []


def _holds_forgotten(forgotten: Forgotten, path: Path) -> bool:
    """Whether a text that was forgotten stands in the file, whichever way JSON writes it; or nobody can tell."""
    if not forgotten.has_texts:
        return False
    try:
        with path.open("rb") as file:
            return forgotten.holds(texts_in(file))
    except StorageError as error:
        own_log.note(f"archive: {path}: {error.message}")
        return True
    except OSError as error:
        own_log.note(f"archive: {path}: cannot be read: {reasons.words(error)}.")
        return True


def _archived(entry: SessionEntry, now: datetime) -> Archived:
    return Archived(
        agent=entry.agent,
        session_id=entry.session_id,
        project=entry.project,
        first_prompt=entry.first_prompt,
        archived_at=clock.rfc3339(now),
        files=(),
        packed_bytes=0,
    )


def _drop_old(archive: Archive, before: datetime) -> None:
    for each in archive.sessions():
        at = clock.from_rfc3339(each.archived_at)
        if at is not None and at < before:
            archive.remove(each)
