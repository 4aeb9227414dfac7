"""A compaction while the session is idle, as Claude Code 2.1.325 made it 54 minutes after the last turn: its transcript and its hook events."""

import json
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.live.events import handle_event
from leftoff.resume_logs.save import log_text
from leftoff.sessions.status import status_of
from leftoff.workspace import SessionRef, Workspace
from tests.support.live_session import RULE, agent_context

GOLDEN = Path(__file__).parents[1] / "golden" / "clients"
RECORDED = "claude-2.1.325-idle-compaction"
COMMAND = "seq 1 400"
NOTICE = "Compacted while idle"


class IdleSession:
    """The recorded session, event by event."""

    def __init__(self, home: Path) -> None:
        lines = (GOLDEN / f"{RECORDED}.events.jsonl").read_text("utf-8").splitlines()
        self.events = [json.loads(line) for line in lines]
        self.lines = (GOLDEN / f"{RECORDED}.jsonl").read_bytes().splitlines(keepends=True)
        self.transcript = home / ".claude" / "projects" / "x" / f"{self.events[0]['session_id']}.jsonl"
        self.transcript.parent.mkdir(parents=True)

    def write(self, until: bytes) -> None:
        """Write the transcript up to the last line that has this text; nothing of it for no text."""
        last = max((number for number, line in enumerate(self.lines) if until and until in line), default=-1)
        self.transcript.write_bytes(b"".join(self.lines[: last + 1]))

    def send(self, name: str, **fields: str) -> dict:
        """Send the next recorded event, which has to be this one, and return what the hook prints."""
        event = self.events.pop(0)
        assert event["hook_event_name"] == name
        assert {key: event[key] for key in fields} == fields
        here = {"transcript_path": str(self.transcript), "cwd": str(Path.cwd())}
        output = handle_event("claude", json.dumps(event | here).encode())
        return json.loads(output) if output.startswith(b"{") else {}


@pytest.fixture
def idle(isolated_home):
    """The session after its first turn."""
    session = IdleSession(isolated_home)
    session.write(b"")
    session.send("SessionStart", source="startup")
    session.send("UserPromptSubmit")
    session.write(b'"turn_duration"')
    session.send("Stop")
    return session


def saved_logs() -> list[Path]:
    return [*(Path.cwd() / ".leftoff" / "resume-logs").glob("session-*.json")]


def test_the_log_is_saved_before_the_client_compacts(idle):
    idle.send("PreCompact", trigger="auto")
    assert len(saved_logs()) == 1


def test_the_next_prompt_has_what_the_summary_lost(idle):
    idle.send("PreCompact", trigger="auto")
    context = agent_context(idle.send("SessionStart", source="compact"))
    assert RULE in context
    assert COMMAND in context
    idle.send("PostCompact", trigger="auto")
    idle.write(NOTICE.encode())
    answer = idle.send("UserPromptSubmit")
    assert "dropped your rule and 1 command; leftoff restored all of it" in answer["systemMessage"]


def test_the_gauge_and_the_log_know_the_compaction_and_not_the_clients_notice(idle):
    idle.write(NOTICE.encode())
    ref = SessionRef(agent=claude.here(), transcript=idle.transcript)
    used = status_of(ref, Workspace.open()).metrics.used_tokens
    assert used is not None
    assert used < 210_000
    log = log_text(ref, Workspace.open())
    assert "**Compactions:** 1" in log
    assert NOTICE not in log
