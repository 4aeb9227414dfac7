"""List the sessions of all agents, newest first.

What a list shows of each transcript is kept in the catalogue by path, size and time of change, so that a hundred thousand
sessions are listed by asking the file system alone. The prompts in the catalogue are redacted. Numbers shown with a list
stay valid until the next list is shown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leftoff.agents.registry import load_agents
from leftoff.core.session import MAX_PROMPT_CHARS, SessionEntry
from leftoff.core.wire import SCHEMAS
from leftoff.errors import NotFoundError, StorageError, TranscriptError
from leftoff.platform import files, paths
from leftoff.workspace import Workspace

if TYPE_CHECKING:
    from leftoff.catalogue.catalogue import Stamp
    from leftoff.core.protocols import Agent

_FIRST_BATCH = 32  # entries looked up together; a caller that wants only the newest asks for no more
_BATCH = 500
_WORTH_KEEPING = 200  # transcripts; reading so many takes long enough that it should happen only once
_NUMBERS_FILE = "last-list.json"
ProjectFilter = Callable[[str | None], bool]  # takes the folder that a transcript says its session ran in
EntryReader = Callable[[Iterable["TranscriptFile"], ProjectFilter], Iterator[SessionEntry]]


class TranscriptFile(NamedTuple):
    """A transcript before anything in it was read."""

    agent: Agent
    transcript: Path
    modified_ns: int
    size_bytes: int


def list_transcripts(agents: Iterable[Agent] | None = None) -> list[TranscriptFile]:
    """Return every transcript of every agent, newest first; files that vanish meanwhile are left out."""
    found = []
    for agent in load_agents() if agents is None else agents:
        for transcript in agent.transcripts():
            try:
                stat = transcript.stat()
            except OSError:
                continue
            found.append(
                TranscriptFile(
                    agent=agent, transcript=transcript, modified_ns=stat.st_mtime_ns, size_bytes=stat.st_size
                )
            )
    return sorted(found, key=lambda each: (-each.modified_ns, str(each.transcript)))


def _any_project(_folder: str | None) -> bool:
    return True


def entries(
    transcripts: Iterable[TranscriptFile], is_wanted: ProjectFilter = _any_project
) -> Iterator[SessionEntry]:
    """Yield what a list shows of each transcript, from the catalogue where possible, and remember what was read.

    A transcript that cannot be read is left out. Nothing more is read than the caller asks for.
    """
    reader = _CachedReader()
    try:
        yield from reader.entries(transcripts, is_wanted)
    finally:
        reader.save()


def entries_from_index(
    transcripts: Iterable[TranscriptFile], is_wanted: ProjectFilter = _any_project
) -> Iterator[SessionEntry]:
    """Do the same for a caller that only picks one session: a catalogue is created only if that is worth it."""
    reader = _CachedReader()
    try:
        yield from reader.entries(transcripts, is_wanted)
    finally:
        reader.save_if_worth_it()


def entries_from_files(
    transcripts: Iterable[TranscriptFile], is_wanted: ProjectFilter = _any_project
) -> Iterator[SessionEntry]:
    """Do the same from the transcripts alone, without prompts: for a few files that beats opening the catalogue."""
    for each in transcripts:
        entry = _read_entry(each)
        if entry is not None and is_wanted(entry.project):
            yield entry._replace(first_prompt=None)


def entries_of_project(
    folder: Path, transcripts: Iterable[TranscriptFile], read: EntryReader = entries
) -> Iterator[SessionEntry]:
    """Yield the sessions that ran in the same project as ``folder``, newest first."""
    root = paths.find_project_root(folder)
    roots: dict[str, Path | None] = {}

    def is_in_project(session_folder: str | None) -> bool:
        if session_folder is None:
            return False
        if session_folder not in roots:
            roots[session_folder] = _root_of(session_folder)
        return roots[session_folder] == root

    return read(transcripts, is_in_project)


def require_folder(project: Path | None) -> None:
    """Raise NotFoundError for a project that no session was found of because there is no such folder."""
    if project is not None and not project.is_dir():
        raise NotFoundError(f"{project}: there is no such folder, and no session ran in it.")


def is_of_project(entry: SessionEntry, root: Path) -> bool:
    """Return whether a session ran in the project at ``root``."""
    return entry.project is not None and _root_of(entry.project) == paths.find_project_root(root)


def _root_of(folder: str) -> Path | None:
    """Return the project root of a folder named in a transcript; None if it cannot be a folder or may not be read."""
    if not Path(folder).is_absolute():
        return None  # a relative path would be taken for one below the current folder
    try:
        return paths.find_project_root(Path(folder))
    except (OSError, ValueError):
        return None


class _CachedReader:
    """Reads entries from the catalogue where it is up to date, and from the transcripts where it is not."""

    def __init__(self) -> None:
        # Imported here because the latest session of a project is found without SQLite.
        from leftoff.catalogue.catalogue import Catalogue, Stamp  # noqa: PLC0415
        from leftoff.catalogue.database import library_folder  # noqa: PLC0415

        self._stamp = Stamp
        self._folder = library_folder()
        self._catalogue = Catalogue(self._folder)
        self._new: list[tuple[Stamp, SessionEntry]] = []

    def entries(
        self, transcripts: Iterable[TranscriptFile], is_wanted: ProjectFilter
    ) -> Iterator[SessionEntry]:
        """Yield the wanted entries in the order given, looking them up in batches."""
        rest, size = iter(transcripts), _FIRST_BATCH
        while batch := [*islice(rest, size)]:
            yield from self._batch(batch, is_wanted)
            size = _BATCH

    def _batch(self, batch: list[TranscriptFile], is_wanted: ProjectFilter) -> Iterator[SessionEntry]:
        stamps = {
            str(each.transcript): self._stamp(each.modified_ns, each.size_bytes, each.agent.id)
            for each in batch
        }
        known = self._catalogue.find(stamps, is_wanted)
        for each in batch:
            path = str(each.transcript)
            entry = known[path] if path in known else self._read(each, stamps[path])
            if entry is not None and is_wanted(entry.project):
                yield entry

    def _read(self, file: TranscriptFile, stamp: Stamp) -> SessionEntry | None:
        """Read the entry from the transcript, its prompt redacted as the user's settings demand."""
        entry = _read_entry(file)
        if entry is None:
            return None
        if entry.first_prompt is not None:
            entry = entry._replace(first_prompt=self._redact(entry.first_prompt)[:MAX_PROMPT_CHARS])
        self._new.append((stamp, entry))
        return entry

    @cached_property
    def _redact(self) -> Callable[[str], str]:
        return Workspace.open().redact

    def save(self) -> None:
        """Remember what was read."""
        self._catalogue.close()
        self._catalogue.save(self._new)

    def save_if_worth_it(self) -> None:
        """Remember what was read, unless it is little and no catalogue exists yet."""
        if len(self._new) > _WORTH_KEEPING or os.path.lexists(self._folder):
            self.save()
        else:
            self._catalogue.close()


def _read_entry(file: TranscriptFile) -> SessionEntry | None:
    try:
        return file.agent.entry(file.transcript)
    except TranscriptError:
        return None
    except Exception:  # noqa: BLE001 - the adapter may be a plugin and the file anything: one must not hide the rest
        return None


def remember_numbers(transcripts: Sequence[str]) -> None:
    """Number a list from 1 as it is shown. The list is shown even if this fails."""
    document = {"schema": SCHEMAS["last_list"], "transcripts": [*transcripts]}
    with suppress(StorageError):
        files.write_file(_numbers_path(), json.dumps(document).encode(), sync=False)


def numbered_transcript(number: int) -> Path | None:
    """Return the transcript that had this number in the list last shown."""
    try:
        listed = json.loads(_numbers_path().read_bytes())["transcripts"]
        return Path(listed[number - 1]) if 1 <= number <= len(listed) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _numbers_path() -> Path:
    return paths.state_folder() / _NUMBERS_FILE
