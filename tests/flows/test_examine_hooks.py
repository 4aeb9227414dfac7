"""What doctor says about hooks: each trouble with the command that mends it, and nothing when all is well."""

import json
from pathlib import Path

import pytest

import leftoff
from leftoff.flows import fast_path
from leftoff.flows.examine_hooks import examine_hooks
from leftoff.flows.install import install, plan_install


@pytest.fixture
def home(own_world):
    (own_world / ".claude").mkdir()
    return own_world


def put_in(agent="claude", scope="user"):
    plan = plan_install(agent, scope, Path.cwd())
    install(plan)
    return plan.settings


def found(state=None):
    return [each for each in examine_hooks(Path.cwd()) if state in {None, each.state}]


def test_an_agent_that_is_not_here_is_passed_over(own_world):
    """Nobody is told to install for an agent that they do not have."""
    assert found() == []


def test_an_agent_that_is_here_and_not_wired_is_a_note(home):
    """With what to type."""
    (finding,) = found()
    assert (finding.state, finding.words, finding.mend) == ("note", "not installed", "leftoff install claude")


def test_all_is_well_after_install(home):
    """The settings file, the events, and the fast path of this version."""
    file = put_in()
    hooks, fast = found()
    assert (hooks.state, fast.state) == ("ok", "ok")
    assert str(file) in hooks.words
    assert "PostToolBatch" in hooks.words
    assert fast.words.endswith("of this version")


def test_a_fast_path_that_is_gone_is_broken(home):
    """Nothing harms the agent, and nothing is saved either."""
    put_in()
    fast_path.place().unlink()
    (finding,) = found("broken")
    assert "gone" in finding.words
    assert "leftoff install" in finding.mend


def test_a_fast_path_of_another_version_is_broken(home):
    """The package was upgraded and install not called again."""
    put_in()
    content = fast_path.place().read_text(encoding="utf-8")
    fast_path.place().write_text(content.replace(leftoff.__version__, "0.0.1", 1), encoding="utf-8")
    (finding,) = found("broken")
    assert "leftoff 0.0.1" in finding.words
    fast_path.place().write_text(content + "# changed\n", encoding="utf-8")
    assert found("broken") == []
    assert "not the one of this leftoff" in found("note")[0].words


def test_hooks_that_run_a_fast_path_elsewhere_are_a_note(home, monkeypatch, tmp_path):
    """The data folder has moved."""
    put_in()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (finding,) = found("note")
    assert str(tmp_path / "data") in finding.words


def test_an_interpreter_that_is_gone_is_broken(home):
    """The virtual environment was deleted."""
    file = put_in()
    text = file.read_text(encoding="utf-8")
    python = fast_path.interpreter()
    file.write_text(text.replace(f"{python} -", "/nowhere/python -"), encoding="utf-8")
    (finding,) = found("broken")
    assert finding.words.endswith("/nowhere/python")
    assert finding.mend == "leftoff install claude"


def test_hooks_that_are_not_approved_are_broken(home):
    """Codex passes over them in silence, so we say it."""
    (home / ".codex").mkdir()
    put_in("codex")
    (finding,) = found("broken")
    assert "/hooks" in finding.mend


def test_hooks_that_are_switched_off_are_broken(home):
    """Said once, however many scopes there are."""
    file = put_in()
    said = {**json.loads(file.read_bytes()), "disableAllHooks": True}
    file.write_text(json.dumps(said), encoding="utf-8")
    (finding,) = found("broken")
    assert "disableAllHooks" in finding.words


def test_hooks_in_two_places_are_a_note(home):
    """User and project; settings and plugin."""
    put_in(scope="project")
    file = put_in()
    (finding,) = found("note")
    assert "each event needs one" in finding.words
    said = {**json.loads(file.read_bytes()), "enabledPlugins": {"leftoff@leftoff": True}}
    file.write_text(json.dumps(said), encoding="utf-8")
    (finding,) = found("note")
    assert "plugin leftoff@leftoff" in finding.words


def test_another_tool_that_reads_prompts_is_a_note(home):
    """Whether we are wired or not."""
    entry = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "theirs"}]}]}}
    (home / ".claude" / "settings.json").write_text(json.dumps(entry), encoding="utf-8")
    assert any("theirs" in finding.words for finding in found("note"))


def test_settings_that_cannot_be_read_hold_nothing(home):
    """Broken JSON is the agent's business until we write."""
    (home / ".claude" / "settings.json").write_bytes(b"\xff{")
    assert [finding.words for finding in found()] == ["not installed"]
