"""Let a person change a resume log, and keep what was changed: in the files at once, and in every later log of the session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from leftoff.errors import NothingToDoError, UsageError
from leftoff.flows import outbox
from leftoff.flows.keep_log import without_credentials
from leftoff.flows.list_logs import OWN, find_log
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import shelf_here
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.resume_logs.edited_text import changes, is_empty
from leftoff.resume_logs.edits import applied


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """The log as it stands now. ``not_kept`` names the headings below which changes are made anew at each save."""

    session_id: str
    markdown_file: Path
    json_file: Path
    count: int
    not_kept: tuple[str, ...]


def edit_log(
    words: str,
    working_folder: Path,
    edit: Callable[[str], str],
    may_remove: Callable[[tuple[str, ...]], bool],
) -> Edited:
    """Give the Markdown of the log that ``words`` name to ``edit`` and keep what comes back.

    An empty text means that nothing is to be changed. ``may_remove`` is asked before whole sections go. The log may be saved anew while a person thinks: what was changed is put on the log as it stands afterwards.
    """
    settings = settings_here(working_folder).settings
    shelf = shelf_here(working_folder, settings)
    files, origin = find_log(words, shelf, working_folder)
    session_id = files.session_id
    if origin != OWN:
        raise UsageError(f"{files.path}: this log was written by {origin}, and leftoff only reads it.")
    stored = files.log()
    before = stored.to_markdown(settings.resume_logs.max_tokens)
    after = edit(before)
    if is_empty(after):
        raise NothingToDoError(
            f"The file came back empty: nothing kept, and the log of {session_id} is unchanged."
        )
    found = changes(before, after)
    if found.removed and not may_remove(found.removed):
        raise NothingToDoError(f"Nothing removed, nothing kept: the log of {session_id} is unchanged.")
    if not found.edits:
        where = f": {_listed(found.not_kept)} is made anew at each save" if found.not_kept else ""
        raise NothingToDoError(f"The log of {session_id} stays as it was{where}.")

    def changed(there: ResumeLog | None) -> ResumeLog:
        return without_credentials(applied(there or stored, found.edits), settings.redaction)

    kept = shelf.local.update(session_id, changed)
    if shelf.remote is not None:
        outbox.post_quietly(kept, shelf)
    return Edited(
        session_id=session_id,
        markdown_file=shelf.local.path_of(session_id),
        json_file=shelf.local.path_of(session_id, ".json"),
        count=len(found.edits),
        not_kept=found.not_kept,
    )


def _listed(headings: tuple[str, ...]) -> str:
    return " and ".join(headings)
