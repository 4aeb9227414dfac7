"""The pause in the Python API."""

from __future__ import annotations

import json
import logging
import re
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import leftoff
from leftoff.errors import DocumentError, NotFoundError, NothingToDoError, UsageError
from leftoff.platform import paths
from leftoff.platform.register import Register

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def manager():
    return leftoff.IncrementalPauseManager()


def sessions():
    return Path.cwd() / ".leftoff" / "sessions"


def wind_down(manager):
    """Start a pause and record four actions."""
    state = leftoff.ContextUsageTracker().update_usage(input_tokens=150_000, output_tokens=30_000)
    session_id = manager.start_incremental_pause(
        context_percentage=state.percentage_used / 100, initial_state=state.__dict__
    )
    manager.append_action(
        action_type="tool_call",
        action_data={"tool": "Read", "path": "/src/main.py", "lines": 150},
        context_percentage=0.91,
    )
    manager.append_action("assistant_response", {"summary": "Analyzed code structure"}, 0.92)
    manager.append_action("user_message", {"message": "Can you summarize what we've done?"}, 0.93)
    manager.append_action("system_event", {"event": "memory_warning", "available_mb": 500}, 0.93)
    return session_id


def test_starting_makes_the_file_and_gives_the_id(manager):
    """`.leftoff/sessions/ACTIVE-PAUSE.jsonl`, whose first line holds the initial state; an id that begins as designed."""
    assert not manager.is_pause_active()
    session_id = wind_down(manager)
    assert manager.is_pause_active()
    assert re.fullmatch(r"session-\d{8}-\d{6}-\d{6}-[0-9a-f]{8}", session_id)
    first = json.loads((sessions() / "ACTIVE-PAUSE.jsonl").read_text("utf-8").splitlines()[0])
    assert first["type"] == "pause_started"
    assert first["session_id"] == session_id
    assert first["data"]["context_percentage"] == first["context_percentage"] == 0.9
    assert first["data"]["initial_state"]["cumulative_input_tokens"] == 150_000


def test_the_recorded_actions_come_back_as_pause_actions(manager):
    """The actions come in order and include the line that started the pause."""
    wind_down(manager)
    actions = manager.get_recorded_actions()
    assert [type(each) for each in actions] == [leftoff.PauseAction] * 5
    assert [each.type for each in actions] == [
        "pause_started",
        "tool_call",
        "assistant_response",
        "user_message",
        "system_event",
    ]
    assert actions[1].data == {"tool": "Read", "path": "/src/main.py", "lines": 150}


def test_the_summary_has_its_documented_fields(manager):
    """The summary has its documented fields, and its range can be printed as percentages."""
    session_id = wind_down(manager)
    summary = manager.get_pause_summary()
    assert summary["session_id"] == session_id
    assert summary["action_count"] == 5
    assert f"{summary['context_range'][0]:.1%} -> {summary['context_range'][1]:.1%}" == "90.0% -> 93.0%"
    assert isinstance(summary["context_range"], tuple)
    assert summary["duration_seconds"] >= 0
    assert summary["last_action_type"] == "system_event"
    assert summary["pause_started_at"] <= summary["last_updated"]


def test_a_full_snapshot_is_four_files_and_a_pointer(manager):
    """The path of the JSON is given back; the running file has become the archive."""
    session_id = wind_down(manager)
    path = manager.finalize_pause(create_full_snapshot=True)
    assert path == sessions() / f"{session_id}.json"
    assert {each.name for each in sessions().iterdir() if not each.name.startswith(".")} == {
        "LATEST-SESSION.txt",
        f"{session_id}.json",
        f"{session_id}.yaml",
        f"{session_id}.md",
        f"{session_id}-incremental.jsonl",
    }
    assert (sessions() / "LATEST-SESSION.txt").read_text("utf-8") == f"{session_id}\n"
    state = json.loads(path.read_text("utf-8"))
    assert state["context_usage"] == {"tokens_used": 186_000, "tokens_total": 200_000, "percentage": 93.0}
    pause = state["incremental_pause"]
    assert (pause["enabled"], pause["action_count"], pause["tool_calls"]) == (True, 6, 1)
    assert YAML(typ="safe", pure=True).load(path.with_suffix(".yaml").read_text("utf-8")) == state
    lines = (sessions() / f"{session_id}-incremental.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["type"] for line in lines][-1] == "pause_finalized"
    assert not manager.is_pause_active()


def test_the_documents_are_known_as_written_by_this_machine(manager):
    """All four of them, so that they may be restored by themselves."""
    wind_down(manager)
    path = manager.finalize_pause()
    register = Register(folder=paths.data_folder())
    written = [*sessions().glob("session-*")]
    assert len(written) == 4
    assert {register.standing(each) for each in written} == {"written"}
    assert path.stat().st_mode & 0o777 == 0o600


def test_without_a_snapshot_only_the_archive_is_kept(manager):
    """The path of the archive is returned, and no pointer is written."""
    session_id = wind_down(manager)
    path = manager.finalize_pause(create_full_snapshot=False)
    assert path == sessions() / f"{session_id}-incremental.jsonl"
    assert [each.name for each in sessions().iterdir() if not each.name.startswith(".")] == [path.name]
    assert not manager.is_pause_active()


def test_discarding_leaves_nothing(manager):
    """Discarding returns whether there was a pause."""
    wind_down(manager)
    assert manager.discard_pause() is True
    assert manager.discard_pause() is False
    assert [each.name for each in sessions().iterdir() if not each.name.startswith(".")] == []


def test_without_a_pause_the_answers_are_empty(manager):
    """Without a pause nothing is returned, and recording is refused."""
    assert manager.get_recorded_actions() == []
    assert manager.get_pause_summary() is None
    assert manager.finalize_pause() is None
    assert manager.finalize_pause(create_full_snapshot=False) is None
    assert manager.discard_pause() is False
    with pytest.raises(NotFoundError, match="leftoff pause start"):
        manager.append_action("tool_call", {}, 0.9)
    assert not (Path.cwd() / ".leftoff").exists()


def test_a_second_start_is_refused_and_another_manager_records_into_the_same_pause(manager):
    """A project has one pause, whichever manager records."""
    session_id = wind_down(manager)
    other = leftoff.IncrementalPauseManager(Path.cwd())
    with pytest.raises(NothingToDoError, match="running already"):
        other.start_incremental_pause(0.95, {})
    other.append_action("user_message", {"message": "me too"}, 0.94)
    assert manager.get_recorded_actions()[-1].session_id == session_id


def test_three_pauses_in_one_second_are_three(manager):
    """Ids with a resolution of one second would make one file of them."""
    session_ids = set()
    for _ in range(3):
        manager.start_incremental_pause(0.9, {})
        session_ids.add(manager.finalize_pause())
    assert len(session_ids) == 3
    assert all(path.exists() for path in session_ids)


def test_bad_lines_are_skipped_counted_and_reported(manager, caplog):
    """A corrupted line costs a warning in the log and nothing else."""
    wind_down(manager)
    with (sessions() / "ACTIVE-PAUSE.jsonl").open("ab") as file:
        file.write(b'\n\n{"type": "tool_call", "timest')
    with caplog.at_level(logging.WARNING, logger="leftoff"):
        assert len(manager.get_recorded_actions()) == 5
    assert "skipping 1 line " in caplog.text
    assert manager.get_pause_summary()["bad_lines"] == 1
    state = json.loads(manager.finalize_pause().read_text("utf-8"))
    assert state["incremental_pause"]["bad_lines"] == 1


def test_credentials_are_removed_before_anything_is_written(manager):
    """Credentials are removed from the state, the actions and the messages."""
    manager.start_incremental_pause(0.9, {"key": SECRET})
    manager.append_action("user_message", {"message": f"use {SECRET}"}, 0.91)
    manager.append_action(
        "tool_call", {"tool": "Bash", "args": {"env": [{"name": "TOKEN", "value": SECRET}]}}, 0.92
    )
    assert SECRET not in (sessions() / "ACTIVE-PAUSE.jsonl").read_text("utf-8")
    manager.finalize_pause()
    leftoff.SessionPauseManager().create_pause_session(message=f"remember {SECRET}")
    for path in sessions().glob("session-*"):
        assert SECRET not in path.read_text("utf-8")


@pytest.mark.parametrize("fraction", [91, -0.1, float("nan"), float("inf"), True])
def test_a_percentage_that_is_not_a_fraction_is_refused(manager, fraction):
    """Writing 91 instead of 0.91 is a common mistake."""
    with pytest.raises(UsageError, match="a fraction was expected"):
        manager.start_incremental_pause(fraction, {})
    manager.start_incremental_pause(0.9, {})
    with pytest.raises(ValueError, match="a fraction was expected"):
        manager.append_action("tool_call", {}, fraction)


@pytest.mark.parametrize("type_", ["pause_started", "pause_finalized", "nonsense", ""])
def test_only_the_four_types_can_be_recorded(manager, type_):
    """The other two are made by starting and finalising."""
    manager.start_incremental_pause(0.9, {})
    with pytest.raises(
        UsageError, match="There are: tool_call, assistant_response, user_message, system_event"
    ):
        manager.append_action(type_, {}, 0.9)


def test_values_that_json_has_no_word_for_are_kept_as_text(manager):
    """Paths, sets and half characters become text, and data that is not a mapping is refused."""
    manager.start_incremental_pause(0.9, {"folder": Path("/x")})
    manager.append_action("tool_call", {"tool": "Read", "path": Path("/a"), "half": "\ud800"}, 0.9)
    assert manager.get_recorded_actions()[-1].data == {"tool": "Read", "path": "/a", "half": "\ufffd"}
    with pytest.raises(UsageError, match="a mapping"):
        manager.append_action("tool_call", ["no"], 0.9)


def test_excluded_tools_leave_only_their_name(monkeypatch):
    """The setting ``capture.exclude_tools`` names the tools whose input is not recorded."""
    monkeypatch.setenv("LEFTOFF_CAPTURE_EXCLUDE_TOOLS", "Vault")
    manager = leftoff.IncrementalPauseManager()
    manager.start_incremental_pause(0.9, {})
    manager.append_action("tool_call", {"tool": "Vault", "args": {"path": "kv/prod"}}, 0.9)
    assert "kv/prod" not in (sessions() / "ACTIVE-PAUSE.jsonl").read_text("utf-8")


def test_redaction_can_be_switched_off(monkeypatch):
    """The user's settings can switch redaction off."""
    monkeypatch.setenv("LEFTOFF_REDACTION_ENABLED", "false")
    manager = leftoff.IncrementalPauseManager()
    manager.start_incremental_pause(0.9, {"key": SECRET})
    assert manager.get_recorded_actions()[0].data["initial_state"]["key"] == SECRET


def test_a_link_that_leads_out_of_the_project_is_refused(tmp_path):
    """A cloned repository could have made it."""
    (tmp_path / "away").mkdir()
    (Path.cwd() / ".leftoff").mkdir()
    (Path.cwd() / ".leftoff" / "sessions").symlink_to(tmp_path / "away")
    with pytest.raises(leftoff.LeftoffError, match="leads out of"):
        leftoff.IncrementalPauseManager()
    assert [*(tmp_path / "away").iterdir()] == []


# The snapshot without a pause, and git


def git(*arguments, folder=None):
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository():
    git("init", "-q")
    Path("main.py").write_text("print()\n", encoding="utf-8")
    git("add", "main.py")
    git("commit", "-q", "-m", "first")
    return Path.cwd()


def test_a_session_can_be_paused_without_a_recorded_pause(repository):
    """A snapshot with the message, git and the pointer; nothing is committed unless asked."""
    Path("main.py").write_text("changed\n", encoding="utf-8")
    before = git("rev-parse", "HEAD")
    session_id = leftoff.SessionPauseManager().create_pause_session("lunch")
    state = json.loads((sessions() / f"{session_id}.json").read_text("utf-8"))
    assert (state["message"], state["git"]["branch"], state["git"]["changes"]) == (
        "lunch",
        "main",
        ["main.py"],
    )
    assert state["incremental_pause"]["enabled"] is False
    assert not (sessions() / f"{session_id}-incremental.jsonl").exists()
    assert git("rev-parse", "HEAD") == before
    assert git("status", "--porcelain") == "M main.py"


def test_a_commit_takes_the_snapshot_and_nothing_else(repository):
    """What the user had staged, changed or left untracked stays exactly as it was."""
    Path("main.py").write_text("staged\n", encoding="utf-8")
    git("add", "main.py")
    Path("main.py").write_text("staged, then changed\n", encoding="utf-8")
    Path(".env").write_text("SECRET=1\n", encoding="utf-8")
    before = git("status", "--porcelain")
    session_id = leftoff.SessionPauseManager().create_pause_session(skip_commit=False)
    committed = set(git("show", "--name-only", "--format=", "HEAD").splitlines())
    names = {f"{session_id}.json", f"{session_id}.md", f"{session_id}.yaml", "LATEST-SESSION.txt"}
    assert committed == {f".leftoff/sessions/{name}" for name in names}
    assert git("log", "-1", "--format=%s") == f"leftoff: pause {session_id}"
    assert git("status", "--porcelain") == before
    assert git("show", ":main.py") == "staged"


def test_a_commit_that_git_refuses_leaves_the_snapshot_and_the_stage(repository, isolated_home, caplog):
    """Git has no author to commit as: the log says so, the documents are kept, and the stage is as before."""
    (isolated_home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n", encoding="utf-8")
    session_id = leftoff.SessionPauseManager().create_pause_session(skip_commit=False)
    assert (sessions() / f"{session_id}.json").exists()
    assert "is written, but not committed" in caplog.text
    assert git("diff", "--cached", "--name-only") == ""


def test_outside_git_there_is_nothing_to_commit_to(caplog):
    """The log says so, and the snapshot is kept."""
    session_id = leftoff.SessionPauseManager().create_pause_session(skip_commit=False)
    assert (sessions() / f"{session_id}.json").exists()
    assert "not a git repository" in caplog.text


def test_hooks_of_the_repository_are_not_run_by_a_commit(repository):
    """The hooks and filters of a cloned repository could run anything, so neither is run."""
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hooked\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    git("config", "filter.evil.clean", "touch filtered; cat")
    (repository / ".git" / "info" / "attributes").write_text("* filter=evil\n", encoding="utf-8")
    head = git("rev-parse", "HEAD")
    leftoff.SessionPauseManager().create_pause_session(skip_commit=False)
    assert git("rev-parse", "HEAD") != head
    assert not Path("hooked").exists()
    assert not Path("filtered").exists()


def test_the_setting_commits_at_each_finalising(repository, monkeypatch):
    """With ``pause.git_commit``, finalising commits the pause's files, including its archive."""
    monkeypatch.setenv("LEFTOFF_PAUSE_GIT_COMMIT", "true")
    manager = leftoff.IncrementalPauseManager()
    session_id = manager.start_incremental_pause(0.9, {})
    manager.finalize_pause()
    assert f"{session_id}-incremental.jsonl" in git("show", "--name-only", "--format=", "HEAD")


@pytest.mark.parametrize("target", ["copy.json", "folder"])
def test_a_copy_is_exported_where_it_is_wanted(target, tmp_path):
    """A copy is written to a file, or into a folder under its own name."""
    (tmp_path / "folder").mkdir()
    session_id = leftoff.SessionPauseManager(Path.cwd()).create_pause_session(export_path=tmp_path / target)
    copy = tmp_path / target / f"{session_id}.json" if target == "folder" else tmp_path / target
    assert json.loads(copy.read_text("utf-8"))["session_id"] == session_id


def test_an_older_snapshot_does_not_take_the_pointer(manager):
    """A pause that is recovered late must not hide what came since."""
    wind_down(manager)
    newer = leftoff.SessionPauseManager().create_pause_session()
    assert leftoff.recover_orphaned_pause(choice="f") is not None
    assert (sessions() / "LATEST-SESSION.txt").read_text("utf-8").strip() == newer


def test_snapshots_are_listed_newest_first_and_loaded():
    """Without an id the newest one is loaded; an archive without a snapshot is not one."""
    snapshots = leftoff.SessionPauseManager()
    assert (snapshots.list_snapshots(), snapshots.load_snapshot()) == ([], None)
    first = snapshots.create_pause_session("lunch")
    manager = leftoff.IncrementalPauseManager()
    second = manager.start_incremental_pause(0.9, {})
    manager.append_action("user_message", {"message": "Stop here."}, 0.91)
    path = manager.finalize_pause()
    manager.start_incremental_pause(0.9, {})
    manager.finalize_pause(create_full_snapshot=False)
    assert [name for name, _ in snapshots.list_snapshots()] == [second, first]
    assert snapshots.list_snapshots()[0][1] == path
    newest = snapshots.load_snapshot()
    assert newest is not None
    assert newest["user_messages"][0]["message"] == "Stop here."
    assert snapshots.load_snapshot(first)["message"] == "lunch"
    assert snapshots.load_snapshot("session-20200101-000000") is None
    path.write_text("{", encoding="utf-8")
    with pytest.raises(DocumentError, match="not JSON"):
        snapshots.load_snapshot(second)
