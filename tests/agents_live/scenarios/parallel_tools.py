"""Several tool calls in one reply."""

from drive import Agent
from sandbox import Sandbox
from scenario import commands, pairs, scenario, succeeded


@scenario(clients=("claude", "codex"))
def parallel_tools(agent: Agent, sandbox: Sandbox) -> None:
    """Calls of one reply all get their results, and a resumed session still sends every one of them."""
    calls = commands(agent, "echo first", "echo second", "echo third")
    run = succeeded(agent.prompt(sandbox, f"Do three things.\n#say three at once\n{calls}\n#say all done"))
    resumed = succeeded(agent.resume(sandbox, run.transcript, "And now?\n#say still here"))
    # Claude Code sends results in the order in which they came in, Codex in the order of the calls.
    assert sorted(text.split()[-1] for text in pairs(run.last).values()) == ["first", "second", "third"]
    assert resumed.last[: len(run.last)] == run.last, "the history came differently"
    sandbox.keep("parallel_tools", resumed.transcript, resumed.last)
