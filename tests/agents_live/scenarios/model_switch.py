"""Going on with another model than before."""

from directives import SUMMARY
from drive import Agent
from sandbox import Sandbox
from scenario import command, resulted, said, scenario, succeeded


@scenario(clients=("codex",))
def model_switch(agent: Agent, sandbox: Sandbox) -> None:
    """Codex compacts a session before it goes on with a model of another `comp_hash`, however empty the window is."""
    old = succeeded(
        agent.prompt(sandbox, f"An old matter.\n{command(agent, 'echo old-result')}\n#say the old answer")
    )
    run = succeeded(
        agent.resume(sandbox, old.transcript, "A new matter.\n#say the new answer", "-c", "model=gpt-6-sol")
    )
    assert [request.kind for request in run.requests] == ["summary", "reply"]
    assert said(run.last, "user", SUMMARY)
    assert not resulted(run.last, "old-result")
    sandbox.keep("model_switch", run.transcript, run.last)
