"""The status line, on a terminal: the only place where Claude Code shows one, and tells how large the window is."""

import json

from drive import Agent
from sandbox import Sandbox
from scenario import scenario


@scenario(clients=("claude",))
def statusline(agent: Agent, sandbox: Sandbox) -> None:
    """Ours is shown below the one that was there, follows what the API reports, and keeps the window's size for the hooks."""
    settings = sandbox.home / ".claude" / "settings.json"
    before = b'{"statusLine": {"type": "command", "command": "echo the-old-line; exit 3"}}'
    settings.write_bytes(before)
    ended = sandbox.leftoff("install", "claude")
    assert ended.code == 0, ended
    with sandbox.screen() as screen:
        shown = screen.wait_for("not saved yet")
        assert shown.index("the-old-line") < shown.index("not saved yet")
        screen.type("Look around.\n#usage 800000\n#say seen")
        screen.wait_for("82% caution")  # of the 967,000 before the client compacts
    (window,) = (sandbox.home / ".local" / "state" / "leftoff" / "windows").glob("claude-*.json")
    assert json.loads(window.read_bytes())["window_tokens"] == 1_000_000
    assert window.stem.removeprefix("claude-") == agent.latest(sandbox).stem
    ended = sandbox.leftoff("uninstall", "claude")
    assert ended.code == 0, ended
    assert settings.read_bytes() == before
