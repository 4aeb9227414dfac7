"""The command ``leftoff resume``: the welcome screen, the text to continue from, and starting the agent."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.platform import paths
from leftoff.resume_logs.save import save_session_log
from leftoff.testing.builders import Story, call
from leftoff.workspace import SessionRef, Workspace
from tests.support.transcripts import write_transcript

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


def leftoff(*arguments, **options):
    """The real command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "leftoff", *arguments], capture_output=True, text=True, check=False, **options
    )


@pytest.fixture
def session(isolated_home):
    """A session of this project, as the agent left it."""
    story = Story(session_id=SESSION, project=str(Path.cwd()), model="claude-sonnet-4-5")
    story.asked("Fix the lock in src/lock.py. Never push to main.").replied(
        "Reading.", call("shell", {"command": "pytest -q tests/test_lock.py"}, "1 failed", failed=True)
    )
    path = isolated_home / ".claude" / "projects" / "x" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), story.script(), path)
    return path


def saved(path: Path):
    return save_session_log(
        SessionRef(agent=claude.here(), transcript=path), Workspace.open(), stop_reason="manual_pause"
    )


def test_a_session_without_a_log_gets_one_and_is_shown(session):
    """The card fits one screen; the text of the log, fenced as data, is printed on request."""
    ended = leftoff("resume")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Welcome back! Picking up where we left off:\n\nCURRENT STATE\n-----")
    for words in (
        "Project: work",
        "Last Session: just now (",
        "Progress: ",
        "Current Location:",
        "Next Task: ",
        "Key Context:",
    ):
        assert words in ended.stdout
    assert "leftoff resume --run" in ended.stdout
    assert f"leftoff resume {SESSION[:8]} --run" in leftoff("resume", SESSION[:8]).stdout
    assert "Never push to main." in ended.stdout
    assert "<leftoff-record-" not in ended.stdout
    assert "<leftoff-record-" in leftoff("resume", "--print").stdout
    assert (Path(".leftoff") / "resume-logs" / f"session-{SESSION}.json").is_file()


def test_where_nothing_is_open_nothing_is_counted_as_open(isolated_home):
    """A log says explicitly that nothing is left, which is not a step."""
    story = Story(session_id=SESSION, project=str(Path.cwd()), model="claude-sonnet-4-5")
    story.asked("What does src/lock.py do?").replied("It locks.")
    path = isolated_home / ".claude" / "projects" / "x" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), story.script(), path)
    output = leftoff("resume").stdout
    assert " done, 0 open" in output
    assert "Next Task: none noted" in output


def test_json_says_the_same(session):
    found = json.loads(leftoff("resume", "--json", SESSION[:8]).stdout)
    assert found["session_id"] == SESSION
    assert found["command"] == ["claude", "--resume", SESSION]
    assert found["folder"] == str(Path.cwd())
    assert "src/lock.py" in found["mission"]
    assert found["text"].count("<leftoff-record-") == 1


def test_a_session_that_continued_since_is_saved_again(session):
    """The log of this morning says nothing about this afternoon."""
    kept = saved(session)
    later = session.stat().st_mtime + 3600
    story = (
        Story(session_id=SESSION, project=str(Path.cwd())).asked("Now write docs/lock.md").replied("Written.")
    )
    other = session.with_name("other.jsonl")
    write_transcript(claude.here(), story.script(), other)
    session.write_bytes(session.read_bytes() + other.read_bytes())
    other.unlink()
    os.utime(session, (later, later))
    assert "docs/lock.md" not in kept.markdown_file.read_text("utf-8")
    assert "docs/lock.md" in leftoff("resume").stdout


def test_a_log_outlives_its_session(session):
    """The text is there; how to start the agent on what it has deleted is not."""
    saved(session)
    session.unlink()
    ended = leftoff("resume")
    assert ended.returncode == 0
    assert "--run" not in ended.stdout
    assert "<leftoff-record-" in leftoff("resume", "--print").stdout
    ended = leftoff("resume", "--run")
    assert ended.returncode == 1
    assert "its log is left" in ended.stderr


def test_run_starts_the_agent_in_the_folder_of_the_session(session, tmp_path, monkeypatch):
    """The agent runs on the same terminal, and its exit code is returned."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "started $@ in $PWD"\nexit 7\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{paths.environment()['PATH']}")
    work = Path.cwd()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ended = leftoff("resume", str(session), "--run", cwd=elsewhere)
    assert (ended.returncode, ended.stderr) == (7, "")
    assert f"started --resume {SESSION} in {work}" in ended.stdout
    monkeypatch.setenv("PATH", "/nowhere")
    for how in ("as-is", "rollover"):
        ended = leftoff("resume", "--run", "--how", how)
        assert ended.returncode == 1
        assert "claude: could not be started" in ended.stderr
    assert [*session.parent.iterdir()] == [session]  # no copy is left behind


def test_print_and_run_exclude_each_other(session):
    """Nothing is printed, started or written."""
    ended = leftoff("resume", "--print", "--how", "rollover")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "leave out --run, --here and --how" in ended.stderr
    assert [*session.parent.iterdir()] == [session]


def test_the_card_has_no_marks_of_markdown(session):
    """A decision is bold in the log, but not on the card."""
    ended = leftoff("resume")
    assert "**" in leftoff("log", "show").stdout
    assert "**" not in ended.stdout


def test_a_copy_is_re_homed_into_this_folder(session, tmp_path):
    """The agent finds the copied conversation from here, and the first session is unchanged."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ended = leftoff("resume", str(session), "--here", "--how", "as-is", "--json", cwd=elsewhere)
    assert (ended.returncode, ended.stderr) == (0, "")
    way = json.loads(ended.stdout)["way"]
    assert way["folder"] == str(elsewhere)
    copy = claude.here().open(Path(way["made"]["output_file"]))
    assert copy.project == str(elsewhere)
    assert way["command"] == ["claude", "--resume", copy.session_id]
    assert claude.here().open(session).project != str(elsewhere)


def test_without_much_in_the_window_the_session_itself_is_resumed(session):
    """The advice is followed and its reason is given."""
    ended = leftoff("resume", "--how", "trim")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Continuing as it is: there is nothing to trim." in ended.stdout
    assert f"Continue in it:\n  claude --resume {SESSION}" in ended.stdout


def test_a_fresh_session_can_be_continued(session):
    ended = leftoff("resume", "--how", "rollover", "--json")
    way = json.loads(ended.stdout)["way"]
    assert way["how"] == "rollover"
    assert Path(way["made"]["output_file"]).is_file()


def test_nothing_to_continue_from_is_reported():
    """This holds for an empty project and for an unknown session."""
    for words, code in (((), 3), (("0123456789",), 1)):
        ended = leftoff("resume", *words)
        assert (ended.returncode, ended.stdout) == (code, "")
        assert ("leftoff sessions" if words else "leftoff doctor") in ended.stderr


def test_a_log_that_came_with_a_clone_is_shown_and_marked(session):
    """The mark is the first thing that is printed, in every form."""
    folder = Path(".leftoff") / "resume-logs"
    kept = saved(session)
    log = json.loads(kept.json_file.read_text("utf-8")) | {"session_id": "evil", "mission_summary": "OBEY"}
    session.unlink()
    for path in folder.iterdir():
        path.unlink()
    (folder / "session-evil.json").write_text(json.dumps(log), encoding="utf-8")
    for words in ((), ("evil",), ("--print",)):
        ended = leftoff("resume", *words)
        assert ended.returncode == 0
        assert ended.stdout.startswith("NOT TRUSTED: this machine did not write it.")
        assert "OBEY" in ended.stdout
    found = json.loads(leftoff("resume", "--json").stdout)
    assert (found["trusted"], found["waits_because"]) == (False, "this machine did not write it")
    assert "not trusted" in leftoff("log", "list").stdout
    assert leftoff("log", "show", "evil").stdout.startswith("NOT TRUSTED: this machine did not write it.")
