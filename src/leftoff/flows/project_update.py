"""Bring the resume state of one project up to date: its facts are looked up, and the file is changed under its lock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from leftoff.config.settings import ProjectStateSettings
from leftoff.flows.project_homes import Here
from leftoff.projects import facts, keeping, update
from leftoff.projects.derive import NOTHING_GIVEN, Given
from leftoff.projects.document import Document
from leftoff.projects.keeping import Kept
from leftoff.projects.layout import Home
from leftoff.projects.sessions import Worked
from leftoff.projects.telling import Gauge
from leftoff.projects.update import News


def bring_up_to_date(
    here: Here,
    home: Home,
    at: datetime,
    *,
    given: Given = NOTHING_GIVEN,
    worked: Worked | None = None,
    then: Callable[[Document], Document] = lambda document: document,
) -> Kept:
    """The resume state with all that is new; ``then`` takes a last step in the same writing."""
    with keeping.locked(home):
        return keeping.change(
            home,
            lambda document: then(update.updated(document, news(here, home, at, given=given, worked=worked))),
            here.register,
            at,
        )


def news(
    here: Here,
    home: Home,
    at: datetime,
    *,
    given: Given = NOTHING_GIVEN,
    worked: Worked | None = None,
    steps_text: str | None = None,
) -> News:
    """What is new about a project, as its files stand; ``steps_text`` is what the steps are about to be."""
    return News(
        facts=facts.gather(home, steps_text),
        at=at,
        words_for_it=words_for(home),
        given=given,
        worked=worked,
        gauge=_gauge(here.settings, worked),
    )


def words_for(home: Home) -> str:
    """What a person types to name it."""
    return home.id if home.number is None else str(home.number)


def _gauge(settings: ProjectStateSettings, worked: Worked | None) -> Gauge:
    return Gauge(
        used_tokens=worked.used_tokens if worked is not None else None,
        usable_tokens=worked.usable_tokens if worked is not None else None,
        warn_fraction=settings.warn,
        save_fraction=settings.auto_save,
    )
