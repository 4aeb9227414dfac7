"""Every error that leftoff raises on purpose, as one tree, and texts for errors of the operating system.

A message says what failed, on what, and what to type next. ``exit_code`` is that of the command line.

LeftoffError                       1  something could not be done
 ├─ UsageError                     2  the call itself is wrong
 │   ├─ InvalidIdError             2  an id that is not valid or could lead out of its folder
 │   └─ AmbiguousSessionError      2  a selector that matches more than one session, log or pause
 ├─ NothingToDoError               3  nothing to trim, no log to show, nothing left to send
 ├─ ConfigError                    1  a setting that cannot be used: file, line, nearest known key
 ├─ NotFoundError                  1  no such session, log, pause, project or chat
 │   └─ NothingFoundError          3  there are none of them at all
 ├─ TranscriptError                1  an agent's file that cannot be read as a transcript
 ├─ StorageError                   1  leftoff's own files could not be read or written; the old content is intact
 │   ├─ DocumentError              1  a document of leftoff that is broken or too new
 │   ├─ LockTimeoutError           1  another process has been writing for too long
 │   ├─ UnreachableError           1  the server of a storage backend does not answer
 │   ├─ UnreadableFileError        1  a file that is too large, no regular file, or that the system does not let us read
 │   └─ OutsideFolderError         1  a path that leads out of the folder it must stay in
 ├─ NotTrustedError                1  a document that came from elsewhere
 ├─ ProcessError                   1  another program failed or took too long
 ├─ PluginError                    1  a plugin failed and was skipped
 └─ InvalidValueError              1  a value that contradicts itself"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import ClassVar

_MAX_CHOICES = 20
_REASONS = {
    errno.ENOSPC: "the disk is full. Free some space and try again",
    errno.EDQUOT: "your disk quota is used up. Free some space and try again",
    errno.EFBIG: "the file would grow beyond what this system allows",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.ELOOP: "a symbolic link is where a file should be; leftoff does not follow it",
    errno.EISDIR: "a folder is where a file should be",
    errno.ENOTDIR: "a file is where a folder should be",
    errno.EEXIST: "a file is where a folder should be",
}


class LeftoffError(Exception):
    """Something could not be done; nothing was lost."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, path: Path | str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.line = line  # 1-based

    def __str__(self) -> str:
        return self.message


class UsageError(LeftoffError, ValueError):
    """The call itself is wrong; the caller can correct it."""

    exit_code = 2


class InvalidIdError(UsageError):
    """An id that is empty, too long, or has characters that could lead out of its folder."""


class Choice(NamedTuple):
    """One of the things that an ambiguous selector matches: what to type to select it, and how to recognise it."""

    selector: str
    description: str


class AmbiguousSessionError(UsageError):
    """A selector matches more than one session, log or pause; each of ``choices`` can be typed in its place.

    ``selector`` is ``None`` where the caller left it out and there is more than one to choose from.
    """

    def __init__(self, selector: str | None, what: str, choices: Sequence[Choice]) -> None:
        import shlex  # noqa: PLC0415 - the status line and hooks load this module and never get here

        self.selector = selector
        self.subject = f"{f'{selector[:60]!r} names' if selector else 'There are'} {len(choices)} {what}"
        self.choices = tuple(choices)
        shown = choices[:_MAX_CHOICES]
        lines = [f"  {shlex.quote(each.selector)}  {each.description}".rstrip() for each in shown]
        if len(choices) > _MAX_CHOICES:
            lines.append(f"  and {len(choices) - _MAX_CHOICES} more")
        how = "Type one of these in its place:" if selector else "Add one of these to the command:"
        super().__init__("\n".join([f"{self.subject}. {how}", *lines]))


class NothingToDoError(LeftoffError):
    """The request was understood, and there is nothing to do."""

    exit_code = 3


class ConfigError(LeftoffError, ValueError):
    """A setting that cannot be used."""


class NotFoundError(LeftoffError, LookupError):
    """Something that the caller named does not exist."""


class NothingFoundError(NotFoundError):
    """There is nothing to choose from: no session, log or the like exists yet."""

    exit_code = 3


class TranscriptError(LeftoffError):
    """A file that cannot be read as an agent's transcript."""


class StorageError(LeftoffError):
    """leftoff's own files could not be read or written; their old content is intact."""


class DocumentError(StorageError, ValueError):
    """A document of leftoff is broken, or was written by a newer version."""


class LockTimeoutError(StorageError, TimeoutError):
    """Another process has held the lock for too long."""


class UnreachableError(StorageError):
    """The server of a storage backend does not answer; further requests would fail too."""


class UnreadableFileError(StorageError, OSError):
    """A file that is too large, is a pipe or device, or cannot be read for a reason of the system."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: cannot be read: {reason}.", path=path)
        self.strerror = reason


class OutsideFolderError(StorageError):
    """A path that leads out of the folder it must stay in."""


class NotTrustedError(LeftoffError):
    """A document or setting that came from elsewhere and that the user has not trusted."""


class ProcessError(LeftoffError):
    """Another program failed, could not be started, or took too long."""


class PluginError(LeftoffError):
    """A plugin failed and was skipped."""


class InvalidValueError(LeftoffError, ValueError):
    """A value that contradicts itself."""


class ConfigWarning(UserWarning):
    """A mistake in a configuration; the value of the layer below is in force."""


def describe_os_error(error: OSError) -> str:
    """Return why an operation failed, without a full stop."""
    reason = error.strerror or str(error)
    return _REASONS.get(error.errno or 0, reason[:1].lower() + reason[1:])
