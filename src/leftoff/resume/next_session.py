"""``leftoff run``: start an agent, and start it again in the session that a hook names, with the same flags.

The hook writes the next session to a small file whose path is in the agent's environment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from leftoff.agents.registry import agent_by_id, agent_from_argument, load_agents
from leftoff.core.protocols import CanStart
from leftoff.core.session_ids import short_id
from leftoff.core.wire import SCHEMAS, upgrade_document
from leftoff.errors import DocumentError, UsageError
from leftoff.platform import clock, files, paths, process

# The names of older versions, which may still be running.
VARIABLE = "LEFTOFF_BATON"
_FOLDER = "batons"
_KILLED = {129, 137, 143}  # SIGHUP, SIGKILL, SIGTERM: the agent was ended on purpose


class NextSession(NamedTuple):
    """The session to continue in."""

    agent: str
    session_id: str


def new_file() -> Path:
    """Return the path of a new next-session file; nothing is written yet."""
    files.make_folder(paths.state_folder() / _FOLDER)
    return paths.safe_join(paths.state_folder() / _FOLDER, f"{clock.uuid4()}.json")


def write_next_session(agent_id: str, session_id: str) -> bool:
    """Name the session to continue in, if the agent was started by ``leftoff run``; return whether it was."""
    named = paths.environment().get(VARIABLE)
    if not named:
        return False
    path = paths.require_inside(paths.state_folder() / _FOLDER, Path(named))
    files.write_file(
        path, orjson.dumps({"schema": SCHEMAS["baton"], "agent": agent_id, "session_id": session_id})
    )
    return True


def read_and_delete(path: Path) -> NextSession | None:
    """Read the file and delete it; None if it is missing or cannot be read."""
    try:
        data = upgrade_document("baton", orjson.loads(path.read_bytes()), where=str(path))
        path.unlink(missing_ok=True)
        return NextSession(agent=str(data["agent"]), session_id=clock.check_id(str(data["session_id"])))
    except (OSError, orjson.JSONDecodeError, DocumentError, KeyError):
        return None


def run_agent(agent_id: str, arguments: Sequence[str], folder: Path, say: Callable[[str], None]) -> int:
    """Run an agent until it ends without naming a next session; return its last exit code.

    ``say`` is called with a message each time the agent is started again.
    """
    agent = agent_from_argument(agent_id)
    if not isinstance(agent, CanStart):
        able = ", ".join(each.id for each in load_agents() if isinstance(each, CanStart))
        raise UsageError(f"How {agent.name} is started is not known. Those that leftoff can start: {able}.")
    path = new_file()
    environment = paths.environment() | {VARIABLE: str(path)}
    command = agent.run_command(arguments)
    try:
        while True:
            code = process.run_interactive(command, folder=folder, environment=environment)
            following = read_and_delete(path)
            if following is None or code in _KILLED:
                return code
            next_agent = agent_by_id(following.agent)
            if not isinstance(next_agent, CanStart):
                return code
            flags = arguments if next_agent.id == agent.id else ()  # another agent has other flags
            again = next_agent.run_again_command(following.session_id, flags)
            if again is None or agent.run_again_command(following.session_id, arguments) is None:
                return code
            command = again
            say(f"Continuing in session {short_id(following.session_id)}.")
    finally:
        path.unlink(missing_ok=True)
