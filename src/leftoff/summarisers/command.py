"""A command that reads a prompt on standard input and prints a summary: an agent's headless form, or any other.

It runs in an empty folder of its own, which is gone afterwards, with ``LEFTOFF_DISABLE=1``, so that an agent's hooks do
not start us again, and within a time limit that ends its children too (L36). Failure is an error, never an empty summary.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from leftoff.errors import ProcessError
from leftoff.model.values import dataclass
from leftoff.system import paths, process

_LARGEST_ANSWER_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A summariser that is a program and its arguments; no shell sees them."""

    arguments: tuple[str, ...]

    def summarise(self, prompt: str, *, timeout_seconds: float) -> str:
        """What the program answers to ``prompt``."""
        with tempfile.TemporaryDirectory(prefix="leftoff-summary-") as folder:
            ended = process.run(
                self.arguments,
                timeout_seconds=timeout_seconds,
                folder=Path(folder),
                stdin=prompt.encode("utf-8", "replace"),
                environment=paths.environment() | {"LEFTOFF_DISABLE": "1"},
            )
        name = self.arguments[0]
        if ended.exit_code != 0:
            raise ProcessError(f"{name}: no summary: {ended.complaint}.")
        if len(ended.stdout) > _LARGEST_ANSWER_BYTES:
            raise ProcessError(f"{name}: no summary: it printed {len(ended.stdout):,} bytes.")
        answer = ended.stdout.decode("utf-8", "replace").strip()
        if not answer:
            raise ProcessError(f"{name}: no summary: it printed nothing.")
        return answer
