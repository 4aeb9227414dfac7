"""The welcome-back screen of 001 from the real numbers: where a project stands, what was done last, what to remember."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from leftoff.flows.project_homes import projects_here
from leftoff.flows.project_update import words_for
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.projects import body, facts, keeping, manifest
from leftoff.projects.body import ListName
from leftoff.projects.facts import Facts
from leftoff.projects.manifest import Loaded
from leftoff.projects.values import State

_MOST_REMEMBERED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class WelcomeBack:
    """What the screen shows. Counts are of the steps as they are now."""

    words_for_it: str
    loaded: Loaded
    state: State
    last_session: datetime | None
    recent: tuple[tuple[bool, str], ...]  # whether it is finished, and what
    key_context: tuple[str, ...]
    sections: tuple[str, ...]

    def to_dict(self) -> JsonObject:
        """The loader's answer with what the screen adds."""
        return self.loaded.to_dict() | {
            "recent_progress": [words for _, words in self.recent],
            "key_context": [*self.key_context],
        }


def welcome_back(words: str | None, working_folder: Path) -> WelcomeBack:
    """The screen for the project that is meant; NotTrustedError for a state that came from elsewhere."""
    here = projects_here(working_folder)
    home = here.named(words)
    document = keeping.load(home)
    here.require(home)
    found = facts.gather(home)
    loaded = manifest.loaded(home, document, found, here.folder)
    return WelcomeBack(
        words_for_it=words_for(home),
        loaded=loaded,
        state=loaded.state or document.state,
        last_session=document.state.metadata.last_updated,
        recent=tuple(_recent(found)),
        key_context=tuple(_remembered(document.body)),
        sections=tuple(f"{each.number}: {each.name}" for each in found.steps.sections),
    )


def _recent(found: Facts) -> list[tuple[bool, str]]:
    """The last section that was finished, and the one that is under way."""
    finished = [each for each in found.steps.sections if each.is_complete]
    told = [
        (True, f"Completed Section {each.number}: {each.name} ({len(each.counted)} tasks)")
        for each in finished[-1:]
    ]
    task = found.steps.next
    section = found.steps.section(task.section) if task is not None else None
    if section is not None and section.done:
        told.append(
            (False, f"Section {section.number}: {section.done}/{len(section.counted)} tasks complete")
        )
    return told


def _remembered(text: str) -> list[str]:
    """The mental models, the latest decisions, the blockers that stand."""
    models = [item.text.partition(":")[0] for item in body.listed(text, "mental-models")]
    told = [f"Using {' + '.join(models)} models"] if models else []
    kinds: tuple[tuple[str, ListName], ...] = (("Decision", "decisions"), ("Blocker", "blockers"))
    for title, name in kinds:
        items = [item for item in body.listed(text, name) if item.is_done is not True]
        told += [f"{title}: {item.text}" for item in items[-_MOST_REMEMBERED:]]
    return told
