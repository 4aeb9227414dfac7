"""`leftoff install` and `uninstall` with the real clients: which hooks they call, and what stays in their settings."""

import json
import shutil
import sys
from collections import Counter
from pathlib import Path

from drive import Agent
from installation import agent_settings, approve_hooks, fast_path, run_leftoff
from sandbox import Sandbox
from scenario import has_text, require_success, scenario, shell_call
from starting_settings import CLAUDE, CODEX

INTEGRATIONS = Path(__file__).parents[3] / "integrations"
# Replaces the installed hook: records for which agent and event it was called, with the event on standard input.
RECORDER = """\
import json, sys
event = json.load(sys.stdin)
with open("{log}", "a") as file:
    file.write(json.dumps([sys.argv[1], event["hook_event_name"], event.get("source")]) + "\\n")
"""
TURN = {
    "claude": {"SessionStart": 1, "UserPromptSubmit": 1, "PostToolBatch": 1, "Stop": 1, "SessionEnd": 1},
    "codex": {"SessionStart": 1, "UserPromptSubmit": 1, "PostToolUse": 1, "Stop": 1, "SessionEnd": 1},
}
COMPACTION = {"SessionStart": 1, "PreCompact": 1}  # in addition to the turn's events


@scenario(clients=("claude", "codex"))
def hooks_are_called(agent: Agent, sandbox: Sandbox) -> None:
    """After `leftoff install` the client calls the hook once at every event of a turn and of a compaction."""
    install_recorder(agent, sandbox)
    approve_hooks(agent, sandbox)
    assert events_of_turn(agent, sandbox) == TURN[agent.name]
    fill = f"#usage {agent.full_tokens}\n{shell_call(agent, 'echo late')}\n#say the answer"
    run = require_success(agent.resume(sandbox, agent.latest_transcript(sandbox), f"A new task.\n{fill}"))
    assert [request.kind for request in run.requests] == ["reply", "summary", "reply"]
    assert take_events(sandbox) == Counter(TURN[agent.name]) + Counter(COMPACTION)


@scenario(clients=("claude", "codex"))
def uninstall_restores_settings(agent: Agent, sandbox: Sandbox) -> None:
    """Whatever the settings were, the client reads them with our hooks in them, and uninstall restores every byte."""
    settings = agent_settings(agent, sandbox)
    for name, before in (CLAUDE if agent.name == "claude" else CODEX).items():
        write_or_remove(settings, before)
        install_recorder(agent, sandbox)
        approve_hooks(agent, sandbox)
        assert events_of_turn(agent, sandbox, f"From {name}.") == TURN[agent.name], name
        run_leftoff(sandbox, "uninstall")
        assert content(settings) == before, name
        assert not fast_path(sandbox).exists(), name
    assert events_of_turn(agent, sandbox, "After all.") == {}


@scenario(clients=("claude", "codex"))
def broken_hook(agent: Agent, sandbox: Sandbox) -> None:
    """With the hook's script broken, missing or without its interpreter, the prompt is still sent and answered."""
    install_recorder(agent, sandbox)
    approve_hooks(agent, sandbox)
    fast_path(sandbox).write_text("syntax error (", encoding="utf-8")
    check_turn(agent, sandbox, "The script has a syntax error.")
    fast_path(sandbox).write_text("import sys; sys.exit(2)", encoding="utf-8")
    check_turn(agent, sandbox, "The script exits with 2.")
    fast_path(sandbox).unlink()
    check_turn(agent, sandbox, "The script is missing.")
    settings = agent_settings(agent, sandbox)
    without_python = settings.read_text(encoding="utf-8").replace(sys.executable, "/nowhere/python")
    settings.write_text(without_python, encoding="utf-8")
    put_recorder(sandbox)
    approve_hooks(agent, sandbox)
    check_turn(agent, sandbox, "The interpreter is missing.")
    assert take_events(sandbox) == {}
    (finding,) = (each for each in broken_findings(sandbox) if each["what"].startswith("hooks of"))
    assert "/nowhere/python" in finding["detail"]
    assert finding["fix"] == f"leftoff install {agent.name}"


@scenario(clients=("codex",))
def codex_hook_approval(agent: Agent, sandbox: Sandbox) -> None:
    """Codex calls no hook until the user approves it, and `leftoff doctor` reports whether that is the case."""
    output = install_recorder(agent, sandbox)
    assert "/hooks" in output, output
    assert events_of_turn(agent, sandbox, "Before.") == {}
    (finding,) = broken_findings(sandbox)
    assert "Trust all" in finding["fix"], finding
    approve_hooks(agent, sandbox)
    assert events_of_turn(agent, sandbox, "After.") == TURN["codex"]
    assert broken_findings(sandbox) == []


@scenario(clients=("claude",))
def claude_plugin(agent: Agent, sandbox: Sandbox) -> None:
    """The Claude Code plugin is valid, brings commands and skill, and calls the hook once per event, also beside installed hooks."""
    folder = sandbox.disk / "marketplace"
    shutil.copytree(INTEGRATIONS / "claude", folder)
    marketplace = str(sandbox.path_inside(folder))
    for arguments in (
        ("validate", marketplace),
        ("validate", f"{marketplace}/leftoff"),
        ("marketplace", "add", marketplace),
        ("install", "leftoff@leftoff"),
    ):
        result = sandbox.run(["plugin", *arguments])
        assert result.code == 0, result
        assert "warning" not in (result.stdout + result.stderr).lower(), result
    settings = agent_settings(agent, sandbox)
    before = content(settings)

    install_recorder(agent, sandbox)
    assert "fast.py" not in settings.read_text(encoding="utf-8"), "the plugin already calls the hook"
    assert events_of_turn(agent, sandbox, "By the plugin.") == TURN["claude"]
    skill = (INTEGRATIONS / "claude/leftoff/skills/leftoff/SKILL.md").read_text(encoding="utf-8")
    check_skill(skill, "leftoff:leftoff", sandbox)

    run = require_success(agent.prompt(sandbox, "/leftoff:pin Never push to main."))
    assert has_text(run.last_messages, "user", "changing no character"), "the plugin's command is missing"
    take_events(sandbox)

    # With hooks that were installed before the plugin, the plugin does not call the hook a second time.
    write_or_remove(settings, None)
    install_recorder(agent, sandbox)
    with_hooks = json.loads(settings.read_bytes())
    both = json.loads(before or b"{}")
    for key, value in with_hooks.items():
        both[key] = {**both.get(key, {}), **value}
    settings.write_bytes(json.dumps(both).encode())
    assert events_of_turn(agent, sandbox, "By both.") == TURN["claude"]
    run_leftoff(sandbox, "uninstall")
    assert json.loads(settings.read_bytes()) == json.loads(before or b"{}")
    # Uninstalling leaves the script as long as a plugin calls it.
    assert events_of_turn(agent, sandbox, "By the plugin again.") == TURN["claude"]
    fast_path(sandbox).unlink()
    assert events_of_turn(agent, sandbox, "With nothing to call.") == {}


@scenario(clients=("codex",))
def codex_skill(agent: Agent, sandbox: Sandbox) -> None:
    """Codex finds the skill in the user's folder and tells the model what it is for."""
    folder = sandbox.home / ".agents" / "skills" / "leftoff"
    shutil.copytree(INTEGRATIONS / "codex" / "skills" / "leftoff", folder)
    check_turn(agent, sandbox, "Look around.")
    check_skill((folder / "SKILL.md").read_text(encoding="utf-8"), "leftoff", sandbox)


def install_recorder(agent: Agent, sandbox: Sandbox) -> str:
    """Run `leftoff install`, replace the hook by the recorder, and return what was printed."""
    output = run_leftoff(sandbox, "install", agent.name)
    put_recorder(sandbox)
    return output


def put_recorder(sandbox: Sandbox) -> None:
    hook = fast_path(sandbox)
    first_line = hook.read_text(encoding="utf-8").splitlines()[:1] if hook.exists() else []
    code = RECORDER.format(log=sandbox.path_inside(events_file(sandbox)))
    hook.write_text("\n".join([*first_line, code]), encoding="utf-8")


def events_of_turn(agent: Agent, sandbox: Sandbox, prompt: str = "Look around.") -> dict[str, int]:
    """Run one headless turn with a tool call and return how often the hook was called at each event."""
    take_events(sandbox)
    check_turn(agent, sandbox, prompt)
    return take_events(sandbox)


def check_turn(agent: Agent, sandbox: Sandbox, prompt: str) -> None:
    """Check that the prompt is sent, the tool runs and the answer arrives."""
    answer = f"the answer to {prompt}"
    run = require_success(agent.prompt(sandbox, f"{prompt}\n{shell_call(agent, 'echo seen')}\n#say {answer}"))
    assert [request.kind for request in run.requests] == ["reply", "reply"]
    assert has_text(run.last_messages, "user", prompt)
    assert answer in run.result.stdout


def take_events(sandbox: Sandbox) -> dict[str, int]:
    """Return the recorded events since the last call."""
    log = events_file(sandbox)
    if not log.exists():
        return {}
    calls = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    log.unlink()
    assert {agent_name for agent_name, _, _ in calls} == {sandbox.agent.name}
    return dict(Counter(event for _, event, _ in calls))


def check_skill(text: str, name: str, sandbox: Sandbox) -> None:
    """Check that the model received the skill's name and the description that says when to use it."""
    description = text.split("description: ", 1)[1].splitlines()[0]
    body = json.dumps(sandbox.requests()[-1].body, ensure_ascii=False)
    assert name in body, "the skill's name was not sent"
    assert json.dumps(description, ensure_ascii=False)[1:60] in body, "its description was not sent"


def broken_findings(sandbox: Sandbox) -> list[dict[str, str]]:
    """Return what `leftoff doctor` calls broken, without the script, which the recorder replaced."""
    findings = json.loads(sandbox.run_leftoff("doctor", "--json").stdout)
    return [each for each in findings if each["state"] == "broken" and each["what"] != "fast path"]


def write_or_remove(file: Path, data: bytes | None) -> None:
    if data is None:
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(data)


def content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def events_file(sandbox: Sandbox) -> Path:
    return sandbox.disk / "tmp" / "events.jsonl"
