"""Forget in whole copies of sessions: those in the archive, which are deleted, and the agents' own files, which are named.

Also the one way to ask files a question that some of them may not answer. A file that cannot be read may hold a match: it is named with the reason and stays. Only halves of copies that a killed
process left are deleted in any case, because they are of no use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path

from leftoff.archive.archive import open_archive, session_files
from leftoff.archive.archive_files import Archived, any_file_in_copy
from leftoff.archive.file_texts import read_units, unit_texts
from leftoff.errors import NotFoundError, StorageError, describe_os_error
from leftoff.forget.matcher import Matcher
from leftoff.forget.places import is_named_after, is_named_by
from leftoff.platform.zstd import open_plain
from leftoff.sessions.listing import list_transcripts


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A file that could not be read, so it may hold a match; ``reason`` is a sentence."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveMatches:
    """The copies in the archive that hold a match, those of them that are not listed, and those that cannot be read."""

    archived: tuple[Archived, ...] = ()
    orphans: tuple[Path, ...] = ()
    unread: tuple[Unread, ...] = ()

    @property
    def holding(self) -> list[Path]:
        """The files of those that hold a match."""
        return [*map(open_archive().copy_path, self.archived), *self.orphans]


def copies_of(session_ids: Collection[str]) -> ArchiveMatches:
    """Return the copies of these sessions by their names, without reading them."""
    archive = open_archive()
    return ArchiveMatches(
        archived=tuple(each for each in archive.sessions() if each.session_id in session_ids),
        orphans=tuple(
            orphan
            for orphan in archive.orphans()
            if any(is_named_after(orphan, each) for each in session_ids)
        ),
    )


def copies_with(matcher: Matcher, session_ids: Collection[str] = ()) -> ArchiveMatches:
    """Read every copy and return those with a match in their content or names, and those of these sessions."""
    archive = open_archive()
    named = copies_of(session_ids)
    unread: list[Unread] = []

    def holds(copy: Path) -> bool:
        answer = _ask(copy, lambda: any_file_in_copy(copy, partial(_content_holds, matcher)))
        if isinstance(answer, Unread) and not _is_half(copy):
            unread.append(answer)
            return False
        return bool(answer)

    archived = tuple(
        each
        for each in archive.sessions()
        if each in named.archived
        or matcher.is_in(
            each.session_id, each.project, each.first_prompt, *(file.path for file in each.files)
        )
        or holds(archive.copy_path(each))
    )
    orphans = tuple(
        each
        for each in archive.orphans()
        if each in named.orphans or is_named_by(each, matcher) or holds(each)
    )
    return ArchiveMatches(archived=archived, orphans=orphans, unread=tuple(unread))


def delete_copies(copies: ArchiveMatches) -> None:
    """Delete these copies and every half of one; what cannot be deleted is found again by the next look."""
    archive = open_archive()
    for each in copies.archived:
        with suppress(StorageError):
            archive.remove(each)
    for orphan in {*copies.orphans, *filter(_is_half, archive.orphans())}:
        with suppress(OSError):
            orphan.unlink(missing_ok=True)


def agents_files_with(matcher: Matcher) -> tuple[tuple[Path, ...], tuple[Unread, ...]]:
    """Return the agents' own files with a match in their content or path, and those that cannot be read."""
    found = (path for found in list_transcripts() for path in session_files(found.transcript))
    return ask_each(found, lambda path: matcher.is_in(str(path)) or _file_holds(path, matcher))


def ask_each(
    paths: Iterable[Path], question: Callable[[Path], bool]
) -> tuple[tuple[Path, ...], tuple[Unread, ...]]:
    """Return the files for which the answer is yes, and those that cannot be read."""
    answers = [(path, _ask(path, partial(question, path))) for path in paths]
    return (
        tuple(path for path, answer in answers if answer is True),
        tuple(answer for _, answer in answers if isinstance(answer, Unread)),
    )


def _is_half(orphan: Path) -> bool:
    return orphan.suffix == ".tmp"


def _ask(path: Path, question: Callable[[], bool]) -> bool | Unread:
    """Return the answer, or why it cannot be given; a file that vanishes meanwhile holds nothing."""
    try:
        return question()
    except (NotFoundError, FileNotFoundError):
        return False
    except StorageError as error:
        message = error.message
        return Unread(path=path, reason=message if message.startswith(str(path)) else f"{path}: {message}")
    except OSError as error:
        return Unread(path=path, reason=f"{path}: cannot be read: {describe_os_error(error)}.")


def _file_holds(path: Path, matcher: Matcher) -> bool:
    if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe or device, which might never end
        return False
    with path.open("rb") as file:
        return _content_holds(matcher, file)


def _content_holds(matcher: Matcher, file: BufferedReader) -> bool:
    with open_plain(file) as content:
        units = filter(matcher.may_be_in, read_units(content))
        return any(matcher.is_in(text) for unit in units for text in unit_texts(unit))
