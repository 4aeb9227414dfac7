"""Tells an edit that was made here from content that came from elsewhere, for a document that leftoff or the user wrote.

The file's times, git's index, its objects and the reflog decide, never the name of an author, which anybody can set. Where they
leave a doubt, the answer is a reason to wait. ``docs/decisions/0013-edits-and-arrivals.md`` has the reasoning and what it cannot see.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from leftoff.platform import files, git, paths

_MOST_ENTRIES = 1000
_MOST_REFLOG_BYTES = 1_000_000
# Editors that save by renaming a draft change the status of the file a moment after its content.
_SAVING_NS = 2_000_000_000
_SECOND_NS = 1_000_000_000
_LONGEST_CHECKOUT_SECONDS = 60  # a folder is made before the reflog says so
# Of Linux's system call statx, which Python does not have yet.
_AT_FDCWD, _STATX_BTIME, _STATX_BYTES, _BTIME_OFFSET = -100, 0x800, 256, 80
_LOCAL_ACTIONS = frozenset({"commit", "commit (initial)", "commit (amend)"})
_ACTION = re.compile(r"(?:commit \()?([a-z][a-z-]*)")
_NO_ANSWER = "git did not answer where its content came from"
_NO_REFLOG = "git's reflog does not reach back to where its content came from"
_UNMERGED = "a merge of it is not finished"
_HELD_BEFORE = (
    "git already held this version when the file was written, as after a checkout, a merge or a stash"
)
# These can be answered later: they are not remembered.
TEMPORARY = frozenset({_NO_ANSWER, _UNMERGED})
_PACKED = "git has this version, but no longer knows since when: it may have come from elsewhere"


class Change(NamedTuple):
    """A document whose content is not known. ``since`` is when its content was last known, long ago if it never was."""

    path: Path
    content: bytes
    since: datetime
    folder: int | None = None  # the number of its folder at that time; None if it is not known


def reasons_to_wait(changes: Sequence[Change], knows_blob: Callable[[str], bool]) -> dict[Path, str]:
    """Return the documents that may hold content from elsewhere, each with the reason; the others were edited here.

    ``knows_blob`` tells whether a content, by git's SHA-1 of it, was written here or trusted. Git is asked at most twice per folder.
    """
    reasons: dict[Path, str] = {}
    by_folder: dict[Path, list[Change]] = {}
    for change in changes:
        if why := _reason_by_times(change.path):
            reasons[change.path] = why
        else:
            by_folder.setdefault(change.path.parent, []).append(change)
    for folder, inside in by_folder.items():
        repository = paths.git_folders(folder)
        if repository is not None:
            reasons |= _ask_git(folder, inside, repository, knows_blob)
        else:
            reasons |= {change.path: why for change in inside if (why := _reason_by_folder(change))}
    return reasons


def blob_id(content: bytes, algorithm: str = "sha1") -> str:
    """Return the name that git gives to a content."""
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _reason_by_times(path: Path) -> str | None:
    """Return a reason if a program has set the file's time, as those do that unpack archives; editors leave it to the system."""
    status = os.stat(path)
    is_set = status.st_mtime_ns % _SECOND_NS == 0 != status.st_ctime_ns % _SECOND_NS
    if not is_set and abs(status.st_ctime_ns - status.st_mtime_ns) <= _SAVING_NS:
        return None
    modified, placed = (_describe_time(each) for each in (status.st_mtime, status.st_ctime))
    return f"it was unpacked or copied to its place: its own time is {modified}, but it was put there on {placed}"


def folder_number(path: Path) -> int | None:
    """Return what tells the folder of a file from another one that is moved to its place; None if there is no folder."""
    try:
        return path.parent.stat().st_ino
    except OSError:
        return None


def _reason_by_folder(change: Change) -> str | None:
    """Return a reason if the document's folder is another one than before: moving a folder leaves the times of its files alone."""
    if change.folder is None or change.folder == folder_number(change.path):
        return None
    return "its folder was replaced, as when a folder from elsewhere is moved here"


def _ask_git(
    folder: Path, changes: Sequence[Change], repository: paths.GitFolders, knows_blob: Callable[[str], bool]
) -> dict[Path, str]:
    reflog = _read_reflog(repository.own / "logs" / "HEAD")
    index = git.index_entries(folder, [change.path.name for change in changes])
    moves = {change.path: _foreign_moves(reflog, change.since) for change in changes}
    questions = {
        change.path: [
            *(blob_id(change.content, algorithm) for algorithm in ("sha1", "sha256")),
            f"AUTO_MERGE:./{change.path.name}",
            *(f"{commit}:./{change.path.name}" for move in moves[change.path] for commit in move.commits),
        ]
        for change in changes
    }
    answers = git.object_names(folder, ["HEAD", *(each for asked in questions.values() for each in asked)])
    if index is None or answers is None:
        return dict.fromkeys(questions, _NO_ANSWER)
    found = iter(answers)
    has_commits = next(found) is not None
    reasons = {}
    for change in changes:
        held = [next(found) for _ in questions[change.path]]
        entries = index.get(change.path.name, [])
        why = (
            (_UNMERGED if any(each.stage for each in entries) else None)
            or _reason_by_moves(moves[change.path], held[3:], knows_blob)
            or _reason_by_objects(change.path, entries, held[:2], held[2], repository)
            or (_NO_REFLOG if entries and has_commits and not reflog.reaches(change.since) else None)
            or (None if _was_made_by_git(folder, moves[change.path], held[3:]) else _reason_by_folder(change))
        )
        if why is not None:
            reasons[change.path] = why
    return reasons


class _Move(NamedTuple):
    """An entry of the reflog: git moved HEAD from one commit to another."""

    commits: tuple[str, str]
    seconds: int
    message: str

    @property
    def is_local(self) -> bool:
        """Whether it was a commit that was made here, and not one that came with a merge or a pull."""
        return self.message.partition(":")[0] in _LOCAL_ACTIONS


class _Reflog(NamedTuple):
    moves: tuple[_Move, ...]
    is_whole: bool  # from the first commit of this checkout on

    def reaches(self, since: datetime) -> bool:
        """Return whether everything that happened since then is in it."""
        return self.is_whole or (bool(self.moves) and self.moves[0].seconds < int(since.timestamp()))


def _read_reflog(path: Path) -> _Reflog:
    """Return the newest entries; without a reflog, none."""
    try:
        with files.open_regular_file(path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _MOST_REFLOG_BYTES))
            lines = file.read().splitlines()
    except (OSError, ValueError):
        return _Reflog((), is_whole=False)
    moves = [move for line in lines[-_MOST_ENTRIES:] if (move := _parse_move(line)) is not None]
    is_cut = size > _MOST_REFLOG_BYTES or len(lines) > len(moves)
    is_whole = bool(moves) and not is_cut and not moves[0].commits[0].strip("0")
    return _Reflog(tuple(moves), is_whole=is_whole)


def _parse_move(line: bytes) -> _Move | None:
    """Parse ``old new Name <address> seconds zone TAB message``; None for anything else."""
    head, _, message = line.decode("utf-8", "replace").partition("\t")
    words = head.split(" ")
    if len(words) < 4 or not words[-2].isdecimal():
        return None
    return _Move((words[0], words[1]), int(words[-2]), message)


def _foreign_moves(reflog: _Reflog, since: datetime) -> list[_Move]:
    """Return what moved HEAD since then, other than commits that were made here."""
    start = int(since.timestamp())
    first = next((n for n, move in enumerate(reflog.moves) if move.seconds >= start), len(reflog.moves))
    return [move for move in reflog.moves[first:] if not move.is_local]


def _reason_by_moves(
    moves: Sequence[_Move], blobs: Sequence[str | None], knows_blob: Callable[[str], bool]
) -> str | None:
    """Return a reason if a pull, checkout or the like has brought a version that is not known, even if it was edited since."""
    for move, old, new in zip(moves, blobs[::2], blobs[1::2], strict=True):
        if new is not None and new != old and not knows_blob(new):
            action = _ACTION.match(move.message)
            name = f"git {action[1]}" if action else "git"
            return f"{name} brought another version of it on {_describe_time(move.seconds)}"
    return None


def _was_made_by_git(folder: Path, moves: Sequence[_Move], blobs: Sequence[str | None]) -> bool:
    """Return whether git made this folder with the document in it, as when the branch is switched to one without it and back."""
    born = _birth_ns(folder) / _SECOND_NS
    return any(
        old is None and new is not None and -_LONGEST_CHECKOUT_SECONDS < born - move.seconds < 2
        for move, old, new in zip(moves, blobs[::2], blobs[1::2], strict=True)
    )


def _reason_by_objects(
    path: Path,
    entries: Sequence[git.IndexEntry],
    held: Sequence[str | None],
    merged: str | None,
    repository: paths.GitFolders,
) -> str | None:
    """Return a reason unless git got this content from the file: then git's own copy is younger than the file.

    The index tells it of a file that a filter, such as one for line ends, makes differ from git's copy. The clock of a file
    system may tick only every few milliseconds: at a tie, ``merged``, what git's last merge made of the file, decides.
    """
    written_ns = os.stat(path).st_mtime_ns
    for blob in {*filter(None, held), *(each.blob for each in entries if each.is_at(written_ns))}:
        try:
            stored_ns = _birth_ns(repository.common / "objects" / blob[:2] / blob[2:])
        except OSError:
            return _PACKED
        if stored_ns < written_ns or (stored_ns == written_ns and blob == merged):
            return _HELD_BEFORE
    return None


def _birth_ns(path: Path) -> int:
    """Return when a file was created; when it was modified where the system does not tell.

    Git modifies the time of a copy that it would store again, so only the creation tells since when it has been there.
    """
    status = os.stat(path)
    born: float | None = getattr(status, "st_birthtime", None)  # not on Linux
    if born is not None:
        return int(born * _SECOND_NS)
    from ctypes import CDLL, create_string_buffer  # noqa: PLC0415 - few documents are edited

    answer = create_string_buffer(_STATX_BYTES)
    try:
        failed = CDLL(None).statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, answer)
    except (OSError, AttributeError):  # a C library without it
        failed = True
    if failed or not int.from_bytes(answer.raw[:4], sys.byteorder) & _STATX_BTIME:
        return status.st_mtime_ns
    seconds, rest = struct.unpack_from("=qI", answer, _BTIME_OFFSET)
    return int(seconds) * _SECOND_NS + int(rest)


def _describe_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d at %H:%M")
