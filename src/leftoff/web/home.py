"""Home: the projects, and the sessions newest first, each with its gauge."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from leftoff.web.library import key_of
from leftoff.web.site import site_of


def show_home(request: Request) -> Response:
    """Show the newest sessions."""
    site = site_of(request)
    sessions = [(key_of(each.entry.transcript), each) for each in site.library.sessions()[:100]]
    return site.page("home.html", {"sessions": sessions})


routes = (Route("/", show_home),)
