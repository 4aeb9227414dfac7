"""Take over resume states of older forms: their keys and words are kept, what 001 has and they lack is added.

What comes from a file that this machine did not write stays foreign: it waits for ``leftoff trust``.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal

from leftoff.errors import DocumentError, LeftoffError, NotFoundError, NothingToDoError
from leftoff.flows.project_homes import Here, projects_here
from leftoff.flows.project_update import news
from leftoff.model.values import dataclass
from leftoff.projects import blocks, keeping, layout, older, update
from leftoff.projects.document import Document
from leftoff.projects.layout import Home
from leftoff.projects.values import Plain
from leftoff.system import clock

How = Literal["completed", "taken over", "begun", "nothing to do", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of one project; ``waits``: its state must be trusted before it is handed to agents by itself."""

    home: Home
    how: How
    waits: bool = False
    trouble: str | None = None


def import_projects(words: str | None, working_folder: Path) -> list[Imported]:
    """The project that is meant, or all; one that fails hides no other. NothingToDoError where all are as they should be."""
    here, at = projects_here(working_folder), clock.now()
    homes = [here.named(words)] if words is not None else [*here.homes]
    if not homes:
        raise NotFoundError(
            f"{here.tree.projects}: no project was found. To begin one: leftoff project init NAME"
        )
    done = [_imported(here, home, at) for home in homes]
    if all(each.how == "nothing to do" for each in done):
        raise NothingToDoError("Every project has a resume state of this form already.")
    return done


def _imported(here: Here, home: Home, at: datetime) -> Imported:
    try:
        with keeping.locked(layout.checked(home)):
            how = _one(here, home, at)
        waits = how != "nothing to do" and here.register.standing(home.state) == "foreign"
        return Imported(home=home, how=how, waits=waits)
    except LeftoffError as error:
        return Imported(home=home, how="failed", trouble=error.message)


def _one(here: Here, home: Home, at: datetime) -> How:
    text = layout.content(home, home.state)
    if text is None:
        return _from_older(here, home, at)
    if blocks.found_in(text):
        return "nothing to do"
    told = news(here, home, at)
    document = Document(text=text, where=str(home.state))

    def step(found: Document) -> Document:
        front, _ = _parts(found)
        if not front and found.text == document.text and not _has_front(found):
            fresh = update.created(home.id, _name(home), told)
            return update.adopted(fresh, {}, found.text)
        missing = {key: value for key, value in front.items() if key not in found.values}
        return update.completed(found.with_values(missing), home.id, told)

    kept = keeping.change(home, step, here.register, at)
    return "completed" if kept.is_changed else "nothing to do"


def _from_older(here: Here, home: Home, at: datetime) -> How:
    """A new state; from an older document it takes its words over, and is then not ours."""
    first = update.created(home.id, _name(home), news(here, home, at))
    text = layout.content(home, home.older)
    if text is None:
        keeping.create(home, first)
        here.register.note_written(home.state, home.id, at)
        return "begun"
    document = Document(text=text, where=str(home.older))
    front, body_text = _parts(document)
    made = update.adopted(first, front, body_text)
    if front:
        made = update.with_foreign_keys(made, document, older.unknown_keys(document))
    keeping.create(home, made)
    return "taken over"


def _parts(document: Document) -> tuple[dict[str, Plain], str]:
    if not _has_front(document):
        return {}, document.text
    return older.front_of(document), document.body


def _has_front(document: Document) -> bool:
    try:
        return bool(document.values)
    except DocumentError as error:
        if error.line == 1 and "no front matter" in error.message:
            return False
        raise


def _name(home: Home) -> str:
    """As the overview's title has it, else as the folder is called."""
    for line in (layout.beginning(home, home.part("overview")) or "").splitlines():
        if line.startswith("# ") and line.isprintable() and line[2:].strip():
            return line[2:].strip()
    return home.id.partition("-")[2].replace("-", " ").title() or home.id
