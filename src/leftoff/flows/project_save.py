"""Save a project's resume state: facts from its files, what the session did, and what somebody says about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from leftoff.flows.capture import capture_here
from leftoff.flows.choose import Chosen
from leftoff.flows.project_homes import projects_here
from leftoff.flows.project_session import has_touched, session_here, worked_in
from leftoff.flows.project_update import bring_up_to_date
from leftoff.model.wire import JsonObject
from leftoff.projects import keeping, sessions
from leftoff.projects.derive import NOTHING_GIVEN, Given
from leftoff.projects.document import Document
from leftoff.projects.keeping import Kept
from leftoff.projects.layout import Home
from leftoff.projects.sessions import Worked
from leftoff.system import clock


def save(
    words: str | None, working_folder: Path, *, given: Given = NOTHING_GIVEN, session: str | None = None
) -> Kept:
    """Bring the state of the project that is meant up to date; ``session`` names one that worked on it."""
    return saved(words, working_folder, given=given, session=session)[0]


def saved(
    words: str | None,
    working_folder: Path,
    *,
    given: Given,
    session: str | None,
    then: Callable[[Document], Document] = lambda document: document,
) -> tuple[Kept, Worked | None]:
    """The same, with what the session did; ``then`` takes a last step in the same writing."""
    here = projects_here(working_folder)
    home = here.named(words)
    chosen = session_here(session, working_folder)
    worked = _worked(chosen, home, is_named=session is not None) if chosen is not None else None
    clean = _clean(given, working_folder)
    return bring_up_to_date(here, home, clock.now(), given=clean, worked=worked, then=then), worked


def _worked(chosen: Chosen, home: Home, *, is_named: bool) -> Worked | None:
    """What the session did; None for one that nobody named and that did not work on the project."""
    document = keeping.load(home)
    is_known = sessions.knows(document, chosen.agent.id, chosen.open().session_id)
    return worked_in(chosen, home) if is_named or is_known or has_touched(chosen, [home]) else None


def _clean(given: Given, folder: Path) -> Given:
    """What somebody said, without credentials."""
    told = {name: value for name, value in dataclasses.asdict(given).items() if value}
    listed = {name: [*value] if isinstance(value, tuple) else value for name, value in told.items()}
    clean: dict[str, Any] = capture_here(folder).clean_object(cast("JsonObject", listed))
    values: dict[str, Any] = {
        name: tuple(each) if isinstance(each, list) else each for name, each in clean.items()
    }
    return Given(**values)
