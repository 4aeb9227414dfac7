"""The folder that a live session belongs to, and the session whose compaction an event reports."""

import subprocess
from pathlib import Path

import pytest

from leftoff.resume_logs.pins import list_pins
from leftoff.workspace import Workspace
from tests.support.live_session import OTHER, LiveSession, agent_context, wait_for

pytestmark = pytest.mark.usefixtures("interactive_user")


def logs(folder="."):
    return sorted((Path(folder) / ".leftoff" / "resume-logs").glob("session-*.json"))


def test_a_session_stays_in_the_folder_it_was_begun_in(live):
    """The agent's changes of folder move neither pins nor logs."""
    Path("sub").mkdir()
    live.turn(50_000)
    live.hook("SessionStart", source="startup")
    live.hook("UserPromptSubmit", prompt=">pin never touch vendor", cwd=str(Path("sub").absolute()))
    assert [each.text for each in list_pins(Workspace.open())] == ["never touch vendor"]
    response = live.hook("PreCompact", trigger="auto", cwd=str(Path("sub").absolute()))
    assert "never touch vendor" in response["plain"]
    assert len(logs()) == 1
    assert not Path("sub/.leftoff").exists()


def test_a_nested_repository_is_not_the_sessions_own(live):
    """The agent works in a nested repository for a while, but the log stays in the session's project."""
    subprocess.run(["git", "init", "-q", "."], check=True)
    subprocess.run(["git", "init", "-q", "vendor/lib"], check=True)
    live.turn(50_000)
    live.hook("SessionStart", source="startup")
    live.hook("PreCompact", trigger="auto", cwd=str(Path("vendor/lib").absolute()))
    assert len(logs()) == 1
    assert not Path("vendor/lib/.leftoff").exists()


def test_resumed_elsewhere_it_belongs_there(live):
    """The user changed the folder, not the agent."""
    live.turn(50_000)
    live.hook("SessionStart", source="startup")
    Path("there").mkdir()
    live.hook("SessionStart", source="resume", cwd=str(Path("there").absolute()))
    live.hook("UserPromptSubmit", prompt=">pin x y z", cwd=str(Path.cwd()))
    assert [each.text for each in list_pins(Workspace.open(Path("there").absolute()))] == ["x y z"]


def test_a_folder_that_is_gone_loses_no_log(live):
    """The project's root is still there."""
    subprocess.run(["git", "init", "-q", "."], check=True)
    Path("sub").mkdir()
    live.turn(50_000)
    live.hook("SessionStart", source="startup", cwd=str(Path("sub").absolute()))
    gone = str(Path("sub").absolute())
    Path("sub").rmdir()
    live.hook("PreCompact", trigger="auto", cwd=gone)
    assert len(logs()) == 1
    assert not Path("sub").exists()


def test_a_subagents_compaction_is_its_own_business(live):
    """The session's pause continues, its warnings are not repeated, and the subagent's summariser gets nothing."""
    live.turn(155_000)
    live.hook("SessionStart", source="startup")
    assert "Auto-Pause" in live.message_to_user("PostToolBatch", tool_calls=[])
    pause = live.state.pause_id
    assert live.hook("PreCompact", trigger="auto", agent_id="a1") == {}
    assert live.state.pause_id == pause
    assert live.message_to_user("PostToolBatch", tool_calls=[]) == ""


def test_a_compaction_drops_the_message_about_the_few_tokens_left(live):
    """A message that Stop could not deliver is outdated after the compaction."""
    live.turn(160_000)
    live.hook("SessionStart", source="startup")
    live.hook("Stop")
    assert "remain" in "".join(live.state.to_agent)
    live.hook("PreCompact", trigger="manual")
    response = live.hook("SessionStart", source="compact")
    assert "remain." not in agent_context(response)


def test_what_cannot_be_saved_is_reported_and_the_warning_with_it(live):
    """A warning is said once, so nothing else may swallow it."""
    live.turn(50_000)
    live.hook("SessionStart", source="startup")
    wait_for(lambda: not live.state.catching_up)
    subprocess.run(["rm", "-rf", ".leftoff"], check=True)
    Path(".leftoff").write_text("a file", encoding="utf-8")
    live.turn(145_000)
    message = live.message_to_user("UserPromptSubmit", prompt="save progress")
    assert "Context Usage Warning" in message
    assert ".leftoff" in message


@pytest.mark.parametrize("way", ["headless", "off"])
def test_a_killed_session_is_caught_up_whatever_begins_next(isolated_home, live, monkeypatch, way):
    """A headless run or one that is offered nothing; and what a short run left behind hides nothing."""
    killed = LiveSession(isolated_home, session_id=OTHER)
    killed.turn(50_000)
    if way == "headless":
        monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")
    else:
        monkeypatch.setenv("LEFTOFF_RESTORE_ON_STARTUP", "off")
    live.hook("SessionStart", source="startup")
    wait_for(lambda: any(OTHER in path.name for path in logs()))


def test_a_resumed_session_and_its_neighbours_hear_about_each_other(isolated_home, live):
    first = LiveSession(isolated_home, session_id=OTHER)
    first.turn(50_000)
    first.hook("SessionStart", source="startup")
    live.turn(50_000)
    assert "another session is running" in live.message_to_user("SessionStart", source="resume")
    assert "another session has begun" in first.message_to_user("UserPromptSubmit", prompt="go")
