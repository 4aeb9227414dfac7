"""Pauses that were left behind: found, and then finalised, discarded or gone on with, as somebody decides (004)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

from leftoff.errors import NothingToDoError
from leftoff.flows.capture import capture_here
from leftoff.flows.pause_discard import discard
from leftoff.flows.pause_finalize import Ending, Finalized, finalize
from leftoff.flows.pause_homes import PauseHome, Running, running_everywhere, running_here
from leftoff.flows.pause_list import pick_running
from leftoff.flows.pause_record import record
from leftoff.flows.pause_start import this_process
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.pauses.summary import times
from leftoff.system import clock

Choice = Literal["finalize", "discard", "continue"]
Decide: TypeAlias = "Callable[[Running], Choice | None]"  # None leaves it as it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """A pause that was found, and what became of it. ``choice`` is None where it was left as it is."""

    found: Running
    choice: Choice | None
    finalized: Finalized | None = None

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "session_id": self.found.summary.session_id,
            "choice": self.choice,
            "action_count": self.found.summary.action_count,
            "pause_started_at": self.found.summary.pause_started_at,
            "project": str(self.found.home.project.root),
            "path": str(self.finalized.main if self.finalized else self.found.home.file.path),
        }


def recover_here(working_folder: Path, decide: Decide) -> list[Recovered]:
    """Settle each pause of this project that was left behind; NothingToDoError when none was."""
    return _settled(orphaned_here(working_folder), decide)


def recover_everywhere(working_folder: Path, decide: Decide) -> list[Recovered]:
    """The same over all projects that hooks have recorded in."""
    return _settled(orphaned_everywhere(working_folder), decide)


def recover_named(words: str, working_folder: Path, decide: Decide) -> list[Recovered]:
    """The same of the one that is named, whether its recorder has died or not."""
    return _settled([pick_running(words, working_folder)], decide)


def orphaned_here(working_folder: Path) -> list[Running]:
    """The pauses of this project whose recorder has died, or which nobody has touched for an hour."""
    return _orphaned(running_here(working_folder, clock.now()))


def orphaned_everywhere(working_folder: Path) -> list[Running]:
    """The same over all projects that hooks have recorded in."""
    return _orphaned(running_everywhere(working_folder, clock.now()))


def finalize_orphan(orphan: Running) -> Finalized | None:
    """Finalise it as of its last action: nothing happened since, however late it is found."""
    return finalize(orphan.home, Ending(reason="recovered", at=times(orphan.recorded)[1]))


def take_over(home: PauseHome) -> None:
    """Go on recording into the pause: from now on it is this process that must be alive."""
    data: JsonObject = {"event": "pause_continued", "process": this_process()}
    record(home, "system_event", data, None, capture=capture_here(home.project.root))


def _go_on(home: PauseHome) -> None:
    """Whoever records next is not known to us; until it is silent for an hour the pause counts as running."""
    data: JsonObject = {"event": "pause_continued", "process": {"pid": None}}
    record(home, "system_event", data, None, capture=capture_here(home.project.root))


def _settled(found: list[Running], decide: Decide) -> list[Recovered]:
    if not found:
        raise NothingToDoError("No pause was left behind. leftoff pause list shows those there are.")
    return [_done(each, decide(each)) for each in found]


def _done(orphan: Running, choice: Choice | None) -> Recovered:
    if choice == "finalize":
        return Recovered(found=orphan, choice=choice, finalized=finalize_orphan(orphan))
    if choice == "discard":
        discard(orphan.home)
    if choice == "continue":
        _go_on(orphan.home)
    return Recovered(found=orphan, choice=choice)


def _orphaned(found: list[Running]) -> list[Running]:
    return [each for each in found if each.standing == "orphaned"]
