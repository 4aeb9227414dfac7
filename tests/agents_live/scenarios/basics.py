"""What the other scenarios rely on: the sandbox, one turn, resuming and forking a session."""

from drive import Agent
from sandbox import MOUNT_POINT, Sandbox
from scenario import (
    blocks_of_type,
    has_text,
    has_tool_result,
    parallel_shell_calls,
    require_success,
    results_by_call,
    scenario,
    shell_call,
)


@scenario(clients=("claude", "codex"))
def sandbox_isolation(agent: Agent, sandbox: Sandbox) -> None:
    """A command that the agent runs sees only loopback, the sandbox's processes and a scratch HOME."""
    networks = "echo networks: $(tail -n +3 /proc/net/dev | cut -d: -f1)"
    processes = "echo processes: $(ls /proc | grep -c '^[0-9]*$')"
    connect = "(echo > /dev/tcp/192.0.2.1/80) 2>&1 | grep -o unreachable"
    look = f"{networks}; {processes}; echo home: $HOME; {connect}"
    run = require_success(agent.prompt(sandbox, f"Where are you?\n{shell_call(agent, look)}\n#say there"))
    (result,) = results_by_call(run.last_messages).values()
    seen = dict(line.split(":", 1) for line in result.splitlines() if ":" in line)
    assert seen["networks"].split() == ["lo"], result
    assert int(seen["processes"]) < 20, result
    assert seen["home"].strip() == str(MOUNT_POINT / "home" / "dev"), result
    assert "unreachable" in result, result


@scenario(clients=("claude", "codex"))
def first_turn(agent: Agent, sandbox: Sandbox) -> None:
    """A headless prompt with a tool call works offline and leaves one transcript; the API receives the tool's result."""
    prompt = f"Look around.\n#think where am I\n{shell_call(agent, 'basename $PWD')}\n#say seen"
    run = require_success(agent.prompt(sandbox, prompt))
    assert [request.kind for request in run.requests] == ["reply", "reply"], (
        "one for the call, one for the end"
    )
    assert has_text(run.last_messages, "user", "Look around.")
    assert blocks_of_type(run.last_messages, "thinking")[0]["text"] == "where am I"
    assert has_tool_result(run.last_messages, "project"), "the command did not run in the project"
    assert agent.transcripts(sandbox) == [run.transcript]
    assert "seen" in run.transcript.read_text(encoding="utf-8")
    sandbox.check_and_keep("first_turn", run.transcript, run.last_messages)


@scenario(clients=("claude", "codex"))
def parallel_tools(agent: Agent, sandbox: Sandbox) -> None:
    """All tool calls of one reply get their results, and a resumed session sends every one of them again."""
    calls = parallel_shell_calls(agent, "echo first", "echo second", "echo third")
    run = require_success(
        agent.prompt(sandbox, f"Do three things.\n#say three at once\n{calls}\n#say all done")
    )
    resumed = require_success(agent.resume(sandbox, run.transcript, "And now?\n#say still here"))
    # Claude Code sends results in the order of their arrival, Codex in the order of the calls.
    results = results_by_call(run.last_messages).values()
    assert sorted(text.split()[-1] for text in results) == ["first", "second", "third"]
    assert resumed.last_messages[: len(run.last_messages)] == run.last_messages, "the history is different"
    sandbox.check_and_keep("parallel_tools", resumed.transcript, resumed.last_messages)


@scenario(clients=("claude", "codex"))
def resume_session(agent: Agent, sandbox: Sandbox) -> None:
    """A resumed session sends its whole history in order and only appends to its file."""
    prompt = f"The first question.\n{shell_call(agent, 'echo found')}\n#say the first answer"
    run = require_success(agent.prompt(sandbox, prompt))
    before = run.transcript.read_bytes()
    resumed = require_success(
        agent.resume(sandbox, run.transcript, "The second question.\n#say the second answer")
    )
    assert resumed.transcript == run.transcript
    assert resumed.transcript.read_bytes().startswith(before), "the file was not only appended to"
    answer = {"role": "assistant", "blocks": [{"type": "text", "text": "the first answer"}]}
    history = [*run.last_messages, answer]
    assert resumed.last_messages[: len(history)] == history, "the history is different"
    assert has_text(resumed.last_messages, "user", "The second question.")
    sandbox.check_and_keep("resume_plain", resumed.transcript, resumed.last_messages)


@scenario(clients=("claude", "codex"))
def fork_session(agent: Agent, sandbox: Sandbox) -> None:
    """A fork sends the whole history, writes to its own file and does not change the original's."""
    prompt = f"The original.\n{shell_call(agent, 'echo found')}\n#say the original's answer"
    run = require_success(agent.prompt(sandbox, prompt))
    before = run.transcript.read_bytes()
    forked = require_success(agent.fork(sandbox, run.transcript, "The fork.\n#say the fork's answer"))
    assert forked.transcript != run.transcript
    assert run.transcript.read_bytes() == before, "the original was changed"
    assert forked.last_messages[: len(run.last_messages)] == run.last_messages, "the history is different"
    assert has_text(forked.last_messages, "assistant", "the original's answer")
    resumed = require_success(agent.resume(sandbox, forked.transcript, "More of the fork.\n#say more"))
    assert has_text(resumed.last_messages, "assistant", "the original's answer")
    assert has_text(resumed.last_messages, "assistant", "the fork's answer")
    sandbox.check_and_keep("fork_parent", run.transcript, run.last_messages)
    sandbox.check_and_keep("fork", resumed.transcript, resumed.last_messages)
