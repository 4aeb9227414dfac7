"""Claude Code of every age: older clients skip a whole settings file if it names a hook event that they do not know."""

import json
import shutil
import sys
from collections.abc import Collection

from drive import Agent
from installation import agent_settings, ends_to_save, install, run_leftoff, saved_logs
from sandbox import Sandbox
from scenario import has_text, require_success, scenario, shell_call
from scenarios.hooks import INTEGRATIONS
from screens import screen_options

USERS_HOOK = "touch $HOME/own-hook-ran"
USERS_SETTINGS = json.dumps(
    {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": USERS_HOOK}]}]}}, indent=4
).encode()
STATUS_LINE = "leftoff: the gauge starts with the next reply"
EVENTS_OF_2_0_76 = {
    *("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "PreCompact"),
    *("SessionEnd", "statusLine"),
}
EVENTS_OF_2_1_90 = EVENTS_OF_2_0_76
EVENTS = EVENTS_OF_2_1_90 - {"PostToolUse", "PostToolUseFailure"} | {"PostToolBatch"}
EVENTS_OF_NEWEST = EVENTS | {"mod"}


@scenario(clients=("claude",))
def client_2_0_76(agent: Agent, sandbox: Sandbox) -> None:
    """With Claude Code 2.0.76, after `leftoff install` the user's own hook runs, leftoff's run, and the settings have no error."""
    check_version(agent, sandbox, "2.0.76", EVENTS_OF_2_0_76)


@scenario(clients=("claude",))
def client_2_1_90(agent: Agent, sandbox: Sandbox) -> None:
    """With Claude Code 2.1.90, after `leftoff install` the user's own hook runs, leftoff's run, and the settings have no error."""
    check_version(agent, sandbox, "2.1.90", EVENTS_OF_2_1_90)


@scenario(clients=("claude",))
def client_2_1_197(agent: Agent, sandbox: Sandbox) -> None:
    """With Claude Code 2.1.197, after `leftoff install` the user's own hook runs, leftoff's run, and the settings have no error."""
    check_version(agent, sandbox, "2.1.197", EVENTS)


@scenario(clients=("claude",))
def client_newest(agent: Agent, sandbox: Sandbox) -> None:
    """With the newest Claude Code, after `leftoff install` the user's own hook runs, leftoff's run, and the settings have no error."""
    check_version(agent, sandbox, None, EVENTS_OF_NEWEST)


def check_version(agent: Agent, sandbox: Sandbox, version: str | None, events: Collection[str]) -> None:
    install_beside_own_hook(agent, sandbox, version)
    assert installed_events(agent, sandbox) == events
    check_turn(agent, sandbox)
    with sandbox.open_screen() as screen:
        screen.wait_for(STATUS_LINE)  # a client that finds an error in its settings asks before anything else
    run_leftoff(sandbox, "uninstall")
    assert agent_settings(agent, sandbox).read_bytes() == USERS_SETTINGS


@scenario(clients=("claude",))
def client_upgrade(agent: Agent, sandbox: Sandbox) -> None:
    """The first session after an upgrade from 2.1.90 completes the hooks; uninstall restores every byte."""
    install_beside_own_hook(agent, sandbox, "2.1.90")
    check_turn(agent, sandbox)
    sandbox.use_version(None)
    (note,) = (each for each in hook_findings(sandbox) if each["state"] == "note")
    assert "PostToolBatch" in note["detail"], note
    check_turn(agent, sandbox)
    sandbox.wait_until(
        lambda: installed_events(agent, sandbox) == EVENTS_OF_NEWEST, "the hooks of the newest client"
    )
    check_turn(agent, sandbox)
    assert all(each["state"] == "ok" for each in hook_findings(sandbox))
    run_leftoff(sandbox, "uninstall")
    assert agent_settings(agent, sandbox).read_bytes() == USERS_SETTINGS


@scenario(clients=("claude",))
def client_downgrade(agent: Agent, sandbox: Sandbox) -> None:
    """After a downgrade to 2.0.76, `leftoff doctor` says that the client skips its settings, and `leftoff install` makes it read them."""
    install_beside_own_hook(agent, sandbox, None)
    sandbox.use_version("2.0.76")
    (broken,) = (each for each in hook_findings(sandbox) if each["state"] == "broken")
    assert "skips the whole settings file" in broken["detail"], broken
    require_success(agent.prompt(sandbox, "Say it."))
    assert not own_hook_ran(sandbox), "this client reads the settings; the scenario has lost its reason"
    assert broken["fix"] == "leftoff install claude", broken
    install(agent, sandbox)
    assert installed_events(agent, sandbox) == EVENTS_OF_2_0_76
    check_turn(agent, sandbox)
    run_leftoff(sandbox, "uninstall")
    assert agent_settings(agent, sandbox).read_bytes() == USERS_SETTINGS


@scenario(clients=("claude",))
def client_behind_a_wrapper(agent: Agent, sandbox: Sandbox) -> None:
    """A wrapper does not show the client's version: the hooks that every client knows come first, the others after a session."""
    sandbox.put_client_on_path()
    agent_settings(agent, sandbox).write_bytes(USERS_SETTINGS)
    assert "could not find out which version" in install(agent, sandbox)
    assert installed_events(agent, sandbox) == EVENTS_OF_2_0_76 - {"PostToolUseFailure"}
    check_turn(agent, sandbox)
    require_success(agent.prompt(sandbox, "Say it."))
    sandbox.wait_until(
        lambda: installed_events(agent, sandbox) == EVENTS_OF_NEWEST, "the hooks of the newest client"
    )
    check_turn(agent, sandbox)
    run_leftoff(sandbox, "uninstall")
    assert agent_settings(agent, sandbox).read_bytes() == USERS_SETTINGS


@scenario(clients=("claude",))
def plugin_in_older_client(agent: Agent, sandbox: Sandbox) -> None:
    """The plugin works in Claude Code 2.0.76, which does not know all its events, and `/leftoff:status` in a fresh session."""
    folder = sandbox.disk / "plugin"
    shutil.copytree(INTEGRATIONS / "claude" / "leftoff", folder)
    sandbox.put_program_on_path("leftoff", f'exec {sys.executable} -P -m leftoff "$@"')
    options = ("--plugin-dir", str(sandbox.path_inside(folder)), "--permission-mode", "default")
    for version in (None, "2.0.76"):
        sandbox.use_version(version)
        run = require_success(agent.prompt(sandbox, "/leftoff:status", *options))
        assert has_text(run.last_messages, "user", "No session"), (version, run.last_messages)
        require_success(agent.prompt(sandbox, "Plan the release.\nThen write the notes.", *options))
        sandbox.wait_until(lambda: bool(saved_logs(sandbox)), f"a log by the plugin in {version}")
        sandbox.wait_until(lambda: not ends_to_save(sandbox), "that everything is saved")
        shutil.rmtree(sandbox.project / ".leftoff")
        shutil.rmtree(agent.latest_transcript(sandbox).parent)


def install_beside_own_hook(agent: Agent, sandbox: Sandbox, version: str | None) -> None:
    sandbox.use_version(version)
    agent_settings(agent, sandbox).write_bytes(USERS_SETTINGS)
    install(agent, sandbox)


def check_turn(agent: Agent, sandbox: Sandbox) -> None:
    """Check that a turn with a tool call runs the user's hook, and that leftoff has saved a log when the session is over."""
    (sandbox.home / "own-hook-ran").unlink(missing_ok=True)
    before = len(saved_logs(sandbox))
    require_success(
        agent.prompt(sandbox, f"Plan the release and write the notes.\n{shell_call(agent, 'echo hi')}")
    )
    assert own_hook_ran(sandbox), "the user's own hook did not run"
    sandbox.wait_until(lambda: len(saved_logs(sandbox)) > before, "a log of the session")


def own_hook_ran(sandbox: Sandbox) -> bool:
    return (sandbox.home / "own-hook-ran").exists()


def installed_events(agent: Agent, sandbox: Sandbox) -> set[str]:
    """Return the events at which the settings call leftoff."""
    settings = json.loads(agent_settings(agent, sandbox).read_bytes())
    hooks = {event for event, groups in settings["hooks"].items() if "/leftoff/fast.py" in json.dumps(groups)}
    mod = {"mod"} if settings.get("enabledPlugins", {}).get("leftoff@leftoff-local") else set()
    return hooks | ({"statusLine"} & settings.keys()) | mod


def hook_findings(sandbox: Sandbox) -> list[dict[str, str]]:
    result = sandbox.run_leftoff("doctor", "--json")
    return [each for each in json.loads(result.stdout) if each["what"].startswith("hooks of Claude")]


@scenario(clients=("codex",))
def codex_asks_for_approval(agent: Agent, sandbox: Sandbox) -> None:
    """Codex asks at its start whether to trust the hooks, in the words that `leftoff install` names."""
    output = run_leftoff(sandbox, "install", agent.name)
    with sandbox.open_screen(screen_options(agent, sandbox)) as screen:
        asked = " ".join(screen.wait_for("Hooks need review").split())
    for words in ("Hooks need review", "Trust all"):
        assert words in asked, asked
        assert words in " ".join(output.split()), output
