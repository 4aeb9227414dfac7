"""A session that starts a subagent."""

from pathlib import Path

from directives import tool
from drive import Agent
from sandbox import Sandbox
from scenario import has_text, has_tool_result, require_success, results_by_call, scenario, shell_call


@scenario(clients=("claude",))
def subagent(agent: Agent, sandbox: Sandbox) -> None:
    """A subagent writes its own file beside the session's; the main history holds its report, not its work."""
    call = subagent_call(agent, in_background=False)
    run = require_success(agent.prompt(sandbox, f"Use a subagent.\n{call}\n#say all is done"))
    assert [request.is_subagent for request in run.requests] == [False, True, True, False]
    assert has_tool_result(run.last_messages, "the subagent is done")
    check_files(agent, sandbox, run.transcript)
    resumed = require_success(agent.resume(sandbox, run.transcript, "And now?\n#say nothing more"))
    assert resumed.last_messages[: len(run.last_messages)] == run.last_messages, "the history is different"
    results_by_call(resumed.last_messages)
    sandbox.check_and_keep("subagent", resumed.transcript, resumed.last_messages)


@scenario(clients=("claude",))
def background_subagent(agent: Agent, sandbox: Sandbox) -> None:
    """A subagent in the background reports in a separate message, after its call already got a result."""
    call = subagent_call(agent, in_background=True)
    run = require_success(agent.prompt(sandbox, f"Use a subagent.\n{call}\n#say not waiting"))
    check_files(agent, sandbox, run.transcript)
    assert has_text(run.last_messages, "user", "<task-notification>")
    assert has_text(run.last_messages, "user", "the subagent is done")
    results_by_call(run.last_messages)
    sandbox.check_and_keep("background_agent", run.transcript, run.last_messages)


def subagent_call(agent: Agent, *, in_background: bool) -> str:
    """Return the directive that starts a subagent, which runs one shell command."""
    work = shell_call(agent, "echo from-the-subagent")
    prompt = f"The subagent's task.\n{work}\n#say the subagent is done"
    kind = {"subagent_type": "general-purpose", "run_in_background": in_background}
    return tool("Agent", description="a task", prompt=prompt, **kind)


def check_files(agent: Agent, sandbox: Sandbox, transcript: Path) -> None:
    (file,) = transcript.with_suffix("").glob("subagents/agent-*.jsonl")
    assert "from-the-subagent" in file.read_text(encoding="utf-8")
    assert agent.transcripts(sandbox) == [transcript]
    assert '"isSidechain":true' not in transcript.read_text(encoding="utf-8")
