"""A window that fills up, with everything installed: warnings, pause, compaction, and what the API is sent afterwards."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from directives import SUMMARY, tool
from drive import Agent, Run
from received import Message, flat
from sandbox import Request, Sandbox
from scenario import command, scenario, succeeded
from scenarios.installed import approve

PIN = "The release is frozen until Friday; touch nothing below release/."
RULE = "Never push to main."
FILE = "src/lock.py"
COMMAND = "python3 -m py_compile src/lock.py"
TODO = "Release the lock on every path"
# What percentages are of: 967,000 of Claude's native million, 90,000 of the 100,000 that we give Codex.
USABLE = {"claude": 967_000, "codex": 90_000}
HEADS = {
    0.71: "Context Usage Caution: 71%",
    0.86: "Context Usage Warning: 86%",
    0.91: "Context Usage Auto-Pause: 91%",
    0.96: "Context Usage Critical: 96%",
}


# Stands before the fast path: notes what it answers, because a headless Codex shows nobody what hooks say to the user.
EAR = """\
import subprocess, sys
said = subprocess.run([sys.executable, "-I", "-S", "{fast}", *sys.argv[1:]], stdout=subprocess.PIPE).stdout
with open("{log}", "ab") as file:
    file.write(said + b"\\n" if said else b"")
sys.stdout.buffer.write(said)
"""


@scenario(clients=("claude", "codex"))
def filling_up(agent: Agent, sandbox: Sandbox) -> None:
    """Each warning is said once, the wind-down recorded; after the compaction the API is sent what it must not lose."""
    install(agent, sandbox)
    listen(sandbox)
    assert sandbox.leftoff("pin", PIN).code == 0
    run = succeeded(agent.prompt(sandbox, f"{RULE} Write {FILE}, then check it.\n{work(agent)}"))
    check_warnings(agent, sandbox, run)
    assert [request.kind for request in run.requests].count("summary") == 1
    check_saved(sandbox)
    check_restored(run)
    check_receipt(agent, sandbox, run)
    (asked,) = run.summaries
    if agent.name == "claude":  # the other one tells its summariser nothing
        assert PIN in json.dumps(asked.body, ensure_ascii=False), "the summariser was not told what to keep"
    assert log_lines(sandbox) == [], log_lines(sandbox)


@scenario(clients=("claude", "codex"))
def twenty_compactions(agent: Agent, sandbox: Sandbox) -> None:
    """After each of twenty compactions the next request holds the pin, the rule and what is to do, byte for byte."""
    install(agent, sandbox)
    assert sandbox.leftoff("pin", PIN).code == 0
    run = succeeded(agent.prompt(sandbox, f"{RULE}\n{todos(agent)}\n#say understood"))
    full = [
        f"#usage {USABLE[agent.name] + 1000}\n{command(agent, f'echo full {number}')}" for number in range(20)
    ]
    # One of them compacts as often as its window fills up within a turn, the other wants a turn for each.
    turns = (
        ["\n".join(full[start : start + 4]) for start in range(0, 20, 4)] if agent.name == "codex" else full
    )
    after: list[Request] = []
    for number, filling in enumerate(turns):
        run = succeeded(agent.resume(sandbox, run.transcript, f"Round {number}.\n{filling}\n#say done"))
        after += [then for request, then in pairwise(run.requests) if request.kind == "summary"]
    assert len(after) == 20
    for number, request in enumerate(after):
        handed = restorations(request.messages)[-1]
        assert f"- {PIN}\n" in handed, number
        assert RULE in handed, number
        assert TODO in handed, number


@scenario(clients=("claude",))
def refused(agent: Agent, sandbox: Sandbox) -> None:
    """A compaction that comes only when the API refuses the request is prepared and made good like any other."""
    install(agent, sandbox)
    assert sandbox.leftoff("pin", PIN).code == 0
    old = succeeded(agent.prompt(sandbox, f"{RULE}\n{command(agent, COMMAND)}\n#say understood"))
    run = succeeded(agent.resume(sandbox, old.transcript, "A new matter.\n#too_long\n#say the answer"))
    assert [request.kind for request in run.requests] == ["refused", "summary", "reply"]
    (handed,) = restorations(run.last)
    for words in (PIN, RULE, COMMAND):
        assert words in handed, (words, handed)
    assert PIN in json.dumps(run.summaries[0].body, ensure_ascii=False)


def install(agent: Agent, sandbox: Sandbox) -> None:
    """Installs all of it, and approves where that is asked for."""
    ended = sandbox.leftoff("install", agent.name)
    assert ended.code == 0, ended
    approve(agent, sandbox)


def listen(sandbox: Sandbox) -> None:
    """Put an ear before the fast path."""
    fast = sandbox.home / ".local" / "share" / "leftoff" / "fast.py"
    real = fast.with_name("real_fast.py")
    first = fast.read_text(encoding="utf-8").splitlines()[0]
    fast.rename(real)
    ear = EAR.format(fast=sandbox.inside(real), log=sandbox.inside(sandbox.disk / "said.jsonl"))
    fast.write_text(f"{first}\n{ear}", encoding="utf-8")


def work(agent: Agent) -> str:
    """A file, a check, open todos; then calls while the window fills up to the compaction and beyond."""
    usable = USABLE[agent.name]
    write = f"mkdir -p src && echo 'held = False' > {FILE}"
    lines = [command(agent, write), command(agent, COMMAND), todos(agent)]
    for share in HEADS:
        lines += [f"#usage {int(usable * share)}", command(agent, f"echo at {share}")]
        lines += [f"#usage {int(usable * share) + 100}", command(agent, f"echo still at {share}")]
    lines += [f"#usage {usable + 1000}", command(agent, "echo full"), "#say all done"]
    return "\n".join(lines)


def todos(agent: Agent) -> str:
    if agent.name == "codex":
        return tool("update_plan", plan=[{"step": TODO, "status": "pending"}])
    return tool("TodoWrite", todos=[{"content": TODO, "status": "pending", "activeForm": "Releasing"}])


def check_warnings(agent: Agent, sandbox: Sandbox, run: Run) -> None:
    told = shown(agent, sandbox, run)
    for head in HEADS.values():
        assert sum(head in words for words in told) == 1, (head, told)


def shown(agent: Agent, sandbox: Sandbox, run: Run) -> list[str]:
    """What the user was shown by hooks: as the transcript tells, or as it was said to the client."""
    if agent.name == "claude":
        return [
            line["attachment"].get("content", "")
            for line in lines_of(run.transcript)
            if line.get("attachment", {}).get("type") == "hook_system_message"
        ]
    said = lines_of(sandbox.disk / "said.jsonl")
    return [words for each in said if (words := each.get("systemMessage"))]


def check_saved(sandbox: Sandbox) -> None:
    folder = sandbox.project / ".leftoff"
    (log,) = (folder / "resume-logs").glob("session-*.md")
    assert PIN in log.read_text(encoding="utf-8")
    pauses = [json.loads(path.read_text(encoding="utf-8")) for path in (folder / "sessions").glob("*.json")]
    (wound_down,) = [each for each in pauses if each["incremental_pause"]["action_count"] > 3]
    assert 0.9 <= wound_down["incremental_pause"]["context_range"][0] < 0.95, wound_down["incremental_pause"]


def check_restored(run: Run) -> None:
    """The first request after the compaction."""
    kinds = [request.kind for request in run.requests]
    after = run.requests[kinds.index("summary") + 1]
    (handed,) = restorations(after.messages)
    for words in (PIN, RULE, FILE, COMMAND, TODO):
        assert words in handed, (words, handed)


def check_receipt(agent: Agent, sandbox: Sandbox, run: Run) -> None:
    """The summary of the local API holds nothing of the log, so all of it was lost; what our text holds was put back."""
    words = "\n".join(shown(agent, sandbox, run))
    found = re.search(r"Compaction lost (.*); leftoff put back (.*)\.", words)
    assert found, words
    (log,) = (sandbox.project / ".leftoff" / "resume-logs").glob("session-*.json")
    context = json.loads(log.read_text(encoding="utf-8"))["critical_context"]
    told = re.findall(r"(\d+) of (\d+) (\w+)", found[1])
    back = re.findall(r"\d+", found[2])
    kinds = [request.kind for request in run.requests]
    (handed,) = restorations(run.requests[kinds.index("summary") + 1].messages)
    counted = {kind: (lost, of, put_back) for (lost, of, kind), put_back in zip(told, back, strict=True)}
    assert counted == {
        kind: (str(len(items)), str(len(items)), str(sum(item in handed for item in items)))
        for kind, items in in_log(context).items()
    }, (found[0], context)
    assert not any(item in SUMMARY for items in in_log(context).values() for item in items)
    assert counted["rules"][1:] == ("1", "1"), "the rule was not put back"
    assert counted["pins"][1:] == ("1", "1"), "the pin was not put back"


def in_log(context: dict[str, Any]) -> dict[str, set[str]]:
    """What a log holds of each kind that a receipt counts, in the order in which it counts them."""
    names = (name.strip(" `") for told in context.get("names", {}).values() for name in told.split(","))
    found = {
        "rules": {rule.strip("“”") for rule in context["user_rules"]},
        "pins": {*context["pins"]},
        "commands": {
            entry.rpartition(" → ")[0].strip(" `") or entry.strip(" `") for entry in context["commands"]
        },
        "files": {*context["files"]},
        "names": {*names},
    }
    return {kind: items for kind, items in found.items() if items}


@scenario(clients=("codex",))
def opaque(agent: Agent, sandbox: Sandbox) -> None:
    """A summary that only the provider can read is said to be so, and everything is put back."""
    install(agent, sandbox)
    listen(sandbox)
    openai = ("-c", "model_provider=openai")
    full = f"#usage {USABLE[agent.name] + 1000}\n{command(agent, 'echo full')}\n#say done"
    run = succeeded(agent.prompt(sandbox, f"{RULE}\n{full}", *openai))
    assert len(run.summaries) == 1
    told = "\n".join(shown(agent, sandbox, run))
    assert "The summary of this compaction cannot be read; leftoff put back 1 rules" in told, told
    (handed,) = restorations(run.last)
    assert RULE in handed


def restorations(messages: list[Message]) -> list[str]:
    texts = (block["text"] for _, block in flat(messages) if block["type"] == "text")
    return [text for text in texts if "<leftoff-record-" in text]


def lines_of(transcript: Path) -> Iterator[dict[str, Any]]:
    for line in transcript.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def log_lines(sandbox: Sandbox) -> list[str]:
    """leftoff's own log: it is empty as long as nothing went wrong."""
    own = sandbox.home / ".local" / "state" / "leftoff" / "leftoff.log"
    return own.read_text(encoding="utf-8").splitlines() if own.exists() else []
