"""Forgetting in copies of whole sessions: which of the archive hold it, which files of the agents do, and which nobody can read.

Not knowing is no proof: what cannot be read is named with the reason, and stays. Only halves of copies that a killed process left go
for it, since they are of no use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from io import BufferedReader
from pathlib import Path

from leftoff.errors import NotFoundError, StorageError
from leftoff.flows.archive_sessions import archive_here, files_of
from leftoff.flows.file_texts import holding
from leftoff.flows.forget_names import is_called_by, is_named
from leftoff.flows.sessions import found_sessions
from leftoff.library.archive import Archived, contains, looked_into
from leftoff.library.erasing import masking
from leftoff.model.values import dataclass
from leftoff.system import reasons

_HALF = ".tmp"

IsIt = Callable[[BufferedReader], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A file into which nobody could look, so it may hold it; ``reason`` is a sentence."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The copies of the archive that hold it or are called by it, those among them that nobody can list, and those that cannot be
    read."""

    archived: tuple[Archived, ...] = ()
    orphans: tuple[Path, ...] = ()
    unread: tuple[Unread, ...] = ()

    @property
    def places(self) -> list[Path]:
        """All of these files."""
        archive = archive_here()
        return [*map(archive.place, self.archived), *self.orphans, *(each.path for each in self.unread)]


def with_text(text: str) -> Looked:
    """Those that hold a text, in any case and spacing."""
    masked = masking(text)

    def is_called(archived: Archived) -> bool:
        return any(masked(name) != name for name in _names_of(archived))

    return _looked(is_called, lambda orphan: is_called_by(orphan, text), holding(text))


def of_sessions(session_ids: Collection[str]) -> Looked:
    """Those of these sessions; no copy is opened for it."""
    archive = archive_here()
    return Looked(
        archived=tuple(each for each in archive.sessions() if each.session_id in session_ids),
        orphans=tuple(each for each in archive.orphans() if _is_named(each, session_ids)),
    )


def mentioning(session_ids: Collection[str], needles: Sequence[bytes]) -> Looked:
    """Those of these sessions, and those in which any of the bytes stand."""
    return _looked(
        lambda archived: archived.session_id in session_ids,
        lambda orphan: _is_named(orphan, session_ids),
        lambda file: contains(file, needles),
    )


def erase(archived: Iterable[Archived], orphans: Iterable[Path]) -> None:
    """Take them out, and every half that is of no use; what cannot be deleted is still there for who looks again."""
    archive = archive_here()
    for each in archived:
        with suppress(StorageError):
            archive.remove(each)
    for orphan in {*orphans, *filter(_is_half, archive.orphans())}:
        with suppress(OSError):
            orphan.unlink(missing_ok=True)


def in_agents_files(text: str) -> tuple[tuple[Path, ...], tuple[Unread, ...]]:
    """The agents' own files that hold the text or are called by it, and those that cannot be read."""
    masked, holds = masking(text), holding(text)
    own, unread = [], []
    for path in (path for found in found_sessions() for path in files_of(found.transcript)):
        answer = masked(str(path)) != str(path) or _asked(path, partial(_is_file, path, holds))
        if isinstance(answer, Unread):
            unread.append(answer)
        elif answer:
            own.append(path)
    return tuple(own), tuple(unread)


def _looked(is_of_it: Callable[[Archived], bool], is_called: Callable[[Path], bool], is_it: IsIt) -> Looked:
    archive, archived, orphans, unread = archive_here(), [], [], []
    for each in archive.sessions():
        place = archive.place(each)
        answer = is_of_it(each) or _asked(place, partial(looked_into, place, is_it))
        if isinstance(answer, Unread):
            unread.append(answer)
        elif answer:
            archived.append(each)
    for orphan in archive.orphans():
        answer = is_called(orphan) or _asked(orphan, partial(looked_into, orphan, is_it))
        if isinstance(answer, Unread) and not _is_half(orphan):
            unread.append(answer)
        elif answer:
            orphans.append(orphan)
    return Looked(archived=tuple(archived), orphans=tuple(orphans), unread=tuple(unread))


def _asked(path: Path, question: Callable[[], bool]) -> bool | Unread:
    """The answer, or why there is none; what vanishes meanwhile holds nothing."""
    try:
        return question()
    except (NotFoundError, FileNotFoundError):
        return False
    except StorageError as error:
        said = error.message
        return Unread(path=path, reason=said if said.startswith(str(path)) else f"{path}: {said}")
    except OSError as error:
        return Unread(path=path, reason=f"{path}: cannot be read: {reasons.words(error)}.")


def _is_file(path: Path, is_it: IsIt) -> bool:
    with path.open("rb") as file:
        return is_it(file)


def _is_named(orphan: Path, session_ids: Collection[str]) -> bool:
    return any(is_named(orphan, each) for each in session_ids)


def _is_half(orphan: Path) -> bool:
    return orphan.suffix == _HALF


def _names_of(archived: Archived) -> tuple[str, ...]:
    """What the archive writes down of a copy in plain letters."""
    beside = (each.path for each in archived.files)
    return archived.session_id, archived.project or "", archived.first_prompt or "", *beside
