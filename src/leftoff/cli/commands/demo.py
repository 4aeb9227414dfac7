"""``leftoff demo``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.flows import demo as flow

_NEXT = "Next: leftoff sessions lists your own sessions, leftoff status shows how full the latest one is."


@click.command(epilog="Example: leftoff demo")
@display.with_json
def demo(*, as_json: bool) -> int:
    """Play the story on a bundled session, in a scratch folder that is gone afterwards."""
    if as_json:
        display.as_json([{"title": scene.title, "lines": [*scene.lines]} for scene in flow.demo()])
        return 0
    for scene in flow.demo():
        display.say(scene.title, {"bold": True})
        for line in scene.lines:
            display.say(display.wrapped(display.visible(line), indent="  "))
        display.say("")
    display.say(_NEXT)
    return 0
