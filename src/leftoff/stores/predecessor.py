"""The logs of the predecessor: where it kept them. They are read and never written; the form of each is upgraded on reading."""

from __future__ import annotations

from pathlib import Path

NAME = "claude-mpm"
_FOLDER = ".claude-mpm/resume-logs"


def folder_in(root: Path) -> Path:
    """Where it kept the logs of the project at ``root``."""
    return root / _FOLDER
