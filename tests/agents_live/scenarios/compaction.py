"""The clients' own compaction, without leftoff: when the window is full, when the API refuses, when the model changes."""

from directives import SUMMARY
from drive import Agent, Run
from responses_api import OPAQUE_SUMMARY
from sandbox import Sandbox
from scenario import blocks_of_type, has_text, has_tool_result, require_success, scenario, shell_call

OPENAI_PROVIDER = ("-c", "model_provider=openai")


@scenario(clients=("claude", "codex"))
def automatic_compaction(agent: Agent, sandbox: Sandbox) -> None:
    """A full window is compacted; the resumed session sends the summary instead of the work before it."""
    old = old_session(agent, sandbox)
    run = require_success(agent.resume(sandbox, old.transcript, f"A new task.\n{fill_window(agent)}"))
    assert kinds(run) == ["reply", "summary", "reply"]
    check_compacted("compaction", agent, sandbox, run)
    # In the middle of a turn Claude Code keeps the last call and its result, Codex keeps the prompts.
    assert has_tool_result(run.last_messages, "late-result") == (agent.name == "claude")
    assert has_text(run.last_messages, "user", "A new task.") == (agent.name == "codex")


@scenario(clients=("claude",))
def compaction_after_refusal(agent: Agent, sandbox: Sandbox) -> None:
    """When the API refuses a request as too long, Claude Code compacts and sends the prompt again."""
    old = old_session(agent, sandbox)
    run = require_success(
        agent.resume(sandbox, old.transcript, "A new task.\n#too_long\n#say the new answer")
    )
    assert kinds(run) == ["refused", "summary", "reply"]
    assert has_text(run.last_messages, "user", "A new task.")
    check_compacted("too_long", agent, sandbox, run)


@scenario(clients=("codex",))
def codex_compacts_on_resume(agent: Agent, sandbox: Sandbox) -> None:
    """Codex exits when the API refuses a request as too long; when the session is resumed, it compacts first."""
    old = old_session(agent, sandbox)
    refused = agent.resume(sandbox, old.transcript, "A new task.\n#too_long\n#say the new answer")
    assert refused.result.code == 1
    assert kinds(refused) == ["refused"]
    run = require_success(agent.resume(sandbox, old.transcript, "Once more.\n#say the new answer"))
    assert kinds(run) == ["summary", "reply"]
    check_compacted("out_of_room", agent, sandbox, run)


@scenario(clients=("codex",))
def opaque_compaction(agent: Agent, sandbox: Sandbox) -> None:
    """With OpenAI as provider, Codex keeps an encrypted summary and sends it back unchanged."""
    old = old_session(agent, sandbox, *OPENAI_PROVIDER)
    prompt = f"A new task.\n{fill_window(agent)}"
    run = require_success(agent.resume(sandbox, old.transcript, prompt, *OPENAI_PROVIDER))
    assert kinds(run) == ["reply", "summary", "reply"]
    resumed = require_success(
        agent.resume(sandbox, run.transcript, "What now?\n#say the next answer", *OPENAI_PROVIDER)
    )
    summary = {"type": "compaction", "signature": OPAQUE_SUMMARY}
    assert blocks_of_type(resumed.last_messages, "compaction") == [summary]
    assert not blocks_of_type(resumed.last_messages, "tool_result")
    assert has_text(resumed.last_messages, "user", "A new task.")
    sandbox.check_and_keep("opaque_compaction", resumed.transcript, resumed.last_messages)


@scenario(clients=("codex",))
def model_switch(agent: Agent, sandbox: Sandbox) -> None:
    """Codex compacts a session that is resumed with a model of another `comp_hash`, even when the window is almost empty."""
    old = old_session(agent, sandbox)
    options = ("-c", "model=gpt-6-sol")
    run = require_success(agent.resume(sandbox, old.transcript, "A new task.\n#say the new answer", *options))
    assert kinds(run) == ["summary", "reply"]
    assert has_text(run.last_messages, "user", SUMMARY)
    assert not has_tool_result(run.last_messages, "old-result")
    sandbox.check_and_keep("model_switch", run.transcript, run.last_messages)


def old_session(agent: Agent, sandbox: Sandbox, *options: str) -> Run:
    prompt = f"An old task.\n{shell_call(agent, 'echo old-result')}\n#say the old answer"
    return require_success(agent.prompt(sandbox, prompt, *options))


def fill_window(agent: Agent) -> str:
    """Return directives for a turn in which the window becomes full after a tool call."""
    return f"#usage {agent.full_tokens}\n{shell_call(agent, 'echo late-result')}\n#say the new answer"


def kinds(run: Run) -> list[str]:
    return [request.kind for request in run.requests]


def check_compacted(name: str, agent: Agent, sandbox: Sandbox, run: Run) -> None:
    """Check that the run and a resumed session send the summary and not what it replaced."""
    assert has_tool_result(run.summary_requests[0].messages, "old-result"), "the history was not summarised"
    resumed = require_success(agent.resume(sandbox, run.transcript, "What now?\n#say the next answer"))
    assert not resumed.summary_requests, "the session was compacted again"
    for messages in (run.last_messages, resumed.last_messages):
        assert has_text(messages, "user", SUMMARY)
        assert not has_tool_result(messages, "old-result")
    assert resumed.last_messages[: len(run.last_messages)] == run.last_messages, "the history is different"
    sandbox.check_and_keep(name, resumed.transcript, resumed.last_messages)
