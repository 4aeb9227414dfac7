"""A live session as its hooks see it: a transcript that grows, and events that are answered by the real program."""

import json
import time
from pathlib import Path

from leftoff.agents import claude, codex
from leftoff.flows import watch_states
from leftoff.flows.watch import watch
from leftoff.testing.builders import Story, call

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
OTHER = "1c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b22"
AGENTS = {"claude": claude.here, "codex": codex.here}
RULE = "Never push to main."


class Live:
    """One session of one agent in the working folder."""

    def __init__(self, home: Path, agent_id: str = "claude", session_id: str = SESSION) -> None:
        self.agent = AGENTS[agent_id]()
        self.session_id = session_id
        folder = home / f".{agent_id}" / ("projects/x" if agent_id == "claude" else "sessions/2026/01/06")
        name = session_id if agent_id == "claude" else f"rollout-2026-01-06T12-00-00-{session_id}"
        self.transcript = folder / f"{name}.jsonl"
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self.story = Story(session_id=session_id, project=str(Path.cwd()), model="claude-sonnet-4-5")

    def turn(self, used: int, *, asked: str = f"Fix src/lock.py. {RULE}") -> None:
        """One more turn, after which so many tokens stand in the window."""
        reading = call("shell", {"command": "pytest -q tests/test_lock.py"}, "1 failed", failed=True)
        self.story.asked(asked).replied("On it.", reading, used=used)
        self.write()

    def write(self) -> None:
        new = self.transcript.with_suffix(".new")
        self.agent.transcribe(self.story.script(), new)
        new.replace(self.transcript)  # detached work may be reading it

    def hook(self, name: str, **fields: object) -> dict:
        """What the hook prints: its JSON, or its plain words as ``plain``."""
        event = {
            "session_id": self.session_id,
            "transcript_path": str(self.transcript),
            "cwd": str(Path.cwd()),
            "hook_event_name": name,
        }
        said = watch(self.agent.id, json.dumps(event | fields).encode())
        if not said:
            return {}
        return json.loads(said) if said.startswith(b"{") else {"plain": said.decode()}

    def user(self, name: str, **fields: object) -> str:
        """What the user is told at the event."""
        return self.hook(name, **fields).get("systemMessage", "")

    @property
    def state(self):
        return watch_states.state_of(self.agent.id, self.session_id)


def context(said: dict) -> str:
    """What the agent is told."""
    return said.get("hookSpecificOutput", {}).get("additionalContext", "")


def wait_for(condition, seconds: float = 60.0) -> None:
    """Until detached work has come so far."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
