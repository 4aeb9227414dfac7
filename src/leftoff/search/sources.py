"""The sources of the index: transcripts in batches of pieces, new and archived sessions, and the folders to watch."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from leftoff.agents.jsonl import open_transcript
from leftoff.agents.registry import load_agents
from leftoff.archive.archive import fullest, open_archive
from leftoff.archive.archive_files import Archived
from leftoff.catalogue.database import library_folder
from leftoff.catalogue.forgotten import Forgotten
from leftoff.core.records import Place, Record, RecordKind
from leftoff.errors import NotFoundError
from leftoff.search.changes import folder_stamp, watched_folders
from leftoff.search.pieces import Piece, PieceExtractor, ReadPosition, Source, mask_forgotten
from leftoff.sessions.listing import TranscriptFile

_BATCH_SECONDS = 0.25
_BATCH_CHARS = 1_000_000
_SAMPLE_COUNT = 16
_SAMPLE_BYTES = 512
Find = Callable[[], list[TranscriptFile]]
_MAX_LISTINGS = 3
_UNKNOWN_STAMP = -1  # differs from every real stamp
_UNPACKED_PREFIX = "unpacked-"


def read_batches(
    found: TranscriptFile, extractor: PieceExtractor, after: Place | None, forgotten: Forgotten
) -> Iterator[tuple[list[Piece], ReadPosition | None, bool]]:
    """Yield pieces of complete records, the position after them, and whether it is the last batch."""
    batch: list[Piece] = []
    chars, started = 0, time.monotonic()
    done: Record | None = None
    last: Record | None = None
    for record in found.agent.read(found.transcript, after):
        if last is not None:
            new = mask_forgotten(extractor.pieces(last), forgotten)
            batch += new
            chars, done = chars + sum(len(piece.text) for piece in new), last
            if chars >= _BATCH_CHARS or time.monotonic() - started > _BATCH_SECONDS:
                yield batch, _position_after(found.transcript, done), False
                batch, chars, started = [], 0, time.monotonic()
        last = record
    if last is not None and not _is_incomplete(last):
        batch += mask_forgotten(extractor.pieces(last), forgotten)
        done = last
    yield batch, None if done is None else _position_after(found.transcript, done), True


def _is_incomplete(record: Record) -> bool:
    """Return whether a record is a line that is still being written."""
    return record.kind is RecordKind.BROKEN and not record.raw.endswith(b"\n")


def _position_after(transcript: Path, record: Record) -> ReadPosition:
    place = record.place
    return ReadPosition(
        place.line_idx, place.start, place.end, _fingerprint(transcript, place.start, place.end)
    )


def is_unchanged(transcript: Path, reached: ReadPosition) -> bool:
    """Return whether the content up to a position is the same, as far as samples tell."""
    return _fingerprint(transcript, reached.start, reached.end) == reached.digest


def _fingerprint(transcript: Path, start: int, end: int) -> bytes:
    """Return a digest of the last record and of samples of everything before it."""
    digest = hashlib.blake2b(digest_size=16)
    with open_transcript(transcript) as file:
        for number in range(_SAMPLE_COUNT):
            file.seek(start * number // _SAMPLE_COUNT)
            digest.update(file.read(min(_SAMPLE_BYTES, start)))
        file.seek(start)
        digest.update(file.read(end - start))
    return digest.digest()


def list_with_folders(find: Find, remembered: Iterable[str]) -> tuple[list[TranscriptFile], dict[str, int]]:
    """Return what ``find`` returns, and the folders to watch with their stamps before listing.

    So whatever appears while sessions are listed or read is new to the next update. A folder that was not in ``remembered``, the
    folders of the last update, is a reason to list again.
    """
    before = {folder: folder_stamp(folder) for folder in remembered}
    found, wanted = _list(find)
    for _ in range(_MAX_LISTINGS - 1):
        if wanted.keys() <= before.keys():
            break
        before |= wanted
        found, wanted = _list(find)
    return found, {folder: before.get(folder, _UNKNOWN_STAMP) for folder in wanted}


def _list(find: Find) -> tuple[list[TranscriptFile], dict[str, int]]:
    found = find()
    return found, _agent_folders(found)


def _agent_folders(found: Iterable[TranscriptFile]) -> dict[str, int]:
    """Return the folders where new sessions of any agent may appear, also of one that has none yet."""
    by_home: dict[str, list[str]] = {str(agent.home): [] for agent in load_agents()}
    for each in found:
        by_home.setdefault(str(each.agent.home), []).append(os.fsdecode(each.transcript))
    return {
        path: then
        for home, transcripts in by_home.items()
        for path, then in watched_folders(home, transcripts).items()
    }


def archive_folder_stamp() -> dict[str, int]:
    """Return the archive folder with its modification time; empty if there is none."""
    folder = open_archive().folder
    try:
        return {os.fsdecode(folder): folder.stat().st_mtime_ns}
    except OSError:
        return {}


@contextmanager
def unpack_session(archived: Archived) -> Iterator[TranscriptFile]:
    """Unpack an archived session for a moment. Raise NotFoundError if its agent is not known here."""
    agent = next((each for each in load_agents() if each.id == archived.agent), None)
    if agent is None:
        raise NotFoundError(f"{archived.session_id}: {archived.agent} is not an agent that leftoff knows.")
    with TemporaryDirectory(prefix=_UNPACKED_PREFIX, dir=library_folder()) as folder:
        first = archived.files[0]
        yield TranscriptFile(
            agent=agent,
            transcript=open_archive().unpack(archived, Path(folder)),
            modified_ns=first.modified_ns,
            size_bytes=first.size_bytes,
        )


def fullest_copies(archived: Iterable[Archived]) -> list[Archived]:
    """Return one copy of each session."""
    by_transcript: dict[str, list[Archived]] = {}
    for each in archived:
        by_transcript.setdefault(each.transcript, []).append(each)
    return [*map(fullest, by_transcript.values())]


def archived_source(archived: Archived) -> Source:
    """Return the source of an archived session, with its original path."""
    first = archived.files[0]
    return Source(
        type="session",
        path=archived.transcript,
        agent=archived.agent,
        session_id=archived.session_id,
        project=archived.project,
        title=archived.first_prompt,
        modified_ns=first.modified_ns,
        size_bytes=first.size_bytes,
    )


def remove_leftovers() -> None:
    """Remove what a killed process left unpacked. The caller holds the lock of the index."""
    for left in Path(library_folder()).glob(f"{_UNPACKED_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
