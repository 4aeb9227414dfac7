"""Archive finished sessions, list them, and restore one that its agent has deleted.

Only with ``archive.enabled``, and for ``archive.keep_days``. A session counts as finished when its agent said so, or after an
hour without a change. A session that contains a forgotten text is not archived, because a copy is always exact. A session
whose transcript lost content has several copies.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from leftoff.archive.archive_files import Archive, Archived
from leftoff.archive.file_texts import texts_in
from leftoff.catalogue.database import LOCK_NAME, library_folder
from leftoff.catalogue.forgotten import Forgotten
from leftoff.config.load import FILE_NAME
from leftoff.config.save import save_setting
from leftoff.core.session import SessionEntry
from leftoff.errors import (
    AmbiguousSessionError,
    Choice,
    NotFoundError,
    NothingToDoError,
    StorageError,
    describe_os_error,
)
from leftoff.platform import clock, files, locks, log, paths, zstd
from leftoff.platform.zstd import is_available
from leftoff.sessions.listing import TranscriptFile, entries, list_transcripts
from leftoff.workspace import Workspace

NAME = "archive"
_QUIET_PERIOD = timedelta(hours=1)
_LOCK_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """An archived session. ``deleted``: its agent no longer has it. ``copies``: how many copies there are."""

    archived: Archived
    deleted: bool
    copies: int = 1


def open_archive() -> Archive:
    """Return the user's archive."""
    return Archive(folder=paths.data_folder() / NAME)


def archive_finished(
    workspace: Workspace, now: datetime, *, deadline: float | None = None, ended: str | None = None
) -> list[Archived]:
    """Archive finished sessions that are not archived yet. ``ended``: the transcript of a session that just ended."""
    settings = workspace.settings.archive
    if not settings.enabled:
        return []
    archive = open_archive()
    folder = Path(library_folder())
    files.make_folder(folder)
    with locks.hold(folder / LOCK_NAME, timeout_seconds=_LOCK_SECONDS):
        if settings.keep_days:
            _drop_old(archive, now - timedelta(days=settings.keep_days))
        return [*_archive_all(archive, _due(archive, now, ended), now, deadline)]


def _due(archive: Archive, now: datetime, ended: str | None) -> list[TranscriptFile]:
    """Return the transcripts to archive."""
    known = {
        (each.transcript, each.files[0].size_bytes, each.files[0].modified_ns) for each in archive.sessions()
    }
    quiet_ns = int((now - _QUIET_PERIOD).timestamp() * 1e9)
    return [
        found
        for found in list_transcripts()
        if (str(found.transcript), found.size_bytes, found.modified_ns) not in known
        and (found.modified_ns < quiet_ns or str(found.transcript) == ended)
    ]


def list_archive() -> list[ArchiveEntry]:
    """Return all archived sessions, newest first."""
    archived = open_archive().sessions()
    copies = Counter((each.agent, each.session_id) for each in archived)
    return [
        ArchiveEntry(
            archived=each,
            deleted=not Path(each.transcript).exists(),
            copies=copies[each.agent, each.session_id],
        )
        for each in archived
    ]


def restore_session(
    selector: str, copy: str | None = None
) -> tuple[Archived, list[Path], tuple[Archived, ...]]:
    """Restore the session whose id begins with ``selector``.

    Of several copies, use ``copy``, or the fullest of those whose transcript is missing. Return the session, the restored files,
    and the copies of other transcripts with the same id.
    """
    archive = open_archive()
    matches = (
        [each for each in archive.sessions() if each.session_id.startswith(selector)] if selector else []
    )
    exact = [each for each in matches if each.session_id == selector] or matches
    if not matches:
        raise NotFoundError(
            f"No session {selector[:60]!r} is in the archive. To list those that are: leftoff archive list --all"
        )
    if len(sessions := {(each.agent, each.session_id): each for each in exact}) > 1:
        raise AmbiguousSessionError(selector, "sessions", [*map(_choice, sessions.values())])
    chosen = _choose_copy(exact, copy)
    restored = archive.restore(chosen)
    others = tuple(each for each in exact if each.transcript != chosen.transcript)
    if not restored:
        named = "".join(
            f" {each.transcript} is another: leftoff archive restore {each.session_id} --copy {each.copy}"
            for each in others
        )
        raise NothingToDoError(f"{chosen.transcript}: it is all there.{named}")
    return chosen, restored, others


def _choice(archived: Archived) -> Choice:
    prompt = " ".join((archived.first_prompt or "").split())[:60]
    parts = (archived.agent, archived.project, archived.archived_at[:10], prompt)
    return Choice(archived.session_id, ", ".join(filter(None, parts)))


def _choose_copy(copies: list[Archived], copy: str | None) -> Archived:
    gone = [each for each in copies if not os.path.lexists(each.transcript)]
    wanted = (gone or copies) if copy is None else [each for each in copies if each.copy == copy]
    if not wanted:
        there = ", ".join(sorted(each.copy for each in copies))
        raise NotFoundError(f"No copy {str(copy)[:60]!r} of {copies[0].session_id} is there: {there}.")
    return fullest(wanted)


def fullest(copies: Iterable[Archived]) -> Archived:
    """Return the copy with the longest transcript, the newest of those."""
    return max(copies, key=lambda each: (each.files[0].size_bytes, each.archived_at))


def session_files(transcript: Path) -> list[Path]:
    """Return the transcript and the files in the folder of the same name beside it."""
    beside = transcript.with_suffix("")
    inner = sorted(path for path in beside.rglob("*") if path.is_file() and not path.is_symlink())
    return [transcript, *(inner if beside.is_dir() else ())]


def _archive_all(
    archive: Archive, due: list[TranscriptFile], now: datetime, deadline: float | None
) -> list[Archived]:
    kept = []
    forgotten = Forgotten(library_folder())
    for entry in entries(due):
        if deadline is not None and time.monotonic() >= deadline:
            break
        of_session = session_files(Path(entry.transcript))
        names = (entry.session_id, entry.transcript, entry.project or "")
        if forgotten.includes_session(entry.session_id) or forgotten.text_occurs_in(names):
            continue
        if not any(_holds_forgotten(forgotten, path) for path in of_session):
            kept += _archive_one(archive, _describe(entry, now), of_session)
    return kept


def _archive_one(archive: Archive, what: Archived, of_session: list[Path]) -> list[Archived]:
    """Archive a session; if that fails, log it and return nothing. Raise StorageError if zstd is missing."""
    try:
        return [archive.add(what, of_session)]
    except StorageError as error:
        if not zstd.is_available():
            raise
        log.write_line(f"archive: {error.message}")
        return []


def _holds_forgotten(forgotten: Forgotten, path: Path) -> bool:
    """Return whether a file contains a forgotten text in any JSON spelling; True if the file cannot be read."""
    if not forgotten.has_texts:
        return False
    try:
        with path.open("rb") as file:
            return forgotten.text_occurs_in(texts_in(file))
    except StorageError as error:
        log.write_line(f"archive: {path}: {error.message}")
        return True
    except OSError as error:
        log.write_line(f"archive: {path}: cannot be read: {describe_os_error(error)}.")
        return True


def _describe(entry: SessionEntry, now: datetime) -> Archived:
    return Archived(
        agent=entry.agent,
        session_id=entry.session_id,
        project=entry.project,
        first_prompt=entry.first_prompt,
        archived_at=clock.format_rfc3339(now),
        files=(),
        packed_bytes=0,
    )


def _drop_old(archive: Archive, before: datetime) -> None:
    for each in archive.sessions():
        at = clock.parse_rfc3339(each.archived_at)
        if at is not None and at < before:
            archive.remove(each)


def is_archive_undecided(workspace: Workspace) -> bool:
    """Return whether the user has not decided about the archive, and this machine supports it."""
    return workspace.config.origins["archive.enabled"].layer == "default" and is_available()


def save_decision(*, enabled: bool) -> None:
    """Write the decision to the user's configuration."""
    save_setting(paths.config_folder() / FILE_NAME, "archive.enabled", enabled)
