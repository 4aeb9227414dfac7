"""Puts a few words onto the desktop's clipboard, through whatever program this desktop has for it; often there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress

# The program, and what must be set for it to have a desktop to talk to.
_PROGRAMS: tuple[tuple[tuple[str, ...], str | None], ...] = (
    (("pbcopy",), None),
    (("wl-copy",), "WAYLAND_DISPLAY"),
    (("xclip", "-selection", "clipboard"), "DISPLAY"),
    (("xsel", "--clipboard", "--input"), "DISPLAY"),
    (("clip.exe",), "WSL_DISTRO_NAME"),
)
_MOST_SECONDS = 1.0


def copied(text: str) -> bool:
    """Whether the text is on the clipboard now. Never raises: who has no clipboard can read what is printed."""
    for command, variable in _PROGRAMS:
        wanted = sys.platform == "darwin" if variable is None else variable in os.environ
        if wanted and (program := shutil.which(command[0])) and _took((program, *command[1:]), text):
            return True
    return False


def _took(command: tuple[str, ...], text: str) -> bool:
    """These programs go on in the background to serve the clipboard, so they must hold none of our streams."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            command,
            input=text.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_MOST_SECONDS,
            check=False,
            start_new_session=True,
        )
        return done.returncode == 0
    return False
