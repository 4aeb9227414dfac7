"""What every page needs: the workspace, the sessions by key, templates that redact whatever they show, and the form token."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from secrets import compare_digest
from urllib.parse import parse_qs

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from leftoff.core import quantities
from leftoff.core.visible import visible
from leftoff.core.wire import JsonValue
from leftoff.errors import UsageError
from leftoff.platform import clock
from leftoff.web.access import Access
from leftoff.web.curves import Curves
from leftoff.web.library import Library
from leftoff.workspace import Workspace

_FOLDER = Path(__file__).parent
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".LICENSE": "text/plain"}
SESSION_TABS = (
    ("Overview", ""),
    ("Compactions", "/compactions"),
    ("Reader", "/read"),
    ("Lineage", "/lineage"),
    ("Shrink", "/shrink"),
)
_MAX_FORM_BYTES = 1024 * 1024
_BOLD = re.compile(r"\*\*(\S[^*\n]*?)\*\*")  # Markdown's, in sentences that are shown as they are


class Site:
    """One running server. A page gets it with ``site_of(request)``."""

    def __init__(self, workspace: Workspace, access: Access) -> None:
        self.workspace, self.access = workspace, access
        self.library, self.curves = Library(workspace), Curves(workspace)
        self.is_stopping: Callable[[], bool] = lambda: False
        self._templates = self._environment()

    def page(self, template: str, values: Mapping[str, object], status: int = 200) -> Response:
        """Return a page. Every value it shows is redacted, made visible and escaped."""
        return HTMLResponse(self._templates.get_template(template).render(values), status)

    def stream(self, template: str, values: Mapping[str, object]) -> Iterator[str]:
        """Yield a page piece by piece, for one that may be larger than memory."""
        return self._templates.get_template(template).generate(values)

    def data(self, value: JsonValue) -> Response:
        """Return JSON for a script of ours, redacted."""
        return Response(orjson.dumps(self.workspace.capture.clean(value)), media_type="application/json")

    def shown(self, text: str) -> str:
        """Return text from elsewhere without credentials and without characters that hide or reverse text."""
        return visible(self.workspace.redact(text))

    async def form(self, request: Request) -> Mapping[str, Sequence[str]]:
        """Return the form of an action; UsageError without our token, the user's confirmation, or if it is too large."""
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MAX_FORM_BYTES:
                raise UsageError("The form is too large.")
        form = parse_qs(body.decode("ascii", "replace"))
        if not compare_digest(form.get("form_token", [""])[0].encode(), self.access.form_token.encode()):
            raise UsageError("This form comes from an earlier run of leftoff web. Load the page again.")
        if form.get("confirmed") != ["yes"]:
            raise UsageError("Nothing was done: the box that confirms it is not ticked.")
        return form

    def _environment(self) -> Environment:
        environment = Environment(
            loader=FileSystemLoader(_FOLDER / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=self._finalize,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.globals |= {"access": self.access, "static": static_url, "session_tabs": SESSION_TABS}
        environment.filters |= {
            "ago": lambda moment: quantities.ago(clock.now(), moment),
            "size": quantities.size,
            "own": escape,  # for random values of ours, which look like credentials
            "count": quantities.count,
            "plain": lambda text: _BOLD.sub(r"\1", text),
            "number": lambda number: "?" if number is None else f"{number:,}",
        }
        return environment

    def _finalize(self, value: object) -> object:
        if isinstance(value, str) and not isinstance(value, Markup):
            return self.shown(value)
        return "" if value is None else value


def site_of(request: Request) -> Site:
    """Return the site that a request is for."""
    site = request.app.state.site
    assert isinstance(site, Site)
    return site


class StaticFiles:
    """The files in ``static``, read once. Only their names can be asked for, so no path leads out of the folder."""

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """The content by name."""
        folder = _FOLDER / "static"
        return {
            file.relative_to(folder).as_posix(): file.read_bytes()
            for file in folder.rglob("*")
            if file.is_file()
        }

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """A part of the address that changes with the content, so that browsers may keep the files."""
        return {name: hashlib.sha256(content).hexdigest()[:8] for name, content in self.files.items()}


STATIC = StaticFiles()


def static_url(name: str) -> Markup:
    """Return the address of a file in ``static``."""
    return Markup(f"/static/{name}?v={STATIC.versions[name]}")


def serve_static(request: Request) -> Response:
    """Answer with a file of ``static``."""
    name = request.path_params["name"]
    content = STATIC.files.get(name)
    if content is None:
        return Response("There is no such file.\n", 404, media_type="text/plain")
    headers = {"cache-control": "private, max-age=31536000, immutable"}
    return Response(content, headers=headers, media_type=_TYPES.get(Path(name).suffix, "text/plain"))
