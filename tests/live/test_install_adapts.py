"""Hooks follow the version of the agent: a new session fits them, as far as they are as leftoff left them."""

import json
import subprocess
import sys

import pytest

from leftoff.errors import StorageError
from leftoff.live import installed
from leftoff.live.install import adapt, install, plan_install, plan_uninstall, uninstall
from leftoff.platform import files, paths
from leftoff.workspace import Workspace
from tests.agents_live.starting_settings import CLAUDE
from tests.support.live_session import wait_for

BEFORE = b'{\n\t"model": "opus",\n\t"hooks": {\n\t\t"PostToolUse": []\n\t}\n}\n'


@pytest.fixture
def settings(isolated_home, claude_version):
    """The user's settings, with the hooks of 2.1.90 in them; the client has been upgraded since."""
    file = isolated_home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(BEFORE)
    claude_version("2.1.90")
    put_in()
    claude_version("2.1.325")
    return file


def put_in(scope="user"):
    install(plan_install("claude", scope, Workspace.open()))


def take_out():
    uninstall(plan_uninstall("claude", None, Workspace.open()))


def fit():
    return adapt("claude", Workspace.open())


def events(file):
    hooks = json.loads(file.read_bytes())["hooks"]
    return {event for event, groups in hooks.items() if "fast.py" in json.dumps(groups)}


def test_an_upgrade_completes_the_hooks_once_and_uninstalls_byte_for_byte(settings):
    """The user is told what changed."""
    message = fit()
    assert message == (
        f"leftoff: its hooks in {settings} now fit your version of Claude Code "
        "(added: PostToolBatch, mod; removed: PostToolUse, PostToolUseFailure)."
    )
    assert "PostToolBatch" in events(settings)
    fitted = settings.read_bytes()
    assert fit() is None
    assert settings.read_bytes() == fitted
    take_out()
    assert settings.read_bytes() == BEFORE


@pytest.mark.parametrize("name", CLAUDE)
def test_up_and_down_and_out_leaves_every_byte(isolated_home, claude_version, name):
    """Whatever the settings were."""
    file = isolated_home / ".claude" / "settings.json"
    file.parent.mkdir()
    if CLAUDE[name] is not None:
        file.write_bytes(CLAUDE[name])
    for version in ("2.0.76", "2.1.325", "2.1.90", "2.1.325"):
        claude_version(version)
        put_in() if version == "2.0.76" else fit()
    assert "PostToolBatch" in events(file)
    take_out()
    assert (file.read_bytes() if file.exists() else None) == CLAUDE[name]


def test_the_background_task_of_a_new_session_does_it(settings, live):
    """No turn waits for it, and the session's next event tells the user."""
    live.hook("SessionStart", source="startup")
    wait_for(lambda: live.state.to_user)
    assert "PostToolBatch" in events(settings)
    assert "now fit your version" in live.message_to_user("UserPromptSubmit", prompt="Next.")


def test_settings_that_were_edited_since_are_fitted_too(settings):
    """Only ours change."""
    settings.write_bytes(settings.read_bytes().replace(b"opus", b"sonnet"))
    assert fit() is not None
    assert json.loads(settings.read_bytes())["model"] == "sonnet"
    take_out()
    assert settings.read_bytes() == BEFORE.replace(b"opus", b"sonnet")


def test_a_hook_that_the_user_took_out_stays_out(settings):
    """A user who edits our entries decides about them."""
    data = json.loads(settings.read_bytes())
    del data["hooks"]["Stop"]
    settings.write_text(json.dumps(data), encoding="utf-8")
    edited = settings.read_bytes()
    assert fit() is None
    assert settings.read_bytes() == edited


def test_settings_of_a_project_that_were_changed_since_are_left_alone(
    isolated_home, claude_version, tmp_path
):
    """They may have come from elsewhere."""
    project = tmp_path / "work"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    claude_version("2.1.90")
    put_in("project")
    file = project / ".claude" / "settings.local.json"
    claude_version("2.1.325")
    wired = file.read_bytes()
    file.write_bytes(wired + b"\n")
    assert fit() is None
    assert file.read_bytes() == wired + b"\n"
    file.write_bytes(wired)
    assert fit() is not None
    assert "PostToolBatch" in events(file)


def test_settings_that_nothing_was_installed_in_are_left_alone(settings):
    """Entries of our form alone do not make a file ours."""
    (paths.data_folder() / installed.REGISTRY_NAME).unlink()
    wired = settings.read_bytes()
    assert fit() is None
    assert settings.read_bytes() == wired


def test_a_change_by_someone_else_at_the_same_moment_wins(settings):
    """Nothing is written, and what is remembered still takes our entries out."""
    plan = plan_install("claude", "user", Workspace.open())
    theirs = settings.read_bytes().replace(b"opus", b"sonnet")
    settings.write_bytes(theirs)
    with pytest.raises(StorageError, match="has just changed it"):
        install(plan)
    assert settings.read_bytes() == theirs
    take_out()
    assert settings.read_bytes() == BEFORE.replace(b"opus", b"sonnet")


def test_two_sessions_that_begin_at_once_do_it_once(settings):
    """The later of the two finds it done or is refused; the settings are whole either way."""
    code = "from leftoff.live.install import adapt\nfrom leftoff.workspace import Workspace\nadapt('claude', Workspace.open())"
    both = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) for _ in range(2)]
    assert 0 in [each.wait(timeout=60) for each in both]
    assert "PostToolBatch" in events(settings)
    known = installed.installation_of(settings)
    assert known.sha256 == installed.digest(files.read_file(settings))
    take_out()
    assert settings.read_bytes() == BEFORE
