"""Claude Code's settings: what is added, beside what, and what is removed again."""

import json
import subprocess
from pathlib import Path

import pytest

from leftoff.agents.claude import Claude
from leftoff.agents.claude import hooks as claude_hooks
from leftoff.core.protocols import HasHooks
from leftoff.errors import ConfigError
from leftoff.testing.hook_promises import COMMANDS, HookPromises
from tests.agents_live.starting_settings import CLAUDE

HERE = Path("settings.json")
HOOKS = claude_hooks.ClaudeHooks(Path("/no/such/home"), {})


class TestClaude(HookPromises):
    def make_agent(self, home: Path) -> HasHooks:
        return Claude(home=home)

    def starting_settings(self):
        return CLAUDE


def wired(text, **options):
    return HOOKS.wired(text, COMMANDS, options.pop("beneath", ()), where=HERE, **options)


def status_line(text):
    return json.loads(text)["statusLine"]["command"]


BASE = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd"]


def hooks_for(version, claude_version, isolated_home):
    claude_version(version)
    agent = Claude(home=isolated_home / ".claude", environment={"HOME": str(isolated_home)})
    return agent.wired("", COMMANDS, (), where=HERE)


def test_the_events_of_the_contract_are_wired_each_with_time_enough(claude_version, isolated_home):
    """Once per round trip, not once per tool; at its end a session must be asked for time. PostCompact would show on screen."""
    hooks = json.loads(hooks_for("2.1.325", claude_version, isolated_home).text)["hooks"]
    assert [*hooks] == [
        "SessionStart",
        "UserPromptSubmit",
        "PostToolBatch",
        "Stop",
        "PreCompact",
        "SessionEnd",
    ]
    for groups in hooks.values():
        (group,) = groups
        assert [*group] == ["hooks"], "no matcher: every source, every tool"
        (entry,) = group["hooks"]
        assert entry.keys() == {"type", "command", "timeout"}
        assert entry["command"] == COMMANDS.hook
        assert 10 <= entry["timeout"] <= 60


@pytest.mark.parametrize(
    ("version", "more"),
    [
        ("1.0.85", []),
        ("2.0.55", []),
        ("2.0.56", ["PostToolUseFailure"]),
        ("2.1.117", ["PostToolUseFailure"]),
    ],
)
def test_older_clients_are_wired_to_the_events_they_know(claude_version, isolated_home, version, more):
    """A client that knows no batches is called after every tool; a note says what follows after an upgrade."""
    done = hooks_for(version, claude_version, isolated_home)
    assert {*json.loads(done.text)["hooks"]} == {*BASE, *more}
    (note,) = done.notes
    assert f"Claude Code {version} (" in note
    assert "PostToolBatch" in note


def test_a_client_of_unknown_version_gets_what_every_client_knows():
    """A note says so."""
    done = wired("")
    assert [*json.loads(done.text)["hooks"]] == BASE
    assert "every version since 1.0.85" in done.notes[0]


@pytest.mark.parametrize("version", ["1.0.84", "0.2.9"])
def test_settings_of_a_client_without_the_hooks_are_refused(claude_version, isolated_home, version):
    """It would skip the whole file."""
    with pytest.raises(ConfigError, match=rf"{version} .* older than 1\.0\.85.*claude update"):
        hooks_for(version, claude_version, isolated_home)


def test_with_a_plugin_only_the_status_line_is_wired():
    """The plugin calls at every event; a status line it cannot bring."""
    commands = claude_hooks.AgentCommands(hook=None, statusline="ours")
    done = HOOKS.wired("{}", commands, (), where=HERE)
    assert json.loads(done.text) == {
        "statusLine": {"type": "command", "command": "ours", "refreshInterval": 30}
    }


def test_a_status_line_keeps_all_its_fields_but_the_command():
    """Only the command of a status line is replaced, and a note says so."""
    done = wired('{"statusLine": {"type": "command", "padding": 2, "command": "old"}}')
    setting = json.loads(done.text)["statusLine"]
    assert (setting["type"], setting["padding"]) == ("command", 2)
    assert "'old'" not in setting["command"]
    assert "eval old" in setting["command"]
    assert any("shown first" in note for note in done.notes)


@pytest.mark.parametrize("old", ['{"type": "static", "text": "x"}', '"x"', '{"type": "command"}', "null"])
def test_a_status_line_that_is_not_a_command_is_left_alone(old):
    """A note says that ours is not shown."""
    text = f'{{"statusLine": {old}}}'
    done = wired(text)
    assert json.loads(done.text)["statusLine"] == json.loads(old)
    assert any("left as it is" in note for note in done.notes)
    assert json.loads(HOOKS.unwired(done.text, done.trace, where=HERE)) == json.loads(text)


def test_a_project_s_status_line_calls_the_inherited_one():
    """The user's own would be hidden otherwise; when ours goes, nothing of it stays in the project."""
    user = '{"statusLine": {"type": "command", "command": "user"}}'
    shared = '{"statusLine": {"type": "command", "command": "shared"}}'
    done = wired("", beneath=(user, shared))
    assert "eval shared" in status_line(done.text)
    assert HOOKS.unwired(done.text, done.trace, where=HERE).split() == ["{}"]
    assert "eval user" in status_line(wired("", beneath=(user, "broken")).text)


@pytest.mark.parametrize(
    "old", ["printf old", "echo old; exit 3", "echo old # it's", "cat >/dev/null; echo 'o''ld'", "(("]
)
def test_a_composed_status_line_shows_the_old_one_first(old):
    """The old command's output comes first, and both commands read the client's input."""
    text = json.dumps({"statusLine": {"type": "command", "command": old}})
    command = status_line(
        HOOKS.wired(text, claude_hooks.AgentCommands(hook=None, statusline="cat"), (), where=HERE).text
    )
    shown = subprocess.run(
        ["sh", "-c", command], input="INPUT", capture_output=True, text=True, check=True
    ).stdout
    assert shown == ("INPUT" if old == "((" else "old\nINPUT")


def test_a_composed_status_line_works_without_leftoff():
    """Without leftoff's interpreter the old line is still shown, and the exit code is 0."""
    text = json.dumps({"statusLine": {"type": "command", "command": "cat; echo"}})
    command = status_line(wired(text).text)
    ended = subprocess.run(["sh", "-c", command], input="INPUT", capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "INPUT\n")


def test_the_old_status_line_is_restored_with_its_escapes():
    """The old status line comes back unchanged even if other settings have changed since."""
    before = '{\n  "statusLine": {"type": "command", "command": "echo \\u00e9"},\n  "a": 1\n}\n'
    done = wired(before)
    changed = done.text.replace('"a": 1', '"a": 2')
    assert HOOKS.unwired(changed, done.trace, where=HERE) == before.replace('"a": 1', '"a": 2')
    assert json.loads(HOOKS.unwired(changed, None, where=HERE))["statusLine"]["command"] == "echo é"


def test_a_project_s_entries_stay_out_of_the_shared_file(tmp_path):
    """The entries name an interpreter of this machine, so they belong in ``settings.local.json``."""
    assert Claude(home=tmp_path).settings_files("project", tmp_path / "p") == (
        tmp_path / "settings.json",
        tmp_path / "p" / ".claude" / "settings.json",
        tmp_path / "p" / ".claude" / "settings.local.json",
    )


def put(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


def command(text):
    return {"hooks": [{"type": "command", "command": text}]}


def test_hooks_of_all_settings_and_plugins_are_seen(tmp_path):
    """Those of plugins that are switched on, as the last settings say; ours is known by its name."""
    home, project = tmp_path / "home", tmp_path / "project"
    plugins = {"other@shop": True, "off@shop": True, "leftoff@leftoff": True, "../x@shop": True, "bare": True}
    put(home / "settings.json", {"hooks": {"Stop": [command("user")]}, "enabledPlugins": plugins})
    put(project / ".claude" / "settings.json", {"hooks": {"Stop": [command("shared")]}})
    put(
        project / ".claude" / "settings.local.json",
        {"hooks": {"Stop": [command("local")]}, "enabledPlugins": {"off@shop": False}},
    )
    for name in ("other", "off"):
        put(home / "plugins/cache/shop" / name / "1.0/hooks/hooks.json", {"hooks": {"Stop": [command(name)]}})
    found = Claude(home=home).hooks_here(project)
    assert [(hook.command, hook.origin) for hook in found] == [
        ("user", None),
        ("shared", None),
        ("local", None),
        ("other", None),
        ("", "plugin"),
    ]


def test_settings_that_switch_all_hooks_off_are_a_problem(tmp_path):
    """The file with the highest precedence decides, and the problem names it."""
    home, project = tmp_path / "home", tmp_path / "project"
    agent = Claude(home=home)
    assert agent.hook_troubles("user", project) == ()
    put(home / "settings.json", {"disableAllHooks": True})
    (trouble,) = agent.hook_troubles("user", project)
    assert str(home / "settings.json") in trouble.problem
    put(project / ".claude" / "settings.local.json", {"disableAllHooks": False})
    assert agent.hook_troubles("user", project) == ()
