"""An agent that sends another one."""

from pathlib import Path

from directives import tool
from drive import Agent
from sandbox import Sandbox
from scenario import command, pairs, resulted, said, scenario, succeeded


@scenario(clients=("claude",))
def subagent(agent: Agent, sandbox: Sandbox) -> None:
    """A subagent writes a file of its own beside the session's; the main history holds its report, not its work."""
    run = succeeded(
        agent.prompt(sandbox, f"Send somebody.\n{errand(agent, in_background=False)}\n#say all is done")
    )
    assert [request.is_subagent for request in run.requests] == [False, True, True, False]
    assert resulted(run.last, "the errand is done")
    check_files(agent, sandbox, run.transcript)
    resumed = succeeded(agent.resume(sandbox, run.transcript, "And now?\n#say nothing more"))
    assert resumed.last[: len(run.last)] == run.last, "the history came differently"
    pairs(resumed.last)
    sandbox.keep("subagent", resumed.transcript, resumed.last)


@scenario(clients=("claude",))
def background_agent(agent: Agent, sandbox: Sandbox) -> None:
    """A subagent in the background reports in a message of its own, after its call has got a result."""
    run = succeeded(
        agent.prompt(sandbox, f"Send somebody.\n{errand(agent, in_background=True)}\n#say not waiting")
    )
    check_files(agent, sandbox, run.transcript)
    assert said(run.last, "user", "<task-notification>")
    assert said(run.last, "user", "the errand is done")
    pairs(run.last)
    sandbox.keep("background_agent", run.transcript, run.last)


def errand(agent: Agent, *, in_background: bool) -> str:
    prompt = f"The errand.\n{command(agent, 'echo from-the-errand')}\n#say the errand is done"
    kind = {"subagent_type": "general-purpose", "run_in_background": in_background}
    return tool("Agent", description="an errand", prompt=prompt, **kind)


def check_files(agent: Agent, sandbox: Sandbox, transcript: Path) -> None:
    (own,) = transcript.with_suffix("").glob("subagents/agent-*.jsonl")
    assert "from-the-errand" in own.read_text(encoding="utf-8")
    assert agent.transcripts(sandbox) == [transcript]
    assert '"isSidechain":true' not in transcript.read_text(encoding="utf-8")
