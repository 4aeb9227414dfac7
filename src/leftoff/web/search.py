"""Search: every text of every session, with filters; each hit leads to its line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from leftoff.agents.registry import load_agents
from leftoff.core.session_ids import short_id
from leftoff.errors import LeftoffError
from leftoff.platform import clock
from leftoff.search.search import Results, SearchRequest, SessionResult, search
from leftoff.search.snippets import Snippet
from leftoff.web.library import key_of
from leftoff.web.site import Site, site_of

_LIMIT = 30
_MAX_QUERY_CHARS = 500
_KINDS = {each: each for each in ("prompt", "reply", "command", "result", "thinking", "summary")}
_SINCE = {"1d": "a day", "7d": "a week", "30d": "a month"}


class Part(NamedTuple):
    """A piece of a snippet, and whether it is what was searched for."""

    text: str
    is_match: bool


class ShownHit(NamedTuple):
    """One place in a session."""

    line: int
    kind: str
    parts: Sequence[Part]


class Found(NamedTuple):
    """One session or document that matches; ``key`` is None where there is no page about it."""

    key: str | None
    title: str
    project: str | None
    agent: str | None
    modified_at: datetime
    hits: Sequence[ShownHit]


def show_search(request: Request) -> Response:
    """Show what matches; without words only the form."""
    site = site_of(request)
    words = request.query_params.get("q", "")[:_MAX_QUERY_CHARS].strip()
    agents = [agent.id for agent in load_agents()]
    options = {"agent": dict(zip(agents, agents, strict=True)), "kind": _KINDS, "since": _SINCE}
    chosen = {
        name: value for name, known in options.items() if (value := request.query_params.get(name)) in known
    }
    values: dict[str, object] = {
        "query": words,
        "chosen": chosen,
        "filters": [
            ("Agent", "agent", options["agent"]),
            ("Kind", "kind", _KINDS),
            ("Last", "since", _SINCE),
        ],
        "results": None,
        "problem": None,
    }
    if words:
        try:
            values |= _search(site, " ".join([words, *(f"{name}:{value}" for name, value in chosen.items())]))
        except LeftoffError as error:
            values["problem"] = error.message
    return site.page("search.html", values)


def _search(site: Site, query: str) -> dict[str, object]:
    found: Results = search(site.workspace, SearchRequest(query=query, limit=_LIMIT, hits=3), clock.now())
    return {
        "results": [_found(each) for each in found.sessions],
        "problem": found.reason,
        "suggestion": found.suggestion,
        "is_unread": found.unread,
    }


def _found(result: SessionResult) -> Found:
    source = result.source
    is_shown = result.number is not None  # else it is a document, or only the archive has it
    return Found(
        key=key_of(source.path) if is_shown else None,
        title=" ".join((source.title or short_id(source.session_id or source.type))[:240].split()),
        project=Path(source.project).name if source.project else None,
        agent=source.agent,
        modified_at=datetime.fromtimestamp(source.modified_ns / 1e9, UTC),
        hits=[ShownHit(each.hit.line, each.hit.kind, _parts(each.snippet)) for each in result.hits],
    )


def _parts(snippet: Snippet) -> list[Part]:
    parts, at = [], 0
    for start, end in snippet.marks:
        parts += [Part(snippet.text[at:start], is_match=False), Part(snippet.text[start:end], is_match=True)]
        at = end
    return [*parts, Part(snippet.text[at:], is_match=False)]


routes = (Route("/search", show_search),)
