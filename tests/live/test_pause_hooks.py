"""Pauses of hooks: per agent session, outside the project until finished, with the words read from the transcript."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.agents import claude, codex
from leftoff.core.levels import check_crossing
from leftoff.core.metrics import ContextMetrics, Level, Thresholds
from leftoff.core.records import ToolUse
from leftoff.errors import InvalidIdError
from leftoff.live import fast
from leftoff.pause.finalize import Ending, finalize
from leftoff.pause.folders import (
    _find_line_start,
    add_transcript_texts,
    list_running,
    list_running_everywhere,
    manual_pause,
    session_pause,
)
from leftoff.pause.journal import Origin, PauseAction
from leftoff.pause.lifecycle import start
from leftoff.pause.snapshot_store import list_finished, read_archive
from leftoff.platform import clock, paths
from leftoff.platform.process import own_process
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.support.transcripts import write_transcript

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
OTHER = "1c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b22"
SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
AGENTS = {"claude": claude.here, "codex": codex.here}


@pytest.fixture(params=["claude", "codex"])
def continued_session(request, tmp_path):
    """A session that continues after its pause began: its agent, transcript, and the transcript's size at that time."""
    agent = AGENTS[request.param]()
    before = (
        Story(session_id=SESSION, project=str(Path.cwd()))
        .asked("Fix the lock")
        .replied("On it.", used=150_000)
    )
    short = tmp_path / "short.jsonl"
    write_transcript(agent, before.script(), short)
    story = before.asked(f"Go on with {SECRET}").replied(
        "Reading.", call("shell", {"command": f"cat a.py # {SECRET}"}, "x" * 189 + " " + SECRET)
    )
    story.replied("The lock is missing in two places.").asked("Thanks, stop here").replied("Stopped.")
    transcript = tmp_path / "t.jsonl"
    write_transcript(agent, story.script(), transcript)
    return agent, transcript, short.stat().st_size


def hook_line(home, type_, fraction, **data):
    """Write a line as the fast path does: without words, and only while a pause is running."""
    action = PauseAction(type_, clock.format_rfc3339(clock.now()), "session-x", data, fraction)
    line = action.to_json_line().encode() + b"\n"
    return fast.append_line(str(home.file.path), line, str(home.file.lock), creating=0)


def begin(home, agent, transcript, offset, fraction=0.9):
    origin = Origin(
        agent=agent.id, session_id=SESSION, transcript=str(transcript), offset=offset, project=str(Path.cwd())
    )
    return start(home, fraction, {}, origin=origin)


def record_all(home, agent, transcript):
    """One bare line for each thing that happened after the pause began, as the events would give them."""
    for record in agent.read(transcript):
        for block in record.blocks:
            if isinstance(block, ToolUse):
                assert hook_line(
                    home, "tool_call", 0.91, tool=block.tool, call_id=block.call_id, offset=record.place.end
                )
        if record.kind == "prompt" and "Fix the lock" not in record.text:
            assert hook_line(home, "user_message", 0.92, offset=record.place.start)
        if record.text in {"The lock is missing in two places.", "Stopped."}:
            assert hook_line(home, "assistant_response", 0.93, offset=record.place.end)


def test_a_snapshot_has_the_words_from_the_transcript_without_credentials(continued_session):
    """What the user said, what tools were called with and answered, what the agent said last in each turn."""
    agent, transcript, offset = continued_session
    home = session_pause(agent.id, SESSION, Workspace.open())
    begin(home, agent, transcript, offset)
    record_all(home, agent, transcript)
    raw = home.file.path.read_text("utf-8")
    assert "lock" not in raw  # no words in what the fast path writes
    metrics = ContextMetrics(total_budget=167_000, used_tokens=155_310)
    state = {
        "next_steps": ["Take the lock"],
        "accomplishments": ["Found it"],
        "mission_summary": "Fix the lock",
    }
    ended = finalize(home, Ending(reason="compaction", metrics=metrics, session_state=state))
    snapshot = json.loads(ended.main.read_text("utf-8"))
    assert [each["message"] for each in snapshot["user_messages"]] == [
        "Go on with [REDACTED:github-token]",
        "Thanks, stop here",
    ]
    assert snapshot["context_usage"] == {"tokens_used": 155_310, "tokens_total": 167_000, "percentage": 93.0}
    assert (snapshot["next_steps"], snapshot["accomplishments"]) == (["Take the lock"], ["Found it"])
    assert snapshot["origin"]["session_id"] == SESSION
    page = ended.main.with_suffix(".md").read_text("utf-8")
    assert "The lock is missing in two places." in page
    assert "cat a.py" in page
    assert "## Next Steps\n\n- Take the lock" in page
    for path in ended.files:
        assert SECRET not in path.read_text("utf-8")
        assert SECRET[:4] not in path.read_text("utf-8")


def test_the_pause_of_a_hook_lies_outside_the_project(continued_session):
    """File watchers see nothing until the pause is finished, and then only finished documents."""
    agent, transcript, offset = continued_session
    home = session_pause(agent.id, SESSION, Workspace.open())
    begin(home, agent, transcript, offset)
    assert home.file.path.is_relative_to(paths.state_folder())
    assert not (Path.cwd() / ".leftoff" / "sessions").exists()
    finalize(home, Ending())
    names = {path.suffix for path in (Path.cwd() / ".leftoff" / "sessions").iterdir()}
    assert names == {".json", ".yaml", ".md", ".jsonl", ".txt", ""}
    assert not home.file.path.exists()


def test_two_sessions_in_one_project_never_meet(continued_session):
    """Each session has its own pause, and ending one does not affect the other."""
    agent, transcript, offset = continued_session
    one, two = (
        session_pause(agent.id, SESSION, Workspace.open()),
        session_pause(agent.id, OTHER, Workspace.open()),
    )
    first, second = begin(one, agent, transcript, offset), begin(two, agent, transcript, offset)
    assert hook_line(two, "tool_call", 0.95, tool="OnlyInTwo")
    assert {each.summary.session_id for each in list_running(Workspace.open(), clock.now())} == {
        first,
        second,
    }
    ended = finalize(one, Ending())
    assert "OnlyInTwo" not in ended.main.read_text("utf-8")
    assert [each.summary.session_id for each in list_running(Workspace.open(), clock.now())] == [second]


def test_three_compactions_make_three_snapshots_and_nothing_is_recorded_in_between():
    """A compaction ends the wind-down: the levels are armed again, and the next crossing starts a new pause."""
    home = session_pause("claude", SESSION, Workspace.open())
    announced, refused, recorded = Level.OK, 0, 0
    for turn in range(3):
        for percentage in (20, 60, 75, 88, 91, 93, 96):
            metrics = ContextMetrics(total_budget=100_000, used_tokens=percentage * 1_000)
            step = check_crossing(announced, metrics, Thresholds())
            announced = step.announced
            if step.announce is Level.AUTO_PAUSE:
                start(home, percentage / 100, {})
            if hook_line(home, "tool_call", percentage / 100, tool=f"Turn{turn}", call_id=str(percentage)):
                recorded += 1
            else:
                refused += 1
        assert finalize(home, Ending(reason="compaction")) is not None
        announced = check_crossing(
            announced, ContextMetrics(total_budget=100_000, used_tokens=20_000), Thresholds(), compacted=True
        ).announced
        assert finalize(home, Ending(reason="compaction")) is None
    kept = list_finished(home.sessions)
    assert (len(kept), recorded, refused) == (3, 9, 12)
    for turn, each in enumerate(reversed(kept)):
        lines = read_archive(each).actions
        assert [action.type for action in lines] == ["pause_started", *["tool_call"] * 3, "pause_finalized"]
        assert {action.data["tool"] for action in lines if action.type == "tool_call"} == {f"Turn{turn}"}
        assert each.state["reason"] == "compaction"
    assert (home.sessions / "LATEST-SESSION.txt").read_text("utf-8").strip() == kept[0].session_id


def test_an_offset_in_the_middle_of_a_line_or_beyond_the_end_causes_no_error(continued_session):
    """The transcript was being written when the pause began, or was cut since."""
    agent, transcript, offset = continued_session
    for odd in (offset - 7, transcript.stat().st_size + 999, 0):
        home = session_pause(agent.id, SESSION, Workspace.open())
        begin(home, agent, transcript, odd)
        record_all(home, agent, transcript)
        shown = add_transcript_texts(home, home.file.read(), Workspace.open().capture)
        assert any(action.data.get("message") == "Thanks, stop here" for action in shown.actions)
        home.file.discard()


def test_only_the_end_of_a_long_transcript_is_read(continued_session, tmp_path):
    """Reading starts shortly before the offset, so a large file costs no more than a small one."""
    agent, _, _ = continued_session
    story = Story(session_id=SESSION, project=str(Path.cwd()))
    for number in range(40):
        story.asked(f"part {number}").replied("", call("shell", {"command": f"c{number}"}, "x\n" * 5_000))
    transcript = tmp_path / "long.jsonl"
    write_transcript(agent, story.script(), transcript)
    records = [*agent.read(transcript)]
    prompt = [record for record in records if record.kind == "prompt"][-1]
    start_at = _find_line_start(transcript, prompt.place.start)
    assert 0 < prompt.place.start - start_at < 3 * 64 * 1024
    assert start_at in {record.place.start for record in records}
    home = session_pause(agent.id, SESSION, Workspace.open())
    begin(home, agent, transcript, prompt.place.start)
    hook_line(home, "user_message", 0.92, offset=prompt.place.start)
    shown = add_transcript_texts(home, home.file.read(), Workspace.open().capture)
    assert shown.actions[-1].data["message"] == "part 39"


def test_without_the_caller_s_metrics_the_transcript_tells_how_full_it_is(continued_session):
    """A recovered pause has no caller that knows the usage; without the transcript it is unknown."""
    agent, transcript, offset = continued_session
    home = session_pause(agent.id, SESSION, Workspace.open())
    begin(home, agent, transcript, offset)
    expected = agent.occupancy(transcript).used_tokens
    usage = json.loads(finalize(home, Ending()).main.read_text("utf-8"))["context_usage"]
    assert usage["tokens_used"] >= expected
    transcript.unlink()
    begin(home, agent, transcript, offset)
    usage = json.loads(finalize(home, Ending()).main.read_text("utf-8"))["context_usage"]
    assert usage == {"tokens_used": None, "tokens_total": None, "percentage": 90.0}


def test_words_that_a_hook_s_line_holds_itself_are_made_clean_too(continued_session, monkeypatch):
    """The archive holds no credential and nothing of an excluded tool, wherever the line came from."""
    monkeypatch.setenv("LEFTOFF_CAPTURE_EXCLUDE_TOOLS", "Vault")
    agent, transcript, offset = continued_session
    home = session_pause(agent.id, SESSION, Workspace.open())
    begin(home, agent, transcript, offset)
    hook_line(home, "system_event", 0.91, event=f"login with {SECRET}")
    hook_line(home, "tool_call", 0.91, tool="Vault", args={"path": "kv/prod"})
    ended = finalize(home, Ending())
    for path in ended.files:
        assert SECRET not in path.read_text("utf-8")
        assert "kv/prod" not in path.read_text("utf-8")


def test_a_pause_that_came_with_a_clone_opens_no_transcript(continued_session):
    """Such a pause could name any transcript; its lines are finalised as they are."""
    agent, transcript, offset = continued_session
    home = manual_pause(Workspace.open())
    begin(home, agent, transcript, offset)
    record_all(home, agent, transcript)
    ended = finalize(home, Ending())
    assert ended.summary.action_count > 3
    for path in ended.files:
        assert "lock is missing" not in path.read_text("utf-8")


def test_a_project_that_is_gone_is_not_made_again(continued_session, tmp_path):
    """The snapshot goes to the user's own folder."""
    agent, transcript, offset = continued_session
    gone = tmp_path / "gone"
    home = session_pause(agent.id, SESSION, Workspace.open())
    origin = Origin(
        agent=agent.id, session_id=SESSION, transcript=str(transcript), offset=offset, project=str(gone)
    )
    start(home, 0.9, {}, origin=origin)
    (found,) = list_running_everywhere(Workspace.open(), clock.now())
    ended = finalize(found.home, Ending())
    assert ended.main.is_relative_to(paths.data_folder())
    assert not gone.exists()


def test_a_transcript_that_is_gone_leaves_the_bare_lines(continued_session):
    """The lines are finalised as they are, also for an unknown agent."""
    agent, transcript, offset = continued_session
    transcript.unlink()
    home = session_pause(agent.id, SESSION, Workspace.open())
    begin(home, agent, transcript, offset)
    hook_line(home, "tool_call", 0.91, tool="Read", call_id="c")
    ended = finalize(home, Ending())
    assert ended.summary.tools == {"Read": 1}
    origin = Origin(agent="nobody", session_id=SESSION, transcript=str(transcript), offset=1)
    start(home, 0.9, {}, origin=origin)
    assert finalize(home, Ending()) is not None


def test_a_pause_without_its_first_line_still_finds_its_project(continued_session):
    """The pause's file name has the session id, and the session's transcript names the project."""
    agent, _, _ = continued_session
    where = Path.cwd() / "elsewhere"
    (where / ".leftoff").mkdir(parents=True)
    story = Story(session_id=SESSION, project=str(where)).asked("go").replied("ok")
    target = agent.home / ("projects/-x" if agent.id == "claude" else "sessions/2026/01/06")
    target.mkdir(parents=True)
    name = f"{SESSION}.jsonl" if agent.id == "claude" else f"rollout-2026-01-06T12-00-00-{SESSION}.jsonl"
    write_transcript(agent, story.script(), target / name)
    home = session_pause(agent.id, SESSION, Workspace.open(where))
    home.file.path.parent.mkdir(parents=True)
    home.file.path.write_text('{"torn\n', encoding="utf-8")
    (found,) = list_running_everywhere(Workspace.open(), clock.now())
    assert found.home.project.root == where
    home.file.path.unlink()
    stranger = session_pause(agent.id, OTHER, Workspace.open(where))
    stranger.file.path.write_text("", encoding="utf-8")
    (found,) = list_running_everywhere(Workspace.open(), clock.now())
    assert found.home.project.root == Path.cwd()


def test_a_number_that_was_given_to_another_process_is_not_the_one_that_recorded(continued_session):
    """Systems give numbers away again: who recorded is known by when it began, too."""
    home = manual_pause(Workspace.open())
    pid, begun = own_process()
    for process, standing in (
        ({"pid": pid, "begun": begun}, "running"),
        ({"pid": pid, "begun": "1"}, "orphaned"),
    ):
        start(home, 0.9, {}, process=process)
        assert [each.status for each in list_running(Workspace.open(), clock.now())] == [standing]
        home.file.discard()


@pytest.mark.parametrize(("agent", "session"), [("x/../..", "s"), ("claude", "../../evil"), ("claude", "")])
def test_ids_cannot_lead_anywhere(agent, session):
    """An id with a path in it is refused."""
    with pytest.raises(InvalidIdError):
        session_pause(agent, session, Workspace.open())


def test_a_pause_is_orphaned_when_its_process_has_died_or_it_was_untouched_for_an_hour(continued_session):
    """The transcript's time counts too; a living process is never orphaned."""
    agent, transcript, offset = continued_session
    home = session_pause(agent.id, SESSION, Workspace.open())
    begin(home, agent, transcript, offset)

    def standing(at):
        return list_running_everywhere(Workspace.open(), at)[0].status

    now = clock.now()
    later = datetime.fromtimestamp(now.timestamp() + 4_000, UTC)
    assert (standing(now), standing(later)) == ("running", "orphaned")
    os.utime(transcript, (later.timestamp(), later.timestamp()))
    assert standing(later) == "running"
    transcript.unlink()
    assert standing(later) == "orphaned"


def test_not_being_allowed_to_look_for_pauses_is_reported(unprivileged_folder, run_python):
    """Missing permission is not the same as having no pauses."""
    code = (
        "import os, sys; from pathlib import Path\n"
        "from leftoff.errors import StorageError; from leftoff.pause.folders import list_running_everywhere\n"
        "from leftoff.workspace import Workspace\n"
        "import platformdirs, platformdirs.unix; from leftoff.platform import clock; drop()\n"
        "os.environ.update(HOME=sys.argv[1], XDG_STATE_HOME=sys.argv[1]); os.chdir(sys.argv[1])\n"
        "folder = Path(sys.argv[1]) / 'leftoff' / 'pauses'; folder.mkdir(parents=True); folder.chmod(0)\n"
        "try: print(list_running_everywhere(Workspace.open(Path(sys.argv[1])), clock.now()))\n"
        "except StorageError as error: print(error)\n"
    )
    assert "pauses: cannot be read: no permission" in run_python(code, unprivileged_folder).stdout
