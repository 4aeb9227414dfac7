"""leftoff's status line on a terminal, the only place where Claude Code shows one and reports the window's size."""

import json

from drive import Agent
from installation import agent_settings, run_leftoff, state_folder
from sandbox import Sandbox
from scenario import scenario


@scenario(clients=("claude",))
def status_line(agent: Agent, sandbox: Sandbox) -> None:
    """Our status line is shown below the user's own, follows the API's usage, and saves the window's size for the hooks."""
    settings = agent_settings(agent, sandbox)
    before = b'{"statusLine": {"type": "command", "command": "echo the-old-line; exit 3"}}'
    settings.write_bytes(before)
    run_leftoff(sandbox, "install", "claude")
    with sandbox.open_screen() as screen:
        shown = screen.wait_for("not saved yet")
        assert shown.index("the-old-line") < shown.index("not saved yet")
        screen.type("Look around.\n#usage 800000\n#say seen")
        screen.wait_for("82% caution")  # of the 967,000 at which the client compacts
    (window,) = (state_folder(sandbox) / "windows").glob("claude-*.json")
    assert json.loads(window.read_bytes())["window_tokens"] == 1_000_000
    assert window.stem.removeprefix("claude-") == agent.latest_transcript(sandbox).stem
    run_leftoff(sandbox, "uninstall", "claude")
    assert settings.read_bytes() == before
