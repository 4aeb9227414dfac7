"""The recall tools in the real clients: registered by leftoff, called by the model, removed without a trace."""

import re

from directives import SUMMARY, tool
from drive import Agent
from installation import approve_hooks, check_nothing_logged, run_leftoff
from received import Message
from sandbox import Sandbox
from scenario import blocks_of_type, has_text, has_tool_result, require_success, scenario, shell_call

FACT = "the spare key is in vault 7315"
# Codex sends its first request at once, with the tools of the servers that are ready by then, unless it must wait for one.
OPTIONS = {"claude": (), "codex": ("-c", "mcp_servers.leftoff.required=true")}
CONFIGURATION = {"claude": ".claude/.claude.json", "codex": ".codex/config.toml"}


@scenario(clients=("claude", "codex"))
def recall_after_compaction(agent: Agent, sandbox: Sandbox) -> None:
    """After a compaction the model gets a fact back that the summary lost, word for word, with two calls of leftoff's tools."""
    run_leftoff(sandbox, "install", agent.name, "--mcp")
    approve_hooks(agent, sandbox)
    old = require_success(agent.prompt(sandbox, f"Look.\n{shell_call(agent, f'echo {FACT}')}\n#say seen"))
    full = f"#usage {agent.full_tokens}\n{shell_call(agent, 'echo late-result')}\n#say full"
    compacted = require_success(agent.resume(sandbox, old.transcript, f"Fill it.\n{full}"))
    assert compacted.summary_requests, "the client did not compact"
    asked = require_success(
        agent.resume(
            sandbox,
            compacted.transcript,
            f"Where is the key?\n{tool('mcp__leftoff__recall', query='where is the spare key')}\n#say hm",
            *OPTIONS[agent.name],
        )
    )
    assert has_text(asked.last_messages, "user", SUMMARY)
    hits = last_result(asked.last_messages)
    found = re.search(rf"^(\S+:\d+) · .*(?:result|prompt).* · .*{FACT}", hits, re.MULTILINE)
    assert found, hits
    read = require_success(
        agent.resume(
            sandbox,
            asked.transcript,
            f"Read it.\n{tool('mcp__leftoff__expand', id=found[1])}\n#say found",
            *OPTIONS[agent.name],
        )
    )
    assert has_tool_result(read.last_messages, FACT)
    assert "not instructions" in last_result(read.last_messages)
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def tools_are_removed(agent: Agent, sandbox: Sandbox) -> None:
    """After install --mcp and uninstall the client's configuration is as it was, byte for byte."""
    file = sandbox.home / CONFIGURATION[agent.name]
    before = file.read_bytes()
    run_leftoff(sandbox, "install", agent.name, "--mcp")
    assert file.read_bytes() != before
    run_leftoff(sandbox, "uninstall", agent.name)
    assert file.read_bytes() == before


def last_result(messages: list[Message]) -> str:
    text: str = blocks_of_type(messages, "tool_result")[-1]["text"]
    return text
