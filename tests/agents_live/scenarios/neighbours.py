"""Two sessions in one project at the same time."""

from drive import Agent
from sandbox import Sandbox
from scenario import scenario
from scenarios.filling_up import install, log_lines
from scenarios.left_off import ANSWER, on_screen


@scenario(clients=("claude", "codex"))
def neighbours(agent: Agent, sandbox: Sandbox) -> None:
    """Two live sessions are told about each other: the new one at its start, the other one at its next event."""
    install(agent, sandbox)
    answer = ANSWER[agent.name]
    with on_screen(agent, sandbox) as first:
        first.type("What is the weather like?\n#say cloudy")
        first.wait_for(f"{answer} cloudy")
        with on_screen(agent, sandbox) as second:
            second.type("And the sea?\n#say calm")
            second.wait_for(f"{answer} calm")
            second.wait_for("another session is running in this project")
            first.type("And now?\n#say rainy")
            first.wait_for(f"{answer} rainy")
            first.wait_for("another session has begun in this project")
    assert log_lines(sandbox) == [], log_lines(sandbox)
