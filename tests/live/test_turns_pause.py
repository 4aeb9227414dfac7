"""The pause of a live session: ended by a compaction or a command, or discarded; and what the hooks do then."""

import json
import os
from pathlib import Path

import pytest

from leftoff.pause.finalize import Ending, end_selected
from leftoff.pause.folders import session_pause
from leftoff.pause.lifecycle import discard_selected
from leftoff.platform import locks, log, paths
from leftoff.sessions import live_state
from leftoff.workspace import Workspace
from tests.support.live_session import SESSION, LiveSession


@pytest.fixture
def live(isolated_home, monkeypatch):
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))
    live = LiveSession(isolated_home)
    yield live
    own = live_state.path_of(live.agent.id, live.session_id)
    with locks.hold(own.with_name(f".{own.name}.task.lock"), timeout_seconds=20):
        pass  # its detached work is over


@pytest.fixture
def paused(live):
    """A session whose wind-down is being recorded."""
    live.turn(152_000)
    tool(live, "first")
    assert live.state.pause_id is not None
    return live


def tool(live, name):
    live.hook("PostToolBatch", tool_calls=[{"tool_name": name, "tool_use_id": f"c-{name}"}])


def pause_file():
    return session_pause("claude", SESSION, Workspace.open()).file


def tools_in(text):
    lines = [json.loads(line) for line in text.splitlines()]
    return [line["data"]["tool"] for line in lines if line["type"] == "tool_call"]


def archives():
    found = sorted((Path.cwd() / ".leftoff" / "sessions").glob("*-incremental.jsonl"))
    return [tools_in(path.read_text("utf-8")) for path in found]


def test_three_compactions_make_three_snapshots_and_nothing_between_is_recorded(live):
    """Through the hooks themselves: each crossing begins a pause, each compaction ends it."""
    for number in range(3):
        live.turn(60_000, prompt=f"Low {number}")
        tool(live, f"low{number}")
        live.hook("UserPromptSubmit", prompt="go on")
        live.hook("Stop")
        assert not pause_file().is_active()
        live.turn(152_000, prompt=f"High {number}")
        tool(live, f"high{number}")
        live.hook("Stop")
        live.hook("PreCompact", trigger="auto")
        assert live.state.pause_id is None
        assert len(archives()) == number + 1
        live.story.compacted("A summary.", after=20_000)
        live.write()
        live.hook("SessionStart", source="compact")
        tool(live, f"between{number}")
        assert not pause_file().is_active()
    assert archives() == [["high0"], ["high1"], ["high2"]]
    assert len([*(Path.cwd() / ".leftoff" / "sessions").glob("session-*[0-9a-f].json")]) == 3


def test_after_a_finalise_by_command_the_wind_down_is_recorded_again(paused):
    """The window is still full: what comes now is worth as much as what came before."""
    ended = end_selected(None, Workspace.open(), Ending(reason="by command"))
    tool(paused, "second")
    assert paused.state.pause_id not in (None, ended.session_id)
    assert tools_in(pause_file().path.read_text("utf-8")) == ["second"]
    assert archives() == [["first"]]


def test_after_a_discard_nothing_is_recorded_until_the_next_crossing(paused):
    """The user did not want it; the next time the window fills up is another matter."""
    discard_selected(None, Workspace.open())
    tool(paused, "second")
    paused.turn(160_000)  # critical, and still the same wind-down
    tool(paused, "third")
    paused.hook("Stop")
    assert paused.state.pause_id is None
    assert not pause_file().is_active()
    paused.turn(60_000)
    tool(paused, "low")
    paused.turn(152_000)
    tool(paused, "fourth")
    assert tools_in(pause_file().path.read_text("utf-8")) == ["fourth"]


def test_after_a_discard_a_compaction_begins_again_too(paused):
    """Every mark counts again then."""
    discard_selected(None, Workspace.open())
    tool(paused, "second")
    paused.hook("PreCompact", trigger="auto")
    tool(paused, "third")
    assert tools_in(pause_file().path.read_text("utf-8")) == ["third"]


def test_a_pause_that_ended_is_forgotten_also_below_the_mark(paused):
    """Otherwise every event would ask after it."""
    end_selected(None, Workspace.open(), Ending())
    paused.turn(60_000)
    tool(paused, "low")
    assert paused.state.pause_id is None
    assert not pause_file().is_active()
    assert not (paths.state_folder() / log.NAME).exists()


def test_a_subagent_s_event_leaves_a_pause_that_ended_to_the_session_s_own(paused):
    """The event is not recorded and causes no error."""
    discard_selected(None, Workspace.open())
    paused.hook("PostToolBatch", agent_id="a-1", tool_calls=[{"tool_name": "sub", "tool_use_id": "s"}])
    assert not pause_file().is_active()
