"""Session: the curve of its context window, which grows while the agent works; beside it the resume log with the next steps."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
from anyio import sleep, to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from leftoff.core.protocols import CanResume
from leftoff.core.provenance import Source
from leftoff.core.session_ids import short_id
from leftoff.errors import LeftoffError
from leftoff.platform import paths
from leftoff.resume_logs.save import build_log
from leftoff.sessions.status import status_of
from leftoff.web.curves import CurveReader
from leftoff.web.library import read_entry, title_of
from leftoff.web.site import Site, site_of
from leftoff.workspace import SessionRef

_POLL_SECONDS = 0.5
_MOST_DIGITS = 16
_PING_SECONDS = 15  # a comment now and then shows that the browser is still there


def show_session(request: Request) -> Response:
    """Show one session; the curve and the log follow, so that the page of a large session is there at once."""
    site, ref = _find(request)
    return site.page("session.html", session_values(ref, request.path_params["key"], site))


def session_values(ref: SessionRef, key: str, site: Site) -> dict[str, object]:
    """Return what the head of every page about a session shows."""
    entry = read_entry(ref, site.workspace.redact)
    return {
        "key": key,
        "entry": entry,
        "title": title_of(entry),
        "short_id": short_id(entry.session_id),
        "project": Path(entry.project).name if entry.project else None,
        "status": status_of(ref, site.workspace),
    }


def send_curve(request: Request) -> Response:
    """Send the whole curve."""
    site, ref = _find(request)
    return site.data(site.curves.reader(ref).to_json())


def show_log(request: Request) -> Response:
    """Show what the session's resume log would say now; nothing is written."""
    site, ref = _find(request)
    log = build_log(ref, site.workspace)
    values = {
        "key": request.path_params["key"],
        "log": log,
        "lines": _lines(ref, log.sources),
        "command": _resume_command(ref),
    }
    return site.page("session_log.html", values)


def _resume_command(ref: SessionRef) -> str | None:
    """Return what to type in a shell; None for an agent that cannot resume."""
    if not isinstance(ref.agent, CanResume):
        return None
    command = shlex.join(ref.agent.resume_command(ref.session_id))
    if ref.project is None:
        return command
    home = f"{paths.home()}/"
    is_below = ref.project.startswith(home)
    folder = f"~/{shlex.quote(ref.project.removeprefix(home))}" if is_below else shlex.quote(ref.project)
    return f"cd {folder} && {command}"


def _lines(ref: SessionRef, sources: list[Source]) -> dict[str, int]:
    """Return the line of the first source of each item, by the item's name, where it is in this very transcript."""
    own = [each for each in sources if each.place.transcript == str(ref.transcript)]
    return {each.item: each.place.line_idx + 1 for each in reversed(own)}


async def send_live(request: Request) -> Response:
    """Send the new end of the curve whenever the transcript has grown."""
    site, ref = await to_thread.run_sync(_find, request)
    first, size, reading = (
        _number(request.query_params.get(name, "")) for name in ("first", "bytes", "reading")
    )
    events = _events(request, site, site.curves.reader(ref), first or 0, size, reading)
    return StreamingResponse(events, media_type="text/event-stream")


def _number(given: str) -> int | None:
    return int(given) if given.isdecimal() and len(given) < _MOST_DIGITS else None


async def _events(
    request: Request, site: Site, reader: CurveReader, first: int, size: int | None, reading: int | None
) -> AsyncIterator[bytes]:
    """Yield what came after the first requests, of a transcript that had so many bytes when the page asked; None: not known."""
    quiet = 0.0
    while not site.is_stopping() and not await request.is_disconnected():
        if (now := reader.size_bytes()) != size:
            size, quiet = now, 0.0
            try:
                # The last request may have grown, too.
                grown = await to_thread.run_sync(reader.to_json, max(0, first - 1), reading)
            except (LeftoffError, OSError):
                continue  # deleted, or being replaced: the page keeps what it shows
            begin, tokens, latest = grown["first"], grown["tokens"], grown["reading"]
            assert isinstance(begin, int)
            assert isinstance(tokens, list)
            assert isinstance(latest, int)
            first, reading = begin + len(tokens), latest
            data = orjson.dumps(site.workspace.capture.clean(grown))
            yield b"event: curve\ndata: " + data + b"\n\n"
        elif quiet >= _PING_SECONDS:
            quiet = 0.0
            yield b": still here\n\n"
        await sleep(_POLL_SECONDS)
        quiet += _POLL_SECONDS


def _find(request: Request) -> tuple[Site, SessionRef]:
    site = site_of(request)
    return site, site.library.find(request.path_params["key"])


routes = (
    Route("/session/{key}", show_session),
    Route("/session/{key}/curve", send_curve),
    Route("/session/{key}/log", show_log),
    Route("/session/{key}/live", send_live),
)
