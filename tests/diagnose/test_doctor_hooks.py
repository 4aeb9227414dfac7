"""What doctor says about hooks: each problem with the command that solves it, and nothing when all is well."""

import json

import pytest

import leftoff
from leftoff.diagnose.doctor import check_hooks
from leftoff.live import installed
from leftoff.live.install import install, plan_install
from leftoff.workspace import Workspace


@pytest.fixture
def home(isolated_home):
    (isolated_home / ".claude").mkdir()
    return isolated_home


def put_in(agent="claude", scope="user"):
    plan = plan_install(agent, scope, Workspace.open())
    install(plan)
    return plan.settings


def hook_findings(state=None):
    return [each for each in check_hooks(Workspace.open()) if state in {None, each.state}]


def test_an_agent_that_is_not_here_is_passed_over(isolated_home):
    """Users are not asked to install hooks for an agent that they do not have."""
    assert hook_findings() == []


def test_an_agent_that_is_here_and_not_wired_is_a_note(home):
    """The note says what to type."""
    (finding,) = hook_findings()
    assert (finding.state, finding.detail, finding.fix) == ("note", "not installed", "leftoff install claude")


def test_all_is_well_after_install(home, claude_version):
    """The findings name the settings file, the wired events and the version of the fast path."""
    claude_version("2.1.325")
    file = put_in()
    hooks, fast = hook_findings()
    assert (hooks.state, fast.state) == ("ok", "ok")
    assert str(file) in hooks.detail
    assert "PostToolBatch" in hooks.detail
    assert fast.detail.endswith("of this version")


def test_hooks_that_a_downgraded_client_does_not_know_are_broken(home, claude_version):
    """The client skips its whole settings, so that no hook can tell; installing again makes it read them."""
    claude_version("2.1.325")
    put_in()
    claude_version("2.1.100")
    (finding,) = hook_findings("broken")
    assert "Claude Code 2.1.100" in finding.detail
    assert "PostToolBatch and skips the whole settings file" in finding.detail
    assert finding.fix == "leftoff install claude"
    put_in()
    assert hook_findings("broken") == []


def test_hooks_that_a_client_passes_over_are_a_note(home, claude_version):
    """From 2.1.101 on a client ignores what it does not know, but calls too seldom then."""
    claude_version("2.1.325")
    put_in()
    claude_version("2.1.101")
    (finding,) = hook_findings("note")
    assert "added: PostToolUse, PostToolUseFailure; removed: PostToolBatch" in finding.detail
    assert finding.fix == "leftoff install claude"
    assert hook_findings("broken") == []


def test_hooks_that_an_upgraded_client_could_have_are_a_note(home, claude_version):
    """The next session would add them too."""
    claude_version("2.1.90")
    put_in()
    claude_version("2.1.325")
    (finding,) = hook_findings("note")
    assert "added: PostToolBatch, mod; removed: PostToolUse, PostToolUseFailure" in finding.detail


def test_a_client_below_the_oldest_supported_is_broken(home, claude_version):
    """What to type updates the client first."""
    put_in()
    claude_version("1.0.84")
    (finding,) = hook_findings("broken")
    assert "older than 1.0.85" in finding.detail
    assert finding.fix == "claude update, then leftoff install claude"


def test_a_fast_path_that_is_gone_is_broken(home):
    """A missing fast path does not harm the agent, but nothing is saved either."""
    put_in()
    installed.fast_path_file().unlink()
    (finding,) = hook_findings("broken")
    assert "gone" in finding.detail
    assert "leftoff install" in finding.fix


def test_a_fast_path_of_another_version_is_broken(home):
    """The package was upgraded and install not called again."""
    put_in()
    content = installed.fast_path_file().read_text(encoding="utf-8")
    installed.fast_path_file().write_text(content.replace(leftoff.__version__, "0.0.1", 1), encoding="utf-8")
    (finding,) = hook_findings("broken")
    assert "leftoff 0.0.1" in finding.detail
    installed.fast_path_file().write_text(content + "# changed\n", encoding="utf-8")
    assert hook_findings("broken") == []
    assert "not from this leftoff" in hook_findings("note")[0].detail


def test_hooks_that_run_a_fast_path_elsewhere_are_a_note(home, monkeypatch, tmp_path):
    """The data folder has moved."""
    put_in()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (finding,) = hook_findings("note")
    assert str(tmp_path / "data") in finding.detail


def test_an_interpreter_that_is_gone_is_broken(home):
    """The virtual environment was deleted."""
    file = put_in()
    text = file.read_text(encoding="utf-8")
    python = installed.interpreter()
    file.write_text(text.replace(f"{python} -", "/nowhere/python -"), encoding="utf-8")
    (finding,) = hook_findings("broken")
    assert finding.detail.endswith("/nowhere/python")
    assert finding.fix == "leftoff install claude"


def test_hooks_that_are_not_approved_are_broken(home):
    """Codex ignores hooks without approval silently."""
    (home / ".codex").mkdir()
    put_in("codex")
    (finding,) = hook_findings("broken")
    assert "/hooks" in finding.fix


def test_hooks_that_are_switched_off_are_broken(home):
    """Switched-off hooks are reported once, however many scopes there are."""
    file = put_in()
    settings = {**json.loads(file.read_bytes()), "disableAllHooks": True}
    file.write_text(json.dumps(settings), encoding="utf-8")
    (finding,) = hook_findings("broken")
    assert "disableAllHooks" in finding.detail


def test_hooks_in_two_places_are_a_note(home):
    """The places are user and project, or settings and plugin."""
    put_in(scope="project")
    file = put_in()
    (finding,) = hook_findings("note")
    assert "each event needs one" in finding.detail
    settings = {**json.loads(file.read_bytes()), "enabledPlugins": {"leftoff@leftoff": True}}
    file.write_text(json.dumps(settings), encoding="utf-8")
    (finding,) = hook_findings("note")
    assert "plugin leftoff@leftoff" in finding.detail


def test_another_tool_that_reads_prompts_is_a_note(home):
    """Our own hooks need not be installed."""
    entry = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "theirs"}]}]}}
    (home / ".claude" / "settings.json").write_text(json.dumps(entry), encoding="utf-8")
    assert any("theirs" in finding.detail for finding in hook_findings("note"))


def test_settings_that_cannot_be_read_hold_nothing(home):
    """Broken JSON is left to the agent until leftoff writes the file."""
    (home / ".claude" / "settings.json").write_bytes(b"\xff{")
    assert [finding.detail for finding in hook_findings()] == ["not installed"]
