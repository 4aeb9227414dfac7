"""Who may ask this server: only the browser that was given the token, from this server's own pages.

A token in the first address becomes a cookie that scripts cannot read and other sites cannot send. Any web page can make a browser
ask 127.0.0.1, and any host name can be pointed at it; so the Host and Origin of every request are checked as well.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SAFE_METHODS = {"GET", "HEAD"}
_HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",  # with none at all, browsers send our own forms without their origin
    "x-content-type-options": "nosniff",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The secrets of one run of the server. ``form_token`` is in every form; it proves that one of our pages sent it."""

    port: int
    is_read_only: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _unused: set[str] = field(default_factory=set, repr=False)

    @property
    def first_address(self) -> str:
        """The address to open: it signs the browser in."""
        return self._address(self.token)

    def one_time_address(self) -> str:
        """Return an address that signs in once, for the command line of a browser, which everybody on the machine can read."""
        token = secrets.token_urlsafe(32)
        self._unused.add(token)
        return self._address(token)

    def accepts(self, token: str) -> bool:
        """Return whether a token of an address signs in; one that was for once is used up by that."""
        used = next((each for each in self._unused if _is_equal(token, each)), None)
        self._unused.discard(used or "")
        return used is not None or _is_equal(token, self.token)

    def _address(self, token: str) -> str:
        return f"http://127.0.0.1:{self.port}/?{urlencode({'token': token})}"

    @property
    def cookie(self) -> str:
        """The name of the cookie. Browsers send cookies to every port, so each port has a name of its own."""
        return f"leftoff-{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """What a request's Host may be."""
        return frozenset({f"127.0.0.1:{self.port}", f"localhost:{self.port}"})


class Guard:
    """Refuses requests that did not come from the signed-in browser, and adds the security headers to every response."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # there are no web sockets

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        answer = self._refuse_or_sign_in(scope) or self._app
        await answer(scope, receive, send_with_headers)

    def _refuse_or_sign_in(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._access.hosts or len(headers.getlist("host")) != 1:
            return _refusal("This server answers only as 127.0.0.1 or localhost.", 421)
        if origin is not None and origin != f"http://{host}":
            return _refusal("This request comes from another site.")
        is_safe = scope["method"] in _SAFE_METHODS
        if not is_safe and origin is None:
            return _refusal("This request does not say which page it comes from.")
        if not is_safe and self._access.is_read_only:
            return _refusal("leftoff web was started with --read-only: it changes nothing.")
        if is_safe and (there := self._sign_in(scope)) is not None:
            return there
        # Not by http.cookies, which drops all cookies for one that it cannot read, such as of another server on 127.0.0.1.
        cookies = cookie_parser(headers.get("cookie", ""))
        if not _is_equal(cookies.get(self._access.cookie, ""), self._access.token):
            return _refusal(
                "Open the address that leftoff web has printed: it has the token this page needs."
            )
        return None

    def _sign_in(self, scope: Scope) -> Response | None:
        """Turn the token of the first address into a cookie, and take it out of the address bar."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get("token")
        if given is None or not self._access.accepts(given):
            return None
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        path = "/" + scope["path"].lstrip("/")  # two slashes would name another host
        there = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        there.set_cookie(self._access.cookie, self._access.token, httponly=True, samesite="strict")
        return there


def _refusal(reason: str, status: int = 403) -> Response:
    return PlainTextResponse(f"{reason}\n", status)


def _is_equal(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode(), secret.encode())
