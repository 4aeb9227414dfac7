"""The agents' own compaction: before the window is full, and after the API has refused a request."""

from directives import SUMMARY
from drive import Agent, Run
from responses_api import OPAQUE_SUMMARY
from sandbox import Sandbox
from scenario import blocks, command, resulted, said, scenario, succeeded

# Just above each agent's own compaction point: 967,000 of Claude's native million, 90 % of the 100,000 we give Codex.
FULL = {"claude": 968_000, "codex": 95_000}


@scenario(clients=("claude", "codex"))
def compaction(agent: Agent, sandbox: Sandbox) -> None:
    """A full window is compacted; resumed, the session sends the summary and no longer the work before it."""
    old = old_session(agent, sandbox)
    fill = f"#usage {FULL[agent.name]}\n{command(agent, 'echo late-result')}"
    run = succeeded(agent.resume(sandbox, old.transcript, f"A new matter.\n{fill}\n#say the new answer"))
    assert [request.kind for request in run.requests] == ["reply", "summary", "reply"]
    check_after("compaction", agent, sandbox, run)
    # In the middle of a turn Claude Code keeps the last call and result, and not the prompt; Codex the prompts only.
    assert resulted(run.last, "late-result") == (agent.name == "claude")
    assert said(run.last, "user", "A new matter.") == (agent.name == "codex")


@scenario(clients=("claude",))
def too_long(agent: Agent, sandbox: Sandbox) -> None:
    """A request that the API refuses as too long is compacted, and the prompt sent again."""
    old = old_session(agent, sandbox)
    run = succeeded(agent.resume(sandbox, old.transcript, "A new matter.\n#too_long\n#say the new answer"))
    assert [request.kind for request in run.requests] == ["refused", "summary", "reply"]
    assert said(run.last, "user", "A new matter.")
    check_after("too_long", agent, sandbox, run)


@scenario(clients=("codex",))
def out_of_room(agent: Agent, sandbox: Sandbox) -> None:
    """Codex gives up on a request that the API refuses as too long; resumed, it compacts before anything else."""
    old = old_session(agent, sandbox)
    refused = agent.resume(sandbox, old.transcript, "A new matter.\n#too_long\n#say the new answer")
    assert refused.result.code == 1
    assert [request.kind for request in refused.requests] == ["refused"]
    run = succeeded(agent.resume(sandbox, old.transcript, "Once more.\n#say the new answer"))
    assert [request.kind for request in run.requests] == ["summary", "reply"]
    check_after("out_of_room", agent, sandbox, run)


@scenario(clients=("codex",))
def opaque_compaction(agent: Agent, sandbox: Sandbox) -> None:
    """With OpenAI as provider Codex keeps a summary that nobody can read, and sends it back as it came."""
    openai = ("-c", "model_provider=openai")
    old = succeeded(
        agent.prompt(sandbox, f"An old matter.\n{command(agent, 'echo old-result')}\n#say old", *openai)
    )
    fill = f"#usage {FULL[agent.name]}\n{command(agent, 'echo late-result')}\n#say the new answer"
    run = succeeded(agent.resume(sandbox, old.transcript, f"A new matter.\n{fill}", *openai))
    assert [request.kind for request in run.requests] == ["reply", "summary", "reply"]
    resumed = succeeded(agent.resume(sandbox, run.transcript, "What now?\n#say the next answer", *openai))
    assert blocks(resumed.last, "compaction") == [{"type": "compaction", "signature": OPAQUE_SUMMARY}]
    assert not blocks(resumed.last, "tool_result")
    assert said(resumed.last, "user", "A new matter.")
    sandbox.keep("opaque_compaction", resumed.transcript, resumed.last)


def old_session(agent: Agent, sandbox: Sandbox) -> Run:
    return succeeded(
        agent.prompt(sandbox, f"An old matter.\n{command(agent, 'echo old-result')}\n#say the old answer")
    )


def check_after(name: str, agent: Agent, sandbox: Sandbox, run: Run) -> None:
    assert resulted(run.summaries[0].messages, "old-result"), "the summariser was not shown the history"
    resumed = succeeded(agent.resume(sandbox, run.transcript, "What now?\n#say the next answer"))
    assert not resumed.summaries, "it was compacted again"
    for messages in (run.last, resumed.last):
        assert said(messages, "user", SUMMARY)
        assert not resulted(messages, "old-result")
    assert resumed.last[: len(run.last)] == run.last, "the history came differently"
    sandbox.keep(name, resumed.transcript, resumed.last)
