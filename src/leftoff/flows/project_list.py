"""The projects of this repository: where each stands, and whether its state may be used."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from leftoff.errors import LeftoffError
from leftoff.flows.project_homes import Here, projects_here
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.projects import facts, keeping
from leftoff.projects.derive import derived
from leftoff.projects.layout import Home
from leftoff.projects.values import State
from leftoff.system import clock
from leftoff.system.register import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One project. ``state`` is None where it has none, or none that can be read: ``trouble`` says why."""

    home: Home
    state: State | None
    standing: Standing | None
    trouble: str | None = None

    @property
    def updated_at(self) -> datetime | None:
        """When its state was last updated; None where it does not say."""
        return self.state.metadata.last_updated if self.state is not None else None

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        state, at = self.state or State(), self.updated_at
        return {
            "id": self.home.id,
            "number": self.home.number,
            "name": state.project.project_name,
            "status": state.project.project_status,
            "next_action": state.next_action,
            "tasks_completed": state.execution.progress_tasks_completed,
            "tasks_total": state.execution.progress_tasks_total,
            "last_updated": None if at is None else clock.rfc3339(at),
            "state_file": str(self.home.state),
            "standing": self.standing,
            "trouble": self.trouble,
        }


def projects(working_folder: Path) -> list[Listed]:
    """All of them; one whose state is broken hides no other."""
    here = projects_here(working_folder)
    return [_listed(here, home) for home in here.homes]


def _listed(here: Here, home: Home) -> Listed:
    try:
        state = derived(keeping.load(home).state, facts.gather(home))
        return Listed(home=home, state=state, standing=here.register.standing(home.state))
    except LeftoffError as error:
        return Listed(home=home, state=None, standing=None, trouble=error.message)
