"""``leftoff install`` and ``uninstall``: real processes, what they say, and what to type next."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.cli.main import run
from leftoff.platform import paths

pytestmark = pytest.mark.measured

BEFORE = b'{\n  "model": "opus"\n}\n'


@pytest.fixture
def settings(isolated_home):
    (isolated_home / ".claude").mkdir()
    (isolated_home / ".claude" / "settings.json").write_bytes(BEFORE)
    return isolated_home / ".claude" / "settings.json"


def leftoff(*arguments, code=0):
    ended = subprocess.run(
        [sys.executable, "-m", "leftoff", *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == code, ended
    return ended.stdout + ended.stderr


def test_there_and_back(settings):
    """The output names the changed file and says how to undo the installation."""
    output = leftoff("install", "claude")
    assert "~/.claude/settings.json" in output
    assert "leftoff uninstall claude" in output
    assert "SessionStart" in output
    assert b"fast.py" in settings.read_bytes()
    assert "already" in leftoff("install", "claude")
    assert str(settings) in leftoff("uninstall")
    assert settings.read_bytes() == BEFORE
    assert "doctor" in leftoff("uninstall", code=3)


def test_the_command_that_was_installed_runs(settings):
    """It runs as the client would run it: with sh, in any folder, and with an object that is not an event."""
    leftoff("install", "claude")
    command = json.loads(settings.read_bytes())["hooks"]["Stop"][0]["hooks"][0]["command"]
    ended = subprocess.run(
        ["sh", "-c", command], input="{}", capture_output=True, text=True, check=False, cwd="/"
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_dry_run_shows_the_diff_and_writes_nothing(settings, isolated_home):
    """This holds for install and uninstall."""
    output = leftoff("install", "claude", "--dry-run")
    assert f"--- {settings}" in output
    assert '+  "hooks": {' in output
    assert "Nothing was written" in output
    assert settings.read_bytes() == BEFORE
    assert not paths.data_folder().exists()
    leftoff("install", "claude")
    wired = settings.read_bytes()
    output = leftoff("uninstall", "--dry-run")
    assert '-  "hooks": {' in output
    assert "Nothing was changed" in output
    assert settings.read_bytes() == wired
    assert "No setting would change" in leftoff("install", "claude", "--dry-run")


@pytest.mark.slow
def test_json_says_the_same(settings):
    data = json.loads(leftoff("install", "claude", "--json"))
    assert (data["settings_file"], data["changed"], data["written"]) == (str(settings), True, True)
    assert data["to_do"] == []
    assert "+++" in data["diff"]
    assert json.loads(leftoff("install", "claude", "--dry-run", "--json"))["written"] is False
    data = json.loads(leftoff("uninstall", "--json"))
    assert [each["settings_file"] for each in data["removed"]] == [str(settings)]
    assert "error" in json.loads(leftoff("uninstall", "--json", code=3))


def test_install_says_to_approve_the_hooks_in_codex(isolated_home):
    """Codex silently runs no hook without approval."""
    (isolated_home / ".codex").mkdir()
    assert "Trust all" in leftoff("install", "codex")
    assert "/hooks" in json.loads(leftoff("install", "codex", "--json"))["to_do"][0]


OWN_HOOKS = b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}'


@pytest.mark.parametrize("version", ["2.0.76", "2.1.90", "2.1.197", "2.1.325"])
def test_only_events_that_the_client_knows_are_written(settings, claude_version, version):
    """Up to 2.1.100 a client skips its whole settings file if it meets another one."""
    claude_version(version)
    settings.write_bytes(OWN_HOOKS)
    leftoff("install", "claude")
    events = {*json.loads(settings.read_bytes())["hooks"]}
    number = tuple(map(int, version.split(".")))
    assert "PostCompact" not in events, "the client would show its command on screen"
    assert ("PostToolBatch" in events) == (number >= (2, 1, 118))
    assert ("PostToolUse" in events) == (number < (2, 1, 118))
    leftoff("uninstall")
    assert settings.read_bytes() == OWN_HOOKS


def test_a_client_that_is_too_old_is_refused_with_what_to_type(settings, claude_version):
    """The exit code is 1, and nothing is written."""
    claude_version("1.0.84")
    output = " ".join(leftoff("install", "claude", code=1).split())
    assert "Claude Code 1.0.84" in output
    assert "1.0.85" in output
    assert "claude update" in output
    assert settings.read_bytes() == BEFORE
    assert not paths.data_folder().joinpath("installations.json").exists()


def test_where_the_version_is_not_known_that_is_said(settings):
    """Only what every client knows is written."""
    assert "could not find out which version" in " ".join(leftoff("install", "claude").split())
    events = {*json.loads(settings.read_bytes())["hooks"]}
    assert not events & {"PostCompact", "PostToolBatch", "PostToolUseFailure"}


def test_broken_settings_are_named_with_their_line(settings):
    """The exit code is 1, and nothing is written."""
    settings.write_bytes(b'{\n "a": 1,\n}')
    output = leftoff("install", "claude", code=1)
    assert f"{settings}: line 3" in output
    assert "Traceback" not in output
    assert settings.read_bytes() == b'{\n "a": 1,\n}'


@pytest.mark.parametrize(
    "arguments", [["install"], ["install", "claude", "--scope", "world"], ["uninstall", "a", "b"]]
)
def test_wrong_usage_is_2(arguments, capsys):
    """The error names the help to read."""
    assert run(arguments) == 2
    assert f"leftoff {arguments[0]} --help" in capsys.readouterr().err


def test_an_unknown_agent_is_named():
    """The known agents are listed."""
    output = leftoff("install", "nobody", code=2)
    assert "claude" in output
    assert "codex" in output


@pytest.mark.slow
def test_purge_asks_first_and_where_no_one_can_be_asked_keeps_everything(settings):
    """The settings are cleaned all the same."""
    leftoff("install", "claude")
    output = leftoff("uninstall", "--purge", code=1)
    assert str(paths.data_folder()) in output
    assert "--yes" in output
    assert settings.read_bytes() == BEFORE
    assert paths.data_folder().exists()
    output = json.loads(leftoff("uninstall", "--purge", "--json", code=1))
    assert (output["purged"], output["removed"]) == (False, [])
    assert leftoff("uninstall", "--purge", "--dry-run").count(str(paths.data_folder())) == 1
    assert "deleted" in leftoff("uninstall", "--purge", "--yes")
    assert not paths.data_folder().exists()
    assert json.loads(leftoff("uninstall", "--purge", "--yes", "--json"))["data"] == []


@pytest.mark.parametrize(("answer", "kept"), [(b"y\n", False), (b"n\n", True)])
def test_on_a_terminal_purge_takes_the_answer(settings, answer, kept):
    """The default answer is no."""
    leftoff("install", "claude")
    own, theirs = pty.openpty()
    os.write(own, answer)
    ended = subprocess.run(
        [sys.executable, "-m", "leftoff", "uninstall", "--purge"],
        stdin=theirs,
        capture_output=True,
        text=True,
        check=False,
    )
    os.close(theirs)
    os.close(own)
    assert "Delete all of this" in ended.stdout + ended.stderr
    assert ended.returncode == int(kept)
    assert paths.data_folder().exists() == kept


def test_project_scope_from_a_folder_below(settings):
    """The settings are at the project's root."""
    subprocess.run(["git", "init", "-q"], check=True)
    below = Path("src")
    below.mkdir()
    ended = subprocess.run(
        [sys.executable, "-m", "leftoff", "install", "claude", "--scope", "project"],
        cwd=below,
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(Path.cwd() / ".claude" / "settings.local.json") in ended.stdout
    leftoff("uninstall", "claude", "--scope", "project")
    assert not Path(".claude").exists()
