"""The pages of ``leftoff web``. Each module in ``PAGES`` has the routes of one page."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from leftoff.errors import LeftoffError, NotFoundError, UsageError
from leftoff.web import compaction, home, lineage, reader, report, search, session, shrink
from leftoff.web.access import Access
from leftoff.web.site import Site, serve_static, site_of
from leftoff.workspace import Workspace

PAGES = (home, search, report, session, compaction, reader, lineage, shrink)


def create_app(workspace: Workspace, access: Access) -> Starlette:
    """Return the pages, without the guard that every request must pass."""
    app = Starlette(
        routes=[
            *(route for page in PAGES for route in page.routes),
            Route("/static/{name:path}", serve_static),
        ],
        exception_handlers={LeftoffError: _show_error, HTTPException: _show_http_error, Exception: _show_bug},
    )
    app.state.site = Site(workspace, access)
    return app


def _show_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, LeftoffError)
    status = 404 if isinstance(error, NotFoundError) else 400 if isinstance(error, UsageError) else 500
    return _error_page(request, error.message, status)


def _show_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = "There is no such page." if error.status_code == 404 else error.detail
    return _error_page(request, message, error.status_code)


def _show_bug(request: Request, error: Exception) -> Response:
    message = f"This is a bug in leftoff: {type(error).__name__}: {error}. Please report it with the output of: leftoff doctor --json"
    return _error_page(request, message, 500)


def _error_page(request: Request, message: str, status: int) -> Response:
    return site_of(request).page("error.html", {"message": message}, status)
