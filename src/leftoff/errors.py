"""Every error that leftoff raises on purpose, as one tree.

Each message is a sentence for a person in a hurry: what failed, on which thing, what to type next.
``exit_code`` is what the command line ends with when the error reaches it.

LeftoffError                       1  could not
 ├─ UsageError                     2  the call itself is wrong
 │   ├─ InvalidIdError             2  an id that could leave its folder, or is no id at all
 │   └─ AmbiguousSessionError      2  the words name more than one session
 ├─ NothingToDoError               3  nothing to trim, no log to show, nothing left to send
 ├─ ConfigError                    1  a setting that cannot be used: file, line, nearest known key
 ├─ NotFoundError                  1  no such session, log, pause, project or chat
 ├─ TranscriptError                1  an agent's file that cannot be read as one
 ├─ StorageError                   1  our own files could not be read or written; what was there is intact
 │   ├─ DocumentError              1  one of our documents is broken, or newer than this program
 │   ├─ LockTimeoutError           1  somebody else has been writing for too long
 │   ├─ UnreachableError           1  the server of a storage backend does not answer now
 │   └─ OutsideFolderError         1  a path that leads out of the folder it must stay in
 ├─ NotTrustedError                1  a document that this machine did not write
 ├─ ProcessError                   1  a program we started failed or took too long
 ├─ PluginError                    1  somebody's plugin failed; it was skipped
 └─ InvalidValueError              1  a value that contradicts itself
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it, which takes longer to load than a search
if TYPE_CHECKING:
    from pathlib import Path
    from typing import ClassVar


class LeftoffError(Exception):
    """Something leftoff was asked for could not be done; nothing was lost."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, path: Path | str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.line = line  # 1-based, as every face shows it

    def __str__(self) -> str:
        return self.message


class UsageError(LeftoffError, ValueError):
    """The call itself is wrong: the caller can mend it."""

    exit_code = 2


class InvalidIdError(UsageError):
    """An id that is empty, too long, or holds characters that could lead out of its folder."""


class AmbiguousSessionError(UsageError):
    """The words given name more than one session."""


class NothingToDoError(LeftoffError):
    """The request was understood, and there is nothing to do."""

    exit_code = 3


class ConfigError(LeftoffError, ValueError):
    """A setting that cannot be used."""


class NotFoundError(LeftoffError, LookupError):
    """What was named does not exist."""


class TranscriptError(LeftoffError):
    """A file that cannot be read as an agent's transcript."""


class StorageError(LeftoffError):
    """Our own files could not be read or written; what was there before is intact."""


class DocumentError(StorageError, ValueError):
    """One of our documents is broken, or was written by a newer leftoff."""


class LockTimeoutError(StorageError, TimeoutError):
    """Another process has held the lock for longer than we may wait."""


class UnreachableError(StorageError):
    """The server of a storage backend does not answer now: whatever else is asked of it would fail too."""


class OutsideFolderError(StorageError):
    """A path that leads out of the folder it must stay in."""


class NotTrustedError(LeftoffError):
    """A document or setting that this machine did not write, and nobody has trusted yet."""


class ProcessError(LeftoffError):
    """A program we started failed, could not be started, or took too long."""


class PluginError(LeftoffError):
    """Somebody's plugin failed; it was skipped."""


class InvalidValueError(LeftoffError, ValueError):
    """A value that contradicts itself."""
