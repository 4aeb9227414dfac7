"""The resume logs of a project, newest first, each with its origin; and which of them is meant by some words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from leftoff.errors import AmbiguousSessionError, LeftoffError, NotFoundError, StorageError
from leftoff.flows.choose import LATEST, choose
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import Shelf, shelf_here
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.stores import predecessor
from leftoff.stores.log_files import LogFiles
from leftoff.system import clock

OWN = "leftoff"
_SHORTEST_PREFIX = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedLog:
    """One log. ``trouble`` says why it cannot be read; then ``mission`` and the rest are None, as where nobody said them."""

    files: LogFiles
    origin: str  # leftoff, or the predecessor's name
    mission: str | None = None
    next_step: str | None = None
    edited: bool = False
    trouble: str | None = None

    @property
    def session_id(self) -> str:
        """Whose log it is."""
        return self.files.session_id

    @property
    def saved_at(self) -> datetime:
        """When it was last saved."""
        return datetime.fromtimestamp(self.files.saved_ns / 1e9, UTC)

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        files = self.files
        return {
            "session_id": self.session_id,
            "origin": self.origin,
            "saved_at": clock.rfc3339(self.saved_at),
            "mission": self.mission,
            "next_step": self.next_step,
            "markdown_file": None if files.markdown is None else str(files.markdown),
            "json_file": None if files.json is None else str(files.json),
            "size_bytes": files.size_bytes,
            "compressed": files.is_compressed,
            "edited": self.edited,
            "trouble": self.trouble,
        }


def list_logs(working_folder: Path) -> list[ListedLog]:
    """All of them; one that cannot be read is listed with the reason."""
    return [*listed(shelf_here(working_folder, settings_here(working_folder).settings))]


def listed(shelf: Shelf) -> Iterator[ListedLog]:
    """Our own first, then what the predecessor left; each newest first."""
    yield from (_listed(files, OWN) for files in shelf.local.logs())
    yield from (_listed(files, predecessor.NAME) for files in shelf.left_by_predecessor)


def find_log(words: str, shelf: Shelf, working_folder: Path) -> tuple[LogFiles, str]:
    """The log that ``words`` name, and its origin: ``latest``, a session's id or the beginning of one, or any SESSION."""
    logs = [
        *((files, OWN) for files in shelf.local.logs()),
        *((files, predecessor.NAME) for files in shelf.left_by_predecessor),
    ]
    if not logs:
        raise NotFoundError("This project has no resume log yet. leftoff log save makes one.")
    if words == LATEST:
        return logs[0]
    exact = [each for each in logs if each[0].session_id == words]
    begun = [each for each in logs if len(words) >= _SHORTEST_PREFIX and each[0].session_id.startswith(words)]
    matches = exact[:1] or begun
    if len(matches) > 1:
        some = ", ".join(files.session_id for files, _ in matches[:4])
        raise AmbiguousSessionError(f"{words[:60]!r} names {len(matches)} logs: {some}. Give more of the id.")
    if matches:
        return matches[0]
    return _of_session(words, logs, working_folder)


def _of_session(words: str, logs: list[tuple[LogFiles, str]], working_folder: Path) -> tuple[LogFiles, str]:
    """The log of the session that the words name: a number of the list last shown, or the path of a transcript."""
    try:
        session_id = choose(words, working_folder).open().session_id
    except LeftoffError:
        raise NotFoundError(
            f"No resume log of this project is called {words[:60]!r}. leftoff log list shows what there is."
        ) from None
    for each in logs:
        if each[0].session_id == session_id:
            return each
    raise NotFoundError(
        f"Session {session_id} has no resume log in this project. leftoff log save {session_id} makes one."
    )


def _listed(files: LogFiles, origin: str) -> ListedLog:
    try:
        log = files.log()
    except StorageError as error:
        return ListedLog(files=files, origin=origin, trouble=error.message)
    return ListedLog(
        files=files,
        origin=origin,
        mission=log.mission_summary.strip() or None,
        next_step=next((step for step in log.next_steps if step.strip()), None),
        edited=bool(log.edits),
    )
