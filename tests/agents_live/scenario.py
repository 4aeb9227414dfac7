"""What a scenario is: a fact about the real agents, as a function that fails when the fact does not hold.

    @scenario(clients=("claude", "codex"))
    def first_turn(agent: Agent, sandbox: Sandbox) -> None:
        '''A headless prompt works offline.'''

Every scenario gets a fresh sandbox per client. It says what must hold with `assert`, or with the helpers below.
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
from received import Block, Message, flat
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
    def register(check: Check) -> Check:
        fact = " ".join((check.__doc__ or "").split())
        if not fact or check.__name__ in _SCENARIOS:
            raise ValueError(
                f"scenario {check.__name__}: needs a docstring that is its fact, and a name of its own"
            )
        _SCENARIOS[check.__name__] = Scenario(name=check.__name__, fact=fact, clients=clients, check=check)
        return check

    return register


def all_scenarios() -> dict[str, Scenario]:
    """Those of every module in scenarios/, in the order of their names."""
    for module in pkgutil.iter_modules([str(Path(__file__).with_name("scenarios"))]):
        importlib.import_module(f"scenarios.{module.name}")
    return dict(sorted(_SCENARIOS.items()))


def command(agent: Agent, line: str) -> str:
    """The directive that makes the agent run a shell command."""
    name, arguments = agent.command_call(line)
    return tool(name, **arguments)


def commands(agent: Agent, *lines: str) -> str:
    """The directive that makes the agent run several shell commands at once."""
    return tools(*map(agent.command_call, lines))


def succeeded(run: Run) -> Run:
    """The same run; an error when the client did not end well."""
    assert run.result.code == 0, (
        f"exit {run.result.code}\n{run.result.stdout[-1500:]}\n{run.result.stderr[-1500:]}"
    )
    return run


def said(messages: Sequence[Message], role: str, words: str) -> bool:
    """Whether a role said these words; tool results do not count."""
    return any(
        words in block["text"] for who, block in flat(messages) if who == role and block["type"] == "text"
    )


def resulted(messages: Sequence[Message], words: str) -> bool:
    """Whether these words stand in any tool result."""
    return any(words in block["text"] for block in blocks(messages, "tool_result"))


def blocks(messages: Sequence[Message], kind: str) -> list[Block]:
    return [block for _, block in flat(messages) if block["type"] == kind]


def pairs(messages: Sequence[Message]) -> dict[str, str]:
    """Result text by call id; an error when calls and results do not match."""
    calls = [block["id"] for block in blocks(messages, "tool_use")]
    results = {block["id"]: block["text"] for block in blocks(messages, "tool_result")}
    assert sorted(calls) == sorted(results), f"calls {calls} and results {list(results)} do not match"
    return results
