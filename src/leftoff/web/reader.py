"""Reader: the transcript page by page, with results folded, an anchor on every line, and jumps to what matters."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from leftoff.agents.registry import agent_of
from leftoff.errors import NotFoundError, UsageError
from leftoff.web.entries import MARKS
from leftoff.web.session import session_values
from leftoff.web.site import Site, site_of
from leftoff.web.transcript import TranscriptReader

_LARGEST_LINE = 10**12


def show_reader(request: Request) -> Response:
    """Show a page of the transcript: the first, or the one around ``line``."""
    site, key = site_of(request), request.path_params["key"]
    ref = site.library.find(key)
    reader = _open_reader(site, ref.transcript)
    line = _number(request, "line") or 1
    page = reader.page_around(line)
    if not page.entries and line > 1:
        raise NotFoundError(f"This session has {page.total_lines:,} lines; line {line:,} is not among them.")
    values = {"page": page, "line": line, "missing": _missing(request)}
    return site.page("reader.html", {**session_values(ref, key, site), **values})


def show_part(request: Request) -> Response:
    """Return the entries of the page that begins at ``line`` or ends before ``before``, for the script that scrolls on."""
    site, key = site_of(request), request.path_params["key"]
    reader = _open_reader(site, site.library.find(key).transcript)
    before = _number(request, "before")
    page = reader.page_before(before) if before else reader.page(_number(request, "line") or 1)
    return site.page("reader_part.html", {"key": key, "page": page})


def jump(request: Request) -> Response:
    """Go to the nearest prompt, error, edit or compaction after a line, or before it."""
    site, key = site_of(request), request.path_params["key"]
    reader = _open_reader(site, site.library.find(key).transcript)
    wanted = next((mark for mark in MARKS if mark == request.query_params.get("to")), None)
    if wanted is None:
        raise UsageError(f"You can jump to: {', '.join(MARKS)}.")
    line = _number(request, "from") or 0
    found = reader.find(wanted, line, backwards="back" in request.query_params)
    end = "" if found else f"&missing={wanted}"
    return RedirectResponse(
        f"/session/{key}/read?line={found or max(1, line)}{end}#L{found or max(1, line)}", 303
    )


@lru_cache(maxsize=64)
def _open_reader(site: Site, transcript: Path) -> TranscriptReader:
    return TranscriptReader(agent_of(transcript), transcript, site.workspace.redact)


def _missing(request: Request) -> str | None:
    return next((mark for mark in MARKS if mark == request.query_params.get("missing")), None)


def _number(request: Request, name: str) -> int | None:
    """Return a line number of the address; None where there is none; UsageError for anything else."""
    given = request.query_params.get(name)
    if not given:
        return None
    if not (given.isascii() and given.isdigit()) or not 0 <= int(given[:20]) <= _LARGEST_LINE:
        raise UsageError(f"{name} in the address is {given[:40]!r}, not the number of a line.")
    return int(given[:20])


routes = (
    Route("/session/{key}/read", show_reader),
    Route("/session/{key}/read/part", show_part),
    Route("/session/{key}/read/jump", jump),
)
