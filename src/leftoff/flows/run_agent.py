"""Start an agent, and go on by itself: after ``>trim yes`` or ``>handoff`` and exit, in the derived session, with the same flags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from leftoff.errors import UsageError
from leftoff.flows.agents import agent_called, agent_typed, agents_here
from leftoff.flows.baton import VARIABLE, new_baton, taken
from leftoff.model.protocols import CanStart
from leftoff.system import paths, process

_KILLED = {129, 137, 143}  # hung up on, killed, told to end: whoever did it does not want it back


def run_agent(agent_id: str, arguments: Sequence[str], folder: Path, say: Callable[[str], None]) -> int:
    """Run it until it ends without naming a session to go on in; its last exit code. ``say`` hears of each new beginning."""
    agent = agent_typed(agent_id)
    if not isinstance(agent, CanStart):
        able = ", ".join(each.id for each in agents_here() if isinstance(each, CanStart))
        raise UsageError(f"How {agent.name} is started is not known. Those that leftoff can start: {able}.")
    place = new_baton()
    environment = paths.environment() | {VARIABLE: str(place)}
    command = agent.run_command(arguments)
    try:
        while True:
            code = process.attend(command, folder=folder, environment=environment)
            baton = taken(place)
            if baton is None or code in _KILLED:
                return code
            following = agent_called(baton.agent)
            if not isinstance(following, CanStart):
                return code
            # Another agent has flags of its own.
            flags = arguments if following.id == agent.id else ()
            again = following.run_again_command(baton.session_id, flags)
            if again is None or agent.run_again_command(baton.session_id, arguments) is None:
                return code
            command = again
            say(f"Going on in session {baton.session_id[:8]}.")
    finally:
        place.unlink(missing_ok=True)
