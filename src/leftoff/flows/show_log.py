"""A resume log to read: its Markdown as it stands, or everything that its JSON holds."""

from __future__ import annotations

from pathlib import Path

from leftoff.flows.list_logs import find_log
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import shelf_here
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.stores.log_files import LogFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLog:
    """A log that was found; what is in it is read when it is asked for."""

    files: LogFiles
    origin: str
    max_tokens: int

    def text(self) -> str:
        """The Markdown."""
        return self.files.text(self.max_tokens)

    def log(self) -> ResumeLog:
        """Everything."""
        return self.files.log()


def show_log(words: str, working_folder: Path) -> ShownLog:
    """The log that ``words`` name."""
    settings = settings_here(working_folder).settings
    files, origin = find_log(words, shelf_here(working_folder, settings), working_folder)
    return ShownLog(files=files, origin=origin, max_tokens=settings.resume_logs.max_tokens)
