"""One pause in numbers and words: how long it has been running, how full the window is, what was done last."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from leftoff.errors import NotFoundError
from leftoff.flows.capture import capture_here
from leftoff.flows.pause_list import Listed, list_pauses, pick
from leftoff.flows.pause_words import worded
from leftoff.model.pause_action import PauseAction
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.pauses.journal import Recorded
from leftoff.pauses.shelf import lines_of
from leftoff.pauses.summary import PauseSummary, summarised, times
from leftoff.pauses.words import described
from leftoff.system import clock

_LAST_ACTIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseStatus:
    """A pause, its numbers, and its last actions with their words."""

    listed: Listed
    summary: PauseSummary
    last_actions: tuple[PauseAction, ...]

    def to_dict(self) -> JsonObject:
        """The summary fields of 004, then ours."""
        origin = self.listed.running.origin if self.listed.running else None
        return self.summary.to_dict() | {
            "standing": self.listed.standing,
            "path": str(self.listed.path),
            "note": self.listed.note,
            "origin": origin.to_dict() if origin else None,
            "last_actions": [
                {"type": each.type, "timestamp": each.timestamp, "words": described(each)}
                for each in self.last_actions
            ],
        }


def pause_status(words: str | None, working_folder: Path) -> PauseStatus:
    """The pause that ``words`` name, running or finished; without words the running one last written to."""
    listed = list_pauses(working_folder)
    if words is None:
        running = [each for each in listed if each.running]
        listed = [each for each in running if each.standing != "unreadable"][:1] or running
    chosen = pick(words, listed)
    if (found := chosen.running) is not None:
        shown = worded(found.home, found.recorded, capture_here(working_folder))
        return _status(chosen, shown, clock.now())
    shown = _kept_lines(chosen)
    return _status(chosen, shown, times(shown)[1])


def _status(chosen: Listed, shown: Recorded, until: datetime) -> PauseStatus:
    return PauseStatus(
        listed=chosen, summary=summarised(shown, until), last_actions=tuple(shown.actions[-_LAST_ACTIONS:])
    )


def _kept_lines(chosen: Listed) -> Recorded:
    assert chosen.kept is not None
    recorded = lines_of(chosen.kept)
    if recorded is None:
        raise NotFoundError(f"{chosen.session_id}: its actions are gone. What is left: {chosen.path}")
    return recorded
