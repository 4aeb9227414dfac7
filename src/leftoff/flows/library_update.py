"""Bring the library up to date: what was appended to transcripts, new ones, and what is gone.

Only new bytes are read. Each batch is a transaction of its own, so nobody waits long, a kill loses one batch, and a budget of
seconds ends it at any point: the next update goes on from there. The newest sessions come first. One bad transcript hides
no other; a broken library ends it. What an agent has deleted is read from its archived copy, and a transcript that was changed
without growing is read anew from its beginning.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from leftoff.agents.jsonl import opened
from leftoff.errors import LeftoffError
from leftoff.flows.archive_sessions import archive_here
from leftoff.flows.capture import capture_here
from leftoff.flows.library_copies import archive_folder, source_of, sweep, unpacked
from leftoff.flows.library_documents import document_folders, documents, pieces_of
from leftoff.flows.library_folder import LOCK, library_folder
from leftoff.flows.library_pieces import Cutter
from leftoff.flows.library_stale import BUILT, FOLDERS_NAMED, folder_variables, folders_above
from leftoff.flows.sessions import Found, entries, found_sessions
from leftoff.flows.settings import settings_here
from leftoff.library import shelf as shelves
from leftoff.library.archive import Archived
from leftoff.library.forgotten import Forgotten
from leftoff.library.pieces import Piece, Reached, Source, WaitingCalls
from leftoff.library.writing import Writer
from leftoff.model.records import Place, Record, RecordKind
from leftoff.model.session import SessionEntry
from leftoff.model.wire import JsonObject
from leftoff.system import locks, own_log, paths

_BATCH_SECONDS = 0.25
_BATCH_CHARS = 1_000_000
_MUCH_CHARS = 20_000_000  # after so much new text the words are put in order
_EXCLUDED = "excluded tools"
_SAMPLES = 16
_SAMPLE_BYTES = 512
_LONGEST_TITLE = 300

Progress = Callable[[int, int], None]  # bytes done, bytes to do


@dataclass(slots=True)
class Updated:
    """What an update did. ``finished`` is False where its time ran out."""

    sessions: int = 0
    documents: int = 0
    removed: int = 0
    pieces: int = 0
    chars: int = 0
    read_bytes: int = 0
    finished: bool = True

    def words(self) -> str:
        """In a sentence."""
        rest = "" if self.finished else " There is more to read: leftoff search --update"
        return (
            f"{self.sessions:,} sessions and {self.documents:,} documents read, {self.read_bytes / 1e6:,.1f} MB;"
            f" {self.removed:,} that are gone were taken out.{rest}"
        )

    def to_dict(self) -> JsonObject:
        """For scripts."""
        return {
            "sessions": self.sessions,
            "documents": self.documents,
            "removed": self.removed,
            "pieces": self.pieces,
            "read_bytes": self.read_bytes,
            "finished": self.finished,
        }


def update_library(
    *,
    budget_seconds: float | None = None,
    progress: Progress | None = None,
    patience_seconds: float = 0.0,
    found: list[Found] | None = None,
) -> Updated:
    """Read what is new, in ``found`` or everywhere.

    LockTimeoutError where another process has been at it for longer than ``patience_seconds``.
    """
    folder = Path(library_folder())
    deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locks.held(folder / LOCK, timeout_seconds=patience_seconds):
        update = _Update(os.fsdecode(folder), deadline, progress)
        try:
            return update.run(found_sessions() if found is None else found)
        finally:
            update.writer.close()


def rebuild_library(progress: Progress | None = None) -> Updated:
    """Throw it away and make it anew from the transcripts; what was forgotten stays forgotten."""
    folder = Path(library_folder())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locks.held(folder / LOCK, timeout_seconds=60.0):
        shelves.made_anew(os.fsdecode(folder)).close()
        update = _Update(os.fsdecode(folder), None, progress)
        try:
            return update.run(found_sessions())
        finally:
            update.writer.close()


class _Update:
    """One update: what it knows, and how long it may take."""

    def __init__(self, folder: str, deadline: float | None, progress: Progress | None) -> None:
        self.writer = Writer(folder)
        self._deadline, self._progress = deadline, progress
        self._settings = settings_here().settings
        self._capture = capture_here(paths.working_folder())
        self._forgotten = self.writer.forgotten
        self._done = Updated()
        self._to_do_bytes = 0
        self._copied: set[str] | None = None  # transcripts in the archive, where they have to be noted
        sweep()

    def run(self, found: list[Found]) -> Updated:
        self._leave_out_excluded()
        known = self.writer.known()
        folders = self._documents(known, found)
        stale = [each for each in found if known.get(_path(each)) != (each.modified_ns, each.size_bytes)]
        self._to_do_bytes = sum(each.size_bytes for each in stale)
        copies = self._archived(known, found)
        self._remove_gone(known, found)
        for each, entry in self._with_entries(stale):
            if self._is_late():
                return self._done
            size_before = known.get(_path(each), (0, -1))[1]
            self._guarded(partial(self._read_on, each, _source(each, entry), size_before), each.transcript)
        for copy in copies:
            if self._is_late():
                return self._done
            self._guarded(partial(self._read_copy, copy), Path(copy.transcript))
        if self._copied is not None:
            self.writer.mark_archived(self._copied)
        if self._done.finished:
            above = folders_above([_path(each) for each in found], [str(each.agent.home) for each in found])
            self.writer.remember_folders(
                folders | above | archive_folder(),
                {BUILT: "yes", FOLDERS_NAMED: folder_variables(paths.environment())},
            )
        if self._done.chars > _MUCH_CHARS:
            self.writer.optimise()
        return self._done

    def _with_entries(self, stale: list[Found]) -> Iterator[tuple[Found, SessionEntry]]:
        by_path = {_path(each): each for each in stale}
        for entry in entries(stale):
            if not self._forgotten.is_session(entry.session_id):
                yield by_path[entry.transcript], entry

    def _guarded(self, read: Callable[[], None], transcript: Path) -> None:
        try:
            read()
        except LeftoffError as error:
            if error.path == self.writer.path:
                raise
            own_log.note(f"library: {error.message}")
        except Exception as error:  # noqa: BLE001 - an adapter may be a guest: one file must not hide the rest
            own_log.note(f"library: {transcript}: {type(error).__name__}: {error}")
        else:
            self._done.sessions += 1

    def _read_on(self, found: Found, source: Source, size_before: int) -> None:
        """The records behind the last that was read; from the beginning where the file is no longer what it was."""
        reached, waiting = self.writer.reached(source.path)
        if reached is not None and (
            size_before == found.size_bytes or not _still_stands(found.transcript, reached)
        ):
            self.writer.remove([source.path])
            self._copied = {each.transcript for each in archive_here().sessions()}
            reached, waiting = None, {}
        self._take_in(found, source, reached, waiting)

    def _read_copy(self, archived: Archived) -> None:
        """A session that its agent has deleted, from the archive; the copy is unpacked for as long as it is read."""
        source = source_of(archived)
        with unpacked(archived) as copy:
            self._take_in(
                copy, source._replace(title=source.title and source.title[:_LONGEST_TITLE]), None, {}
            )

    def _take_in(self, found: Found, source: Source, reached: Reached | None, waiting: WaitingCalls) -> None:
        after = None if reached is None else Place(_path(found), reached.line_idx, reached.start, reached.end)
        cutter = Cutter(found.agent, self._capture, {call: each.tool for call, each in waiting.items()})
        for batch, upto, is_last in _batches(found, cutter, after, self._forgotten):
            end = reached if upto is None else upto
            of_batch = source if is_last else source._replace(size_bytes=-1)
            if not self.writer.add(of_batch, batch, before=reached, after=end):
                self._done.finished = False  # another writer was at it, or something was forgotten meanwhile
                return
            self._count(batch, (end.end if end else 0) - (reached.end if reached else 0))
            reached = end
            if not is_last and self._is_late():
                return

    def _count(self, batch: list[Piece], read_bytes: int) -> None:
        self._done.pieces += len(batch)
        self._done.chars += sum(len(piece.text) for piece in batch)
        self._done.read_bytes += read_bytes
        if self._progress is not None:
            self._progress(min(self._done.read_bytes, self._to_do_bytes), self._to_do_bytes)

    def _documents(self, known: dict[str, tuple[int, int]], found: list[Found]) -> dict[str, int]:
        """Logs, pauses and chats of every project that a session ran in, and of the one we are in. Their folders."""
        projects = {str(paths.project_of(paths.working_folder()).root)}
        projects |= {entry.project for entry in entries(found) if entry.project}
        settings = self._settings
        there = document_folders(sorted(projects), settings.resume_logs.storage_dir, settings.chat.folder)
        standing = set()
        for folder, (kind, project) in there.items():
            for source in documents(folder, kind, project):
                standing.add(source.path)
                is_new = known.get(source.path) != (source.modified_ns, source.size_bytes)
                if is_new and not self._forgotten.is_session(source.session_id):
                    self._replace(source)
        self._gone_documents = [
            path
            for path in known
            if path not in standing and path.endswith(".md") and not Path(path).exists()
        ]
        return {folder: _modified_ns(folder) for folder in there}

    def _replace(self, source: Source) -> None:
        pieces = pieces_of(source, self._capture)
        if source.type == "pause" and self._forgotten.is_named_in(piece.text for piece in pieces):
            pieces = []  # a pause is called by its own id, and names its session
        if self.writer.replace(source, self._forgotten.masked(pieces)):
            self._done.documents += 1
        else:
            self._done.finished = False

    def _leave_out_excluded(self) -> None:
        """What was read of a tool before the user excluded it goes, by reading its sessions anew."""
        excluded = ", ".join(sorted(self._capture.exclude_tools))
        if (self.writer.fact(_EXCLUDED) or "") != excluded:
            self.writer.remove(self.writer.with_tools(self._capture.exclude_tools))
            self.writer.note(_EXCLUDED, excluded)

    def _archived(self, known: dict[str, tuple[int, int]], found: list[Found]) -> list[Archived]:
        """Those of the archive that are neither known nor with their agent, where the archive has changed."""
        now = archive_folder()
        if self.writer.folders_at(now) == now and known:
            return []
        archived = archive_here().sessions()
        self._copied = {each.transcript for each in archived}
        self.writer.mark_archived(self._copied)
        standing = {_path(each) for each in found}
        return [
            each
            for each in archived
            if each.transcript not in known
            and each.transcript not in standing
            and not self._forgotten.is_session(each.session_id)
        ]

    def _remove_gone(self, known: dict[str, tuple[int, int]], found: list[Found]) -> None:
        """What exists nowhere any more: neither with the agent nor in the archive."""
        standing = {_path(each) for each in found}
        archived = {row[0] for row in self.writer.shelf.execute("SELECT path FROM sources WHERE archived")}
        gone = [
            path
            for path in known
            if path not in standing
            and path not in archived
            and not path.endswith(".md")
            and not Path(path).exists()
        ]
        self._done.removed = self.writer.remove([*gone, *self._gone_documents])

    def _is_late(self) -> bool:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._done.finished = False
        return not self._done.finished


def _batches(
    found: Found, cutter: Cutter, after: Place | None, forgotten: Forgotten
) -> Iterator[tuple[list[Piece], Reached | None, bool]]:
    """Pieces of whole records, where each batch ends, and whether it is the last. A half-written last line waits."""
    batch: list[Piece] = []
    chars, begun = 0, time.monotonic()
    done: Record | None = None
    last: Record | None = None
    for record in found.agent.read(found.transcript, after):
        if last is not None:
            new = forgotten.masked(cutter.pieces(last))
            batch += new
            chars, done = chars + sum(len(piece.text) for piece in new), last
            if chars >= _BATCH_CHARS or time.monotonic() - begun > _BATCH_SECONDS:
                yield batch, _reached(found.transcript, done), False
                batch, chars, begun = [], 0, time.monotonic()
        last = record
    if last is not None and not _is_torn(last):
        batch += forgotten.masked(cutter.pieces(last))
        done = last
    yield batch, None if done is None else _reached(found.transcript, done), True


def _is_torn(record: Record) -> bool:
    """Whether it is a line that somebody is still writing."""
    return record.kind is RecordKind.BROKEN and not record.raw.endswith(b"\n")


def _reached(transcript: Path, record: Record) -> Reached:
    place = record.place
    return Reached(place.line_idx, place.start, place.end, _fingerprint(transcript, place.start, place.end))


def _still_stands(transcript: Path, reached: Reached) -> bool:
    """Whether what was read is as it was, as far as a few looks tell."""
    return _fingerprint(transcript, reached.start, reached.end) == reached.digest


def _fingerprint(transcript: Path, start: int, end: int) -> bytes:
    """Of the last record, and of samples of all that stands before it."""
    digest = hashlib.blake2b(digest_size=16)
    with opened(transcript) as file:
        for number in range(_SAMPLES):
            file.seek(start * number // _SAMPLES)
            digest.update(file.read(min(_SAMPLE_BYTES, start)))
        file.seek(start)
        digest.update(file.read(end - start))
    return digest.digest()


def _source(found: Found, entry: SessionEntry) -> Source:
    return Source(
        type="session",
        path=_path(found),
        agent=entry.agent,
        session_id=entry.session_id,
        project=entry.project,
        title=entry.first_prompt and entry.first_prompt[:_LONGEST_TITLE],
        modified_ns=found.modified_ns,
        size_bytes=found.size_bytes,
    )


def _path(found: Found) -> str:
    return os.fsdecode(found.transcript)


def _modified_ns(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0
