"""A transcript with two branches, as a rewind leaves it."""

import json
import uuid
from pathlib import Path
from typing import Any

from drive import Agent
from sandbox import Sandbox
from scenario import said, scenario, succeeded


@scenario(clients=("claude",))
def rewind(agent: Agent, sandbox: Sandbox) -> None:
    """Of two branches the one is sent whose leaf the last `last-prompt` line names; without such a line, the newest."""
    trunk = succeeded(agent.prompt(sandbox, "The trunk.\n#say the trunk's answer"))
    fork_point = leaf(trunk.transcript)
    branched = succeeded(
        agent.resume(sandbox, trunk.transcript, "The first branch.\n#say the first answer")
    ).transcript
    add_branch(branched, fork_point, "The second branch.", "the second answer")
    second_leaf, two_branches = leaf(branched), branched.read_text(encoding="utf-8")

    # The client itself wrote a last-prompt line that names the first branch, and ours came after it.
    sent_branch(agent, sandbox, branched, "first", "rewind_older")

    without = "".join(
        line for line in two_branches.splitlines(keepends=True) if '"type":"last-prompt"' not in line
    )
    branched.write_text(without, encoding="utf-8")
    sent_branch(agent, sandbox, branched, "second", "rewind_newest")

    branched.write_text(two_branches, encoding="utf-8")
    append(branched, {"type": "last-prompt", "leafUuid": second_leaf})
    sent_branch(agent, sandbox, branched, "second", "rewind_named")


def sent_branch(agent: Agent, sandbox: Sandbox, transcript: Path, branch: str, name: str) -> None:
    """Resumes the transcript and checks that this branch was sent and the other was not."""
    run = succeeded(agent.resume(sandbox, transcript, f"Where am I ({name})?\n#say here"))
    for each in ("first", "second"):
        sent = (
            said(run.last, "user", f"The {each} branch."),
            said(run.last, "assistant", f"the {each} answer"),
        )
        assert sent == (each == branch, each == branch), f"{name}: the {each} branch was sent: {sent}"
    assert said(run.last, "assistant", "the trunk's answer")
    sandbox.keep(name, run.transcript, run.last)


def leaf(transcript: Path) -> str:
    """The uuid of the last record of the conversation."""
    found = [line["uuid"] for line in lines(transcript) if line["type"] == "assistant"]
    return str(found[-1])


def add_branch(transcript: Path, at: str, prompt: str, answer: str) -> None:
    """Hangs a prompt and its answer on an older record, in the shape of the lines that are there."""
    user = next(line for line in lines(transcript) if line["type"] == "user")
    assistant = next(line for line in lines(transcript) if line["type"] == "assistant")
    replied = {
        **assistant["message"],
        "id": f"msg_{uuid.uuid4().hex}",
        "content": [{"type": "text", "text": answer}],
    }
    for shape, message in ((user, {"role": "user", "content": prompt}), (assistant, replied)):
        line = {
            **shape,
            "uuid": str(uuid.uuid4()),
            "parentUuid": at,
            "message": message,
            "timestamp": last_moment(transcript),
        }
        append(transcript, line)
        at = line["uuid"]


def last_moment(transcript: Path) -> str:
    return str(max(line["timestamp"] for line in lines(transcript) if "timestamp" in line))


def lines(transcript: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines()]


def append(transcript: Path, line: dict[str, Any]) -> None:
    with transcript.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**line, "sessionId": transcript.stem}, separators=(",", ":")) + "\n")
