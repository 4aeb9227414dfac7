"""This user's folders and environment, as plain text: for whoever has no time to load more.

``leftoff.system.paths`` gives the same as paths. On Linux the XDG rules are followed here, because loading platformdirs takes
longer than a search; a test holds them against platformdirs. Elsewhere platformdirs is asked.
"""

from __future__ import annotations

import os
import sys

_SYSTEM: str = sys.platform  # a variable, or a checker of types would look at one system alone
_XDG = {
    "data": ("XDG_DATA_HOME", "~/.local/share"),
    "state": ("XDG_STATE_HOME", "~/.local/state"),
    "config": ("XDG_CONFIG_HOME", "~/.config"),
}


def environment() -> dict[str, str]:
    """A copy of the environment, for those who are allowed to look at it."""
    return dict(os.environ)


def user_folder(which: str) -> str:
    """The folder for ``data`` (must not be lost), ``state`` (may be lost) or ``config``."""
    if _SYSTEM == "linux":
        variable, usual = _XDG[which]
        named = os.environ.get(variable, "")
        return f"{named if os.path.isabs(named) else os.path.expanduser(usual)}/leftoff"
    import platformdirs  # noqa: PLC0415 - costs milliseconds

    return str(getattr(platformdirs, f"user_{which}_dir")("leftoff", appauthor=False))


def put(path: str, data: bytes) -> None:
    """Put ``data`` at ``path``: readers see the old file or the new one. Not synced: for what may be lost."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.urandom(6).hex()}.tmp"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except OSError:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise
