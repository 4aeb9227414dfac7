"""A compaction that a mod of the client answers: no summary is asked for, and the transcript shows later what was kept."""

from pathlib import Path

import pytest

from leftoff.resume_logs.pins import pin
from leftoff.workspace import Workspace
from tests.support.claude_writer import as_compacted_by_mod
from tests.support.live_session import RULE, agent_context

PIN = "The release is frozen until Friday."
COMMAND = "pytest -q tests/test_lock.py"


@pytest.fixture
def compact(live):
    """Compacts: the hooks run before the client writes anything; ``keeps`` says what the mod leaves of the conversation."""
    live.turn(152_000)
    live.hook("PostToolBatch")
    assert live.state.pause_id is not None

    def compact(*, keeps_all: bool) -> dict:
        live.story.compacted("-", after=9_000)
        live.write()
        as_compacted_by_mod(live.transcript, f"A card of the mod. {PIN}", keeps=False)
        lines = live.transcript.read_bytes().splitlines(keepends=True)
        (boundary,) = (number for number, line in enumerate(lines) if b'"compact_boundary"' in line)
        end = len(lines) if keeps_all else boundary + 2
        live.transcript.write_bytes(b"".join(lines[:boundary]))
        assert live.hook("PostCompact", trigger="auto", compact_summary="") == {}, "wired by an older leftoff"
        answer = live.hook("SessionStart", source="compact")
        live.transcript.write_bytes(b"".join(lines[:end]))
        return answer

    return compact


def saved_logs():
    return [*(Path.cwd() / ".leftoff" / "resume-logs").glob("session-*.json")]


def test_everything_is_saved_at_the_start_and_nothing_is_repeated(live, compact):
    pin(PIN, Workspace.open())
    assert compact(keeps_all=True) == {}
    assert len(saved_logs()) == 1
    assert live.state.pause_id is None
    assert live.state.said == "ok"
    answer = live.hook("PostToolBatch")
    assert agent_context(answer) == ""
    assert answer["systemMessage"].startswith("leftoff: The compaction kept 1 rule, 1 pin and 1 command")
    assert live.hook("PostToolBatch") == {}


def test_what_the_mod_dropped_is_handed_over_at_the_next_event(live, compact):
    """The pin is on the mod's card; the rule and the command are gone."""
    pin(PIN, Workspace.open())
    assert compact(keeps_all=False) == {}
    assert "dropped" not in live.message_to_user("Stop"), "the agent does not have it yet"
    answer = live.hook("UserPromptSubmit", prompt="What is next?")
    restored = agent_context(answer)
    assert RULE in restored
    assert COMMAND in restored
    assert PIN not in restored
    assert "The compaction dropped your rule and 1 command" in answer["systemMessage"]
    assert "cannot be read" not in answer["systemMessage"]


def test_the_second_such_compaction_is_counted_by_itself(live, compact):
    compact(keeps_all=True)
    live.hook("SessionStart", source="compact")
    assert live.state.compaction == "withheld"
    assert live.state.compaction_at_bytes == live.transcript.stat().st_size
