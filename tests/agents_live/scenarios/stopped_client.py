"""A client that is stopped in the middle of a tool call."""

import signal

from drive import Agent
from sandbox import Sandbox
from scenario import has_text, has_tool_result, require_success, results_by_call, scenario, shell_call


@scenario(clients=("claude", "codex"))
def interrupted(agent: Agent, sandbox: Sandbox) -> None:
    """After SIGINT during a tool call the session can be resumed, and every call that is sent has a result."""
    stop_during_call("interrupted", agent, sandbox, signal.SIGINT)


@scenario(clients=("claude", "codex"))
def killed(agent: Agent, sandbox: Sandbox) -> None:
    """After SIGKILL during a tool call the session can be resumed, and every call that is sent has a result."""
    stop_during_call("killed", agent, sandbox, signal.SIGKILL)


def stop_during_call(name: str, agent: Agent, sandbox: Sandbox, number: signal.Signals) -> None:
    long_call = shell_call(agent, "touch started && sleep 300")
    running = agent.start(sandbox, f"A long task.\n{shell_call(agent, 'echo short')}\n{long_call}")
    sandbox.wait_until((sandbox.project / "started").exists, "the second command starts")
    # A client runs a call before it writes it: without the call in the file there would be nothing to resume.
    sandbox.wait_until(
        lambda: "sleep 300" in transcript_without_prompt(agent, sandbox), "the call is in the transcript"
    )
    running.send_signal(number)
    running.wait()
    resumed = require_success(
        agent.resume(sandbox, agent.latest_transcript(sandbox), "Continue.\n#say continued")
    )
    assert has_text(resumed.last_messages, "user", "A long task.")
    assert has_tool_result(resumed.last_messages, "short")
    results_by_call(resumed.last_messages)
    sandbox.check_and_keep(name, resumed.transcript, resumed.last_messages)


def transcript_without_prompt(agent: Agent, sandbox: Sandbox) -> str:
    """Return the transcript's lines except the prompt, which contains the command too."""
    transcripts = agent.transcripts(sandbox)
    lines = transcripts[0].read_text(encoding="utf-8").splitlines() if transcripts else []
    return "\n".join(line for line in lines if "A long task." not in line)
