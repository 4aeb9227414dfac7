"""Run ``leftoff web`` on 127.0.0.1 until Ctrl-C."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import uvicorn

from leftoff.errors import LeftoffError
from leftoff.web.access import Access, Guard
from leftoff.web.app import create_app
from leftoff.workspace import Workspace

_OBJECTS_BETWEEN_COLLECTIONS = 50_000
_STOP_SECONDS = 2  # until open connections are closed, such as that of a live curve


def serve(workspace: Workspace, port: int, *, is_read_only: bool, announce: Callable[[Access], None]) -> None:
    """Answer requests until Ctrl-C. ``announce`` is called when browsers may ask; port 0 takes any free one."""
    # A list of 10,000 sessions is kept whole: Python's default would look through it for cycles again and again while it is made.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    with _listen(port) as listener:
        access = Access(port=listener.getsockname()[1], is_read_only=is_read_only)
        server = create_server(workspace, access)
        with suppress(KeyboardInterrupt):
            announce(access)
            server.run(sockets=[listener])


def create_server(workspace: Workspace, access: Access) -> uvicorn.Server:
    """Return the server, which a test runs in a thread."""
    app = create_app(workspace, access)
    config = uvicorn.Config(
        Guard(app, access),  # around everything, so that the page about a bug has its headers, too
        access_log=False,
        log_level="error",
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    server = uvicorn.Server(config)
    # While the browser opens:
    Thread(target=app.state.site.library.entries, name="first listing", daemon=True).start()
    app.state.site.is_stopping = lambda: server.should_exit
    return server


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # so that a browser that is opened at once waits
    except OSError as error:
        listener.close()
        raise LeftoffError(
            f"Port {port} cannot be used: {error.strerror}. Without --port, leftoff web takes a free one."
        ) from error
    return listener
