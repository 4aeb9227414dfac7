"""A transcript with two branches, as rewinding a session leaves it."""

import json
import uuid
from pathlib import Path
from typing import Any

from drive import Agent
from sandbox import Sandbox
from scenario import has_text, require_success, scenario


@scenario(clients=("claude",))
def rewind(agent: Agent, sandbox: Sandbox) -> None:
    """Of two branches, Claude Code sends the one that the last `last-prompt` line names, or else the newest."""
    trunk = require_success(agent.prompt(sandbox, "The trunk.\n#say the trunk's answer"))
    branch_point = last_reply_id(trunk.transcript)
    run = require_success(agent.resume(sandbox, trunk.transcript, "The first branch.\n#say the first answer"))
    transcript = run.transcript
    add_branch(transcript, branch_point, "The second branch.", "the second answer")
    second_leaf, two_branches = last_reply_id(transcript), transcript.read_text(encoding="utf-8")

    # The client itself wrote a last-prompt line for the first branch before we added the second.
    check_branch_sent(agent, sandbox, transcript, "first", "rewind_older")

    lines = two_branches.splitlines(keepends=True)
    without = "".join(line for line in lines if '"type":"last-prompt"' not in line)
    transcript.write_text(without, encoding="utf-8")
    check_branch_sent(agent, sandbox, transcript, "second", "rewind_newest")

    transcript.write_text(two_branches, encoding="utf-8")
    append(transcript, {"type": "last-prompt", "leafUuid": second_leaf})
    check_branch_sent(agent, sandbox, transcript, "second", "rewind_named")


def check_branch_sent(agent: Agent, sandbox: Sandbox, transcript: Path, branch: str, name: str) -> None:
    """Resume the transcript and check that this branch is sent and the other is not."""
    run = require_success(agent.resume(sandbox, transcript, f"Where am I ({name})?\n#say here"))
    for each in ("first", "second"):
        sent = (
            has_text(run.last_messages, "user", f"The {each} branch."),
            has_text(run.last_messages, "assistant", f"the {each} answer"),
        )
        assert sent == (each == branch, each == branch), f"{name}: the {each} branch was sent: {sent}"
    assert has_text(run.last_messages, "assistant", "the trunk's answer")
    sandbox.check_and_keep(name, run.transcript, run.last_messages)


def last_reply_id(transcript: Path) -> str:
    ids = [line["uuid"] for line in read_lines(transcript) if line["type"] == "assistant"]
    return str(ids[-1])


def add_branch(transcript: Path, parent: str, prompt: str, answer: str) -> None:
    """Append a prompt and its answer below an older record, in the format of the existing lines."""
    user = next(line for line in read_lines(transcript) if line["type"] == "user")
    assistant = next(line for line in read_lines(transcript) if line["type"] == "assistant")
    reply = {
        **assistant["message"],
        "id": f"msg_{uuid.uuid4().hex}",
        "content": [{"type": "text", "text": answer}],
    }
    for template, message in ((user, {"role": "user", "content": prompt}), (assistant, reply)):
        line = {
            **template,
            "uuid": str(uuid.uuid4()),
            "parentUuid": parent,
            "message": message,
            "timestamp": last_timestamp(transcript),
        }
        append(transcript, line)
        parent = line["uuid"]


def last_timestamp(transcript: Path) -> str:
    return str(max(line["timestamp"] for line in read_lines(transcript) if "timestamp" in line))


def read_lines(transcript: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines()]


def append(transcript: Path, line: dict[str, Any]) -> None:
    with transcript.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**line, "sessionId": transcript.stem}, separators=(",", ":")) + "\n")
