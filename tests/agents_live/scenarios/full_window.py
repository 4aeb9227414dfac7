"""leftoff while the window fills up: warnings, pause, compaction, and what the API receives afterwards."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from directives import SUMMARY, tool
from drive import Agent, Run
from installation import check_nothing_logged, fast_path, install, restored_texts, run_leftoff
from sandbox import Request, Sandbox
from scenario import require_success, scenario, shell_call

PIN = "The release is frozen until Friday; touch nothing below release/."
RULE = "Never push to main."
FILE = "src/lock.py"
COMMAND = "python3 -m py_compile src/lock.py"
TODO = "Release the lock on every path"
WARNINGS = {
    0.71: "Context Usage Caution: 71%",
    0.86: "Context Usage Warning: 86%",
    0.91: "Context Usage Auto-Pause: 91%",
    0.96: "Context Usage Critical: 96%",
}
COUNTED = ("commands", "files")  # without "your"
# Runs the real hook and records its output, because headless Codex does not show what hooks tell the user.
RECORDING_HOOK = """\
import subprocess, sys
output = subprocess.run([sys.executable, "-I", "-S", "{hook}", *sys.argv[1:]], stdout=subprocess.PIPE).stdout
with open("{log}", "ab") as file:
    file.write(output + b"\\n" if output else b"")
sys.stdout.buffer.write(output)
"""


@scenario(clients=("claude", "codex"))
def warnings_and_restore(agent: Agent, sandbox: Sandbox) -> None:
    """Each warning is shown once and the last steps are recorded; after the compaction the lost facts are sent again."""
    install(agent, sandbox)
    allow_todos(agent, sandbox)
    record_hook_output(sandbox)
    run_leftoff(sandbox, "pin", PIN)
    run = require_success(agent.prompt(sandbox, f"{RULE} Write {FILE}, then check it.\n{work(agent)}"))
    messages = shown_to_user(agent, sandbox, run)
    for warning in WARNINGS.values():
        assert sum(warning in message for message in messages) == 1, (warning, messages)
    (summary_request,) = run.summary_requests
    check_saved(sandbox)
    restored = restored_after_compaction(run)
    for text in (PIN, RULE, FILE, COMMAND, f"\n- To do: {TODO}\n"):
        assert text in restored, (text, restored)
    if agent.name == "claude":  # it comes with the next prompt, once the summary is in the transcript
        assert not any("The summary dropped" in message for message in messages), messages
        require_success(agent.resume(sandbox, agent.latest_transcript(sandbox), "Carry on.\n#say ok"))
        messages = shown_to_user(agent, sandbox, run)
    else:
        assert handed_over_with(sandbox, "The summary dropped") == restored
    check_receipt(sandbox, "\n".join(messages), restored)
    if agent.name == "claude":  # Codex takes no instructions for its summary
        body = json.dumps(summary_request.body, ensure_ascii=False)
        assert PIN in body, "the summariser was not told what to keep"
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def twenty_compactions(agent: Agent, sandbox: Sandbox) -> None:
    """After each of twenty compactions the next request contains the pin, the rule and the open todo, byte for byte."""
    install(agent, sandbox)
    allow_todos(agent, sandbox)
    run_leftoff(sandbox, "pin", PIN)
    run = require_success(agent.prompt(sandbox, f"{RULE}\n{add_todo(agent)}\n#say understood"))
    fills = [
        f"#usage {agent.usable_tokens + 1000}\n" + shell_call(agent, f"echo full {number}")
        for number in range(20)
    ]
    # Codex compacts several times within a turn, Claude Code once.
    per_turn = 4 if agent.name == "codex" else 1
    after: list[Request] = []
    for start in range(0, 20, per_turn):
        fill = "\n".join(fills[start : start + per_turn])
        run = require_success(agent.resume(sandbox, run.transcript, f"Round {start}.\n{fill}\n#say done"))
        after += [following for request, following in pairwise(run.requests) if request.kind == "summary"]
    assert len(after) == 20
    for number, request in enumerate(after):
        restored = restored_texts(request.messages)[-1]
        assert f"- {PIN}\n" in restored, number
        assert RULE in restored, number
        assert f"\n- To do: {TODO}\n" in restored, (number, restored[-3000:])


@scenario(clients=("claude",))
def restore_after_refusal(agent: Agent, sandbox: Sandbox) -> None:
    """A compaction after a refused request is prepared, and its losses are restored, like any other."""
    install(agent, sandbox)
    run_leftoff(sandbox, "pin", PIN)
    old = require_success(agent.prompt(sandbox, f"{RULE}\n{shell_call(agent, COMMAND)}\n#say understood"))
    run = require_success(agent.resume(sandbox, old.transcript, "A new task.\n#too_long\n#say the answer"))
    assert [request.kind for request in run.requests] == ["refused", "summary", "reply"]
    (brief,) = restored_texts(run.last_messages)
    for text in (PIN, RULE):
        assert text in brief, (text, brief)
    later = require_success(agent.resume(sandbox, run.transcript, "And now?\n#say the end"))
    lost = restored_texts(later.last_messages)[-1]
    assert COMMAND in lost, lost
    assert PIN in json.dumps(run.summary_requests[0].body, ensure_ascii=False)


@scenario(clients=("codex",))
def restore_after_opaque_compaction(agent: Agent, sandbox: Sandbox) -> None:
    """When only the provider can read the summary, a message says so and everything is sent again."""
    install(agent, sandbox)
    record_hook_output(sandbox)
    fill = f"#usage {agent.usable_tokens + 1000}\n{shell_call(agent, 'echo full')}\n#say done"
    run = require_success(agent.prompt(sandbox, f"{RULE}\n{fill}", "-c", "model_provider=openai"))
    assert len(run.summary_requests) == 1
    messages = "\n".join(shown_to_user(agent, sandbox, run))
    assert "The summary of this compaction cannot be read; leftoff restored 1 rule" in messages, messages
    (restored,) = restored_texts(run.last_messages)
    assert RULE in restored
    assert handed_over_with(sandbox, "cannot be read") == restored


def handed_over_with(sandbox: Sandbox, message: str) -> str:
    """Return what the hook gave the agent in the one answer that tells the user this."""
    outputs = read_lines(hook_output(sandbox))
    (answer,) = (each for each in outputs if message in each.get("systemMessage", ""))
    text: str = answer["hookSpecificOutput"]["additionalContext"]
    return text


def record_hook_output(sandbox: Sandbox) -> None:
    """Replace the installed hook by one that runs it and records its output."""
    hook = fast_path(sandbox)
    real_hook = hook.with_name("real_fast.py")
    first_line = hook.read_text(encoding="utf-8").splitlines()[0]
    hook.rename(real_hook)
    code = RECORDING_HOOK.format(
        hook=sandbox.path_inside(real_hook), log=sandbox.path_inside(hook_output(sandbox))
    )
    hook.write_text(f"{first_line}\n{code}", encoding="utf-8")
    hook.chmod(0o700)  # some events run it as a program


def hook_output(sandbox: Sandbox) -> Path:
    return sandbox.disk / "hook_output.jsonl"


def work(agent: Agent) -> str:
    """Return directives: a file, a check, an open todo; then calls while the window fills up and is compacted."""
    usable = agent.usable_tokens
    write = f"mkdir -p src && echo 'held = False' > {FILE}"
    lines = [shell_call(agent, write), shell_call(agent, COMMAND), add_todo(agent)]
    for share in WARNINGS:
        lines += [f"#usage {int(usable * share)}", shell_call(agent, f"echo at {share}")]
        lines += [f"#usage {int(usable * share) + 100}", shell_call(agent, f"echo still at {share}")]
    lines += [f"#usage {usable + 1000}", shell_call(agent, "echo full"), "#say all done"]
    return "\n".join(lines)


def add_todo(agent: Agent) -> str:
    if agent.name == "codex":
        return tool("update_plan", plan=[{"step": TODO, "status": "pending"}])
    load = tool("ToolSearch", query="select:TaskCreate")  # until then the client refuses to call it
    return f"{load}\n{tool('TaskCreate', subject=TODO, description='In src/lock.py.')}"


def allow_todos(agent: Agent, sandbox: Sandbox) -> None:
    """Let the client keep a list of todos: it offers the tool for it to some models only, and refuses the calls of others."""
    if agent.name == "claude":
        sandbox.extra_environment["CLAUDE_CODE_ENABLE_TODO_TOOLS"] = "1"
    else:
        with (sandbox.home / ".codex" / "config.toml").open("a", encoding="utf-8") as config:
            config.write("[tools.update_plan]\nenabled = true\n")


def shown_to_user(agent: Agent, sandbox: Sandbox, run: Run) -> list[str]:
    """Return the messages of hooks to the user: from Claude Code's transcript, or from the recorded output."""
    if agent.name == "claude":
        return [
            line["attachment"].get("content", "")
            for line in read_lines(run.transcript)
            if line.get("attachment", {}).get("type") == "hook_system_message"
        ]
    outputs = read_lines(hook_output(sandbox))
    return [message for output in outputs if (message := output.get("systemMessage"))]


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def check_saved(sandbox: Sandbox) -> None:
    """Check the resume log and the pause that recorded the last steps."""
    folder = sandbox.project / ".leftoff"
    (log,) = (folder / "resume-logs").glob("session-*.md")
    assert PIN in log.read_text(encoding="utf-8")
    documents = [
        json.loads(path.read_text(encoding="utf-8")) for path in (folder / "sessions").glob("*.json")
    ]
    pauses = [document["incremental_pause"] for document in documents]
    (pause,) = [pause for pause in pauses if pause["action_count"] > 3]
    assert 0.9 <= pause["context_range"][0] < 0.95, pause


def restored_after_compaction(run: Run) -> str:
    """Return what leftoff put into the first request after the compaction."""
    kinds = [request.kind for request in run.requests]
    (restored,) = restored_texts(run.requests[kinds.index("summary") + 1].messages)
    return restored


def check_receipt(sandbox: Sandbox, messages: str, restored: str) -> None:
    """Check the counts in the receipt: the local API's summary holds nothing of the log, so all was lost."""
    receipt = re.search(r"The summary dropped (.*); leftoff restored (.*)\.", messages)
    assert receipt, messages
    (log,) = (sandbox.project / ".leftoff" / "resume-logs").glob("session-*.json")
    facts = facts_by_kind(json.loads(log.read_text(encoding="utf-8"))["critical_context"])
    dropped = re.findall(r"\d+|your(?= )", receipt[1])
    assert dropped == [
        str(len(items)) if len(items) > 1 or kind in COUNTED else "your" for kind, items in facts.items()
    ], (
        receipt[0],
        facts,
    )
    back = [sum(item in restored for item in items) for items in facts.values()]
    is_all = back == [len(items) for items in facts.values()]
    assert is_all == (receipt[2] == "all of it"), (receipt[0], facts)
    assert is_all or re.findall(r"\d+", receipt[2]) == [*map(str, back)], (receipt[0], facts)
    assert not any(item in SUMMARY for items in facts.values() for item in items)
    for kind in ("rules", "pins"):
        (item,) = facts[kind]
        assert item in restored, item


def facts_by_kind(context: dict[str, Any]) -> dict[str, set[str]]:
    """Return a log's facts by the kinds that a receipt counts, in the same order."""
    commands = (entry.rpartition(" → ")[0].strip(" `") or entry.strip(" `") for entry in context["commands"])
    facts = {
        "rules": {rule.strip("“”") for rule in context["user_rules"]},
        "pins": {*context["pins"]},
        "commands": {*commands},
        "files": {*context.get("files", ())},
    }
    return {kind: items for kind, items in facts.items() if items}
