"""Events of sessions that are over, in deleted or hostile folders, with texts that are too long or misleading."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from leftoff.core import markdown
from leftoff.live.events import handle_event
from leftoff.live.saving import end_session, save
from leftoff.platform import clock, locks, paths
from leftoff.resume.resume import find_resume_point
from leftoff.resume_logs.pins import pin
from leftoff.resume_logs.restore import logs_to_offer
from leftoff.sessions import live_state
from leftoff.storage import file_store
from leftoff.testing.builders import call
from leftoff.workspace import Workspace
from tests.support.live_session import OTHER, RULE, SESSION, LiveSession, agent_context, wait_for

LOGS = Path(".leftoff") / "resume-logs"


pytestmark = pytest.mark.usefixtures("interactive_user")


def earlier(
    isolated_home, prompt="Write src/ledger.py.", reply="The ledger keeps cents now.", session_id=OTHER
):
    """A session that ended, with its log."""
    session = LiveSession(isolated_home, session_id=session_id)
    writing = call("write", {"path": "src/ledger.py", "content": "CENTS = 100\n"})
    session.story.asked(prompt).replied("", writing).replied(reply, used=50_000)
    session.write()
    session.hook("SessionEnd", reason="prompt_input_exit")
    wait_for((Path.cwd() / LOGS / f"session-{session_id}.json").exists)
    settled(session)
    return session


def settled(session):
    """Wait until the detached work of the session is over."""
    wait_for(lambda: not session.state.catching_up)
    with locks.hold(
        live_state.task_lock(live_state.path_of(session.agent.id, session.session_id)), timeout_seconds=60
    ):
        pass


def start_session(live):
    """Start the session and return the response to its first event."""
    response = live.hook("SessionStart", source="startup")
    settled(live)
    return response


# What is over


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        ("Write src/ledger.py.", "All done. The tests pass."),
        ("Write src/ledger.py.", "The migration is complete."),
        ("Thanks, that's all!", "You are welcome."),
        ("Perfect.", "Glad to hear it."),
    ],
)
def test_a_finished_session_is_kept_and_not_offered(isolated_home, live, prompt, reply):
    """Nothing is open, and the user or the agent said that the work is done."""
    earlier(isolated_home, prompt, reply)
    log = json.loads((LOGS / f"session-{OTHER}.json").read_text("utf-8"))
    assert log["metadata"]["ended"] == "finished"
    assert start_session(live) == {}
    assert live.hook("UserPromptSubmit", prompt="continue") == {}
    assert find_resume_point("latest", Workspace.open()).session_id == OTHER  # it is still found on request


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        ("Write src/ledger.py.", "half of it is done"),
        ("Write src/ledger.py.", "The ledger keeps cents now."),
        ("Write src/ledger.py.", "Everything is done but the tests."),
        ("Thanks! Now please add the tests.", "They are added."),
    ],
)
def test_silence_is_not_an_end(isolated_home, live, prompt, reply):
    """People close windows in the middle of their work; such a session is offered, with a next step only if it has one."""
    earlier(isolated_home, prompt, reply)
    response = start_session(live)
    assert f"in session {OTHER[:8]}" in response["systemMessage"]
    assert "Nothing is left open" not in json.dumps(response)
    where = find_resume_point("latest", Workspace.open())
    assert where.open == (0 if where.next_step is None else where.open)
    assert "Nothing is left open" not in str(where.next_step)


def test_what_is_cleared_without_a_word_is_ended_all_the_same(isolated_home):
    """Codex reports only that another session has begun."""
    old, new = LiveSession(isolated_home, "codex"), LiveSession(isolated_home, "codex", OTHER)
    old.turn(50_000)
    old.hook("Stop")
    assert new.hook("SessionStart", source="clear") == {}
    wait_for((LOGS / f"session-{SESSION}.json").exists)
    settled(old)
    assert json.loads((LOGS / f"session-{SESSION}.json").read_text("utf-8"))["metadata"]["ended"] == "cleared"
    assert old.state.ended == "clear"
    again = LiveSession(isolated_home, "codex", SESSION.replace("0b54", "4b54"))
    assert "left off" not in start_session(again).get("systemMessage", "")


def test_of_several_sessions_of_one_process_none_is_taken_for_the_cleared_one(isolated_home):
    sessions = [
        LiveSession(isolated_home, "codex", SESSION.replace("0b54", f"{number}b54")) for number in range(3)
    ]
    for each in sessions[:2]:
        each.turn(50_000)
        each.hook("Stop")
    sessions[2].hook("SessionStart", source="clear")
    assert [each.state.ended for each in sessions] == [None, None, None]


# What is offered


def test_a_prompt_about_something_else_is_given_nothing(isolated_home, live):
    """Ordinary words that are also names in the log occur in many prompts."""
    session = LiveSession(isolated_home, session_id=OTHER)
    reading = call(
        "shell", {"command": "cat src/config.py"}, "def move(): pass\nclass Config: pass\nTOKEN_LIMIT = 5\n"
    )
    session.story.asked("Read src/config.py and explain move.").replied(
        "It moves Config.", reading, used=50_000
    )
    session.write()
    session.hook("SessionEnd", reason="other")
    wait_for((LOGS / f"session-{OTHER}.json").exists)
    settled(session)
    start_session(live)
    assert agent_context(live.hook("UserPromptSubmit", prompt="Please move the config file elsewhere")) == ""


def test_the_offer_keeps_the_path_and_shortens_the_mission(isolated_home, live):
    """The offer has at most 600 characters, however long the mission and next step are."""
    session = LiveSession(isolated_home, session_id=OTHER)
    session.turn(50_000, prompt="Rework the ledger: " + "every amount is kept in cents, " * 30)
    session.hook("SessionEnd", reason="other")
    wait_for((LOGS / f"session-{OTHER}.json").exists)
    settled(session)
    context = agent_context(start_session(live))
    assert len(context) <= 600
    assert f"Whole: {Path.cwd() / LOGS / f'session-{OTHER}.json'}" in context
    assert "Mission: Rework the ledger" in context
    assert "Next step: " in context


def test_the_line_to_the_user_is_not_cut_in_a_quotation(isolated_home, live):
    """The user's words are cut between words and end with one full stop."""
    earlier(
        isolated_home,
        "Rework the ledger so that it keeps every amount in cents and rounds at the very end only, please.",
    )
    line = start_session(live)["systemMessage"].splitlines()[0]
    assert ": Rework the ledger so that it keeps" in line
    assert "“" not in line
    assert "…." not in line
    assert "…" in line


def test_a_session_is_as_old_as_its_last_activity(isolated_home, live):
    """A log may be made much later than the last activity of its session."""
    old = LiveSession(isolated_home, session_id=OTHER)
    old.turn(50_000)
    then = clock.now().timestamp() - 20 * 86_400 - 60
    os.utime(old.transcript, (then, then))
    start_session(live)  # which catches it up
    wait_for((LOGS / f"session-{OTHER}.json").exists)
    again = LiveSession(isolated_home, session_id=SESSION.replace("0b54", "4b54"))
    assert "eft off 20 days ago" in start_session(again)["systemMessage"]
    assert (clock.now() - find_resume_point("latest", Workspace.open()).last_session).days == 20


def test_a_log_saved_late_is_announced_with_what_to_type(isolated_home, live):
    """By then the first prompt has been answered."""
    killed = LiveSession(isolated_home, session_id=OTHER)
    killed.turn(50_000)
    start_session(live)
    words = live.message_to_user("UserPromptSubmit", prompt="What is the weather like?")
    assert words.startswith(f"leftoff: session {OTHER[:8]} ended without a log; it has one now. ")
    assert words.endswith('Say "continue" or type >pickup to continue it.')
    assert OTHER[:8] in live.hook("UserPromptSubmit", prompt=">pickup")["reason"]


def test_a_session_with_a_log_did_not_end_without_one(isolated_home, live):
    """The session continued after its log was saved; the offer has named it already."""
    session = earlier(isolated_home)
    then = clock.now().timestamp() - 60
    for path in LOGS.glob("session-*"):
        os.utime(path, (then, then))
    session.turn(51_000)
    assert OTHER[:8] in start_session(live)["systemMessage"]
    assert "without a log" not in live.message_to_user("UserPromptSubmit", prompt="What is the weather like?")


def test_pickup_says_what_each_log_is_about(isolated_home, live):
    """Each log is listed with its age and its mission."""
    earlier(isolated_home, "Write src/ledger.py.")
    earlier(isolated_home, "Port the parser.", session_id=OTHER.replace("1c54", "2c54"))
    listed = live.hook("UserPromptSubmit", prompt=">pickup 2")["reason"].splitlines()[1:-1]
    assert [line.split("  ")[-1] for line in listed] == [
        "just now: Port the parser.",
        "just now: Write src/ledger.py.",
    ]


@pytest.mark.parametrize("filling", ["The ledger must balance. ", "💰 Das Hauptbuch muß stimmen. "])
def test_a_log_picked_up_in_a_nearly_full_window_fits_with_the_warning(isolated_home, live, filling):
    """All that is handed over at once counts, in the units that agents count."""
    session = LiveSession(isolated_home, session_id=OTHER)
    for number in range(60):
        session.turn(40_000 + number, prompt=f"Step {number}: never rename part{number}. {filling * 20}")
    session.hook("SessionEnd", reason="other")
    settled(session)
    wait_for((LOGS / f"session-{OTHER}.json").exists)
    live.turn(50_000)
    live.hook("UserPromptSubmit", prompt=">pickup")
    live.turn(160_000)
    context = agent_context(live.hook("UserPromptSubmit", prompt="Now do it."))
    assert "leftoff: about " in context
    assert f"# Session Resume Log: {OTHER}" in context
    assert 5_000 < markdown.utf16_length(context) <= 9_900


# What is gone


@pytest.fixture
def worktree(isolated_home):
    """A worktree outside the repository's folder, and the repository itself."""
    main, tree = isolated_home / "main", isolated_home / "trees" / "b"
    main.mkdir()
    for words in (
        ("init", "-q", "-b", "main"),
        ("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"),
        ("worktree", "add", "-q", "-b", "b", str(tree)),
    ):
        subprocess.run(["git", *words], cwd=main, check=True)
    return main, tree


def removed(main, tree):
    subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=main, check=True)
    assert not tree.exists()


@pytest.mark.parametrize("work", [save, end_session])
def test_a_worktree_that_was_removed_does_not_come_back(isolated_home, worktree, monkeypatch, work):
    """Logs that are saved after the removal go to the main checkout."""
    main, tree = worktree
    monkeypatch.chdir(tree)
    live = LiveSession(isolated_home)
    live.turn(50_000)
    live.hook("PostToolBatch")
    monkeypatch.chdir(main)
    removed(main, tree)
    live_state.change("claude", SESSION, lambda state: (state._replace(ended="other"), None))
    work(live.state)
    assert not tree.exists()
    assert (main / LOGS / f"session-{SESSION}.json").exists()


def test_a_compaction_in_a_folder_that_is_gone_is_saved_and_made_good(isolated_home, worktree, monkeypatch):
    """The summariser also gets the pins of the project."""
    main, tree = worktree
    monkeypatch.chdir(tree)
    pin("The release is frozen until Friday.", Workspace.open(tree))
    live = LiveSession(isolated_home)
    live.turn(165_000)
    live.hook("PostToolBatch")
    monkeypatch.chdir(main)
    removed(main, tree)
    response = live.hook("PreCompact", trigger="auto", cwd=str(tree))["plain"]
    assert "The release is frozen until Friday." in response
    back = agent_context(live.hook("SessionStart", source="compact", cwd=str(tree)))
    assert RULE in back
    assert "The release is frozen until Friday." in back
    assert (main / LOGS / f"session-{SESSION}.json").exists()
    assert not tree.exists()


def test_a_project_that_is_gone_is_not_made_again(isolated_home, tmp_path, monkeypatch):
    """Outside git there is no other checkout; the log goes to the user's own folder."""
    folder = isolated_home / "work" / "project"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    live = LiveSession(isolated_home)
    live.turn(165_000)
    live.hook("PostToolBatch")
    settled(live)
    monkeypatch.chdir(isolated_home)
    subprocess.run(["rm", "-r", str(folder)], check=True)
    live.hook("PreCompact", trigger="auto", cwd=str(folder))
    assert RULE in agent_context(live.hook("SessionStart", source="compact", cwd=str(folder)))
    assert not folder.exists()
    assert [*paths.data_folder().rglob(f"session-{SESSION}.json")]


# What is planted


def test_of_many_logs_that_came_with_a_clone_few_are_looked_at(isolated_home, live, monkeypatch):
    """The user's own are found among them, and the rest waits unread."""
    earlier(isolated_home)
    text = (LOGS / f"session-{OTHER}.json").read_text("utf-8")
    for number in range(300):
        (LOGS / f"session-planted-{number}.json").write_text(
            text.replace(OTHER, f"planted-{number}") + " " * number, encoding="utf-8"
        )
    read = []
    kept = file_store.read_log_file
    monkeypatch.setattr(file_store, "read_log_file", lambda path: (read.append(path), kept(path))[1])
    chosen = logs_to_offer(Workspace.open())
    assert [each.session_id for each in chosen.offered] == [OTHER]
    assert len(chosen.waiting) == 200, "more are not even listed"
    assert len(read) <= 40


# Small things


def test_half_a_character_in_an_event_is_read(live):
    """A pin is for us, whatever else the event holds."""
    event = {
        "session_id": SESSION,
        "transcript_path": str(live.transcript),
        "cwd": str(Path.cwd()),
        "hook_event_name": "UserPromptSubmit",
        "prompt": ">pin The flag is \ud83d half",
    }
    response = json.loads(handle_event("claude", json.dumps(event).encode()))
    assert response["decision"] == "block"
    assert "pinned as number 1: The flag is \ufffd half" in response["reason"]


def test_files_beside_a_forgotten_session_are_deleted_with_it(isolated_home, live):
    """Waiting texts and locks of a forgotten session are deleted too."""
    old = LiveSession(isolated_home, session_id=OTHER)
    old.turn(50_000)
    old.hook("PreCompact", trigger="auto")
    state = live_state.path_of("claude", OTHER)
    live_state.task_lock(state).touch()
    live_state.change("claude", OTHER, lambda now: (now._replace(client_pid=None), None))  # it is not running
    os.utime(state, (1_000_000_000, 1_000_000_000))
    start_session(live)
    wait_for(lambda: not [path.name for path in state.parent.iterdir() if OTHER in path.name])


def test_switched_on_again_it_is_noticed_at_the_next_prompt(live, isolated_home):
    """The fast path lets prompts through, so the change is noticed within the same session."""
    file = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("context_management:\n  enabled: false\n", encoding="utf-8")
    live.turn(120_000)
    live.hook("PostToolBatch")
    assert live.state.off
    file.write_text("context_management:\n  enabled: true\n", encoding="utf-8")
    assert "Caution" in live.message_to_user("UserPromptSubmit", prompt="Go")
    assert not live.state.off


def test_what_waits_is_counted_as_agents_count(live):
    """A character outside the basic plane counts as two."""
    live_state.change(
        "claude", SESSION, lambda state: (state._replace(to_agent=("a" * 4000, "💰" * 3000)), None)
    )
    assert agent_context(live.hook("PostToolBatch")) == "a" * 4000
    assert agent_context(live.hook("PostToolBatch")) == "💰" * 3000
