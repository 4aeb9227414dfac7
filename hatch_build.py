"""Notes the commit in every wheel, so that ``leftoff --version`` can name it."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NoteCommit(BuildHookInterface[Any]):
    """Adds ``leftoff/commit.txt`` to the wheel, if it is built from a git checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the commit into a temporary file, and let the wheel include that; an editable wheel asks git each time."""
        if version == "editable" or not (Path(self.root) / ".git").exists():
            return
        command = ["git", "-C", self.root, "rev-parse", "--short=9", "HEAD"]
        try:
            found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout
        except (OSError, subprocess.SubprocessError):
            return
        note = Path(tempfile.mkdtemp()) / "commit.txt"
        note.write_text(found, encoding="ascii")
        build_data["force_include"][str(note)] = "leftoff/commit.txt"
