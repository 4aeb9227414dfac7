"""Close a session on a project: save its state, check what must not be forgotten, and call no session the current one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from leftoff.flows.project_save import saved
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.projects import body, sessions
from leftoff.projects.body import Item
from leftoff.projects.derive import NOTHING_GIVEN, Given
from leftoff.projects.keeping import Kept
from leftoff.projects.sessions import Worked
from leftoff.system import git, paths

_MOST_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question that a session is closed with. ``missing`` is what the answer lacks."""

    question: str
    is_good: bool
    missing: tuple[str, ...] = ()
    what_to_do: str | None = None

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "question": self.question,
            "is_good": self.is_good,
            "missing": [*self.missing],
            "what_to_do": self.what_to_do,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The state as it was saved, and the checks."""

    kept: Kept
    checks: tuple[Check, ...]

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "id": self.kept.home.id,
            "state_file": str(self.kept.home.state),
            "state": self.kept.document.state.to_dict(),
            "checks": [each.to_dict() for each in self.checks],
        }


def close(
    words: str | None, working_folder: Path, *, given: Given = NOTHING_GIVEN, session: str | None = None
) -> Closed:
    """Save, check, close."""
    kept, worked = saved(words, working_folder, given=given, session=session, then=sessions.ended)
    return Closed(kept=kept, checks=tuple(_checks(kept, worked, working_folder)))


def _checks(kept: Kept, worked: Worked | None, folder: Path) -> Iterator[Check]:
    text = kept.document.body
    decided = {item.key for item in body.listed(text, "decisions")}
    said = worked.decisions if worked is not None else ()
    missing = [each for each in said if Item(text=each).key not in decided]
    is_silent = not decided and not said
    yield Check(
        question="Are the decisions captured?",
        is_good=not missing and not is_silent,
        missing=tuple(missing[:_MOST_NAMED]),
        what_to_do='leftoff project save --decision "WHAT: WHY"' if missing or is_silent else None,
    )
    listed = {
        _path(item)
        for name in body.LISTS
        if name in {"created", "modified", "pending"}
        for item in body.listed(text, name)
    }
    unlisted = [name for name in _touched(kept, folder) if not _is_listed(name, listed)]
    yield Check(
        question="Is the list of files current?",
        is_good=not unlisted,
        missing=tuple(unlisted[:_MOST_NAMED]),
        what_to_do='leftoff project save --pending "FILE - WHAT IS LEFT"' if unlisted else None,
    )
    open_blockers = [item.text for item in body.listed(text, "blockers") if item.is_done is False]
    yield Check(
        question="Is every blocker resolved?",
        is_good=not open_blockers,
        missing=tuple(open_blockers[:_MOST_NAMED]),
        what_to_do='leftoff project save --resolved "PART OF IT"' if open_blockers else None,
    )


def _touched(kept: Kept, folder: Path) -> list[str]:
    """What git sees as changed, without our own documents and those of the plan: those are on the reading list."""
    home, project = kept.home, paths.project_of(folder)
    if not project.in_git:
        return []
    dirty = git.ground(project.root, []).dirty or ()
    own = str(home.planning.relative_to(home.root)) + "/"
    return [
        name for name in dirty if not name.startswith((own, paths.PROJECT_FOLDER)) and not name.endswith("/")
    ]


def _path(item: Item) -> str:
    return item.text.partition(" - ")[0].strip("` ")


def _is_listed(name: str, listed: Iterable[str]) -> bool:
    return any(name == each or name.endswith(f"/{each}") for each in listed)
