"""Bring the library up to date: what was appended to transcripts, new ones, and what is gone.

Only new bytes are read. Each batch is a transaction of its own, so nobody waits long, a kill loses one batch, and a budget of
seconds ends it at any point: the next update goes on from there. The newest sessions come first. One bad transcript hides
no other; a broken library ends it. What an agent has deleted is read from its archived copy, and a transcript that was changed
without growing is read anew from its beginning.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from leftoff.errors import LeftoffError
from leftoff.flows.agents import agents_here
from leftoff.flows.archive_sessions import archive_here
from leftoff.flows.capture import capture_here
from leftoff.flows.library_batches import batches, still_stands
from leftoff.flows.library_copies import archive_folder, fullest_copies, source_of, sweep, unpacked
from leftoff.flows.library_documents import documents, is_folder, pieces_of, wanted_folders
from leftoff.flows.library_folder import LOCK, library_folder
from leftoff.flows.library_listing import Find, listed
from leftoff.flows.library_pieces import Cutter
from leftoff.flows.library_stale import (
    BUILT,
    FOLDERS_NAMED,
    at,
    folder_variables,
    missing,
    note_look,
)
from leftoff.flows.sessions import Found, entries, found_sessions
from leftoff.flows.settings import settings_here
from leftoff.library import shelf as shelves
from leftoff.library.archive import Archived
from leftoff.library.pieces import LONGEST_TITLE, Piece, Reached, Source, WaitingCalls
from leftoff.library.writing import Writer
from leftoff.model.protocols import Agent
from leftoff.model.records import Place
from leftoff.model.session import SessionEntry
from leftoff.model.wire import JsonObject
from leftoff.system import clock, locks, own_log, paths

_MUCH_CHARS = 20_000_000  # after so much new text the words are put in order
_EXCLUDED = "excluded tools"
_NOTHING = -1  # the size of what is not known, or not all read

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
    find: Find | None = None,
    changed: Sequence[str] = (),
) -> Updated:
    """Read what is new: in the sources ``changed``, which are known, where any are given; else in all that ``find`` finds, or anybody.

    LockTimeoutError where another process has been at it for longer than ``patience_seconds``.
    """
    folder = Path(library_folder())
    deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locks.held(folder / LOCK, timeout_seconds=patience_seconds):
        update = _Update(os.fsdecode(folder), deadline, progress)
        try:
            if changed and update.knows_what_to_leave_out():
                return update.run_on(changed)
            return update.run(find or found_sessions)
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
            return update.run(found_sessions)
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

    def run(self, find: Find) -> Updated:
        self._leave_out_excluded()
        known = self.writer.known()
        seen = archive_folder()  # as they are before anybody looks: what comes meanwhile is new
        found, homes = listed(find, self.writer.folders())
        seen |= homes | self._documents(known, found)
        stale = [each for each in found if known.get(_path(each)) != (each.modified_ns, each.size_bytes)]
        self._to_do_bytes = sum(each.size_bytes for each in stale)
        copies = [*self._archived(known, found)]
        self._remove_gone(known, found)
        self._read_sessions(stale, {path: size for path, (_, size) in known.items()})
        for copy, size_before in copies:
            if self._is_late():
                return self._done
            self._guarded(partial(self._read_copy, copy, size_before), Path(copy.transcript))
        if self._done.finished:
            self.writer.remember_folders(
                {path: then for path, then in seen.items() if self._may_be_named(path)},
                {BUILT: "yes", FOLDERS_NAMED: folder_variables(paths.environment())},
            )
            note_look(library_folder(), clock.now().timestamp())
        return self._ended()

    def run_on(self, changed: Sequence[str]) -> Updated:
        """The same for a few sources that are known and have changed: no other is looked at, however many there are."""
        agents = {agent.id: agent for agent in agents_here()}
        rows = self.writer.sources(changed)
        there = [each for each in rows if each.type == "session" and each.agent in agents]
        found = [each for row in there if (each := _found(agents[row.agent or ""], Path(row.path)))]
        self._to_do_bytes = sum(each.size_bytes for each in found)
        self._read_sessions(found, {row.path: row.size_bytes for row in there})
        for row in rows:
            if row.type != "session":
                self._read_document(row)
        return self._ended()

    def _read_sessions(self, stale: list[Found], sizes: Mapping[str, int]) -> None:
        """What is new in each, as long as there is time; ``sizes`` are those of before."""
        for each, entry in self._with_entries(stale):
            if self._is_late():
                return
            read = partial(self._read_on, each, self._source(each, entry), sizes.get(_path(each), _NOTHING))
            self._guarded(read, each.transcript)

    def _ended(self) -> Updated:
        """What is done once, where there was time for all."""
        if self._done.finished and self._copied is not None:
            self.writer.mark_archived(self._copied)
        if self._done.finished and self._done.chars > _MUCH_CHARS:
            self.writer.optimise()
        return self._done

    def _with_entries(self, stale: list[Found]) -> Iterator[tuple[Found, SessionEntry]]:
        by_path = {_path(each): each for each in stale}
        for entry in entries(stale):
            if not self._is_forgotten(entry.session_id, entry.transcript, entry.project):
                yield by_path[entry.transcript], entry

    def _is_forgotten(self, session_id: str | None, path: str, project: str | None) -> bool:
        """Whether it is a forgotten session, or is called by a forgotten text: its path and its project are kept with it."""
        return self._forgotten.is_session(session_id) or self._forgotten.is_in((session_id, path, project))

    def _may_be_named(self, folder: str) -> bool:
        """Whether the library can hold its name, and may."""
        try:
            folder.encode()
        except UnicodeEncodeError:
            return False
        return not self._forgotten.is_in((folder,))

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
            size_before == found.size_bytes or not still_stands(found.transcript, reached)
        ):
            self.writer.remove([source.path])
            self._copied = {each.transcript for each in archive_here().sessions()}
            reached, waiting = None, {}
        self._take_in(found, source, reached, waiting)

    def _source(self, found: Found, entry: SessionEntry) -> Source:
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
        return prompt and self._forgotten.masked_text(prompt)[:LONGEST_TITLE]

    def _read_copy(self, archived: Archived, size_before: int) -> None:
        """A session that its agent has deleted, from the archive; the copy is unpacked for as long as it is read."""
        source = source_of(archived)
        with unpacked(archived) as copy:
            self._read_on(copy, source._replace(title=self._title(source.title)), size_before)

    def _take_in(self, found: Found, source: Source, reached: Reached | None, waiting: WaitingCalls) -> None:
        after = None if reached is None else Place(_path(found), reached.line_idx, reached.start, reached.end)
        cutter = Cutter(found.agent, self._capture, {call: each.tool for call, each in waiting.items()})
        for batch, upto, is_last in batches(found, cutter, after, self._forgotten):
            end = reached if upto is None else upto
            of_batch = source if is_last else source._replace(size_bytes=_NOTHING)
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
        wanted = wanted_folders(sorted(projects), settings.resume_logs.storage_dir, settings.chat.folder)
        seen = {
            each: at(each) for each in (place if is_folder(place) else missing(place) for place in wanted)
        }
        standing = set()
        for folder, (kind, project) in wanted.items():
            there_now = [*documents(folder, kind, project)] if is_folder(folder) else []
            standing |= {source.path for source in there_now}
            self._take_documents(
                each for each in there_now if known.get(each.path) != (each.modified_ns, each.size_bytes)
            )
        self._gone_documents = [
            path
            for path in known
            if path not in standing
            and path.endswith(".md")
            and (str(Path(path).parent) in wanted or not Path(path).exists())
        ]
        return seen

    def _take_documents(self, new: Iterable[Source]) -> None:
        for source in new:
            if not self._is_forgotten(source.session_id, source.path, source.project):
                self._replace(source)

    def _read_document(self, row: Source) -> None:
        """A known document that has changed; one that is no longer ours goes."""
        folder = str(Path(row.path).parent)
        new = [each for each in documents(folder, row.type, row.project or "") if each.path == row.path]
        self._take_documents(new)
        if not new and is_folder(folder):
            self.writer.remove([row.path])

    def _replace(self, source: Source) -> None:
        pieces = pieces_of(source, self._capture)
        if source.type == "pause" and self._forgotten.is_named_in(piece.text for piece in pieces):
            pieces = []  # a pause is called by its own id, and names its session
        if self.writer.replace(source, self._forgotten.masked(pieces)):
            self._done.documents += 1
        else:
            self._done.finished = False

    def knows_what_to_leave_out(self) -> bool:
        """Whether the tools that are excluded are those of the last update."""
        return (self.writer.fact(_EXCLUDED) or "") == self._excluded()

    def _leave_out_excluded(self) -> None:
        """What was read of a tool before the user excluded it goes, by reading its sessions anew."""
        if not self.knows_what_to_leave_out():
            self.writer.remove(self.writer.with_tools(self._capture.exclude_tools))
            self.writer.note(_EXCLUDED, self._excluded())

    def _excluded(self) -> str:
        return ", ".join(sorted(self._capture.exclude_tools))

    def _archived(
        self, known: dict[str, tuple[int, int]], found: list[Found]
    ) -> Iterator[tuple[Archived, int]]:
        """Those of the archive that are not with their agent and of which less is known than the copy holds: how much that was."""
        standing = {_path(each) for each in found}
        for each in fullest_copies(self._perhaps_new(known)):
            size_before = known.get(each.transcript, (0, _NOTHING))[1]
            if (
                each.transcript not in standing
                and size_before < each.files[0].size_bytes
                and not self._is_forgotten(each.session_id, each.transcript, each.project)
            ):
                yield each, size_before

    def _perhaps_new(self, known: dict[str, tuple[int, int]]) -> list[Archived]:
        """All of the archive where it has changed; else the sessions with several copies, whose transcripts were cut short."""
        now = archive_folder()
        if self.writer.folders_at(now) == now and known:
            return archive_here().of_several_copies()
        archived = archive_here().sessions()
        self._copied = {each.transcript for each in archived}
        self.writer.mark_archived(self._copied)
        return archived

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


def _found(agent: Agent, transcript: Path) -> Found | None:
    """The transcript as it is now; None where it has vanished."""
    try:
        stat = transcript.stat()
    except OSError:
        return None
    return Found(agent=agent, transcript=transcript, modified_ns=stat.st_mtime_ns, size_bytes=stat.st_size)


def _path(found: Found) -> str:
    return os.fsdecode(found.transcript)
