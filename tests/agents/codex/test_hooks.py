"""Codex' hooks.json: what goes in, and whether the user has approved it."""

import json
from pathlib import Path

import pytest

from leftoff.agents.codex import Codex
from leftoff.agents.codex.hooks import CodexHooks, _snake_case, trust_hash
from leftoff.agents.hook_format import hooks_in
from leftoff.core.hook_settings import AgentCommands
from leftoff.core.protocols import HasHooks
from leftoff.testing.hook_promises import COMMANDS, HookPromises
from tests.agents_live.starting_settings import CODEX

HOOKS = CodexHooks(Path("/no/such/home"))


class TestCodex(HookPromises):
    def make_agent(self, home: Path) -> HasHooks:
        return Codex(home)

    def starting_settings(self):
        return CODEX


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "codex"
    home.mkdir()
    return home


def install(home):
    done = Codex(home).wired("", COMMANDS, (), where=home / "hooks.json")
    (home / "hooks.json").write_text(done.text, encoding="utf-8")
    return [*hooks_in(done.text, str(home / "hooks.json"))]


def approve(home, hooks, extra=""):
    lines = [
        f'[hooks.state."{hook.source}:{_snake_case(hook.event)}:{hook.group}:{hook.index}"]\n'
        f'trusted_hash = "{trust_hash(hook)}"\n{extra}'
        for hook in hooks
    ]
    (home / "config.toml").write_text("".join(lines), encoding="utf-8")


def test_the_events_that_codex_has_are_wired():
    """Codex has no batches and allows three seconds at the end of a session."""
    hooks = json.loads(HOOKS.wired("", COMMANDS, (), where=Path("x")).text)["hooks"]
    assert {event: groups[0]["hooks"][0]["timeout"] for event, groups in hooks.items()} == {
        "SessionStart": 20,
        "UserPromptSubmit": 20,
        "PostToolUse": 10,
        "Stop": 10,
        "PreCompact": 60,
        "SessionEnd": 3,
    }


def test_nothing_is_wired_beside_a_plugin():
    """Codex has no status line that leftoff could add."""
    assert (
        json.loads(HOOKS.wired("{}", AgentCommands(hook=None, statusline="x"), (), where=Path("x")).text)
        == {}
    )


def test_the_hash_is_the_one_that_codex_records():
    """A change of the form would make every user approve again; that Codex agrees is shown live, by `approved`."""
    entry = {"type": "command", "command": "x é", "timeout": 20, "additionalContextLimit": 0}
    (hook,) = hooks_in(json.dumps({"hooks": {"SessionStart": [{"hooks": [entry]}]}}), "/h/hooks.json")
    assert trust_hash(hook) == ("sha256:a1d5fa42ae77e1ee1b0f4cd0627be9ac74c2cd450a5848785ad3e50502151323")


@pytest.mark.parametrize(
    ("entry", "same"),
    [
        ({"timeout": 600}, True),
        ({"async": False}, True),
        ({"additionalContextLimit": 2500}, True),
        ({"timeout": 20}, False),
        ({"async": True}, False),
        ({"statusMessage": "…"}, False),
        ({"additionalContextLimit": 0}, False),
    ],
)
def test_what_codex_takes_for_the_same_hook_has_the_same_hash(entry, same):
    """Defaults that are spelled out change nothing; anything else needs a new word of the user."""
    plain = {"type": "command", "command": "x"}
    (left,) = hooks_in(json.dumps({"hooks": {"Stop": [{"hooks": [plain]}]}}), "x")
    (right,) = hooks_in(json.dumps({"hooks": {"Stop": [{"hooks": [plain | entry]}]}}), "x")
    assert (trust_hash(left) == trust_hash(right)) == same


def test_hooks_wait_until_they_are_approved(home):
    """The problem says whether all, some or none of the hooks are approved."""
    hooks = install(home)
    agent = Codex(home)
    (trouble,) = agent.hook_troubles("user", home)
    assert "none of them is" in trouble.problem
    assert "/hooks" in trouble.fix
    approve(home, hooks[:-1])
    (trouble,) = agent.hook_troubles("user", home)
    assert "SessionEnd" in trouble.problem
    approve(home, hooks)
    assert agent.hook_troubles("user", home) == ()


def test_an_approved_hook_that_moved_or_was_switched_off_waits_again(home):
    """Codex notes the place too, and the user may switch a single hook off."""
    hooks = install(home)
    approve(home, hooks, extra="enabled = false\n")
    assert Codex(home).hook_troubles("user", home)
    approve(home, hooks)
    settings = json.loads((home / "hooks.json").read_bytes())
    settings["hooks"]["Stop"].insert(0, {"hooks": [{"type": "command", "command": "first"}]})
    (home / "hooks.json").write_text(json.dumps(settings), encoding="utf-8")
    (trouble,) = Codex(home).hook_troubles("user", home)
    assert "Stop are not" in trouble.problem


def test_hooks_that_are_switched_off_altogether_are_a_problem(home):
    """Hooks that are switched off are reported even if leftoff's are not installed yet."""
    (home / "config.toml").write_text("[features]\nhooks = false\n", encoding="utf-8")
    (trouble,) = Codex(home).hook_troubles("user", home)
    assert "config.toml" in trouble.problem


def test_without_a_hook_of_ours_nothing_waits(home):
    """A ``config.toml`` that cannot be read is not a problem while no hook of leftoff is installed."""
    (home / "config.toml").write_text("= broken", encoding="utf-8")
    assert Codex(home).hook_troubles("user", home) == ()


def test_hooks_of_both_files_and_of_config_toml_are_seen(home, tmp_path):
    """Hooks are listed no matter who installed them."""
    project = tmp_path / "project"
    (project / ".codex").mkdir(parents=True)
    entry = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "project"}]}]}}
    (project / ".codex" / "hooks.json").write_text(json.dumps(entry), encoding="utf-8")
    install(home)
    (home / "config.toml").write_text(
        '[[hooks.Stop]]\nhooks = [{type = "command", command = "config"}]\n[hooks.state]\n', encoding="utf-8"
    )
    found = Codex(home).hooks_here(project)
    assert [hook.command for hook in found if hook.origin is None] == ["project", "config"]
    assert sum(hook.origin == "settings" for hook in found) == 6
