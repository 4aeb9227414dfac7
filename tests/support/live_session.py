"""A live session as its hooks see it: a growing transcript, and events that the real program handles."""

import json
import time
from pathlib import Path

from leftoff.agents import claude, codex
from leftoff.live.events import handle_event
from leftoff.sessions import live_state
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
OTHER = "1c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b22"
AGENTS = {"claude": claude.here, "codex": codex.here}
RULE = "Never push to main."
_COMPACTED = (b'"subtype":"compact_boundary"', b'"type":"compacted"')


class LiveSession:
    """One session of one agent in the working folder."""

    def __init__(self, home: Path, agent_id: str = "claude", session_id: str = SESSION) -> None:
        self.agent = AGENTS[agent_id]()
        self.session_id = session_id
        folder = home / f".{agent_id}" / ("projects/x" if agent_id == "claude" else "sessions/2026/01/06")
        name = session_id if agent_id == "claude" else f"rollout-2026-01-06T12-00-00-{session_id}"
        self.transcript = folder / f"{name}.jsonl"
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self.story = Story(session_id=session_id, project=str(Path.cwd()), model="claude-sonnet-4-5")

    def turn(self, used: int, *, prompt: str = f"Fix src/lock.py. {RULE}") -> None:
        """Add a turn after which the window holds ``used`` tokens."""
        reading = call("shell", {"command": "pytest -q tests/test_lock.py"}, "1 failed", failed=True)
        self.story.asked(prompt).replied("On it.", reading, used=used)
        self.write()

    def write(self) -> None:
        new = self.transcript.with_suffix(".new")
        write_transcript(self.agent, self.story.script(), new)
        new.replace(self.transcript)  # a background process may be reading it

    def compacted(self, summary: str) -> None:
        """Append a compaction to the transcript, as clients do."""
        before = self.transcript.read_bytes()
        self.story.compacted(summary)
        self.write()
        lines = self.transcript.read_bytes().splitlines(keepends=True)
        (first,) = (number for number, line in enumerate(lines) if any(mark in line for mark in _COMPACTED))
        self.transcript.write_bytes(before + b"".join(lines[first:]))

    def hook(self, name: str, **fields: object) -> dict:
        """Return what the hook prints: its JSON, or its plain text as ``plain``."""
        event = {
            "session_id": self.session_id,
            "transcript_path": str(self.transcript),
            "cwd": str(Path.cwd()),
            "hook_event_name": name,
        }
        output = handle_event(self.agent.id, json.dumps(event | fields).encode())
        if not output:
            return {}
        return json.loads(output) if output.startswith(b"{") else {"plain": output.decode()}

    def message_to_user(self, name: str, **fields: object) -> str:
        """Return what the hook tells the user at the event."""
        return self.hook(name, **fields).get("systemMessage", "")

    @property
    def state(self):
        return live_state.load(self.agent.id, self.session_id)


def agent_context(output: dict) -> str:
    """Return what a hook's output tells the agent."""
    return output.get("hookSpecificOutput", {}).get("additionalContext", "")


def wait_for(condition, seconds: float = 110.0) -> None:
    """Wait until background work has made the condition true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)
