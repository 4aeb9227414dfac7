"""All pauses of a project, running and finished, newest first; and which one is meant by a number, an id or a part of one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

import orjson

from leftoff.errors import AmbiguousSessionError, NotFoundError, NothingToDoError, StorageError
from leftoff.flows.pause_homes import Running, running_here, sessions_folder
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS, JsonObject, JsonValue
from leftoff.pauses.shelf import Kept, kept_in
from leftoff.system import clock, files, paths

_NUMBERS = "last-pauses.json"
_MOST_NAMED = 4
_LONGEST_NUMBER = 4  # digits; more are a part of an id
_SHORTEST_PART = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One pause of the list. Numbers are None where the files do not tell."""

    session_id: str
    standing: Literal["running", "orphaned", "unreadable", "finished"]
    at: datetime  # when it ended, or was last written to
    action_count: int | None
    context_range: tuple[float, float] | None
    path: Path
    note: str | None = None
    running: Running | None = None
    kept: Kept | None = None

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "session_id": self.session_id,
            "standing": self.standing,
            "at": clock.rfc3339(self.at),
            "action_count": self.action_count,
            "context_range": None if self.context_range is None else [*self.context_range],
            "path": str(self.path),
            "note": self.note,
        }


def list_pauses(working_folder: Path) -> list[Listed]:
    """Every pause of this project once; a folder that may not be read is an error, not an empty list."""
    running = [_of_running(each) for each in running_here(working_folder, clock.now())]
    live = {each.session_id for each in running}
    kept = [_of_kept(each) for each in kept_in(sessions_folder(paths.project_of(working_folder)))]
    return running + [each for each in kept if each.session_id not in live]


def remember(listed: Sequence[Listed]) -> None:
    """Bind 1, 2, 3 … to the list as it was shown. Not being able to is no reason not to show it."""
    data = {"schema": SCHEMAS["last_pauses"], "pauses": [each.session_id for each in listed]}
    try:
        files.write_file(paths.state_folder() / _NUMBERS, orjson.dumps(data))
    except StorageError:
        return


def pick(words: str | None, listed: Sequence[Listed]) -> Listed:
    """The pause that ``words`` name: a number of the list last shown, an id or a unique part of it, also of its session's.

    Without words the only one there is; what cannot be read counts then only where there is nothing else.
    """
    found = _named(words, listed) if words else _unnamed(listed)
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(each.session_id for each in found[:_MOST_NAMED])
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        meant = f"{words[:60]!r} names" if words else "There are"
        raise AmbiguousSessionError(f"{meant} {len(found)} pauses: {some}{more}. Give more of the id.")
    if words:
        raise NotFoundError(f"No such pause here: {words[:60]!r}. leftoff pause list shows what there is.")
    raise NothingToDoError("No pause is running in this project. leftoff pause list shows the finished ones.")


def _named(words: str, listed: Sequence[Listed]) -> list[Listed]:
    """A number is never taken for a part of an id: who mistypes one must not lose another pause."""
    if words.isdecimal() and len(words) <= _LONGEST_NUMBER:
        wanted = _numbered(int(words))
        return [each for each in listed if each.session_id == wanted]
    exact = [each for each in listed if words == each.session_id]
    if not exact and len(words) < _SHORTEST_PART:
        raise NotFoundError(
            f"No such pause here: {words!r}. A part of an id has at least {_SHORTEST_PART} characters; "
            "leftoff pause list shows what there is."
        )
    return exact or [each for each in listed if any(words in name for name in _names(each))]


def _unnamed(listed: Sequence[Listed]) -> list[Listed]:
    readable = [each for each in listed if each.standing != "unreadable"]
    own = [each for each in listed if each.running and not each.running.home.is_of_hooks]
    return readable or own


def pick_running(words: str | None, working_folder: Path) -> Running:
    """The running pause that is meant; NothingToDoError when none runs and none was named."""
    listed = [_of_running(each) for each in running_here(working_folder, clock.now())]
    chosen = pick(words, listed).running
    assert chosen is not None
    return chosen


def _names(each: Listed) -> tuple[str, ...]:
    origin = each.running.origin if each.running else None
    return (each.session_id, origin.session_id) if origin else (each.session_id,)


def _numbered(number: int) -> str:
    """The id that had this number in the list last shown."""
    try:
        shown = orjson.loads((paths.state_folder() / _NUMBERS).read_bytes())["pauses"]
        if 1 <= number <= len(shown):
            return str(shown[number - 1])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # no list was shown yet
    raise NotFoundError(
        f"The list last shown has no number {number}. leftoff pause list shows what there is."
    )


def _of_running(each: Running) -> Listed:
    bad = f"{each.summary.bad_lines} lines cannot be read" if each.summary.bad_lines else None
    return Listed(
        session_id=each.summary.session_id,
        standing=each.standing,
        at=each.recorded.modified_at,
        action_count=None if each.trouble else each.summary.action_count,
        context_range=each.summary.context_range,
        path=each.home.file.path,
        note=each.trouble or bad,
        running=each,
    )


def _of_kept(each: Kept) -> Listed:
    told = (each.state or {}).get("incremental_pause")
    facts = told if isinstance(told, dict) else {}
    count = facts.get("action_count")
    return Listed(
        session_id=each.session_id,
        standing="finished",
        at=each.paused_at,
        action_count=count if isinstance(count, int) else None,
        context_range=_range(facts.get("context_range")),
        path=each.main,
        note=each.note,
        kept=each,
    )


def _range(told: JsonValue) -> tuple[float, float] | None:
    match told:
        case [float() | int() as first, float() | int() as last]:
            return float(first), float(last)
        case _:
            return None
