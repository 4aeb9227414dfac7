"""The clients on a terminal: how to start them there, and what they show."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from drive import Agent
from received import Message
from sandbox import Request, Sandbox
from scenario import has_text
from terminal import COLUMNS, Terminal

ANSWER_MARK = {"claude": "●", "codex": "•"}  # before a reply
TURN_ENDED = {"claude": "done", "codex": "Worked for"}
READY_FOR_PROMPT = {"claude": "shift+tab to cycle", "codex": "Ask Codex"}  # before the first prompt
RESUME_ARGUMENTS = {"claude": ["--resume"], "codex": ["resume"]}
CLEAR_LINE = "\x15"


@contextmanager
def open_client(agent: Agent, sandbox: Sandbox, *, columns: int = COLUMNS) -> Iterator[Terminal]:
    """Start the client on a terminal and wait until it is ready for a prompt."""
    with sandbox.open_screen(screen_options(agent, sandbox), columns=columns) as screen:
        screen.wait_for(READY_FOR_PROMPT[agent.name])
        yield screen


def screen_options(agent: Agent, sandbox: Sandbox) -> list[str]:
    """Configure the client so that it asks nothing when it starts, and return the options to start it with."""
    if agent.name == "claude":
        return []
    config = sandbox.home / ".codex" / "config.toml"
    trusted = f'[projects."{sandbox.path_inside(sandbox.project)}"]\ntrust_level = "trusted"\n'
    if trusted not in (before := config.read_text(encoding="utf-8")):
        config.write_text(f"{before}\n{trusted}", encoding="utf-8")
    # With an older model it first recommends the newest one.
    return ["--no-daemon", "-m", "gpt-6-sol"]


def submit(agent: Agent, screen: Terminal, prompt: str, answer: str) -> str:
    """Submit a prompt that makes the agent say the answer, wait for it, and return what is on the screen."""
    screen.type(f"{prompt}\n#say {answer}")
    return screen.wait_for(f"{ANSWER_MARK[agent.name]} {answer}")


def request_with(sandbox: Sandbox, text: str) -> list[Message]:
    """Return the longest request in which the user says this; requests for titles and the like are shorter."""
    return max((request.messages for request in requests_with(sandbox.requests(), text)), key=len)


def requests_with(requests: Sequence[Request], text: str) -> list[Request]:
    """Return the requests in which the user says this."""
    return [request for request in requests if has_text(request.messages, "user", text)]


def as_json(messages: list[Message]) -> str:
    """Return all of a request's messages as one searchable text."""
    return json.dumps(messages, ensure_ascii=False)
