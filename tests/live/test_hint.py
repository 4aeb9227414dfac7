"""``recall.hint``: one line with the record to expand, when a command fails again and when a decided file is opened."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.catalogue.database import FILE_NAME, library_folder
from leftoff.config import load, save
from leftoff.live import fast, hint
from leftoff.mcp.server import answer
from leftoff.platform import paths
from leftoff.platform.log import log_path
from leftoff.search.update_index import rebuild_library
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.support.live_session import agent_context

EARLIER = "11111111-1111-4111-8111-111111111111"
FAILING = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_use_id": "c-1"}
READING = {"tool_name": "Read", "tool_use_id": "c-2", "tool_response": "x = 1"}


@pytest.fixture
def earlier(home):
    """Write and index a session in which a command failed until a file was changed, with its reason."""
    cart = str(Path.cwd() / "src" / "cart.py")
    story = Story(session_id=EARLIER, project=str(Path.cwd())).asked("Repair the total")
    story.replied("", call("shell", {"command": "pytest -q"}, "E  assert 90 == 95", failed=True))
    story.replied(
        "I round later in cart.py, because rounding before the voucher loses a cent.",
        call("edit", {"path": cart, "old": "a", "new": "b"}),
    ).replied("", call("shell", {"command": "pytest -q"}, "12 passed in 1 s"))
    home.claude(story)
    rebuild_library(Workspace.open(), None)
    return cart


def tools(live, *calls):
    return live.hook("PostToolBatch", tool_calls=[*calls])


def failed(**changes):
    return FAILING | {"tool_response": "Exit code 1\nE  assert 90 == 95"} | changes


def switch_on():
    save.save_setting(paths.config_folder() / load.FILE_NAME, "recall.hint", True)


def begin(live):
    live.turn(20_000)
    live.hook("SessionStart", source="startup")


def test_a_command_that_failed_before_names_what_fixed_it(earlier, live):
    switch_on()
    begin(live)
    line = agent_context(tools(live, failed()))
    assert line.startswith("leftoff, ")
    assert "this command failed before and passed after cart.py was changed" in line
    assert len(line) <= 200
    text, is_error = answer("expand", {"id": line.rpartition("expand ")[2]})
    assert not is_error
    assert "rounding before the voucher" in text or "cart.py" in text


def test_a_file_that_was_changed_for_a_reason_names_it_once(earlier, live):
    switch_on()
    begin(live)
    reading = READING | {"tool_input": {"file_path": earlier}}
    line = agent_context(tools(live, reading))
    assert "an earlier session changed cart.py: “" in line
    assert "because rounding before the voucher" in line
    assert len(line) <= 200
    assert agent_context(tools(live, reading)) == ""


@pytest.mark.parametrize(
    "calls",
    [
        [failed(tool_input={"command": "make other"})],
        [FAILING | {"tool_response": "12 passed in 1 s"}],
        [READING | {"tool_input": {"file_path": "/elsewhere/new.py"}}],
        [{"tool_name": "Read"}],
    ],
)
def test_nothing_is_said_without_an_earlier_record(earlier, live, calls):
    switch_on()
    begin(live)
    assert agent_context(tools(live, *calls)) == ""


def test_nothing_is_said_by_default_and_the_fast_path_handles_the_calls(earlier, live):
    begin(live)
    assert agent_context(tools(live, failed())) == ""
    state = {"fast_path": {}, "hints": False}
    assert not fast._is_due("tools", {}, state, None)
    assert fast._is_due("tools", {}, state | {"hints": True}, None)
    assert not fast._is_due("stop", {}, state | {"hints": True}, None)


def test_without_an_index_none_is_built(live, isolated_home):
    switch_on()
    begin(live)
    assert agent_context(tools(live, failed())) == ""
    assert not [*isolated_home.rglob("*.sqlite*")]


@pytest.mark.parametrize(
    "change", ["UPDATE facts SET value = 1 WHERE name = 'words'", "DELETE FROM facts WHERE name = 'built'"]
)
def test_an_old_or_incomplete_index_is_not_built_by_a_hook(earlier, live, change):
    switch_on()
    begin(live)
    index = f"{library_folder()}/{FILE_NAME}"
    with closing(sqlite3.connect(index)) as connection, connection:
        connection.execute(change)
        before = connection.execute("SELECT * FROM facts").fetchall()
    assert agent_context(tools(live, failed())) == ""
    with closing(sqlite3.connect(index)) as connection:
        assert connection.execute("SELECT * FROM facts").fetchall() == before


def test_earlier_sessions_are_read_once_for_a_file_that_has_no_reason(earlier, live, monkeypatch):
    """What a hook may read is limited too: of sessions that are larger, nothing is said."""
    switch_on()
    begin(live)
    reading = READING | {"tool_input": {"file_path": earlier}}
    monkeypatch.setattr(hint, "_MOST_BYTES", 100)
    assert agent_context(tools(live, reading)) == ""
    monkeypatch.undo()
    assert agent_context(tools(live, reading)) == ""


def test_a_hint_that_fails_is_logged_and_the_hook_answers(earlier, live, monkeypatch):
    switch_on()
    begin(live)
    monkeypatch.setattr(hint, "_SESSIONS", "four")
    assert agent_context(tools(live, failed())) == ""
    assert "hint: TypeError: " in log_path().read_text("utf-8")
