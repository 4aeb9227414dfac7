"""Sessions that their agent has deleted and the archive still has, as the library reads them: from a copy unpacked for a moment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from leftoff.errors import NotFoundError
from leftoff.flows.agents import agents_here
from leftoff.flows.archive_sessions import archive_here, fullest
from leftoff.flows.library_folder import library_folder
from leftoff.flows.sessions import Found
from leftoff.library.archive import Archived
from leftoff.library.pieces import Source

_PREFIX = "unpacked-"


def archive_folder() -> dict[str, int]:
    """The archive with its time of change; nothing where there is none."""
    folder = archive_here().folder
    try:
        return {os.fsdecode(folder): folder.stat().st_mtime_ns}
    except OSError:
        return {}


@contextmanager
def unpacked(archived: Archived) -> Iterator[Found]:
    """The session as if its agent still had it; NotFoundError where that agent is not known here."""
    agent = next((each for each in agents_here() if each.id == archived.agent), None)
    if agent is None:
        raise NotFoundError(f"{archived.session_id}: {archived.agent} is no agent that is known here.")
    with TemporaryDirectory(prefix=_PREFIX, dir=library_folder()) as folder:
        first = archived.files[0]
        yield Found(
            agent=agent,
            transcript=archive_here().unpacked(archived, Path(folder)),
            modified_ns=first.modified_ns,
            size_bytes=first.size_bytes,
        )


def fullest_copies(archived: Iterable[Archived]) -> list[Archived]:
    """One copy of each session: the library has one text of it."""
    by_transcript: dict[str, list[Archived]] = {}
    for each in archived:
        by_transcript.setdefault(each.transcript, []).append(each)
    return [*map(fullest, by_transcript.values())]


def source_of(archived: Archived) -> Source:
    """What is known of the session, with the place where its agent had it."""
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


def sweep() -> None:
    """Remove what a killed process left unpacked; for whoever holds the library's lock."""
    for left in Path(library_folder()).glob(f"{_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
