"""Tick tasks of a project and bring its resume state up to date in one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from leftoff.errors import LeftoffError, NotFoundError, NothingToDoError
from leftoff.flows.project_homes import Here, projects_here
from leftoff.flows.project_update import news
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.projects import keeping, layout, steps, update
from leftoff.projects.layout import Home
from leftoff.projects.steps import Steps
from leftoff.projects.values import State
from leftoff.system import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The tasks that were ticked, and where the project stands now."""

    home: Home
    tasks: tuple[int, ...]
    sections: tuple[str, ...]  # that this completed
    state: State

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "id": self.home.id,
            "completed": [*self.tasks],
            "sections_completed": [*self.sections],
            "state": self.state.to_dict(),
        }


def complete(words: str | None, tasks: str, working_folder: Path) -> Completed:
    """Tick the tasks that words such as ``1-5,8`` name."""
    wanted = steps.numbers(tasks)
    return _complete(projects_here(working_folder), words, lambda _: wanted)


def complete_section(words: str | None, section: int, working_folder: Path) -> Completed:
    """Tick every task of a section."""

    def of_section(found: Steps) -> Iterable[int]:
        meant = found.section(section)
        if meant is None:
            there = ", ".join(f"{each.number}: {each.name}" for each in found.sections) or "none"
            raise NotFoundError(f"There is no section {section}. There are: {there}.")
        return [task.number for task in meant.tasks]

    return _complete(projects_here(working_folder), words, of_section)


def _complete(here: Here, words: str | None, choose: Callable[[Steps], Iterable[int]]) -> Completed:
    home = here.named(words)
    path = home.part("steps")
    with keeping.locked(home):
        keeping.load(home)  # a project without a state is refused before anything is ticked
        text = layout.content(home, path)
        if text is None:
            raise NotFoundError(f"{path}: this project has no steps yet.", path=path)
        before = steps.read(text)
        after_text = steps.ticked(text, choose(before))
        after = steps.read(after_text)
        done = [
            new.number for old, new in zip(before.tasks, after.tasks, strict=True) if old.mark != new.mark
        ]
        if not done:
            raise NothingToDoError(f"{home.id}: these tasks are done or given up already.")
        at = clock.now()
        told = news(here, home, at, steps_text=after_text)
        update.updated(keeping.load(home), told)  # a state that cannot be told anew is refused before, too
        keeping.write(path, text, after_text)
        try:
            kept = keeping.change(home, lambda document: update.updated(document, told), here.register, at)
        except LeftoffError:
            keeping.write(path, after_text, text)  # both or neither
            raise
    return Completed(
        home=home, tasks=tuple(done), sections=tuple(_finished(before, after)), state=kept.document.state
    )


def _finished(before: Steps, after: Steps) -> Iterable[str]:
    for old, new in zip(before.sections, after.sections, strict=True):
        if new.is_complete and not old.is_complete:
            yield f"Section {new.number}: {new.name}"
