"""What the next session is given of the last one: on a terminal, where a person is offered it, and where nobody is."""

import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drive import Agent
from received import Message
from sandbox import Sandbox
from scenario import command, said, scenario, succeeded
from scenarios.filling_up import install, log_lines, restorations
from scenarios.subagent import errand
from terminal import Terminal

WHOLE = "# Session Resume Log:"
ANSWER = {"claude": "●", "codex": "•"}
OVER = {"claude": "done", "codex": "Worked for"}
CLEAR_LINE = "\x15"
CODEX_AFRESH = "⣿⣿⣿⣿"  # of the picture on its empty screen
OPEN = {"claude": "shift+tab to cycle", "codex": "Ask Codex"}  # on a screen that waits for the first words
MISSION = "Write src/ledger.py and keep the amounts in cents."


@scenario(clients=("claude", "codex"))
def left_off(agent: Agent, sandbox: Sandbox) -> None:
    """A new session is offered what was left off; the whole comes with a first prompt that asks to go on, and no other."""
    install(agent, sandbox)
    first = worked(agent, sandbox)
    with on_screen(agent, sandbox) as screen:
        screen.type("continue\n#say going on")
        screen.wait_for("goes on from session")
        shown = screen.wait_for(f"{ANSWER[agent.name]} going on")
        assert "left off" in shown, "the user was offered nothing"
    handed = whole(last(sandbox, "continue\n"))
    assert "src/ledger.py" in handed
    assert first.stem[-36:] in handed
    with on_screen(agent, sandbox) as screen:
        screen.type("What is the weather like?\n#say cloudy")
        screen.wait_for(f"{ANSWER[agent.name]} cloudy")
    unrelated = last(sandbox, "What is the weather like?")
    assert WHOLE not in words_of(unrelated), "nobody asked for it"
    hint = r"leftoff: an earlier session.*?</leftoff-record-\w+>"
    (given,) = re.findall(hint, "".join(restorations(unrelated)), re.DOTALL)
    assert len(given) <= 600
    assert log_lines(sandbox) == [], log_lines(sandbox)


@scenario(clients=("claude", "codex"))
def cleared(agent: Agent, sandbox: Sandbox) -> None:
    """After /clear nothing is handed over, whatever the prompt; what was cleared is not offered again, but lineage names it."""
    install(agent, sandbox)
    answer = ANSWER[agent.name]
    with on_screen(agent, sandbox) as screen:
        screen.type(f"{MISSION}\n#say understood")
        screen.wait_for(f"{answer} understood")
        screen.wait_for(OVER[agent.name])
        screen.type("/clear")
        if agent.name == "claude":
            sandbox.wait_for(lambda: len(logs(sandbox)) == 1, "the log of what was cleared")
        else:  # it says nothing of the end of a session; the next prompt begins another in its place
            screen.wait_for(CODEX_AFRESH)
        screen.type("continue\n#say afresh")
        screen.wait_for(f"{answer} afresh")
        sandbox.wait_for(lambda: len(logs(sandbox)) == 1, "the log of what was cleared")
    assert "leftoff" not in words_of(last(sandbox, "continue\n"))
    (log,) = logs(sandbox)
    assert json.loads(log.read_text(encoding="utf-8"))["metadata"]["ended"] == "cleared"
    old, new = (
        each.stem[-36:]
        for each in sorted(agent.transcripts(sandbox), key=lambda path: path.stat().st_mtime_ns)
    )
    told = sandbox.leftoff("lineage", new, "--json")
    chain = [(each["session_id"], each["derivation"]) for each in json.loads(told.stdout)["chain"]]
    assert chain == [(old, None), (new, "cleared-from")], told


@scenario(clients=("claude", "codex"))
def headless(agent: Agent, sandbox: Sandbox) -> None:
    """A headless run is saved and offered nothing, even when it asks to go on; nor is a subagent."""
    install(agent, sandbox)
    worked(agent, sandbox)
    run = succeeded(agent.prompt(sandbox, "continue\n#say nothing to go on from"))
    assert "leftoff" not in words_of(run.last)
    sandbox.wait_for(lambda: len(logs(sandbox)) == 2, "the log of the second run")
    if agent.name == "claude":
        sent = succeeded(
            agent.prompt(sandbox, f"Send somebody.\n{errand(agent, in_background=False)}\n#say done")
        )
        asked = [request for request in sent.requests if request.is_subagent]
        assert asked
        for request in asked:
            assert "leftoff" not in words_of(request.messages)
    assert log_lines(sandbox) == [], log_lines(sandbox)


@scenario(clients=("claude", "codex"))
def caught_up(agent: Agent, sandbox: Sandbox) -> None:
    """A session that was killed has no log; at the next start it gets one, and can be gone on from."""
    install(agent, sandbox)
    prompt = f"{MISSION}\n{command(agent, 'echo half > ledger.txt')}\n{command(agent, 'touch started && sleep 300')}"
    running = agent.start(sandbox, prompt)
    sandbox.wait_for((sandbox.project / "started").exists, "the second command starts")
    running.send(signal.SIGKILL)
    running.finish()
    killed = agent.latest(sandbox)
    assert logs(sandbox) == []
    with on_screen(agent, sandbox) as screen:
        screen.type("continue\n#say going on")
        screen.wait_for(f"{ANSWER[agent.name]} going on")
    assert killed.stem[-36:] in whole(last(sandbox, "continue\n"))
    assert [path.stem for path in logs(sandbox)] == [f"session-{killed.stem[-36:]}"]
    assert log_lines(sandbox) == [], log_lines(sandbox)


@scenario(clients=("claude", "codex"))
def typed(agent: Agent, sandbox: Sandbox) -> None:
    """Triggers are answered without a request; the pin that was typed stands in the log."""
    install(agent, sandbox)
    with on_screen(agent, sandbox) as screen:
        screen.type(f"{MISSION}\n#say understood")
        screen.wait_for(f"{ANSWER[agent.name]} understood")
        screen.wait_for(OVER[agent.name])
        asked = len(sandbox.requests())
        screen.type(">pin The staging server is called quokka")
        screen.wait_for("pinned as number 1")
        # The client puts a blocked prompt back into its line.
        screen.press(CLEAR_LINE)
        screen.type(">handoff")
        screen.wait_for("Go on in a fresh session")
        assert len(sandbox.requests()) == asked, "a prompt that was for us cost tokens"
    (log,) = logs(sandbox)
    assert "quokka" in log.read_text(encoding="utf-8")
    assert log_lines(sandbox) == [], log_lines(sandbox)


@contextmanager
def on_screen(agent: Agent, sandbox: Sandbox) -> Iterator[Terminal]:
    """The client on a terminal, ready for a prompt."""
    with sandbox.screen(on_screen_trusted(agent, sandbox)) as screen:
        screen.wait_for(OPEN[agent.name])
        yield screen


def on_screen_trusted(agent: Agent, sandbox: Sandbox) -> list[str]:
    """Answers what the client would ask a person at its start; the flags to start it with."""
    if agent.name == "claude":
        return []
    config = sandbox.home / ".codex" / "config.toml"
    trusted = f'[projects."{sandbox.inside(sandbox.project)}"]\ntrust_level = "trusted"\n'
    if trusted not in (before := config.read_text(encoding="utf-8")):
        config.write_text(f"{before}\n{trusted}", encoding="utf-8")
    # With an older model it would first want to talk about the newest.
    return ["--no-daemon", "-m", "gpt-6-sol"]


def worked(agent: Agent, sandbox: Sandbox) -> Path:
    """A headless session with something to go on from; its transcript."""
    write = command(agent, "mkdir -p src && echo 'cents = 0' > src/ledger.py")
    run = succeeded(agent.prompt(sandbox, f"{MISSION}\n{write}\n#say half of it is done"))
    sandbox.wait_for(lambda: len(logs(sandbox)) == 1, "the log of the first session")
    return run.transcript


def logs(sandbox: Sandbox) -> list[Path]:
    return sorted((sandbox.project / ".leftoff" / "resume-logs").glob("session-*.json"))


def last(sandbox: Sandbox, words: str) -> list[Message]:
    """The request of the conversation in which the user says so: the longest, titles and the like are shorter."""
    asked = [each.messages for each in sandbox.requests() if said(each.messages, "user", words)]
    return max(asked, key=len)


def whole(messages: list[Message]) -> str:
    (found,) = [text for text in restorations(messages) if WHOLE in text]
    return found


def words_of(messages: list[Message]) -> str:
    return json.dumps(messages, ensure_ascii=False)
