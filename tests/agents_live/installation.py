"""leftoff installed in a sandbox: set it up, and find the files that it writes there."""

import json
from pathlib import Path
from typing import Any

from drive import Agent
from received import Message, iterate_blocks
from sandbox import Sandbox

from leftoff.agents.codex import hooks
from leftoff.agents.hook_format import hooks_in


def install(agent: Agent, sandbox: Sandbox) -> str:
    """Run `leftoff install`, approve the hooks where the client asks for that, and return what was printed."""
    output = run_leftoff(sandbox, "install", agent.name)
    approve_hooks(agent, sandbox)
    return output


def approve_hooks(agent: Agent, sandbox: Sandbox) -> None:
    """Write to config.toml what Codex writes when the user approves each of our hooks in /hooks."""
    if agent.name != "codex":
        return
    config = sandbox.home / ".codex" / "config.toml"
    unapproved = config.read_text(encoding="utf-8").partition("[hooks.state]")[0]
    file = agent_settings(agent, sandbox)
    path = str(sandbox.path_inside(file))
    approvals = [
        f'[hooks.state."{path}:{snake_case(hook.event)}:{hook.group}:{hook.index}"]\ntrusted_hash = "{hooks.trust_hash(hook)}"\n'
        for hook in hooks_in(file.read_text(encoding="utf-8"), path)
        if hook.origin
    ]
    config.write_text(unapproved + "[hooks.state]\n" + "".join(approvals), encoding="utf-8")


def snake_case(event: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("_")


def run_leftoff(sandbox: Sandbox, *arguments: str) -> str:
    """Run leftoff, which must succeed, and return what it printed."""
    result = sandbox.run_leftoff(*arguments)
    assert result.code == 0, result
    return result.stdout


def run_leftoff_json(sandbox: Sandbox, *arguments: str) -> Any:
    return json.loads(run_leftoff(sandbox, *arguments, "--json"))


def agent_settings(agent: Agent, sandbox: Sandbox) -> Path:
    """Return the client's own file in which leftoff registers its hooks."""
    return sandbox.home / (".claude/settings.json" if agent.name == "claude" else ".codex/hooks.json")


def fast_path(sandbox: Sandbox) -> Path:
    """Return the installed hook script."""
    return sandbox.home / ".local" / "share" / "leftoff" / "fast.py"


def state_folder(sandbox: Sandbox) -> Path:
    return sandbox.home / ".local" / "state" / "leftoff"


def saved_logs(sandbox: Sandbox) -> list[Path]:
    """Return the resume logs that were saved in the project."""
    return sorted((sandbox.project / ".leftoff" / "resume-logs").glob("session-*.json"))


def ends_to_save(sandbox: Sandbox) -> list[Path]:
    """Return the notes of sessions that have ended and for which a background process still saves something."""
    return sorted((state_folder(sandbox) / "watch").glob("*.end"))


def restored_texts(messages: list[Message]) -> list[str]:
    """Return the texts in a request that leftoff put there."""
    texts = (block["text"] for _, block in iterate_blocks(messages) if block["type"] == "text")
    return [text for text in texts if "<leftoff-record-" in text]


def check_nothing_logged(sandbox: Sandbox) -> None:
    """Check that leftoff's own log file is empty: it writes there only when something went wrong."""
    log = state_folder(sandbox) / "leftoff.log"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    assert lines == [], lines
