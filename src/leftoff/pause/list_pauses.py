"""All pauses of a project, running and finished, newest first; the selection of one by number or id; the status of one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

import orjson

from leftoff.core.quantities import ago, count
from leftoff.core.wire import SCHEMAS, JsonObject, JsonValue
from leftoff.errors import AmbiguousSessionError, Choice, NotFoundError, NothingToDoError, StorageError
from leftoff.pause.folders import RunningPause, add_transcript_texts, list_running, sessions_folder
from leftoff.pause.journal import PauseAction, Recording
from leftoff.pause.snapshot_store import FinishedPause, list_finished, read_archive
from leftoff.pause.texts import PauseSummary, describe_action, first_and_last_time, summarize
from leftoff.platform import clock, files, paths
from leftoff.workspace import Workspace

_NUMBERING_NAME = "last-pauses.json"
_LONGEST_NUMBER = 4  # digits; more are a part of an id
_SHORTEST_PART = 4
_LAST_ACTIONS = 5


class ListedPause(NamedTuple):
    """One pause of the list. Numbers are None if the files do not contain them."""

    session_id: str
    status: Literal["running", "orphaned", "unreadable", "finished"]
    at: datetime  # when it ended or, if it is running, was last written to
    action_count: int | None
    context_range: tuple[float, float] | None
    path: Path
    note: str | None = None
    running: RunningPause | None = None
    finished: FinishedPause | None = None

    def to_dict(self) -> JsonObject:
        """Return the form that scripts rely on."""
        return {
            "session_id": self.session_id,
            "standing": self.status,
            "at": clock.format_rfc3339(self.at),
            "action_count": self.action_count,
            "context_range": None if self.context_range is None else [*self.context_range],
            "path": str(self.path),
            "note": self.note,
        }


def list_pauses(workspace: Workspace) -> list[ListedPause]:
    """Return every pause of this project once; a folder that may not be read is an error, not an empty list."""
    running = [_entry_for_running(pause) for pause in list_running(workspace, clock.now())]
    running_ids = {pause.session_id for pause in running}
    finished = list_finished(sessions_folder(workspace.project))
    return running + [_entry_for_finished(pause) for pause in finished if pause.session_id not in running_ids]


def save_numbering(listed: Sequence[ListedPause]) -> None:
    """Remember which pause has which number in the list being shown. A failure is ignored."""
    data = {"schema": SCHEMAS["last_pauses"], "pauses": [pause.session_id for pause in listed]}
    with suppress(StorageError):
        files.write_file(paths.state_folder() / _NUMBERING_NAME, orjson.dumps(data))


def pick(selector: str | None, listed: Sequence[ListedPause]) -> ListedPause:
    """Return the pause that ``selector`` names: a number of the last list, an id or a unique part of it.

    The id may be that of the agent's session. None selects the only pause; unreadable ones count only if there are no others.
    """
    found = _match(selector, listed) if selector else _default_choice(listed)
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousSessionError(selector, "pauses", [*map(_choice, found)])
    if selector:
        raise NotFoundError(f"No such pause here: {selector[:60]!r}. To list them: leftoff pause list")
    raise NothingToDoError("No pause is running in this project. leftoff pause list shows the finished ones.")


def _choice(pause: ListedPause) -> Choice:
    actions = None if pause.action_count is None else count(pause.action_count, "action")
    parts = (pause.status, ago(clock.now(), pause.at), actions, pause.note)
    return Choice(pause.session_id, ", ".join(filter(None, parts)))


def _match(selector: str, listed: Sequence[ListedPause]) -> list[ListedPause]:
    """Return the pauses that match. A short number is never part of an id: a typo must not end the wrong pause."""
    if selector.isdecimal() and len(selector) <= _LONGEST_NUMBER:
        wanted = _id_of_number(int(selector))
        return [pause for pause in listed if pause.session_id == wanted]
    exact = [pause for pause in listed if selector == pause.session_id]
    if not exact and len(selector) < _SHORTEST_PART:
        raise NotFoundError(
            f"No such pause here: {selector!r}. A part of an id has at least {_SHORTEST_PART} characters; "
            "To list them: leftoff pause list"
        )
    return exact or [pause for pause in listed if any(selector in name for name in _ids(pause))]


def _default_choice(listed: Sequence[ListedPause]) -> list[ListedPause]:
    readable = [pause for pause in listed if pause.status != "unreadable"]
    manual = [pause for pause in listed if pause.running and not pause.running.home.from_hook]
    return readable or manual


def pick_running(selector: str | None, workspace: Workspace) -> RunningPause:
    """Return the running pause that ``selector`` names; raise NothingToDoError without a selector and a pause."""
    listed = [_entry_for_running(pause) for pause in list_running(workspace, clock.now())]
    picked = pick(selector, listed).running
    assert picked is not None
    return picked


def _ids(pause: ListedPause) -> tuple[str, ...]:
    origin = pause.running.origin if pause.running else None
    return (pause.session_id, origin.session_id) if origin else (pause.session_id,)


def _id_of_number(number: int) -> str:
    """Return the id that had this number in the list shown last."""
    try:
        shown = orjson.loads((paths.state_folder() / _NUMBERING_NAME).read_bytes())["pauses"]
        if 1 <= number <= len(shown):
            return str(shown[number - 1])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # no list has been shown yet
    raise NotFoundError(f"The list last shown has no number {number}. To list them: leftoff pause list")


def _entry_for_running(pause: RunningPause) -> ListedPause:
    bad = f"{count(pause.summary.bad_lines, 'line')} cannot be read" if pause.summary.bad_lines else None
    return ListedPause(
        session_id=pause.summary.session_id,
        status=pause.status,
        at=pause.recorded.modified_at,
        action_count=None if pause.problem else pause.summary.action_count,
        context_range=pause.summary.context_range,
        path=pause.home.file.path,
        note=pause.problem or bad,
        running=pause,
    )


def _entry_for_finished(pause: FinishedPause) -> ListedPause:
    recorded = (pause.state or {}).get("incremental_pause")
    facts = recorded if isinstance(recorded, dict) else {}
    count = facts.get("action_count")
    return ListedPause(
        session_id=pause.session_id,
        status="finished",
        at=pause.paused_at,
        action_count=count if isinstance(count, int) else None,
        context_range=_parse_range(facts.get("context_range")),
        path=pause.main,
        note=pause.note or pause.message,
        finished=pause,
    )


def _parse_range(value: JsonValue) -> tuple[float, float] | None:
    match value:
        case [float() | int() as first, float() | int() as last]:
            return float(first), float(last)
        case _:
            return None


class PauseStatus(NamedTuple):
    """A pause, its numbers, and its last actions with their texts."""

    listed: ListedPause
    summary: PauseSummary
    last_actions: tuple[PauseAction, ...]

    def to_dict(self) -> JsonObject:
        """Return the form that scripts rely on."""
        origin = self.listed.running.origin if self.listed.running else None
        return self.summary.to_dict() | {
            "standing": self.listed.status,
            "path": str(self.listed.path),
            "note": self.listed.note,
            "origin": origin.to_dict() if origin else None,
            "last_actions": [
                {"type": action.type, "timestamp": action.timestamp, "words": describe_action(action)}
                for action in self.last_actions
            ],
        }


def pause_status(selector: str | None, workspace: Workspace) -> PauseStatus:
    """Return the status of the pause that ``selector`` names; None selects the running one last written to."""
    listed = list_pauses(workspace)
    if selector is None:
        running = [pause for pause in listed if pause.running]
        listed = [pause for pause in running if pause.status != "unreadable"][:1] or running
    picked = pick(selector, listed)
    if (pause := picked.running) is not None:
        recorded = add_transcript_texts(pause.home, pause.recorded, workspace.capture)
        until = clock.now()
    else:
        recorded = _read_lines(picked)
        until = first_and_last_time(recorded)[1]
    return PauseStatus(
        listed=picked,
        summary=summarize(recorded, until),
        last_actions=tuple(recorded.actions[-_LAST_ACTIONS:]),
    )


def _read_lines(listed: ListedPause) -> Recording:
    assert listed.finished is not None
    recorded = read_archive(listed.finished)
    if recorded is None:
        raise NotFoundError(f"{listed.session_id}: its actions are gone. What is left: {listed.path}")
    return recorded
