"""Home: what was left off, the projects, and the sessions newest first, each with its gauge."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from leftoff.core.session import SessionEntry
from leftoff.errors import ConfigWarning, LeftoffError
from leftoff.platform import clock, files
from leftoff.resume_logs.list_logs import show_log
from leftoff.resume_logs.restore import logs_to_offer
from leftoff.sessions.grouping import group_copies
from leftoff.sessions.status import ListedSession, Status
from leftoff.web.library import key_of, title_of
from leftoff.web.site import Site, site_of
from leftoff.workspace import Workspace

_PAGE = 100
_LIVE = timedelta(minutes=2)  # since the last change: an agent is probably working
_MAX_CARDS = 3
_LOOKED_AT = 6  # projects, the latest first, whose logs are looked at for the cards
_MAX_PROJECTS = 60  # in the list at the side; the search finds the others


class Row(NamedTuple):
    """One session of the list."""

    key: str
    title: str
    project: str | None
    agent: str
    derivation: str | None
    modified_at: datetime
    is_live: bool
    is_copy: bool
    status: Status


class ProjectLink(NamedTuple):
    """One project of the list at the side."""

    key: str
    name: str
    folder: str
    sessions: int


class Card(NamedTuple):
    """What was left off in one project."""

    key: str
    project: str
    at: datetime
    title: str
    next_step: str | None


def show_home(request: Request) -> Response:
    """Show the list; the rows alone for a further page."""
    site = site_of(request)
    query = request.query_params.get("q", "")[:200]
    project = request.query_params.get("project", "")[:40]
    number = request.query_params.get("page", "")
    page = int(number) if number.isdecimal() and len(number) < 7 else 0
    everything = site.library.entries()
    projects = _projects(everything)
    chosen = [each for each in everything if _matches(each, query.casefold().split(), project)]
    shown = chosen[page * _PAGE : (page + 1) * _PAGE]
    has_more = len(chosen) > (page + 1) * _PAGE
    wanted = {"q": query, "project": project, "page": str(page + 1)}
    values: dict[str, object] = {
        "sessions": _rows(site.library.measured(shown), clock.now()),
        "next_page": Markup("/?" + urlencode(wanted).replace("&", "&amp;")) if has_more else None,
    }
    if page and request.headers.get("hx-request") == "true":
        return site.page("home_rows.html", values)
    heading = next((each.name for each in projects if each.key == project), "Sessions")
    plain = not (query or project or page)
    values |= {
        "projects": projects[:_MAX_PROJECTS],
        "total": len(everything),
        "project": project,
        "query": query,
        "heading": heading,
        "left_off": _left_off(site, everything) if plain else [],
    }
    return site.page("home.html", values)


def _rows(shown: Sequence[ListedSession], now: datetime) -> list[Row]:
    grouped = group_copies(
        shown,
        lambda each: each.entry.session_id,
        lambda each: each.entry.parent and each.entry.parent.session_id,
    )
    return [
        Row(
            key=key_of(entry.transcript),
            title=title_of(entry),
            project=Path(entry.project).name if entry.project else None,
            agent=entry.agent,
            derivation=entry.parent.derivation if entry.parent else None,
            modified_at=entry.modified_at,
            is_live=now - entry.modified_at < _LIVE,
            is_copy=is_copy,
            status=status,
        )
        for (entry, status), is_copy in grouped
    ]


def _projects(sessions: Sequence[SessionEntry]) -> list[ProjectLink]:
    """Return the projects, the one with the latest session first."""
    counted = Counter(each.project for each in sessions if each.project)
    names = Counter(Path(folder).name for folder in counted)
    return [
        ProjectLink(
            _project_key(folder), _name(Path(folder), is_unique=names[Path(folder).name] == 1), folder, number
        )
        for folder, number in counted.items()
    ]


def _name(folder: Path, *, is_unique: bool) -> str:
    """Return the folder's name, with its parent's where several have that name."""
    return folder.name if is_unique and folder.name else "/".join(folder.parts[-2:])


def _project_key(folder: str) -> str:
    return key_of(folder)


def _matches(entry: SessionEntry, words: Sequence[str], project: str) -> bool:
    if project and (entry.project is None or _project_key(entry.project) != project):
        return False
    if not words:
        return True
    text = f"{entry.first_prompt} {entry.project} {entry.agent} {entry.session_id} {entry.model}".casefold()
    return all(word in text for word in words)


def _left_off(site: Site, sessions: Sequence[SessionEntry]) -> list[Card]:
    """Return what was left off in the projects with the latest sessions."""
    by_id = {each.session_id: each for each in reversed(sessions)}
    folders = [*dict.fromkeys(each.project for each in sessions[:_PAGE] if each.project)]
    cards: list[Card] = []
    for folder in folders[:_LOOKED_AT]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConfigWarning)  # the commands in that project say it
            card = _card(site, folder, by_id)
        if card is not None and card.key not in {each.key for each in cards}:
            cards.append(card)
    return cards[:_MAX_CARDS]


def _card(site: Site, folder: str, by_id: Mapping[str, SessionEntry]) -> Card | None:
    if not files.is_folder(folder):
        return None
    try:
        workspace = site.workspace.at(Path(folder))
        offered = next(iter(logs_to_offer(workspace).offered), None)
        if offered is None or offered.session_id not in by_id:
            return None
        entry = by_id[offered.session_id]
        steps = _next_steps(offered.session_id, workspace)
    except LeftoffError:
        return None  # the list is shown without it
    return Card(key_of(entry.transcript), Path(folder).name, offered.left_at, title_of(entry), steps)


def _next_steps(session_id: str, workspace: Workspace) -> str | None:
    step = next(iter(show_log(session_id, workspace).log().next_steps), None)
    return None if step is None else step.removeprefix("The agent's last reply: ")


routes = (Route("/", show_home),)
