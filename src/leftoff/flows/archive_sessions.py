"""Keep finished sessions in the archive, list them, and put one back that its agent has deleted.

Only what the user wants is kept (``archive.enabled``), nothing of what was forgotten, and for as long as
``archive.keep_days`` says. A session counts as finished when its agent said so, or when it was left alone for an hour. One that
holds a text that was forgotten is not archived at all: a copy is exact or it is none.
"""

from __future__ import annotations

import time
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from leftoff.errors import AmbiguousSessionError, NotFoundError, NothingToDoError
from leftoff.flows.library_folder import LOCK, library_folder
from leftoff.flows.sessions import Found, entries, found_sessions
from leftoff.flows.settings import settings_here
from leftoff.flows.strings import strings_in
from leftoff.library.archive import Archive, Archived
from leftoff.library.forgotten import Forgotten
from leftoff.library.writing import Writer
from leftoff.model.session import SessionEntry
from leftoff.model.values import dataclass
from leftoff.system import clock, locks, paths

NAME = "archive"
_QUIET = timedelta(hours=1)
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A session of the archive; ``deleted``: its agent no longer has it."""

    archived: Archived
    deleted: bool


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
    known = {(each.transcript, each.files[0].size_bytes) for each in archive.sessions()}
    quiet_ns = int((now - _QUIET).timestamp() * 1e9)
    return [
        found
        for found in found_sessions()
        if (str(found.transcript), found.size_bytes) not in known
        and (found.modified_ns < quiet_ns or str(found.transcript) == ended)
    ]


def list_archive() -> list[Listed]:
    """All sessions in the archive, newest first."""
    return [
        Listed(archived=each, deleted=not Path(each.transcript).exists())
        for each in archive_here().sessions()
    ]


def restore_session(words: str) -> tuple[Archived, list[Path]]:
    """Put back the session whose id begins with ``words``; its files that were missing."""
    archive = archive_here()
    matches = [each for each in archive.sessions() if each.session_id.startswith(words)] if words else []
    exact = [each for each in matches if each.session_id == words] or matches
    if not matches:
        raise NotFoundError(
            f"No session {words[:60]!r} is in the archive. leftoff archive list --all shows what is."
        )
    if len(exact) > 1:
        some = ", ".join(each.session_id for each in exact[:4])
        raise AmbiguousSessionError(
            f"{words[:60]!r} names {len(exact)} sessions: {some}. Give more of the id."
        )
    restored = archive.restore(exact[0])
    if not restored:
        raise NothingToDoError(f"{exact[0].transcript}: it is all there.")
    return exact[0], restored


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
                kept.append(archive.keep(_archived(entry, now), of_session))
        writer.mark_archived([each.transcript for each in archive.sessions()])
    return kept


def _holds_forgotten(forgotten: Forgotten, path: Path) -> bool:
    """Whether a text that was forgotten stands in the file, whichever way JSON writes it."""
    if not forgotten.has_texts:
        return False
    with path.open("rb") as file:
        return any(forgotten.holds(strings_in(line)) for line in file)


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
