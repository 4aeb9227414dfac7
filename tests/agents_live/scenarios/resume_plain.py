"""Going on with a session that ended well."""

from drive import Agent
from sandbox import Sandbox
from scenario import command, said, scenario, succeeded


@scenario(clients=("claude", "codex"))
def resume_plain(agent: Agent, sandbox: Sandbox) -> None:
    """A resumed session is sent again whole, in order, and its file only grows at the end."""
    run = succeeded(
        agent.prompt(sandbox, f"The first question.\n{command(agent, 'echo found')}\n#say the first answer")
    )
    before = run.transcript.read_bytes()
    resumed = succeeded(agent.resume(sandbox, run.transcript, "The second question.\n#say the second answer"))
    assert resumed.transcript == run.transcript
    assert resumed.transcript.read_bytes().startswith(before), "the file was not only appended to"
    answer = {"role": "assistant", "blocks": [{"type": "text", "text": "the first answer"}]}
    assert resumed.last[: len(run.last) + 1] == [*run.last, answer], "the history came differently"
    assert said(resumed.last, "user", "The second question.")
    sandbox.keep("resume_plain", resumed.transcript, resumed.last)
