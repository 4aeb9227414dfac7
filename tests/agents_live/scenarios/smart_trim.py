"""A real client proposes what `smart-trim --by` removes: it can only answer, and must answer in time."""

import json
import re
from typing import Any

from agent_codex import PROVIDER
from directives import NEVER_ANSWERED, PROPOSAL_RATIONALE, tool
from drive import Agent
from installation import run_leftoff_json
from sandbox import Sandbox
from scenario import blocks_of_type, require_success, scenario, shell_call
from scenarios.shrink import PLACEHOLDER, large_results, path_outside, tool_results

from leftoff.agents.codex import launch

# Headless Codex reads no configuration, so the command line has to name the local API.
CLIENT_OPTIONS = {
    "claude": (),
    "codex": (
        *("-c", f"model_providers.local={PROVIDER}"),
        *("-c", 'model_provider="local"'),
        *("-c", "features.enable_request_compression=false"),
    ),
}
# Tools that cannot be switched off; in a read-only sandbox without a user they have no effect.
ALLOWED_TOOLS = {
    "claude": set(),
    "codex": {"apply_patch", "request_user_input", "request_user_input_async", "exec", "wait"},
}
ALLOWED_IN_EXEC = {
    "apply_patch",
    "clock__curr_time",
    "list_mcp_resources",
    "list_mcp_resource_templates",
    "read_mcp_resource",
}
PATCH = "*** Begin Patch\n*** Add File: harm.txt\n+harm\n*** End Patch\n"
TIMEOUT_SECONDS = 5
PROPOSE_WITH_TIMEOUT = f"""
import pathlib, sys, time
from leftoff.errors import LeftoffError
from leftoff.resume_logs.summariser import find_summariser
from leftoff.sessions.find import find_session
from leftoff.shrink.planners import propose_lines
from leftoff.workspace import Workspace
workspace = Workspace.open()
ref = find_session("latest", workspace)
started = time.monotonic()
try:
    propose_lines(
        find_summariser(sys.argv[1]), ref.agent, ref.session, clean=workspace.redact, timeout_seconds={TIMEOUT_SECONDS}
    )
except LeftoffError as error:
    print(type(error).__name__, error)
print("seconds", time.monotonic() - started)
for name in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        words = name.read_bytes().split(bytes(1))
    except OSError:
        continue
    if words[0].decode().rsplit("/", 1)[-1] == sys.argv[1]:
        print("left", words[:3])
"""


@scenario(clients=("claude", "codex"))
def smart_trim_by_client(agent: Agent, sandbox: Sandbox) -> None:
    """The client's proposal is applied; the client gets no effective tool and no complete results, and leaves no session."""
    prompt = f"Look at all of it.\n{large_results(agent)}\n#usage 60000\n#say looked"
    source = require_success(agent.prompt(sandbox, prompt)).transcript
    sandbox.put_client_on_path(*CLIENT_OPTIONS[agent.name])
    before = len(sandbox.requests())
    predicted = run_leftoff_json(sandbox, "smart-trim", "--by", agent.name, "--dry-run")
    result = run_leftoff_json(sandbox, "smart-trim", "--by", agent.name)
    requests = sandbox.requests(before)
    kinds = [request.kind for request in requests]
    assert kinds == ["proposal", "proposal"], kinds
    for request in requests:
        assert tool_names(request.body) <= ALLOWED_TOOLS[agent.name], tool_names(request.body)
        assert tools_in_exec(request.body) <= ALLOWED_IN_EXEC, tools_in_exec(request.body)
        assert "\\n1500\\n" not in json.dumps(request.body), "a complete result was sent"
    assert [cut["rationale"] for cut in predicted["cuts"]] == [PROPOSAL_RATIONALE], predicted
    assert (result["tools_trimmed"], result["tokens_saved"]) == (1, predicted["tokens_saved"])
    copy = path_outside(result["output_file"], sandbox)
    assert {*agent.transcripts(sandbox)} == {source, copy}, "the proposing client left a session"
    run = require_success(agent.resume(sandbox, copy, "What now?\n#say smaller"))
    assert PLACEHOLDER in tool_results(run.last_messages)


@scenario(clients=("codex",))
def smart_trim_client_cannot_write(agent: Agent, sandbox: Sandbox) -> None:
    """The tools that headless Codex keeps cannot write a file: a patch is refused, called directly or from `exec`."""
    script = f"text(String(await tools.apply_patch({json.dumps(PATCH)})))"
    attempts = f"{tool('exec', input=script)}\n{tool('apply_patch', input=PATCH)}\n#say tried"
    arguments = [*CLIENT_OPTIONS["codex"], *launch.COMMAND_LINE.headless[1:-1], f"Try it.\n{attempts}"]
    assert sandbox.run(arguments).code == 0
    results = [block["text"] for block in blocks_of_type(sandbox.requests()[-1].messages, "tool_result")]
    assert len(results) == 2
    assert "blocked by read-only sandbox" in results[0], results
    assert not [*sandbox.disk.rglob("harm.txt")]


@scenario(clients=("claude", "codex"))
def smart_trim_client_timeout(agent: Agent, sandbox: Sandbox) -> None:
    """A client that does not answer in time is ended with all its processes, and leftoff reports an error."""
    large = shell_call(agent, f"echo {NEVER_ANSWERED}; seq 1 2000")
    require_success(agent.prompt(sandbox, f"Look.\n{large}\n#say looked\nAnd more.\n#say all"))
    sandbox.put_client_on_path(*CLIENT_OPTIONS[agent.name])
    result = sandbox.run_python(PROPOSE_WITH_TIMEOUT, agent.name)
    assert sandbox.requests()[-1].kind == "proposal", "the client was not asked"
    error, seconds, *left = result.stdout.splitlines()
    assert error.startswith("ProcessError"), result
    assert f"{TIMEOUT_SECONDS}" in error, result
    assert TIMEOUT_SECONDS <= float(seconds.split()[1]) < TIMEOUT_SECONDS + 10, result
    assert left == [], left


def tool_names(body: dict[str, Any]) -> set[str]:
    """Return the names of all tools in a request: in the list of tools, among the messages, or in a namespace."""
    described = [*body.get("tools", []), *message_tools(body)]
    described += [inner for outer in described for inner in outer.get("tools", [])]
    return {each.get("name", each["type"]) for each in described if each["type"] != "namespace"}


def tools_in_exec(body: dict[str, Any]) -> set[str]:
    """Return the tools that code in `exec` can call, from the descriptions of the tools."""
    described = message_tools(body)
    described += [inner for outer in described for inner in outer.get("tools", [])]
    text = "\n".join(each.get("description", "") for each in described)
    return set(re.findall(r"declare const tools: \{ (\w+)\(", text))


def message_tools(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for item in body.get("input", []) for each in item.get("tools", [])]
