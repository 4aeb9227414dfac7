"""The agents' own fork: a new session that begins with another's history."""

from drive import Agent
from sandbox import Sandbox
from scenario import command, said, scenario, succeeded


@scenario(clients=("claude", "codex"))
def fork(agent: Agent, sandbox: Sandbox) -> None:
    """A fork is sent the whole history, writes to a file of its own and leaves the first one as it was."""
    run = succeeded(
        agent.prompt(sandbox, f"The trunk.\n{command(agent, 'echo found')}\n#say the trunk's answer")
    )
    before = run.transcript.read_bytes()
    forked = succeeded(agent.fork(sandbox, run.transcript, "The branch.\n#say the branch's answer"))
    assert forked.transcript != run.transcript
    assert run.transcript.read_bytes() == before, "the first session was changed"
    assert forked.last[: len(run.last)] == run.last, "the history came differently"
    assert said(forked.last, "assistant", "the trunk's answer")
    resumed = succeeded(agent.resume(sandbox, forked.transcript, "Further on the branch.\n#say further"))
    assert said(resumed.last, "assistant", "the trunk's answer")
    assert said(resumed.last, "assistant", "the branch's answer")
    sandbox.keep("fork_parent", run.transcript, run.last)
    sandbox.keep("fork", resumed.transcript, resumed.last)
