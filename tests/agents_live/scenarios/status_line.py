"""leftoff's status line on a terminal, the only place where Claude Code shows one and reports the window's size."""

import json

from drive import Agent
from installation import agent_settings, run_leftoff, state_folder
from sandbox import Sandbox
from scenario import scenario
from screens import open_client, submit

BEFORE_THE_FIRST_REPLY = "the gauge starts with the next reply"


@scenario(clients=("claude",))
def status_line(agent: Agent, sandbox: Sandbox) -> None:
    """Our status line is shown below the user's own, follows the API's usage, and saves the window's size for the hooks."""
    settings = agent_settings(agent, sandbox)
    before = b'{"statusLine": {"type": "command", "command": "echo the-old-line; exit 3"}}'
    settings.write_bytes(before)
    run_leftoff(sandbox, "install", "claude")
    with sandbox.open_screen() as screen:
        shown = screen.wait_for(BEFORE_THE_FIRST_REPLY)
        assert shown.index("the-old-line") < shown.index(BEFORE_THE_FIRST_REPLY)
        screen.type("Look around.\n#usage 800000\n#say seen")
        screen.wait_for("82% caution")  # of the 967,000 at which the client compacts
    (window,) = (state_folder(sandbox) / "windows").glob("claude-*.json")
    assert json.loads(window.read_bytes())["window_tokens"] == 1_000_000
    assert window.stem.removeprefix("claude-") == agent.latest_transcript(sandbox).stem
    run_leftoff(sandbox, "uninstall", "claude")
    assert settings.read_bytes() == before


@scenario(clients=("claude",))
def status_line_after_a_save(agent: Agent, sandbox: Sandbox) -> None:
    """A save between two replies is on the status line soon, before any other reply; until then nothing on it is wrong."""
    run_leftoff(sandbox, "install", "claude")
    with open_client(agent, sandbox) as screen:
        shown = submit(agent, screen, "Look around.\n#usage 800000", "seen")
        assert "saved" not in shown, shown
        screen.wait_for("82% caution")
        screen.type(">resume")
        screen.wait_for("82% caution · saved", seconds=60)
