"""A window that fills up, with everything installed: warnings, pause, compaction, and what the API is sent afterwards."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drive import Agent, Run
from received import Message, flat
from sandbox import Sandbox
from scenario import command, scenario, succeeded
from scenarios.installed import approve

PIN = "The release is frozen until Friday; touch nothing below release/."
RULE = "Never push to main."
FILE = "src/lock.py"
COMMAND = "python3 -m py_compile src/lock.py"
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
    check_restored(agent, run)
    check_receipt(agent, sandbox, run)
    (asked,) = run.summaries
    if agent.name == "claude":  # the other one tells its summariser nothing
        assert PIN in json.dumps(asked.body, ensure_ascii=False), "the summariser was not told what to keep"
    assert log_lines(sandbox) == [], log_lines(sandbox)


@scenario(clients=("claude",))
def twenty_compactions(agent: Agent, sandbox: Sandbox) -> None:
    """After each of twenty compactions the next request holds the pin and the rule as they were said, byte for byte."""
    install(agent, sandbox)
    assert sandbox.leftoff("pin", PIN).code == 0
    full = f"#usage {USABLE[agent.name] + 1000}\n{command(agent, 'echo full')}\n#say done"
    run = succeeded(agent.prompt(sandbox, f"{RULE}\n#say understood"))
    for number in range(20):
        run = succeeded(agent.resume(sandbox, run.transcript, f"Round {number}.\n{full}"))
        assert [request.kind for request in run.requests] == ["reply", "summary", "reply"]
        (handed,) = restorations(run.last)
        assert f"- {PIN}\n" in handed, number
        assert RULE in handed, number


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
        return command(agent, "echo no todo list here")
    todo = {"content": "Release the lock on every path", "status": "pending", "activeForm": "Releasing"}
    return f"#tool TodoWrite {json.dumps({'todos': [todo]})}"


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


def check_restored(agent: Agent, run: Run) -> None:
    """The first request after the compaction."""
    kinds = [request.kind for request in run.requests]
    after = run.requests[kinds.index("summary") + 1]
    (handed,) = restorations(after.messages)
    for words in (PIN, RULE, FILE, COMMAND):
        assert words in handed, (words, handed)
    if agent.name == "claude":
        assert "Release the lock on every path" in handed, handed


def check_receipt(agent: Agent, sandbox: Sandbox, run: Run) -> None:
    """The summary of the local API holds nothing of the log, so all of it was lost; what our text holds was put back."""
    words = "\n".join(shown(agent, sandbox, run))
    found = re.search(r"Compaction lost (.*); leftoff put back (.*)\.", words)
    assert found, words
    (log,) = (sandbox.project / ".leftoff" / "resume-logs").glob("session-*.json")
    context = json.loads(log.read_text(encoding="utf-8"))["critical_context"]
    for kind, key in (("rules", "user_rules"), ("pins", "pins")):
        assert f"{len(context[key])} of {len(context[key])} {kind}" in found[1], (found[0], context[key])
    lost = [int(number) for number in re.findall(r"(\d+) of \d+", found[1])]
    back = [int(number) for number in re.findall(r"\d+", found[2])]
    assert len(lost) == len(back)
    assert all(some <= of for some, of in zip(back, lost, strict=True)), found[0]
    assert back[:2] == lost[:2], "a rule or a pin was not put back"


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
