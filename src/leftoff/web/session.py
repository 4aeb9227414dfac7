"""Session: the curve of its context window, with the resume log and the next steps beside it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from leftoff.sessions.status import status_of
from leftoff.web.site import site_of


def show_session(request: Request) -> Response:
    """Show one session."""
    site = site_of(request)
    ref = site.library.find(request.path_params["key"])
    values = {"key": request.path_params["key"], "ref": ref, "status": status_of(ref, site.workspace)}
    return site.page("session.html", values)


routes = (Route("/session/{key}", show_session),)
