"""Reads what is new into the index: appended records, new transcripts and documents, and what is gone.

Only new bytes are read. Each batch is one transaction, so that others do not wait long, a killed process loses one batch, and
a time budget can end the update anywhere: the next one continues. The newest sessions come first. A bad transcript does not
stop the others; a broken index does. What an agent has deleted is read from its archived copy, and a transcript that changed
without growing is read again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from leftoff.agents.registry import load_agents
from leftoff.archive.archive import open_archive
from leftoff.archive.archive_files import Archived
from leftoff.catalogue.database import FILE_NAME
from leftoff.core.protocols import Agent
from leftoff.core.quantities import count
from leftoff.core.records import Place
from leftoff.core.session import SessionEntry
from leftoff.core.wire import JsonObject
from leftoff.errors import LeftoffError
from leftoff.platform import log, paths
from leftoff.search.changes import (
    BUILT,
    EXCLUDED_TOOLS,
    FOLDERS_NAMED,
    first_missing_folder,
    folder_stamp,
    folder_variables_digest,
    tools_as_fact,
    was_made_without,
)
from leftoff.search.documents import document_pieces, expected_folders, find_documents, is_folder
from leftoff.search.index_writer import IndexWriter
from leftoff.search.pieces import (
    MAX_TITLE_CHARS,
    PendingCalls,
    Piece,
    PieceExtractor,
    ReadPosition,
    Source,
    mask_forgotten,
)
from leftoff.search.sources import (
    Find,
    archive_folder_stamp,
    archived_source,
    fullest_copies,
    is_unchanged,
    list_with_folders,
    read_batches,
    remove_leftovers,
    unpack_session,
)
from leftoff.sessions.listing import TranscriptFile, entries
from leftoff.workspace import Workspace

_OPTIMISE_CHARS = 20_000_000  # after this much new text the full-text index is optimised
_UNKNOWN_SIZE = -1  # of a source that is not known, or not completely read
Progress = Callable[[int, int], None]  # bytes done, bytes to do


@dataclass(slots=True)
class UpdateResult:
    """What an update did. ``finished`` is False if its time ran out."""

    sessions: int = 0
    documents: int = 0
    removed: int = 0
    pieces: int = 0
    chars: int = 0
    read_bytes: int = 0
    finished: bool = True

    def describe(self) -> str:
        """Return a sentence for people."""
        rest = "" if self.finished else " There is more to read: leftoff search --update"
        return (
            f"{count(self.sessions, 'session')} and {count(self.documents, 'document')} read, {self.read_bytes / 1e6:,.1f} MB;"
            f" {self.removed:,} removed that no longer exist.{rest}"
        )

    def to_dict(self) -> JsonObject:
        """Return the JSON form."""
        return {
            "sessions": self.sessions,
            "documents": self.documents,
            "removed": self.removed,
            "pieces": self.pieces,
            "read_bytes": self.read_bytes,
            "finished": self.finished,
        }


class Updater:
    """One update."""

    def __init__(
        self,
        workspace: Workspace,
        folder: str,
        deadline: float | None,
        progress: Progress | None,
        *,
        file_name: str = FILE_NAME,
    ) -> None:
        self._workspace = workspace
        self.writer = IndexWriter(folder, file_name=file_name)
        self._deadline, self._progress = deadline, progress
        self._capture = workspace.capture
        self._forgotten = self.writer.forgotten
        self._result = UpdateResult()
        self._to_do_bytes = 0
        self._archived_transcripts: set[str] | None = (
            None  # None: what the index knows of the archive is current
        )
        remove_leftovers()

    def run(self, find: Find) -> UpdateResult:
        """Read everything that is new."""
        self._remove_excluded()
        known = self.writer.known_sources()
        # Taken before listing, so that whatever comes meanwhile counts as new.
        stamps = archive_folder_stamp()
        found, homes = list_with_folders(find, self.writer.folders())
        stamps |= homes | self._documents(known, found)
        stale = [each for each in found if known.get(_path(each)) != (each.modified_ns, each.size_bytes)]
        self._to_do_bytes = sum(each.size_bytes for each in stale)
        copies = [*self._unread_copies(known, found)]
        self._remove_missing(known, found)
        self._read_sessions(stale, {path: size for path, (_, size) in known.items()})
        for copy, size_before in copies:
            if self._is_late():
                return self._result
            self._run_guarded(partial(self._read_copy, copy, size_before), Path(copy.transcript))
        if self._result.finished:
            self.writer.remember_folders(
                {path: then for path, then in stamps.items() if self._may_be_stored(path)},
                {BUILT: "yes", FOLDERS_NAMED: folder_variables_digest(paths.environment())},
            )
        return self._finish()

    def run_for(self, changed: Sequence[str]) -> UpdateResult:
        """Read a few known sources that changed, without looking at any other."""
        agents = {agent.id: agent for agent in load_agents()}
        rows = self.writer.sources(changed)
        there = [each for each in rows if each.type == "session" and each.agent in agents]
        found = [each for row in there if (each := _transcript_file(agents[row.agent or ""], Path(row.path)))]
        self._to_do_bytes = sum(each.size_bytes for each in found)
        self._read_sessions(found, {row.path: row.size_bytes for row in there})
        for row in rows:
            if row.type != "session":
                self._read_document(row)
        return self._finish()

    def _read_sessions(self, stale: list[TranscriptFile], sizes: Mapping[str, int]) -> None:
        """Read what is new in each session while there is time; ``sizes`` are the previous ones."""
        for each, entry in self._with_entries(stale):
            if self._is_late():
                return
            read = partial(
                self._read_new, each, self._source(each, entry), sizes.get(_path(each), _UNKNOWN_SIZE)
            )
            self._run_guarded(read, each.transcript)

    def _finish(self) -> UpdateResult:
        """Do what is done once after a complete update, and return the result."""
        if self._result.finished and self._archived_transcripts is not None:
            self.writer.mark_archived(self._archived_transcripts)
        if self._result.finished and self._result.chars > _OPTIMISE_CHARS:
            self.writer.optimise()
        return self._result

    def _with_entries(self, stale: list[TranscriptFile]) -> Iterator[tuple[TranscriptFile, SessionEntry]]:
        by_path = {_path(each): each for each in stale}
        for entry in entries(stale):
            if not self._is_forgotten(entry.session_id, entry.transcript, entry.project):
                yield by_path[entry.transcript], entry

    def _is_forgotten(self, session_id: str | None, path: str, project: str | None) -> bool:
        """Return whether a session was forgotten, or its id, path or project contains a forgotten text."""
        return self._forgotten.includes_session(session_id) or self._forgotten.any_occurs_in(
            (session_id, path, project)
        )

    def _may_be_stored(self, folder: str) -> bool:
        """Return whether a folder's name can be stored and contains no forgotten text."""
        try:
            folder.encode()
        except UnicodeEncodeError:
            return False
        return not self._forgotten.any_occurs_in((folder,))

    def _run_guarded(self, read: Callable[[], None], transcript: Path) -> None:
        """Run ``read``; log an error unless it is the index's own."""
        try:
            read()
        except LeftoffError as error:
            if error.path == self.writer.path:
                raise
            log.write_line(f"library: {error.message}")
        except Exception as error:  # noqa: BLE001 - a plugin's adapter may raise anything, and one file must not stop the rest
            log.write_line(f"library: {transcript}: {type(error).__name__}: {error}")
        else:
            self._result.sessions += 1

    def _read_new(self, found: TranscriptFile, source: Source, size_before: int) -> None:
        """Read the records after the last position; from the beginning if the file is no longer the same."""
        position, pending = self.writer.read_position(source.path)
        if position is not None and (
            size_before == found.size_bytes or not is_unchanged(found.transcript, position)
        ):
            self.writer.remove([source.path])
            self._archived_transcripts = {each.transcript for each in open_archive().sessions()}
            position, pending = None, {}
        self._add_batches(found, source, position, pending)

    def _source(self, found: TranscriptFile, entry: SessionEntry) -> Source:
        return Source(
            type="session",
            path=_path(found),
            agent=entry.agent,
            session_id=entry.session_id,
            project=entry.project,
            title=self._title(entry.first_prompt),
            modified_ns=found.modified_ns,
            size_bytes=found.size_bytes,
        )

    def _title(self, prompt: str | None) -> str | None:
        return prompt and self._forgotten.mask(prompt)[:MAX_TITLE_CHARS]

    def _read_copy(self, archived: Archived, size_before: int) -> None:
        """Read a session that its agent has deleted from its archived copy."""
        source = archived_source(archived)
        with unpack_session(archived) as copy:
            self._read_new(copy, source._replace(title=self._title(source.title)), size_before)

    def _add_batches(
        self, found: TranscriptFile, source: Source, position: ReadPosition | None, pending: PendingCalls
    ) -> None:
        after = (
            None if position is None else Place(_path(found), position.line_idx, position.start, position.end)
        )
        extractor = PieceExtractor(
            found.agent, self._capture, {call: each.tool for call, each in pending.items()}
        )
        for batch, upto, is_last in read_batches(found, extractor, after, self._forgotten):
            end = position if upto is None else upto
            of_batch = source if is_last else source._replace(size_bytes=_UNKNOWN_SIZE)
            if not self.writer.add(of_batch, batch, before=position, after=end):
                self._result.finished = False  # another process wrote, or something was forgotten meanwhile
                return
            self._count(batch, (end.end if end else 0) - (position.end if position else 0))
            position = end
            if not is_last and self._is_late():
                return

    def _count(self, batch: list[Piece], read_bytes: int) -> None:
        self._result.pieces += len(batch)
        self._result.chars += sum(len(piece.text) for piece in batch)
        self._result.read_bytes += read_bytes
        if self._progress is not None:
            self._progress(min(self._result.read_bytes, self._to_do_bytes), self._to_do_bytes)

    def _documents(self, known: dict[str, tuple[int, int]], found: list[TranscriptFile]) -> dict[str, int]:
        """Index logs, pauses and chats of every known project and the current one; return their folders' stamps."""
        projects = {str(self._workspace.project.root)}
        # A project is forgotten with its sessions.
        is_forgotten = self._forgotten.includes_session
        projects |= {
            each.project for each in entries(found) if each.project and not is_forgotten(each.session_id)
        }
        settings = self._workspace.settings
        expected = expected_folders(sorted(projects), settings.resume_logs.storage_dir, settings.chat.folder)
        stamps = {
            each: folder_stamp(each)
            for each in (place if is_folder(place) else first_missing_folder(place) for place in expected)
        }
        present = set()
        for folder, (kind, project) in expected.items():
            there_now = [*find_documents(folder, kind, project)] if is_folder(folder) else []
            present |= {source.path for source in there_now}
            self._replace_documents(
                each for each in there_now if known.get(each.path) != (each.modified_ns, each.size_bytes)
            )
        self._gone_documents = [
            path
            for path in known
            if path not in present
            and path.endswith(".md")
            and (str(Path(path).parent) in expected or not Path(path).exists())
        ]
        return stamps

    def _replace_documents(self, new: Iterable[Source]) -> None:
        for source in new:
            if not self._is_forgotten(source.session_id, source.path, source.project):
                self._replace(source)

    def _read_document(self, row: Source) -> None:
        """Read a known document that changed; remove it if it is no longer leftoff's."""
        folder = str(Path(row.path).parent)
        new = [each for each in find_documents(folder, row.type, row.project or "") if each.path == row.path]
        self._replace_documents(new)
        if not new and is_folder(folder):
            self.writer.remove([row.path])

    def _replace(self, source: Source) -> None:
        pieces = document_pieces(source, self._capture)
        if source.type == "pause" and self._forgotten.mentions_session_in(piece.text for piece in pieces):
            pieces = []  # a pause names its session in its text
        if self.writer.replace(source, mask_forgotten(pieces, self._forgotten)):
            self._result.documents += 1
        else:
            self._result.finished = False

    def has_current_exclusions(self) -> bool:
        """Return whether the excluded tools are those of the last update."""
        return was_made_without(self.writer.connection, self._capture.exclude_tools)

    def _remove_excluded(self) -> None:
        """Remove sources with calls of newly excluded tools, so that they are read again without them."""
        if not self.has_current_exclusions():
            self.writer.remove(self.writer.sources_using(self._capture.exclude_tools))
            self.writer.set_fact(EXCLUDED_TOOLS, tools_as_fact(self._capture.exclude_tools))

    def _unread_copies(
        self, known: dict[str, tuple[int, int]], found: list[TranscriptFile]
    ) -> Iterator[tuple[Archived, int]]:
        """Yield archived copies with more content than the index has, of sessions that their agent deleted, and that size."""
        present = {_path(each) for each in found}
        for each in fullest_copies(self._copies_to_check(known)):
            size_before = known.get(each.transcript, (0, _UNKNOWN_SIZE))[1]
            if (
                each.transcript not in present
                and size_before < each.files[0].size_bytes
                and not self._is_forgotten(each.session_id, each.transcript, each.project)
            ):
                yield each, size_before

    def _copies_to_check(self, known: dict[str, tuple[int, int]]) -> list[Archived]:
        """Return all copies if the archive changed; else those of sessions with several copies."""
        now = archive_folder_stamp()
        watched = self.writer.folders()
        if known and now.items() <= watched.items():
            return open_archive().sessions_with_several_copies()
        archived = open_archive().sessions()
        self._archived_transcripts = {each.transcript for each in archived}
        self.writer.mark_archived(self._archived_transcripts)
        return archived

    def _remove_missing(self, known: dict[str, tuple[int, int]], found: list[TranscriptFile]) -> None:
        """Remove what exists neither with the agent nor in the archive."""
        present = {_path(each) for each in found}
        archived = {
            row[0] for row in self.writer.connection.execute("SELECT path FROM sources WHERE archived")
        }
        missing_paths = [
            path
            for path in known
            if path not in present
            and path not in archived
            and not path.endswith(".md")
            and not Path(path).exists()
        ]
        self._result.removed = self.writer.remove([*missing_paths, *self._gone_documents])

    def _is_late(self) -> bool:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._result.finished = False
        return not self._result.finished


def _transcript_file(agent: Agent, transcript: Path) -> TranscriptFile | None:
    """Return the transcript as it is now; None if it is gone."""
    try:
        stat = transcript.stat()
    except OSError:
        return None
    return TranscriptFile(
        agent=agent, transcript=transcript, modified_ns=stat.st_mtime_ns, size_bytes=stat.st_size
    )


def _path(found: TranscriptFile) -> str:
    return os.fsdecode(found.transcript)
