"""Define scenarios: a scenario is a function that states a fact about a real agent and fails when the fact is not true.

    @scenario(clients=("claude", "codex"))
    def first_turn(agent: Agent, sandbox: Sandbox) -> None:
        '''A headless prompt works offline.'''

Every scenario gets a fresh sandbox per client. It checks with `assert` or with the helpers below.
"""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_claude import Claude
from agent_codex import Codex
from directives import tool, tools
from drive import Agent, Run
from received import Block, Message, iterate_blocks
from sandbox import Sandbox

AGENTS: dict[str, Agent] = {agent.name: agent for agent in (Claude(), Codex())}
Check = Callable[[Agent, Sandbox], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    name: str
    fact: str
    clients: Sequence[str]
    check: Check


_SCENARIOS: dict[str, Scenario] = {}


def scenario(*, clients: Sequence[str]) -> Callable[[Check], Check]:
    """Register a function as a scenario for these clients."""

    def register(check: Check) -> Check:
        fact = " ".join((check.__doc__ or "").split())
        if not fact or check.__name__ in _SCENARIOS:
            raise ValueError(
                f"scenario {check.__name__}: needs a unique name and a docstring that states its fact"
            )
        _SCENARIOS[check.__name__] = Scenario(name=check.__name__, fact=fact, clients=clients, check=check)
        return check

    return register


def all_scenarios() -> dict[str, Scenario]:
    """Return the scenarios of every module in scenarios/, sorted by name."""
    for module in pkgutil.iter_modules([str(Path(__file__).with_name("scenarios"))]):
        importlib.import_module(f"scenarios.{module.name}")
    return dict(sorted(_SCENARIOS.items()))


def shell_call(agent: Agent, command: str) -> str:
    """Return the directive that makes the agent run a shell command."""
    name, arguments = agent.shell_tool_input(command)
    return tool(name, **arguments)


def parallel_shell_calls(agent: Agent, *lines: str) -> str:
    """Return the directive that makes the agent run several shell commands in one reply."""
    return tools(*map(agent.shell_tool_input, lines))


def require_success(run: Run) -> Run:
    """Return the same run, or fail when the client did not exit with 0."""
    assert run.result.code == 0, (
        f"exit {run.result.code}\n{run.result.stdout[-1500:]}\n{run.result.stderr[-1500:]}"
    )
    return run


def has_text(messages: Sequence[Message], role: str, text: str) -> bool:
    """Return whether a message of this role contains the text; tool results do not count."""
    return any(
        text in block["text"]
        for block_role, block in iterate_blocks(messages)
        if block_role == role and block["type"] == "text"
    )


def has_tool_result(messages: Sequence[Message], text: str) -> bool:
    """Return whether any tool result contains the text."""
    return any(text in block["text"] for block in blocks_of_type(messages, "tool_result"))


def blocks_of_type(messages: Sequence[Message], kind: str) -> list[Block]:
    return [block for _, block in iterate_blocks(messages) if block["type"] == kind]


def results_by_call(messages: Sequence[Message]) -> dict[str, str]:
    """Return result texts by call id, or fail when calls and results do not match."""
    calls = [block["id"] for block in blocks_of_type(messages, "tool_use")]
    results = {block["id"]: block["text"] for block in blocks_of_type(messages, "tool_result")}
    assert sorted(calls) == sorted(results), f"calls {calls} and results {list(results)} do not match"
    return results
