"""`leftoff install` and `uninstall` with the real clients: what they really call, and what is left behind."""

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from drive import Agent
from sandbox import INSIDE, Sandbox
from scenario import command, said, scenario, succeeded
from scenarios.compaction import FULL
from starting_settings import CLAUDE, CODEX

from leftoff.agents.codex import wiring as codex_wiring
from leftoff.agents.hook_groups import hooks_in

INTEGRATIONS = Path(__file__).parents[3] / "integrations"
# Stands in for the fast path: notes who was called at which event, and that standard input held the event.
STAND_IN = """\
import json, sys
event = json.load(sys.stdin)
with open("{log}", "a") as file:
    file.write(json.dumps([sys.argv[1], event["hook_event_name"], event.get("source")]) + "\\n")
"""
TURN = {
    "claude": {"SessionStart": 1, "UserPromptSubmit": 1, "PostToolBatch": 1, "Stop": 1, "SessionEnd": 1},
    "codex": {"SessionStart": 1, "UserPromptSubmit": 1, "PostToolUse": 1, "Stop": 1, "SessionEnd": 1},
}
COMPACTION = {"SessionStart": 1, "PreCompact": 1, "PostCompact": 1}  # beside what every turn has


@scenario(clients=("claude", "codex"))
def installed(agent: Agent, sandbox: Sandbox) -> None:
    """After `leftoff install` the client calls us once at every event of a turn and of a compaction."""
    install(agent, sandbox)
    approve(agent, sandbox)
    assert turn(agent, sandbox) == TURN[agent.name]
    fill = f"#usage {FULL[agent.name]}\n{command(agent, 'echo late')}\n#say the answer"
    run = succeeded(agent.resume(sandbox, agent.latest(sandbox), f"A new matter.\n{fill}"))
    assert [request.kind for request in run.requests] == ["reply", "summary", "reply"]
    assert called(sandbox) == Counter(TURN[agent.name]) + Counter(COMPACTION)


@scenario(clients=("claude", "codex"))
def uninstalled(agent: Agent, sandbox: Sandbox) -> None:
    """Whatever the settings were, the client understands them with ours in them, and uninstall leaves them byte for byte."""
    for name, before in (CLAUDE if agent.name == "claude" else CODEX).items():
        put(settings(agent, sandbox), before)
        install(agent, sandbox)
        approve(agent, sandbox)
        assert turn(agent, sandbox, f"From {name}.") == TURN[agent.name], name
        ended = sandbox.leftoff("uninstall")
        assert ended.code == 0, ended
        assert content(settings(agent, sandbox)) == before, name
        assert not fast_path(sandbox).exists(), name
    assert turn(agent, sandbox, "After all.") == {}


@scenario(clients=("claude", "codex"))
def unharmed(agent: Agent, sandbox: Sandbox) -> None:
    """Without the fast path, its interpreter or any sense in the file, the prompt is sent and the answer arrives."""
    install(agent, sandbox)
    approve(agent, sandbox)
    fast_path(sandbox).write_text("syntax error (", encoding="utf-8")
    check_turn(agent, sandbox, "It is broken.")
    fast_path(sandbox).write_text("import sys; sys.exit(2)", encoding="utf-8")
    check_turn(agent, sandbox, "It says no.")
    fast_path(sandbox).unlink()
    check_turn(agent, sandbox, "It is gone.")
    wired = settings(agent, sandbox)
    wired.write_text(
        wired.read_text(encoding="utf-8").replace(sys.executable, "/nowhere/python"), encoding="utf-8"
    )
    stand_in(sandbox)
    approve(agent, sandbox)
    check_turn(agent, sandbox, "Its interpreter is gone.")
    assert called(sandbox) == {}
    found = {each["what"]: each for each in doctor(sandbox) if each["state"] == "broken"}
    (finding,) = (each for what, each in found.items() if what.startswith("hooks of"))
    assert "/nowhere/python" in finding["words"]
    assert finding["mend"] == f"leftoff install {agent.name}"


@scenario(clients=("codex",))
def approved(agent: Agent, sandbox: Sandbox) -> None:
    """Codex calls nobody until the user has approved the hooks; `leftoff doctor` tells which of the two it is."""
    said_by_install = install(agent, sandbox)
    assert "/hooks" in said_by_install, said_by_install
    assert turn(agent, sandbox, "Before.") == {}
    assert [each["mend"] for each in doctor(sandbox) if each["state"] == "broken"] == [
        "start codex, type /hooks, approve those of leftoff"
    ]
    approve(agent, sandbox)
    assert turn(agent, sandbox, "After.") == TURN["codex"]
    assert [each for each in doctor(sandbox) if each["state"] == "broken"] == []


@scenario(clients=("claude",))
def plugin(agent: Agent, sandbox: Sandbox) -> None:
    """The plugin is valid, brings commands and skill, and calls us once per event: alone, and beside wired settings."""
    folder = sandbox.disk / "marketplace"
    shutil.copytree(INTEGRATIONS / "claude", folder)
    inside = str(sandbox.inside(folder))
    for words in (
        ("validate", inside),
        ("validate", f"{inside}/leftoff"),
        ("marketplace", "add", inside),
        ("install", "leftoff@leftoff"),
    ):
        ended = sandbox.run(["plugin", *words])
        assert ended.code == 0, ended
        assert "warning" not in (ended.stdout + ended.stderr).lower(), ended
    before = content(settings(agent, sandbox))

    install(agent, sandbox)
    assert "fast.py" not in settings(agent, sandbox).read_text(encoding="utf-8"), "the plugin calls already"
    assert turn(agent, sandbox, "By the plugin.") == TURN["claude"]
    skill = (INTEGRATIONS / "claude/leftoff/skills/leftoff/SKILL.md").read_text(encoding="utf-8")
    check_skill(skill, "leftoff:leftoff", sandbox)

    run = succeeded(agent.prompt(sandbox, "/leftoff:pin Never push to main."))
    assert said(run.last, "user", "changing no character"), "the command is not there"
    called(sandbox)

    # Settings that were wired before the plugin came: the plugin steps back.
    put(settings(agent, sandbox), None)
    install(agent, sandbox)
    wired = json.loads(settings(agent, sandbox).read_bytes())
    put(settings(agent, sandbox), json.dumps({**json.loads(before or b"{}"), **wired}).encode())
    assert turn(agent, sandbox, "By both.") == TURN["claude"]
    ended = sandbox.leftoff("uninstall")
    assert ended.code == 0, ended
    assert json.loads(settings(agent, sandbox).read_bytes()) == json.loads(before or b"{}")
    assert turn(agent, sandbox, "By the plugin again.") == TURN["claude"], (
        "the fast path stays as long as a plugin calls it"
    )
    fast_path(sandbox).unlink()
    assert turn(agent, sandbox, "With nothing to call.") == {}


@scenario(clients=("codex",))
def skill(agent: Agent, sandbox: Sandbox) -> None:
    """Codex finds the skill in the user's folder and tells the model what it is for."""
    folder = sandbox.home / ".agents" / "skills" / "leftoff"
    shutil.copytree(INTEGRATIONS / "codex" / "skills" / "leftoff", folder)
    check_turn(agent, sandbox, "Look around.")
    check_skill((folder / "SKILL.md").read_text(encoding="utf-8"), "leftoff", sandbox)


def install(agent: Agent, sandbox: Sandbox) -> str:
    """Installs, and puts the stand-in in the place of the fast path; what the user was told."""
    ended = sandbox.leftoff("install", agent.name)
    assert ended.code == 0, ended
    stand_in(sandbox)
    return ended.stdout


def stand_in(sandbox: Sandbox) -> None:
    first = (
        fast_path(sandbox).read_text(encoding="utf-8").splitlines()[:1] if fast_path(sandbox).exists() else []
    )
    code = STAND_IN.format(log=sandbox.inside(events(sandbox)))
    fast_path(sandbox).write_text("\n".join([*first, code]), encoding="utf-8")


def approve(agent: Agent, sandbox: Sandbox) -> None:
    """Notes in config.toml what Codex itself notes when the user approves each of our hooks in /hooks."""
    if agent.name != "codex":
        return
    config = sandbox.home / ".codex" / "config.toml"
    kept = config.read_text(encoding="utf-8").partition("[hooks.state]")[0]
    inside = str(sandbox.inside(settings(agent, sandbox)))
    noted = [
        f'[hooks.state."{inside}:{snake(hook.event)}:{hook.group}:{hook.index}"]\ntrusted_hash = "{codex_wiring.trust_hash(hook)}"\n'
        for hook in hooks_in(settings(agent, sandbox).read_text(encoding="utf-8"), inside)
        if hook.origin
    ]
    config.write_text(kept + "[hooks.state]\n" + "".join(noted), encoding="utf-8")


def snake(event: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("_")


def turn(agent: Agent, sandbox: Sandbox, words: str = "Look around.") -> dict[str, int]:
    """One headless turn with a tool call; how often we were called at each event."""
    called(sandbox)
    check_turn(agent, sandbox, words)
    return called(sandbox)


def check_turn(agent: Agent, sandbox: Sandbox, words: str) -> None:
    """The prompt was sent, the tool ran, the answer arrived."""
    answer = f"the answer to {words}"
    run = succeeded(agent.prompt(sandbox, f"{words}\n{command(agent, 'echo seen')}\n#say {answer}"))
    assert [request.kind for request in run.requests] == ["reply", "reply"]
    assert said(run.last, "user", words)
    assert answer in run.result.stdout


def called(sandbox: Sandbox) -> dict[str, int]:
    """The events since this was last asked."""
    log = events(sandbox)
    if not log.exists():
        return {}
    found = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    log.unlink()
    assert {who for who, _, _ in found} == {sandbox.agent.name}
    return dict(Counter(event for _, event, _ in found))


def check_skill(text: str, name: str, sandbox: Sandbox) -> None:
    """The model was told of the skill, with the words that say when to use it."""
    description = text.split("description: ", 1)[1].splitlines()[0]
    sent = json.dumps(sandbox.requests()[-1].body, ensure_ascii=False)
    assert name in sent, "the skill's name was not sent"
    assert json.dumps(description, ensure_ascii=False)[1:60] in sent, "its description was not sent"


def doctor(sandbox: Sandbox) -> Iterator[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(sandbox.leftoff("doctor", "--json").stdout)
    return (each for each in found if each["what"] != "fast path")  # a stand-in is never of this version


def settings(agent: Agent, sandbox: Sandbox) -> Path:
    return sandbox.home / (".claude/settings.json" if agent.name == "claude" else ".codex/hooks.json")


def put(file: Path, before: bytes | None) -> None:
    if before is None:
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(before)


def content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def fast_path(sandbox: Sandbox) -> Path:
    return sandbox.home / ".local" / "share" / "leftoff" / "fast.py"


def events(sandbox: Sandbox) -> Path:
    assert sandbox.inside(sandbox.disk) == INSIDE
    return sandbox.disk / "tmp" / "events.jsonl"
