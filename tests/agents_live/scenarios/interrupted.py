"""A client that is ended in the middle of a tool call."""

import signal

from drive import Agent
from sandbox import Sandbox
from scenario import command, pairs, resulted, said, scenario, succeeded


@scenario(clients=("claude", "codex"))
def interrupted(agent: Agent, sandbox: Sandbox) -> None:
    """After SIGINT during a tool call the session can be resumed, and every call that is sent has a result."""
    end_during_call("interrupted", agent, sandbox, signal.SIGINT)


@scenario(clients=("claude", "codex"))
def killed(agent: Agent, sandbox: Sandbox) -> None:
    """After SIGKILL during a tool call the session can be resumed, and every call that is sent has a result."""
    end_during_call("killed", agent, sandbox, signal.SIGKILL)


def end_during_call(name: str, agent: Agent, sandbox: Sandbox, number: signal.Signals) -> None:
    prompt = f"A long matter.\n{command(agent, 'echo short')}\n{command(agent, 'touch started && sleep 300')}"
    running = agent.start(sandbox, prompt)
    sandbox.wait_for((sandbox.project / "started").exists, "the second command starts")
    # A client acts before it writes: without the call in the file there would be nothing to resume.
    sandbox.wait_for(lambda: "sleep 300" in written(agent, sandbox), "the call is in the transcript")
    running.send(number)
    running.finish()
    resumed = succeeded(agent.resume(sandbox, agent.latest(sandbox), "Go on.\n#say gone on"))
    assert said(resumed.last, "user", "A long matter.")
    assert resulted(resumed.last, "short")
    pairs(resumed.last)
    sandbox.keep(name, resumed.transcript, resumed.last)


def written(agent: Agent, sandbox: Sandbox) -> str:
    """The transcript but for the prompt, which names the command too."""
    found = agent.transcripts(sandbox)
    lines = found[0].read_text(encoding="utf-8").splitlines() if found else []
    return "\n".join(line for line in lines if "A long matter." not in line)
