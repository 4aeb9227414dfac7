"""``leftoff web``."""

from __future__ import annotations

import webbrowser
from threading import Thread
from typing import TYPE_CHECKING

import click

from leftoff.cli import arguments, output
from leftoff.errors import LeftoffError
from leftoff.workspace import Workspace

if TYPE_CHECKING:
    from leftoff.web.access import Access

_HIGHEST_PORT = 65535


@click.command(epilog="Example: leftoff web --open")
@click.option(
    "--port",
    type=arguments.WholeNumber(min=1, max=_HIGHEST_PORT),
    default=None,
    help="The port on 127.0.0.1. Default: a free one.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in your browser.")
@click.option(
    "--read-only",
    is_flag=True,
    help="Refuse every action, such as writing a smaller copy.",
)
@arguments.with_json
def web(*, port: int | None, opens: bool, read_only: bool, as_json: bool) -> int:
    """Show what happened to the context window of every session, as a page in your browser. Ctrl-C stops it.

    Only this machine can reach the page, and only with the token in the address that is printed.
    """
    try:
        from leftoff.web.server import serve
    except ImportError as missing:
        raise LeftoffError(
            f"leftoff web needs packages that are not installed ({missing.name}): pip install 'leftoff[web]'"
        ) from missing

    def announce(access: Access) -> None:
        if as_json:
            output.as_json({"address": access.first_address})
        else:
            output.say(f"{access.first_address}\nCtrl-C to quit")
        if opens:  # in a thread: some browsers are waited for, and they wait for the first page
            Thread(
                target=open_browser, args=(access.one_time_address(),), name="browser", daemon=True
            ).start()

    def open_browser(address: str) -> None:
        if not webbrowser.open(address) and not as_json:
            output.say("No browser could be started: open the address in one.")

    serve(Workspace.open(), port or 0, is_read_only=read_only, announce=announce)
    return 0
