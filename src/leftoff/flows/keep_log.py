"""Make a resume log of a session state and keep it: custom sections, redaction, what a person edited, every store, cleaning.

All saves go through here, so that none forgets a step.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from leftoff.config.settings import RedactionSettings
from leftoff.errors import LeftoffError
from leftoff.flows import outbox
from leftoff.flows.cleanup_logs import clean_up_after_save
from leftoff.flows.shelf import Shelf
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.resume_logs import guests, make
from leftoff.resume_logs.edits import applied
from leftoff.resume_logs.make import USUAL_STOP_REASON
from leftoff.resume_logs.redacted import redacted
from leftoff.system import paths


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A log as it was saved, where, and what was passed over on the way. ``removed`` are logs that were cleaned up."""

    log: ResumeLog
    markdown_file: Path
    json_file: Path
    estimated_tokens: int
    removed: tuple[Path, ...]
    troubles: tuple[LeftoffError, ...]

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "session_id": self.log.session_id,
            "markdown_file": str(self.markdown_file),
            "json_file": str(self.json_file),
            "estimated_tokens": self.estimated_tokens,
        }


def made_log(
    session_id: str, session_state: dict[str, Any], shelf: Shelf, *, stop_reason: str = USUAL_STOP_REASON
) -> ResumeLog:
    """The log of a session state, with the sections of the providers; one that fails is named in the shelf's troubles."""
    log = make.from_session_state(session_id, session_state, stop_reason=stop_reason)
    return with_sections(log, session_state, shelf)


def with_sections(log: ResumeLog, session_state: dict[str, Any], shelf: Shelf) -> ResumeLog:
    """The log with the sections of the providers."""
    sections, troubles = guests.custom_sections(shelf.providers, session_state)
    shelf.troubles += troubles
    return replace(log, custom_sections=[*log.custom_sections, *sections])


def keep_log(log: ResumeLog, shelf: Shelf, *, active: Collection[str] = ()) -> Kept:
    """Save the log: the local copy first, then the backend's, which nobody waits for. ``active``: logs not to be cleaned up."""
    if shelf.local.folder.is_relative_to(shelf.project.folder):
        paths.make_project_folder(shelf.project)
    clean = without_credentials(log, shelf.settings.redaction)
    kept = shelf.local.update(
        log.session_id, lambda there: applied(clean, [] if there is None else there.edits)
    )
    if shelf.backend is not None:
        shelf.ask(shelf.backend, partial(shelf.backend.save, kept))
    if shelf.remote is not None:
        outbox.post_quietly(kept, shelf)
    removed = clean_up_after_save(shelf, active={*active, log.session_id})
    return Kept(
        log=kept,
        markdown_file=shelf.local.path_of(kept.session_id),
        json_file=shelf.local.path_of(kept.session_id, ".json"),
        estimated_tokens=kept.estimate_tokens(kept.to_markdown(shelf.settings.resume_logs.max_tokens)),
        removed=tuple(removed),
        troubles=tuple(shelf.troubles),
    )


def without_credentials(log: ResumeLog, wanted: RedactionSettings) -> ResumeLog:
    """The log as the settings want it written."""
    if not wanted.enabled:
        return log
    from leftoff.system.redaction import Redactor  # noqa: PLC0415 - loaded by those who write

    return redacted(log, Redactor(allow=wanted.allow, deny=wanted.deny))
