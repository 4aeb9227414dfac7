"""What /clear leaves in the lineage: the session before, where its hooks saw both in one process; else nothing."""

import os
import subprocess
import sys

import pytest

from leftoff.cli.main import run
from leftoff.platform import paths
from leftoff.sessions import live_state
from leftoff.sessions.ancestry import REGISTRY_NAME, load_family
from leftoff.shrink.family import family_tree
from leftoff.workspace import Workspace
from tests.support.live_session import OTHER, SESSION, LiveSession

THIRD = SESSION.replace("0b54", "2b54")
# Beside what every event has, as claude 2.1.325 sent them.
CLEARED_END = {"prompt_id": "2c45228d-a480-4f1a-afcc-f4274d81703f", "reason": "clear"}


@pytest.fixture
def process(monkeypatch):
    """Makes events come from the process of that number, as the client says it to its hooks."""
    return lambda pid: monkeypatch.setenv("CLAUDE_PID", str(pid))


@pytest.fixture
def another():
    """The number of another process that is running."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        yield child.pid
    finally:
        child.kill()
        child.communicate()


def cleared(old: LiveSession, new: LiveSession) -> None:
    """Clear a session as the client does, including the first prompt in the new one."""
    old.turn(50_000)
    old.hook("Stop")
    if old.agent.id == "claude":
        old.hook("SessionEnd", **CLEARED_END)
    new.hook("SessionStart", source="clear")
    new.turn(20_000, prompt="Something else")


def line_to(session: LiveSession) -> list[tuple[str | None, str | None]]:
    """The straight line to a session, oldest first: id and how each began."""
    chain = family_tree(str(session.transcript), Workspace.open()).chain
    return [(node.session_id, node.derivation_type) for node in chain]


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_a_session_that_was_cleared_for_another_comes_before_it(isolated_home, process, capsys, agent_id):
    """The relation is shown from either session, even if the agent does not report the end."""
    process(os.getpid())
    old, new = LiveSession(isolated_home, agent_id), LiveSession(isolated_home, agent_id, OTHER)
    cleared(old, new)
    assert line_to(new) == [(SESSION, None), (OTHER, "cleared-from")]
    tree = family_tree(str(old.transcript), Workspace.open()).root
    assert [(child.session_id, child.derivation) for child in tree.children] == [(OTHER, "cleared-from")]
    assert tree.was_cleared
    assert run(["lineage", str(new.transcript)]) == 0
    before, after = capsys.readouterr().out.splitlines()
    assert before.startswith(f"{SESSION[:8]}  original")
    assert "ended by /clear" in before
    assert after.startswith(f"└─ {OTHER[:8]}  cleared-from")
    assert after.endswith("Something else  <- this one")


def test_one_clear_after_another_is_a_line(isolated_home, process):
    """Each cleared session is the parent of the next one only."""
    process(os.getpid())
    first, second, third = (LiveSession(isolated_home, "claude", name) for name in (SESSION, OTHER, THIRD))
    cleared(first, second)
    cleared(second, third)
    assert line_to(third) == [(SESSION, None), (OTHER, "cleared-from"), (THIRD, "cleared-from")]


def test_a_session_that_was_resumed_and_cleared_again_comes_before_both(isolated_home, process):
    """The user returned from the second session to the first and cleared it again."""
    process(os.getpid())
    first, second, third = (LiveSession(isolated_home, "claude", name) for name in (SESSION, OTHER, THIRD))
    cleared(first, second)
    second.hook("SessionEnd", reason="resume")
    first.hook("SessionStart", source="resume")
    cleared(first, third)
    assert line_to(second) == [(SESSION, None), (OTHER, "cleared-from")]
    assert line_to(third) == [(SESSION, None), (THIRD, "cleared-from")]


def test_a_session_in_which_nothing_was_said_is_passed_over(isolated_home, process):
    """/clear, then /clear again: the one between has no file, and never had one."""
    process(os.getpid())
    first, second, third = (LiveSession(isolated_home, "claude", name) for name in (SESSION, OTHER, THIRD))
    first.turn(50_000)
    first.hook("SessionEnd", **CLEARED_END)
    second.hook("SessionStart", source="clear")
    second.hook("SessionEnd", **CLEARED_END)
    third.hook("SessionStart", source="clear")
    third.turn(20_000)
    assert line_to(third) == [(SESSION, None), (THIRD, "cleared-from")]


def test_a_first_session_in_which_nothing_was_said_is_not_an_origin(isolated_home, process):
    """A session that was cleared while empty has no history."""
    process(os.getpid())
    unused, new = LiveSession(isolated_home), LiveSession(isolated_home, session_id=OTHER)
    unused.hook("SessionStart", source="startup")
    unused.hook("SessionEnd", **CLEARED_END)
    new.hook("SessionStart", source="clear")
    new.turn(20_000)
    assert line_to(new) == [(OTHER, None)]


def test_what_was_noted_before_moments_were_kept_is_taken_once(isolated_home, process):
    """The state of an older version does not say when a session ended: who came after it came for good."""
    process(os.getpid())
    first, second, third = (LiveSession(isolated_home, "claude", name) for name in (SESSION, OTHER, THIRD))
    cleared(first, second)
    live_state.change("claude", SESSION, lambda state: (state._replace(ended_at=None), None))
    cleared(second, third)
    assert line_to(third) == [(SESSION, None), (OTHER, "cleared-from"), (THIRD, "cleared-from")]


def test_what_was_cleared_in_another_process_is_not_taken_for_it(isolated_home, process, another):
    """Two terminals in one folder; the end of the right one was not seen."""
    process(another)
    old, new = LiveSession(isolated_home), LiveSession(isolated_home, session_id=OTHER)
    old.turn(50_000)
    old.hook("SessionEnd", **CLEARED_END)
    process(os.getpid())
    new.hook("SessionStart", source="clear")
    new.turn(20_000)
    assert line_to(new) == [(OTHER, None)]


def test_what_was_cleared_in_another_project_is_not_taken_for_it(isolated_home, process, tmp_path):
    """One process goes from folder to folder; the end of the right one was not seen."""
    process(os.getpid())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    old, new = LiveSession(isolated_home), LiveSession(isolated_home, session_id=OTHER)
    old.story.project = str(elsewhere)
    old.turn(50_000)
    old.hook("Stop", cwd=str(elsewhere))
    old.hook("SessionEnd", cwd=str(elsewhere), **CLEARED_END)
    assert old.state.project == str(elsewhere)
    new.hook("SessionStart", source="clear")
    new.turn(20_000)
    assert line_to(new) == [(OTHER, None)]


def test_of_two_that_were_cleared_none_is_taken(isolated_home, process):
    """The start of the session between them was not seen, so it is unknown which of them it followed."""
    process(os.getpid())
    first, second, third = (LiveSession(isolated_home, "claude", name) for name in (SESSION, OTHER, THIRD))
    for each in (first, second):
        each.turn(50_000)
        each.hook("SessionEnd", **CLEARED_END)
    third.hook("SessionStart", source="clear")
    third.turn(20_000)
    assert line_to(third) == [(THIRD, None)]


def test_a_session_that_ended_otherwise_was_not_cleared(isolated_home, process):
    """A client that does not report its process is never taken to have cleared a session."""
    process(os.getpid())
    old, new = LiveSession(isolated_home), LiveSession(isolated_home, session_id=OTHER)
    old.turn(50_000)
    old.hook("SessionEnd", reason="prompt_input_exit")
    new.hook("SessionStart", source="clear")
    new.turn(20_000)
    assert line_to(new) == [(OTHER, None)]
    process("")
    cleared(new, third := LiveSession(isolated_home, session_id=THIRD))
    assert line_to(third) == [(THIRD, None)]


def test_a_cleared_session_is_not_an_origin_of_content(isolated_home, process):
    """A cleared session is neither in the lineage block nor searched for originals."""
    process(os.getpid())
    old, new = LiveSession(isolated_home), LiveSession(isolated_home, session_id=OTHER)
    cleared(old, new)
    assert load_family().origin(new.transcript) is None
    assert load_family().ancestor_ids(new.transcript) == frozenset()
    assert load_family().derived == []


def test_the_same_start_twice_and_a_session_that_was_never_used_leave_one_line(isolated_home, process):
    """A new session without a file is not shown as a missing child."""
    process(os.getpid())
    old, new = LiveSession(isolated_home), LiveSession(isolated_home, session_id=OTHER)
    old.turn(50_000)
    old.hook("SessionEnd", **CLEARED_END)
    for _ in range(2):
        new.hook("SessionStart", source="clear")
    assert len((paths.data_folder() / REGISTRY_NAME).read_bytes().splitlines()) == 1
    assert family_tree(str(old.transcript), Workspace.open()).root.children == ()


def test_a_registry_that_cannot_be_written_harms_no_start(isolated_home, process):
    """The failure is written to leftoff's own log."""
    process(os.getpid())
    old, new = LiveSession(isolated_home), LiveSession(isolated_home, session_id=OTHER)
    (paths.data_folder() / REGISTRY_NAME).mkdir(parents=True)
    cleared(old, new)
    assert line_to(new) == [(OTHER, None)]
    logged = "\n".join(path.read_text("utf-8") for path in paths.state_folder().rglob("*.log"))
    assert "what this session was cleared from was not kept" in logged
