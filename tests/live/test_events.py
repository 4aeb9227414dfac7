"""The live path, event by event: warnings, pause, save, restore, receipt and triggers, each at its time and only once."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import leftoff
from leftoff.live import installed, saving
from leftoff.live.events import handle_event
from leftoff.platform import clock, locks, paths
from leftoff.platform import log as platform_log
from leftoff.resume_logs.pins import pin
from leftoff.sessions import live_state
from leftoff.testing.builders import call
from leftoff.workspace import Workspace
from tests.support.live_session import OTHER, RULE, SESSION, LiveSession, agent_context, wait_for

THIRD = OTHER.replace("1c54", "2c54")
USABLE = {"claude": 167_000, "codex": 189_473}
TOOLS = {"claude": "PostToolBatch", "codex": "PostToolUse"}


pytestmark = pytest.mark.usefixtures("interactive_user")


def logs():
    return sorted((Path.cwd() / ".leftoff" / "resume-logs").glob("session-*.json"))


def snapshots():
    return sorted((Path.cwd() / ".leftoff" / "sessions").glob("session-*.json"))


def settled(live):
    """Wait until the detached work of the session is over; it may not even have begun."""
    wait_for(lambda: not live.state.catching_up and (live.state.ended is None or logs()))
    lock = live_state.path_of(live.agent.id, live.session_id)
    with locks.hold(lock.with_name(f".{lock.name}.task.lock"), timeout_seconds=20):
        pass


# Warnings


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_each_threshold_is_reported_once_per_crossing(isolated_home, agent_id):
    """Each message has the real numbers, and nothing is repeated while the level stays the same."""
    live = LiveSession(isolated_home, agent_id)
    messages = []
    for share in (0.5, 0.71, 0.72, 0.86, 0.86, 0.91, 0.92, 0.96, 0.97):
        live.turn(int(USABLE[agent_id] * share))
        messages.append(live.message_to_user(TOOLS[agent_id], tool_name="shell", tool_use_id="c"))
    heads = [words.partition(":")[0] for words in messages]
    assert heads == [
        "",
        "⚠️ Context Usage Caution",
        "",
        "⚠️ Context Usage Warning",
        "",
        "⏸ Context Usage Auto-Pause",
        "",
        "🚨 Context Usage Critical",
        "",
    ]
    assert "71% capacity reached" in messages[1]
    wait_for(logs)  # the triggers of the settings save one, detached


def test_a_mark_counts_again_after_a_compaction(live):
    """A threshold is reported again only when the window has filled up to it again."""
    live.turn(120_000)
    assert "Caution" in live.message_to_user("PostToolBatch")
    live.hook("PreCompact", trigger="auto")
    live.story.compacted("It was about a lock.", after=20_000)
    live.turn(30_000)
    assert live.message_to_user("PostToolBatch") == ""
    live.turn(121_000)
    assert "Caution" in live.message_to_user("PostToolBatch")


def test_the_agent_gets_one_message_when_few_tokens_remain(live):
    """The message says that the state is saved and that the work continues."""
    live.turn(130_000)
    assert agent_context(live.hook("PostToolBatch")) == ""
    live.turn(138_000)
    response = agent_context(live.hook("PostToolBatch"))
    assert response.startswith("leftoff: about ")
    assert "continue as asked" in response
    live.turn(139_000)
    assert agent_context(live.hook("PostToolBatch")) == ""


def test_at_stop_the_agent_gets_no_message(live):
    """A message at the end of a turn would make the agent continue, so it waits for the next prompt."""
    live.turn(138_000)
    response = live.hook("Stop")
    assert "Caution" in response["systemMessage"]
    assert "hookSpecificOutput" not in response
    assert agent_context(live.hook("UserPromptSubmit", prompt="Go")).startswith("leftoff: about ")


def test_a_subagent_is_recorded_and_gets_no_message(live):
    """A subagent has its own transcript, so warnings about the session do not concern it."""
    live.turn(152_000)
    live.hook("PostToolBatch", tool_calls=[{"tool_name": "Read", "tool_use_id": "c-1"}])
    assert (
        live.hook("PostToolBatch", agent_id="sub", tool_calls=[{"tool_name": "Grep", "tool_use_id": "c-2"}])
        == {}
    )
    for name in ("Stop", "SessionStart", "UserPromptSubmit"):
        assert live.hook(name, agent_id="sub", source="startup", prompt="continue") == {}
    lines = [json.loads(line) for line in pause_file(live).read_text("utf-8").splitlines()]
    assert [line["data"].get("actor") for line in lines] == [None, None, "sub"]


def pause_file(live):
    return paths.state_folder() / "pauses" / f"{live.agent.id}-{live.session_id}.jsonl"


def test_switched_off_it_is_silent(live, isolated_home):
    """With ``enabled: false``, the state file stops the fast path from starting anything."""
    folder = isolated_home / ".config" / "leftoff"
    folder.mkdir(parents=True)
    (folder / "configuration.yaml").write_text("context_management:\n  enabled: false\n", encoding="utf-8")
    live.turn(160_000)
    assert live.hook("PostToolBatch") == {}
    assert live.state.off


def test_without_a_transcript_or_a_known_event_nothing_is_reported(live):
    """A new session has no file at its first prompt."""
    assert live.hook("UserPromptSubmit", prompt="Hello") == {}
    assert live.hook("Notification") == {}
    assert handle_event("claude", b"[]") == b""
    assert handle_event("claude", b"{}") == b""


# Pause


def test_the_wind_down_is_recorded_from_auto_pause_on_and_kept_at_the_compaction(live):
    """The actions are kept with the words of the transcript, and the next crossing begins another pause."""
    live.turn(152_000)
    live.hook("PostToolBatch", tool_calls=[{"tool_name": "shell", "tool_use_id": "c-1"}])
    live.hook("UserPromptSubmit", prompt="Thanks")
    live.hook("Stop")
    live.hook("PreCompact", trigger="auto")
    (kept,) = snapshots()
    summary = json.loads(kept.read_text("utf-8"))
    assert summary["incremental_pause"]["action_count"] == 5
    assert summary["origin"]["session_id"] == SESSION
    assert not pause_file(live).exists()
    assert live.state.pause_id is None
    live.hook("PostToolBatch")
    assert pause_file(live).exists()


def test_a_pause_that_another_process_started_is_continued(live):
    """Two hooks at once: one begins it, both record into it."""
    live.turn(152_000)
    live.hook("PostToolBatch")
    begun = live.state.pause_id
    live_state.change("claude", SESSION, lambda state: (state._replace(pause_id=None), None))
    live.hook("PostToolBatch", tool_calls=[{"tool_name": "Read", "tool_use_id": "c"}])
    assert live.state.pause_id == begun


def test_no_pause_is_begun_where_the_settings_do_not_want_one(live, monkeypatch):
    """With ``pause.enabled: false`` the threshold is reported but no pause begins, and the message does not claim one."""
    monkeypatch.setenv("LEFTOFF_PAUSE_ENABLED", "false")
    live.turn(152_000)
    message = live.message_to_user("PostToolBatch")
    assert "Auto-Pause" in message
    assert "recorded" not in message
    assert not pause_file(live).exists()


# Compaction


def test_around_a_compaction_nothing_is_lost(live):
    """The log is saved, the summariser gets its instructions, rules and the request come back at once, the rest when it is known to be lost."""
    pin("The release is frozen until Friday.", Workspace.open())
    live.turn(165_000)
    words = live.hook("PreCompact", trigger="auto")["plain"]
    assert len(words) <= 400
    assert "The release is frozen until Friday." in words
    assert RULE in words
    assert [path.stem for path in logs()] == [f"session-{SESSION}"]
    back = agent_context(live.hook("SessionStart", source="compact"))
    assert len(back) <= 9900
    for each in ("The release is frozen until Friday.", RULE, "src/lock.py"):
        assert each in back
    live.compacted("They fixed src/lock.py.")
    answer = live.hook("PostToolBatch")
    assert "leftoff: The summary dropped your rule, your pin and 1 command" in answer["systemMessage"]
    assert "leftoff restored all of it." in answer["systemMessage"]
    rest = agent_context(answer)
    assert "pytest -q tests/test_lock.py" in rest
    assert RULE not in rest, "it was handed over before"
    assert len(back) + len(rest) <= 9900
    assert live.message_to_user("PostToolBatch") == ""


def test_an_opaque_summary_is_reported_as_such(isolated_home):
    """The summary cannot be read, but what leftoff put back is known."""
    live = LiveSession(isolated_home, "codex")
    live.turn(160_000)
    assert live.hook("PreCompact", trigger="auto") == {}
    live.compacted("")
    assert live.hook("PostCompact", trigger="auto") == {}
    answer = live.hook("SessionStart", source="compact")
    assert "cannot be read; leftoff restored 1 rule" in answer["systemMessage"]
    assert RULE in agent_context(answer)


def test_where_the_summary_is_on_disk_at_once_the_receipt_comes_with_everything_that_is_handed_over(
    isolated_home,
):
    """Nothing is said before: the receipt would not be true yet. The rules come first, then what else was dropped."""
    live = LiveSession(isolated_home, "codex")
    live.turn(160_000)
    live.hook("PreCompact", trigger="auto")
    live.compacted("They fixed src/lock.py.")
    assert live.hook("PostCompact", trigger="auto") == {}, "wired by an older leftoff"
    answer = live.hook("SessionStart", source="compact")
    assert (
        "The summary dropped your rule and 1 command; leftoff restored all of it." in answer["systemMessage"]
    )
    given = agent_context(answer)
    assert len(given) <= 9900
    assert given.index(RULE) < given.index("pytest -q tests/test_lock.py")
    assert live.hook("PostToolUse") == {}


def test_a_session_left_right_after_its_compaction_gets_everything_when_it_is_resumed(isolated_home):
    """Codex announces a compaction that the user asked for with the next prompt; a session that was left starts otherwise."""
    live = LiveSession(isolated_home, "codex")
    live.turn(160_000)
    live.hook("PreCompact", trigger="manual")
    assert RULE not in agent_context(live.hook("SessionStart", source="resume")), "it was not compacted"
    live.compacted("They fixed src/lock.py.")
    answer = live.hook("SessionStart", source="resume")
    assert "The summary dropped your rule and 1 command" in answer["systemMessage"]
    assert RULE in agent_context(answer)
    assert RULE not in agent_context(live.hook("SessionStart", source="resume"))


def test_a_log_that_was_damaged_by_hand_does_not_keep_back_what_a_resumed_session_gets(live):
    live.hook("SessionStart", source="startup")
    live.turn(120_000)
    live.hook("PreCompact", trigger="manual", custom_instructions=None)
    live.compacted("A summary.")
    (log,) = Path(".leftoff/resume-logs").glob("session-*.json")
    log.write_text(log.read_text()[:200])
    assert RULE in agent_context(live.hook("SessionStart", source="resume"))


def test_where_the_log_has_nothing_to_count_there_is_no_receipt(isolated_home):
    live = LiveSession(isolated_home, "codex")
    live.story.asked("What is the capital of France?").replied("Paris.", used=160_000)
    live.write()
    live.hook("PreCompact", trigger="auto")
    live.compacted("They talked about France.")
    assert "systemMessage" not in live.hook("SessionStart", source="compact")


def test_a_summary_that_is_not_whole_yet_is_waited_for(live):
    """The client writes that it compacted before it writes the summary: until then nothing is called unreadable."""
    live.turn(165_000)
    live.hook("PreCompact", trigger="auto")
    live.compacted(f"The user said: {RULE}")
    whole = live.transcript.read_bytes()
    lines = whole.splitlines(keepends=True)
    (boundary,) = (number for number, line in enumerate(lines) if b'"compact_boundary"' in line)
    live.transcript.write_bytes(b"".join(lines[: boundary + 1]))
    answer = live.hook("SessionStart", source="compact")
    assert RULE in agent_context(answer)
    assert "systemMessage" not in answer
    live.transcript.write_bytes(whole)
    assert "The summary dropped 1 command" in live.message_to_user("PostToolBatch")


def test_where_nothing_was_saved_before_it_is_saved_afterwards(live):
    """The hook before the compaction may have been switched off, or ended too late: the next event restores what is lost."""
    live.turn(165_000)
    assert live.hook("SessionStart", source="compact") == {}
    assert logs()
    assert RULE in agent_context(live.hook("PostToolBatch"))


def test_without_logs_a_compaction_is_left_alone(live, monkeypatch):
    """With ``resume_logs.enabled: false``, the pause still ends."""
    monkeypatch.setenv("LEFTOFF_RESUME_LOGS_ENABLED", "false")
    live.turn(152_000)
    live.hook("PostToolBatch")
    assert live.hook("PreCompact", trigger="auto") == {}
    assert live.hook("SessionStart", source="compact") == {}
    assert snapshots()


def test_a_store_that_is_broken_costs_the_log_and_nothing_else(live):
    """The failure is one line in leftoff's log, and thresholds can be announced again."""
    live.turn(165_000)
    live.hook("PostToolBatch")
    (Path.cwd() / ".leftoff").rename(Path.cwd() / "aside")
    (Path.cwd() / ".leftoff").write_bytes(b"")
    assert live.hook("PreCompact", trigger="auto") == {}
    assert live.state.said == "ok"
    assert "was not saved before a compaction" in platform_log.log_path().read_text("utf-8")


def test_what_neither_summary_nor_text_holds_goes_to_the_agent_at_the_next_event(live, monkeypatch):
    """It is fenced as data, and both texts together keep within the room."""
    monkeypatch.setenv("LEFTOFF_RESTORE_MAX_CHARS", "1500")
    for number in range(30):
        live.turn(
            100_000 + number, prompt=f"Never rename alpha{number} beta{number} gamma{number} delta{number}."
        )
    live.hook("PreCompact", trigger="auto")
    back = agent_context(live.hook("SessionStart", source="compact"))
    live.compacted("nothing")
    rest = agent_context(live.hook("PostToolBatch"))
    assert "<leftoff-record-" in rest
    assert "Never rename alpha29" in back
    assert "Never rename alpha29" not in rest
    assert "Never rename alpha" in rest
    assert len(back) + len(rest) <= 1500


# Beginning


def test_the_lines_of_one_event_are_one_message(isolated_home, live):
    """They come from several places, but leftoff is named once."""
    finished(isolated_home)
    for text in ("leftoff: the wind is up.", "leftoff: steps.md: cannot be read."):
        live_state.change(
            "claude", SESSION, lambda state, text=text: (state.with_messages(to_user=text), None)
        )
    message = live.message_to_user("SessionStart", source="startup")
    assert message.startswith("leftoff: the wind is up.\nsteps.md: cannot be read.\nLeft off ")
    assert message.count("leftoff:") == 1


def finished(isolated_home, session_id=OTHER, agent_id="claude", *, minutes_ago=0):
    """An earlier session that ended, with its log."""
    earlier = LiveSession(isolated_home, agent_id, session_id)
    earlier.turn(50_000)
    last_written(earlier, minutes_ago)
    earlier.hook("SessionEnd", reason="prompt_input_exit")
    wait_for(lambda: any(session_id in log.name for log in logs()))
    settled(earlier)
    return earlier


def last_written(session, minutes_ago):
    then = clock.now().timestamp() - 60 * minutes_ago
    os.utime(session.transcript, (then, then))


def test_a_new_session_is_offered_what_was_left_off(isolated_home, live):
    """The user gets one line and the agent 600 characters, or the whole log if the first prompt asks."""
    finished(isolated_home)
    response = live.hook("SessionStart", source="startup")
    assert f"left off just now in session {OTHER[:8]}" in response["systemMessage"]
    assert ">pickup" in response["systemMessage"]
    assert len(agent_context(response)) <= 600
    assert "# Session Resume Log" not in agent_context(response)
    settled(live)
    response = live.hook("UserPromptSubmit", prompt="continue, please")
    assert f"# Session Resume Log: {OTHER}" in agent_context(response)
    assert "continues session" in response["systemMessage"]
    assert agent_context(live.hook("UserPromptSubmit", prompt="continue")) == ""


def test_a_first_prompt_that_names_its_files_gets_it_too(isolated_home, live):
    """A first prompt that names the files of the log gets the log."""
    finished(isolated_home)
    live.hook("SessionStart", source="startup")
    settled(live)
    assert (
        agent_context(live.hook("UserPromptSubmit", prompt="<task-notification>done</task-notification>"))
        == ""
    )
    assert "# Session Resume Log" in agent_context(
        live.hook("UserPromptSubmit", prompt="What about src/lock.py?")
    )


def test_an_unrelated_first_prompt_gets_nothing(isolated_home, live):
    """Nor does a later one, unless it asks to continue."""
    finished(isolated_home)
    live.hook("SessionStart", source="startup")
    settled(live)
    assert live.hook("UserPromptSubmit", prompt="What is the weather like?") == {}
    assert not live.state.is_due
    assert live.hook("UserPromptSubmit", prompt="What is in src/lock.py?") == {}


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_a_later_one_of_the_first_prompts_may_ask_to_continue(isolated_home, agent_id):
    """Codex shows the offer only with the first prompt, so the answer to it is the second."""
    finished(isolated_home)
    live = LiveSession(isolated_home, agent_id)
    live.hook("SessionStart", source="startup")
    settled(live)
    live.hook("UserPromptSubmit", prompt="hi there")
    live.story.asked("hi there").replied("Hello.", call("shell", {"command": "git log"}, "none"), used=9000)
    live.write()
    response = live.hook("UserPromptSubmit", prompt="continue")
    assert f"# Session Resume Log: {OTHER}" in agent_context(response)
    assert "continues session" in response["systemMessage"]
    assert agent_context(live.hook("UserPromptSubmit", prompt="continue")) == ""


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
@pytest.mark.parametrize("has_changed", [True, False], ids=["changed a file", "had five prompts"])
def test_continue_means_the_session_s_own_work_once_it_has_some(isolated_home, agent_id, has_changed):
    """It has changed a file, or had five prompts."""
    finished(isolated_home)
    live = LiveSession(isolated_home, agent_id)
    live.hook("SessionStart", source="startup")
    settled(live)
    live.hook("UserPromptSubmit", prompt="Write the parser")
    for number in range(1 if has_changed else 5):
        wrote = [call("write", {"path": "parser.py", "content": "x = 1\n"}, "done")] if has_changed else []
        live.story.asked(f"Prompt {number}").replied("Well.", *wrote, used=9000)
    live.write()
    assert live.hook("UserPromptSubmit", prompt="continue") == {}
    assert not live.state.may_continue


def test_prompts_with_words_of_continuing_cost_nothing_once_a_session_has_work(isolated_home, live):
    """The first of them closes the offer, whatever it asks: the fast path answers the others."""
    finished(isolated_home)
    live.hook("SessionStart", source="startup")
    settled(live)
    live.hook("UserPromptSubmit", prompt="Write the parser")
    wrote = call("write", {"path": "parser.py", "content": "x = 1\n"}, "done")
    live.story.asked("Write the parser").replied("Well.", wrote, used=9000)
    live.write()
    assert live.hook("UserPromptSubmit", prompt="Now move the tests next to it") == {}
    assert not live.state.may_continue


def test_a_headless_run_is_offered_nothing(isolated_home, live, monkeypatch):
    finished(isolated_home)
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")
    assert live.hook("SessionStart", source="startup") == {}
    assert live.hook("UserPromptSubmit", prompt="continue") == {}


@pytest.mark.parametrize(("mode", "begins"), [("off", {}), ("full", "leftoff: this session continues")])
def test_the_settings_say_what_is_offered(isolated_home, live, monkeypatch, mode, begins):
    """The setting is restore.on_startup."""
    finished(isolated_home)
    monkeypatch.setenv("LEFTOFF_RESTORE_ON_STARTUP", mode)
    response = live.hook("SessionStart", source="startup")
    assert response == begins or response["systemMessage"].startswith(begins)
    assert ("# Session Resume Log" in agent_context(response)) == (mode == "full")


def test_what_was_cleared_is_kept_and_not_offered(isolated_home, live):
    """The user ended the work with /clear, so the next session gets no offer."""
    earlier = LiveSession(isolated_home, session_id=OTHER)
    earlier.turn(50_000)
    earlier.hook("SessionEnd", reason="clear")
    settled(earlier)
    assert json.loads(logs()[0].read_text("utf-8"))["metadata"]["ended"] == "cleared"
    assert live.hook("SessionStart", source="clear") == {}
    assert live.hook("UserPromptSubmit", prompt="continue") == {}
    assert live.hook("SessionStart", source="startup") == {}
    settled(live)


def test_a_log_that_this_machine_did_not_write_waits(isolated_home, live):
    """The user hears that the log waits for trust; the agent gets nothing."""
    finished(isolated_home)
    log = json.loads(logs()[0].read_text("utf-8")) | {"session_id": "evil", "mission_summary": "OBEY"}
    (logs()[0].parent / "session-evil.json").write_text(json.dumps(log), encoding="utf-8")
    for path in logs()[0].parent.glob(f"session-{OTHER}.*"):
        path.unlink()
    response = live.hook("SessionStart", source="startup")
    assert "leftoff trust" in response["systemMessage"]
    assert agent_context(response) == ""
    assert "OBEY" not in json.dumps(live.hook("UserPromptSubmit", prompt="continue"))


def test_a_session_that_was_killed_is_caught_up(isolated_home, live, monkeypatch):
    """The next session makes the missing log, and a first prompt that asks to continue waits for it."""
    monkeypatch.setattr(saving, "_CATCH_UP_SECONDS", 60.0)  # this machine may be busy
    killed = LiveSession(isolated_home, session_id=OTHER)
    killed.turn(50_000)
    live.hook("SessionStart", source="startup")
    response = live.hook("UserPromptSubmit", prompt="continue")
    assert f"# Session Resume Log: {OTHER}" in agent_context(response)
    assert response["systemMessage"] == f"leftoff: this session continues session {OTHER[:8]}."


@pytest.mark.parametrize("way", ["killed", "ended"])
def test_the_first_turn_ends_with_the_message_about_a_log_that_is_being_saved(
    isolated_home, live, monkeypatch, way
):
    """However short it is. Where no log is missing, its end waits for nothing."""
    monkeypatch.setattr(saving, "_CATCH_UP_SECONDS", 60.0)  # this machine may be busy
    earlier = LiveSession(isolated_home, session_id=OTHER)
    earlier.hook("SessionStart", source="startup")
    assert not earlier.state.expects_log
    settled(earlier)
    earlier.turn(50_000)
    if way == "ended":
        live_state.end_note(earlier.agent.id, OTHER).write_text('{"reason": "other"}\n', encoding="utf-8")
    live_state.change("claude", OTHER, lambda state: (state._replace(client_pid=None), None))
    live.hook("SessionStart", source="startup")
    assert live.state.expects_log
    live.turn(20_000)
    assert 'Say "continue" or type >pickup' in live.message_to_user("Stop")
    assert not live.state.expects_log


def test_a_session_that_was_killed_can_be_continued_by_a_later_prompt(isolated_home, live):
    """Its log may be finished only after the first prompt; the message about it says what to type."""
    killed = LiveSession(isolated_home, session_id=OTHER)
    killed.turn(50_000)
    live.hook("SessionStart", source="startup")
    live.hook("UserPromptSubmit", prompt="hi there")
    wait_for(lambda: not live.state.catching_up)
    assert 'Say "continue" or type >pickup' in live.message_to_user("Stop")
    response = live.hook("UserPromptSubmit", prompt="continue")
    assert f"# Session Resume Log: {OTHER}" in agent_context(response)


@pytest.mark.parametrize("typed", ["continue", ">pickup"])
def test_what_was_offered_is_continued_although_a_newer_log_was_saved_since(isolated_home, live, typed):
    finished(isolated_home, minutes_ago=5)
    live.hook("SessionStart", source="startup")
    settled(live)
    finished(isolated_home, THIRD)
    response = live.hook("UserPromptSubmit", prompt=typed)
    assert f"session {OTHER[:8]}" in response.get("reason", response.get("systemMessage"))


def test_a_session_that_was_killed_does_not_take_the_place_of_the_offered_one(isolated_home, live):
    """The message about its log names the number to type."""
    finished(isolated_home, minutes_ago=5)
    killed = LiveSession(isolated_home, session_id=THIRD)
    killed.turn(50_000)
    live.hook("SessionStart", source="startup")
    settled(live)
    response = live.hook("UserPromptSubmit", prompt="continue")
    assert f"continues session {OTHER[:8]}" in response["systemMessage"]
    assert (
        f"session {THIRD[:8]} ended without a log; it has one now. Type >pickup 2 "
        in response["systemMessage"]
    )
    reason = live.hook("UserPromptSubmit", prompt=">pickup 2")["reason"]
    assert f"session {THIRD[:8]} is added to your next prompt" in reason


def test_a_killed_prompt_without_a_reply_does_not_hide_work_that_has_no_log_either(isolated_home, live):
    """Both sessions were killed and are caught up: "continue" means the work, although the prompt is newer."""
    LiveSession(isolated_home, session_id=OTHER).turn(50_000)
    unanswered = LiveSession(isolated_home, session_id=THIRD)
    unanswered.story.asked("What is the weather like?")
    unanswered.write()
    os.utime(unanswered.transcript, (at := clock.now().timestamp() + 60, at))
    live.hook("SessionStart", source="startup")
    settled(live)
    wait_for(lambda: len(logs()) == 2)
    response = live.hook("UserPromptSubmit", prompt="continue")
    assert f"# Session Resume Log: {OTHER}" in agent_context(response)


@pytest.mark.parametrize(("session_id", "file"), [(OTHER, "src/lock.py"), (THIRD, "src/ledger.py")])
def test_a_file_that_the_prompt_names_decides_which_log_is_continued(isolated_home, live, session_id, file):
    finished(isolated_home, minutes_ago=5)
    newer = LiveSession(isolated_home, session_id=THIRD)
    newer.turn(50_000, prompt="Fix src/ledger.py.")
    newer.hook("SessionEnd", reason="other")
    wait_for(lambda: len(logs()) == 2)
    settled(newer)
    live.hook("SessionStart", source="startup")
    settled(live)
    response = live.hook("UserPromptSubmit", prompt=f"Continue with {file}.")
    assert f"continues session {session_id[:8]}" in response["systemMessage"]


def test_a_session_whose_log_is_current_is_not_caught_up_again(isolated_home, live):
    finished(isolated_home)
    before = logs()[0].stat().st_mtime_ns
    live.hook("SessionStart", source="startup")
    wait_for(lambda: not live.state.catching_up)
    assert logs()[0].stat().st_mtime_ns == before


def test_a_resumed_session_hears_which_files_have_changed(live):
    """There is one line of changes, and no line when nothing has changed."""
    subprocess.run(["git", "init", "-q"], check=True)
    live.turn(50_000)
    live.hook("SessionEnd", reason="other")
    settled(live)
    assert live.hook("SessionStart", source="resume") == {}
    Path("new.txt").write_text("x", encoding="utf-8")
    response = live.hook("SessionStart", source="resume")
    assert "new.txt is changed or new" in response["systemMessage"]
    assert "new.txt" in agent_context(response)


def test_a_resumed_session_hears_that_another_session_continued_its_work(isolated_home, live):
    """The other session's log is newer, and the number in the message picks it up."""
    live.turn(50_000)
    last_written(live, minutes_ago=10)
    live.hook("SessionEnd", reason="other")
    settled(live)
    assert "pickup" not in live.message_to_user("SessionStart", source="resume")
    live.hook("SessionEnd", reason="other")
    settled(live)
    other = LiveSession(isolated_home, session_id=OTHER)
    other.turn(50_000, prompt="Now write the parser in src/parse.py.")
    last_written(other, minutes_ago=5)
    other.hook("SessionEnd", reason="other")
    wait_for(lambda: len(logs()) == 2)
    settled(other)  # the log is registered after it is written
    message = live.message_to_user("SessionStart", source="resume")
    assert f"in session {OTHER[:8]}: " in message
    assert "Now write the parser" in message
    number = re.search(r">pickup (\d)", message)[1]
    finished(isolated_home, THIRD)  # which is newer and was not in the message
    reason = live.hook("UserPromptSubmit", prompt=f">pickup {number}")["reason"]
    assert f"session {OTHER[:8]} is added to your next prompt" in reason


@pytest.mark.parametrize("stamp", ["# leftoff 0.0.1", "# leftoff VERSION", "# leftoff VERSION 0123456789ab"])
def test_a_fast_path_of_an_older_package_is_replaced_when_a_session_begins(live, stamp):
    """Upgrading the package is enough, even if its version stays the same; where none is installed, none is put there."""
    live.hook("SessionStart", source="startup")
    settled(live)
    assert not installed.fast_path_file().exists()
    installed.write_fast_path()
    whole = installed.fast_path_file().read_bytes()
    first, _, rest = whole.split(b"\n", 2)
    older = stamp.replace("VERSION", leftoff.__version__).encode()
    installed.fast_path_file().write_bytes(b"\n".join([first, older, rest]))
    live.hook("SessionStart", source="startup")
    wait_for(lambda: installed.fast_path_file().read_bytes() == whole)


def test_a_session_resumed_without_a_log_gets_its_missed_warning(live):
    live.turn(120_000)
    assert "Caution" in live.message_to_user("SessionStart", source="resume")


def test_two_live_sessions_hear_about_each_other(isolated_home, live):
    """The new one hears it at once, the other at its next event; neither is offered the other's log."""
    first = LiveSession(isolated_home, session_id=OTHER)
    first.hook("SessionStart", source="startup")
    settled(first)
    first.turn(50_000)
    first.hook("Stop")
    assert "another session is running" in live.message_to_user("SessionStart", source="startup")
    settled(live)
    assert f"another session has begun in this project (Claude Code {SESSION[:8]})" in first.message_to_user(
        "PostToolBatch"
    )
    assert first.message_to_user("PostToolBatch") == ""


def test_a_pause_that_was_left_behind_is_reported_with_its_choices(isolated_home, live, monkeypatch):
    """The process that recorded it has died."""
    monkeypatch.setenv("CLAUDE_PID", "999999")
    dead = LiveSession(isolated_home, session_id=OTHER)
    dead.turn(152_000)
    dead.hook("PostToolBatch")
    settled(dead)
    words = live.message_to_user("SessionStart", source="startup")
    assert "a pause was interrupted" in words
    for choice in ("--finalize", "--discard", "--continue"):
        assert choice in words
    settled(live)


# End


def test_at_the_end_the_pause_is_finalised_and_the_log_saved(live):
    """The work is done by a detached process, because the agent does not wait long."""
    live.turn(152_000)
    live.hook("PostToolBatch")
    assert live.hook("SessionEnd", reason="prompt_input_exit") == {}
    wait_for(lambda: logs() and snapshots())
    wait_for(lambda: not pause_file(live).exists())
    assert live.state.ended == "prompt_input_exit"


def test_new_records_are_folded_in_the_background(live):
    """Folding in the background leaves little to read at a compaction."""
    for number in range(60):
        live.story.asked(f"Step {number} " + "x" * 1500)
    live.turn(50_000)
    live.hook("Stop")
    wait_for(lambda: live.state.folded_bytes == live.transcript.stat().st_size)
    assert [*(paths.state_folder() / "extractions").glob("*.json")]


# Triggers


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        (">pin The server is called quokka and is down", "leftoff: pinned as number 1: The server is called"),
        (">PIN Quokka", "leftoff: pinned as number 1: Quokka"),
        (">pins", "leftoff: nothing is pinned here."),
        (">Pins", "leftoff: nothing is pinned here."),
        (">unpin 7", "leftoff: This project has no pin 7."),
        (">pickup", "leftoff: no log number 1 to continue from. There are no logs"),
        (">trim", "leftoff: there is nothing to trim yet."),
        (">trim yes", "leftoff: there is nothing to trim yet."),
        (">TRIM Yes", "leftoff: there is nothing to trim yet."),
        (">Handoff", "leftoff: there is nothing to save yet."),
    ],
)
def test_a_trigger_is_answered_and_not_sent(live, prompt, answer):
    """A trigger is answered by the hook and spends no tokens, whatever its case."""
    response = live.hook("UserPromptSubmit", prompt=prompt)
    assert response["decision"] == "block"
    assert response["reason"].startswith(answer)


@pytest.mark.parametrize(
    ("prompt", "usage"),
    [
        (">trim 800", ">trim yes   writes the copy"),
        (">trim -20", ">trim yes"),
        (">trim help", ">trim       shows"),
        (">trim cancel", ">trim yes"),
        (">trim yes please", ">trim yes"),
        (">resume please", ">resume   saves"),
        (">resume the work", ">resume   saves"),
        (">handoff 5", ">handoff   writes"),
        (">pins are sharp", ">pins   lists"),
        (">pin", ">pin never push to main   keeps"),
        (">unpin", ">unpin 2   removes"),
        (">unpin two", ">pins      lists"),
        (">pickup 0b54f7aa", ">pickup 2   adds the second"),
        (">pickup 99999999999999999999", ">pickup"),
    ],
)
def test_a_short_trigger_that_cannot_be_run_is_answered_with_its_usage(live, prompt, usage):
    """In a full window a mistyped trigger must not cost a turn."""
    response = live.hook("UserPromptSubmit", prompt=prompt)
    assert response["decision"] == "block"
    assert response["reason"].startswith("leftoff: nothing was done. What you can type:\n")
    assert f"  {usage}" in response["reason"]


@pytest.mark.parametrize(
    "prompt",
    [
        ">resume the work on the parser",
        ">trim the long lines in it",
        "> pin x",
        "what does >pin do?",
        ">pin a\nb",
        ">trim\nyes",
        ">trim\u2028yes",
        ">session",
        ">trimmed output",
        ">",
    ],
)
def test_a_longer_line_or_several_lines_go_to_the_agent(live, prompt):
    """They are the user's text: nothing is answered and nothing is added."""
    assert live.hook("UserPromptSubmit", prompt=prompt) == {}


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_the_answer_to_a_trigger_holds_only_what_the_agent_understands(isolated_home, agent_id):
    """Claude Code need not repeat the prompt below the answer; Codex refuses an answer with a key it does not know."""
    response = LiveSession(isolated_home, agent_id).hook("UserPromptSubmit", prompt=">pins")
    if agent_id == "codex":
        assert response == {"decision": "block", "reason": "leftoff: nothing is pinned here."}
    else:
        assert response["hookSpecificOutput"] == {
            "hookEventName": "UserPromptSubmit",
            "suppressOriginalPrompt": True,
        }
        assert response["reason"].endswith("\n(Your line is back in the input box; Ctrl+U clears it.)")


def test_pins_are_listed_and_removed(live):
    """Pins are removed by the numbers that the list shows."""
    live.hook("UserPromptSubmit", prompt=">pin one")
    live.hook("UserPromptSubmit", prompt=">pin two")
    assert "  1  one\n  2  two" in live.hook("UserPromptSubmit", prompt=">pins")["reason"]
    assert "leftoff: no longer pinned: one" in live.hook("UserPromptSubmit", prompt=">unpin 1")["reason"]


@pytest.mark.parametrize("trigger", [">resume", ">continue"])
def test_a_hand_off_saves_and_says_how_to_continue(live, trigger):
    """The command can be copied: it is on a line of its own."""
    live.turn(50_000)
    reason = live.hook("UserPromptSubmit", prompt=trigger)["reason"]
    assert f"  leftoff resume {SESSION} --run" in reason.splitlines()
    assert logs()


def test_a_hand_off_puts_the_id_on_the_clipboard(live, tmp_path, monkeypatch):
    """The clipboard is mentioned only if the desktop has one."""
    live.turn(50_000)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WSL_DISTRO_NAME", raising=False)
    assert "clipboard" not in live.hook("UserPromptSubmit", prompt=">resume")["reason"]
    copying = tmp_path / "bin" / "wl-copy"
    copying.parent.mkdir()
    copying.write_text(f"#!/bin/sh\ncat > {tmp_path / 'board'}\n", encoding="utf-8")
    copying.chmod(0o755)
    monkeypatch.setenv("PATH", f"{copying.parent}:{paths.environment()['PATH']}")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert "The id is on the clipboard" in live.hook("UserPromptSubmit", prompt=">resume")["reason"]
    assert (tmp_path / "board").read_text(encoding="utf-8") == SESSION


def test_pickup_hands_the_log_over_with_the_next_prompt(isolated_home, live):
    """The text of that prompt does not matter."""
    finished(isolated_home)
    reason = live.hook("UserPromptSubmit", prompt=">pickup 1")["reason"]
    assert reason.startswith(f"leftoff: session {OTHER[:8]} is added to your next prompt.\n")
    assert f"# Session Resume Log: {OTHER}" in agent_context(
        live.hook("UserPromptSubmit", prompt="What now?")
    )
    assert "no log number 5" in live.hook("UserPromptSubmit", prompt=">pickup 5")["reason"]


def test_the_phrases_of_a_day_s_work_are_noticed_and_sent(live):
    """Saving is done; a project that is not there is said not to be. test_project_events.py has the rest."""
    live.turn(50_000)
    assert "the log is saved" in live.message_to_user("UserPromptSubmit", prompt="Save progress.")
    assert "the log is saved" in live.message_to_user("UserPromptSubmit", prompt="done for today")
    assert "no project here yet" in live.message_to_user("UserPromptSubmit", prompt="continue project 24")
    assert live.message_to_user("UserPromptSubmit", prompt="please save progress on that") == ""


def test_several_logs_are_numbered(isolated_home, live):
    """The best first; any of them can be taken."""
    finished(isolated_home)
    third = LiveSession(isolated_home, session_id=OTHER.replace("1c54", "2c54"))
    third.turn(40_000)
    third.hook("SessionEnd", reason="other")
    wait_for(lambda: len(logs()) == 2)
    assert "(1 more: >pickup 2" in live.message_to_user("SessionStart", source="startup")
    settled(live)
    reason = live.hook("UserPromptSubmit", prompt=">pickup 2")["reason"]
    assert [line.split()[0] for line in reason.splitlines()[1:-1]] == ["1", "2"]
    assert f"# Session Resume Log: {OTHER}" in agent_context(
        live.hook("UserPromptSubmit", prompt="What now?")
    )


def test_another_prefix_is_noticed_and_named(live, monkeypatch):
    """Another tool may use ``>`` as its own prefix."""
    monkeypatch.setenv("LEFTOFF_TRIGGERS_PREFIX", "!!")
    assert live.hook("UserPromptSubmit", prompt=">pins") == {}
    reason = live.hook("UserPromptSubmit", prompt="!!unpin")["reason"]
    assert "  !!unpin 2   removes the second pin\n  !!pins      lists them" in reason
    assert live.state.triggers_prefix == "!!"


def test_sessions_that_are_long_silent_are_forgotten(isolated_home, live):
    """Only the live states of old sessions are deleted, not their logs."""
    old = LiveSession(isolated_home, session_id=OTHER)
    old.turn(50_000)
    old.hook("Stop")
    live_state.change("claude", OTHER, lambda now: (now._replace(client_pid=None), None))  # it is not running
    path = live_state.path_of("claude", OTHER)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    live.hook("SessionStart", source="startup")
    wait_for(lambda: not path.exists())
    settled(live)


def test_the_age_of_a_log_is_shown_in_words(isolated_home, live):
    finished(isolated_home)
    for seconds, words in ((7_200, "2 hours ago"), (90_000, "1 day ago"), (120, "2 minutes ago")):
        then = clock.now().timestamp() - seconds
        for path in logs()[0].parent.glob("session-*"):
            os.utime(path, (then, then))
        assert words in live.message_to_user("SessionStart", source="startup")
        settled(live)


def test_more_than_an_agent_takes_at_once_comes_in_turns(live):
    """Waiting messages are sent oldest first and never split."""
    live_state.change(
        "claude", SESSION, lambda state: (state._replace(to_agent=("a" * 6000, "b" * 6000)), None)
    )
    assert agent_context(live.hook("PostToolBatch")) == "a" * 6000
    assert agent_context(live.hook("PostToolBatch")) == "b" * 6000
    assert agent_context(live.hook("PostToolBatch")) == ""


def test_a_cold_cache_is_priced_in_one_line(live):
    """At the agent's own rate, with what a smaller session would cost; not when the cache is warm or it costs little."""
    live.turn(50_000)
    for number in range(12):
        live.story.asked(f"Step {number}").replied(
            "Looking.", call("shell", {"command": f"make {number}"}, f"line {number}\n" * 3000), used=150_000
        )
    live.write()
    cold = {"context_tokens": 214_000, "prompt_cache_likely_expired": True}
    message = live.message_to_user("SessionStart", source="resume", **cold, estimated_cache_write_usd=1.3375)
    (line,) = (each for each in message.split("\n") if "cold cache" in each)
    assert "continuing writes 214k tokens, about $1.34." in line
    smaller, fresh = (float(usd) for usd in re.findall(r"(?:smart-trim|rollover): \$(\d+\.\d\d)", line))
    assert 0 < fresh < smaller < 1.34
    assert f"leftoff resume {live.session_id[:8]} --how smart-trim" in line
    for fields in (
        {**cold, "estimated_cache_write_usd": 0.02},
        {**cold, "prompt_cache_likely_expired": False, "estimated_cache_write_usd": 1.3375},
        cold,
    ):
        shown = live.hook("SessionStart", source="resume", **fields).get("systemMessage", "")
        assert "cold cache" not in shown
