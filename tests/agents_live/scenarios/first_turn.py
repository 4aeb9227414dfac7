"""One prompt, one tool call."""

from drive import Agent
from sandbox import Sandbox
from scenario import blocks, command, resulted, said, scenario, succeeded


@scenario(clients=("claude", "codex"))
def first_turn(agent: Agent, sandbox: Sandbox) -> None:
    """A headless prompt with a tool call works offline; the transcript stands in its place; the API saw the result."""
    run = succeeded(
        agent.prompt(
            sandbox, f"Look around.\n#think where am I\n{command(agent, 'basename $PWD')}\n#say seen"
        )
    )
    assert [request.kind for request in run.requests] == ["reply", "reply"], (
        "one request for the call, one for the end"
    )
    assert said(run.last, "user", "Look around.")
    assert blocks(run.last, "thinking")[0]["text"] == "where am I"
    assert resulted(run.last, "project"), "the command did not run in the project"
    assert agent.transcripts(sandbox) == [run.transcript]
    assert "seen" in run.transcript.read_text(encoding="utf-8")
    sandbox.keep("first_turn", run.transcript, run.last)
