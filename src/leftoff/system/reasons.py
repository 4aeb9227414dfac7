"""What the system's errors mean, in words for a person in a hurry."""

from __future__ import annotations

import errno

_WORDS = {
    errno.ENOSPC: "the disk is full. Free some space and try again",
    errno.EDQUOT: "your disk quota is used up. Free some space and try again",
    errno.EFBIG: "the file would grow beyond what this system allows",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.ELOOP: "a symbolic link stands where a file should be; leftoff does not follow it",
    errno.EISDIR: "a folder stands where a file should be",
    errno.ENOTDIR: "a file stands where a folder should be",
    errno.EEXIST: "a file stands where a folder should be",
}


def words(error: OSError) -> str:
    """Why it failed, without a full stop at the end."""
    return _WORDS.get(error.errno or 0, (error.strerror or str(error)).lower())
