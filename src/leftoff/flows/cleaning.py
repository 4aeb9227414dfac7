"""Text without credentials, as the settings want it: for whatever leaves the transcript, to a model or into a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from leftoff.flows.settings import settings_here


def cleaner(folder: Path | None) -> Callable[[str], str]:
    """What takes them out; ``folder`` is the project whose settings hold, None or one that is gone: the user's own."""
    wanted = settings_here(folder if folder is not None and folder.is_dir() else None).settings.redaction
    if not wanted.enabled:
        return str
    from leftoff.system.redaction import Redactor  # noqa: PLC0415 - loaded by those who write

    return Redactor(allow=wanted.allow, deny=wanted.deny).redact
