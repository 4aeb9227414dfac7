"""Resume any transcript in the real client and return what the API receives as its history.

The file itself is only read: the client resumes a copy in a fresh sandbox, without compacting it first. As a program,
`history.py --client claude --out DIR FILE…` writes `<file name>.received.json` for each file that the client accepts.
"""

import argparse
import json
import sys
from pathlib import Path

from drive import Agent
from received import Message
from sandbox import Sandbox
from scenario import AGENTS

PROMPT = "Continue from here.\n#say continued"


class RefusedError(Exception):
    """The client did not resume the file; the message is the client's own."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--client", choices=sorted(AGENTS), required=True)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    return max(write_history(AGENTS[options.client], file, options.out) for file in options.files)


def write_history(agent: Agent, file: Path, folder: Path) -> int:
    try:
        messages = received_history(agent, file)
    except RefusedError as refusal:
        sys.stdout.write(f"refused   {file.name}: {refusal}\n")
        return 1
    target = folder / f"{file.stem}.received.json"
    target.write_text(json.dumps(messages, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"accepted  {file.name}: {len(messages)} messages\n")
    return 0


def received_history(agent: Agent, transcript: Path) -> list[Message]:
    """Return what the API receives before the new prompt when the client resumes this transcript."""
    with Sandbox(agent) as sandbox:
        run = agent.resume(sandbox, transcript, PROMPT, *agent.options_without_compaction(transcript))
        if not run.main_requests:
            output = f"{run.result.stdout}\n{run.result.stderr}".strip()
            raise RefusedError(f"exit {run.result.code}: {output[-1500:]}")
        if run.summary_requests:
            raise RefusedError("the client compacted the session first")
    return messages_before_prompt(run.main_requests[0].messages)


def messages_before_prompt(messages: list[Message]) -> list[Message]:
    """Return the messages before the prompt. What the client adds before it for the new turn (reminders, environment) stays."""
    history: list[Message] = []
    for message in messages:
        texts = [str(block.get("text", "")).strip() for block in message["blocks"]]
        if message["role"] == "user" and PROMPT in texts:
            before = message["blocks"][: texts.index(PROMPT)]
            return [*history, Message(role="user", blocks=before)] if before else history
        history.append(message)
    raise RefusedError("the client did not send the prompt")


if __name__ == "__main__":
    sys.exit(main())
