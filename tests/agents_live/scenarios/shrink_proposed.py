"""A real client as the one that proposes what smart-trim cuts: it can do nothing but answer."""

import json
import re
from typing import Any

from agent_codex import PROVIDER
from directives import NEVER, PROPOSED, tool
from drive import Agent
from sandbox import Sandbox
from scenario import blocks, command, scenario, succeeded
from scenarios.shrink_verbs import CUT, asked, much, outside, results_of

from leftoff.agents.codex import headless

# Its headless form reads no configuration, so it is told on the command line where the local API is.
WHERE = {
    "claude": (),
    "codex": (
        *("-c", f"model_providers.local={PROVIDER}"),
        *("-c", 'model_provider="local"'),
        *("-c", "features.enable_request_compression=false"),
    ),
}
# What cannot be switched off, and does nothing in a read-only sandbox where nobody can be asked; and what `exec` can call.
TOOLS = {
    "claude": set(),
    "codex": {"apply_patch", "request_user_input", "request_user_input_async", "exec", "wait"},
}
CALLED_WITHIN = {
    "apply_patch",
    "clock__curr_time",
    "list_mcp_resources",
    "list_mcp_resource_templates",
    "read_mcp_resource",
}
PATCH = "*** Begin Patch\n*** Add File: harm.txt\n+harm\n*** End Patch\n"
LIMIT_SECONDS = 5
HURRIED = f"""
import pathlib, sys, time
from leftoff.errors import LeftoffError
from leftoff.flows import choose, plan_shrink, polish
chosen = choose.choose("latest", pathlib.Path.cwd())
begun = time.monotonic()
try:
    plan_shrink.proposed_by(
        polish.summariser_called(sys.argv[1]), chosen.agent, chosen.open(), timeout_seconds={LIMIT_SECONDS}
    )
except LeftoffError as error:
    print(type(error).__name__, error)
print("seconds", time.monotonic() - begun)
for name in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        words = name.read_bytes().split(bytes(1))
    except OSError:
        continue
    if words[0].decode().rsplit("/", 1)[-1] == sys.argv[1]:
        print("left", words[:3])
"""


@scenario(clients=("claude", "codex"))
def shrink_proposed(agent: Agent, sandbox: Sandbox) -> None:
    """What the client proposes is cut; it is given no tool that acts and no session's words but the first, and leaves no session."""
    looking = f"Look at all of it.\n{much(agent)}\n#usage 60000\n#say looked"
    source = succeeded(agent.prompt(sandbox, looking)).transcript
    sandbox.name_client(*WHERE[agent.name])
    before = len(sandbox.requests())
    would = asked(sandbox, "smart-trim", "--by", agent.name, "--dry-run")
    made = asked(sandbox, "smart-trim", "--by", agent.name)
    requests = sandbox.requests(before)
    assert [each.kind for each in requests] == ["proposal", "proposal"], [each.kind for each in requests]
    for each in requests:
        assert tools_of(each.body) <= TOOLS[agent.name], tools_of(each.body)
        assert called_within(each.body) <= CALLED_WITHIN, called_within(each.body)
        assert "\\n1500\\n" not in json.dumps(each.body), "it was shown whole results"
    assert [cut["rationale"] for cut in would["cuts"]] == [PROPOSED], would
    assert (made["tools_trimmed"], made["tokens_saved"]) == (1, would["tokens_saved"])
    copy = outside(sandbox, made["output_file"])
    assert {*agent.transcripts(sandbox)} == {source, copy}, "the client left a session of its own"
    run = succeeded(agent.resume(sandbox, copy, "What now?\n#say smaller"))
    assert CUT in results_of(run.last)


@scenario(clients=("codex",))
def shrink_proposer_bound(agent: Agent, sandbox: Sandbox) -> None:
    """What tools its headless form is left with can do nothing: a patch is refused, by itself and from within a program."""
    script = f"text(String(await tools.apply_patch({json.dumps(PATCH)})))"
    tries = f"{tool('exec', input=script)}\n{tool('apply_patch', input=PATCH)}\n#say tried"
    command = [*WHERE["codex"], *headless.COMMAND[1:-1], f"Try it.\n{tries}"]
    assert sandbox.run(command).code == 0
    refused = [block["text"] for block in blocks(sandbox.requests()[-1].messages, "tool_result")]
    assert len(refused) == 2
    assert "blocked by read-only sandbox" in refused[0], refused
    assert not [*sandbox.disk.rglob("harm.txt")]


def called_within(body: dict[str, Any]) -> set[str]:
    """The tools that a program in `exec` can call, as it is told of them."""
    return set(re.findall(r"declare const tools: \{ (\w+)\(", "\n".join(descriptions(body))))


def descriptions(body: dict[str, Any]) -> list[str]:
    given = [tool for item in body.get("input", []) for tool in item.get("tools", [])]
    inner = [tool for each in given for tool in each.get("tools", [])]
    return [tool.get("description", "") for tool in (*given, *inner)]


def tools_of(body: dict[str, Any]) -> set[str]:
    """The names of all tools that the model is told of: beside the messages, or among them."""
    told = [*body.get("tools", [])]
    told += [tool for item in body.get("input", []) for tool in item.get("tools", [])]
    inner = [tool for each in told for tool in each.get("tools", [])]
    return {tool.get("name", tool["type"]) for tool in (*told, *inner) if tool["type"] != "namespace"}


@scenario(clients=("claude", "codex"))
def shrink_proposed_late(agent: Agent, sandbox: Sandbox) -> None:
    """A client that does not answer in time is ended with all that it started, and that is an error."""
    succeeded(
        agent.prompt(
            sandbox, f"Look.\n{command(agent, f'echo {NEVER}; seq 1 2000')}\n#say looked\nAnd more.\n#say all"
        )
    )
    sandbox.name_client(*WHERE[agent.name])
    ended = sandbox.python(HURRIED, agent.name)
    assert sandbox.requests()[-1].kind == "proposal", "the client asked nobody"
    error, seconds, *left = ended.stdout.splitlines()
    assert error.startswith("ProcessError"), ended
    assert f"{LIMIT_SECONDS}" in error, ended
    assert LIMIT_SECONDS <= float(seconds.split()[1]) < LIMIT_SECONDS + 10, ended
    assert left == [], left
