"""What a new session receives from an earlier one: on a terminal with an offer, in a headless run without."""

import json
import re
import signal
from pathlib import Path

from drive import Agent
from installation import check_nothing_logged, install, restored_texts, run_leftoff_json, saved_logs
from received import Message
from sandbox import Sandbox
from scenario import require_success, scenario, shell_call
from scenarios.subagent import subagent_call
from screens import ANSWER_MARK, CLEAR_LINE, TURN_ENDED, as_json, open_client, request_with, submit

LOG_TITLE = "# Session Resume Log:"
CODEX_EMPTY_SCREEN = "⣿⣿⣿⣿"  # part of the picture on it
MISSION = "Write src/ledger.py and keep the amounts in cents."


@scenario(clients=("claude", "codex"))
def continue_in_new_session(agent: Agent, sandbox: Sandbox) -> None:
    """A new session is offered the last one's log, and receives all of it only if its first prompt asks to continue."""
    install(agent, sandbox)
    first = finished_session(agent, sandbox)
    with open_client(agent, sandbox) as screen:
        screen.type("continue\n#say going on")
        screen.wait_for("continues session")
        shown = screen.wait_for(f"{ANSWER_MARK[agent.name]} going on")
        assert "left off" in shown, "the user was offered nothing"
    log = restored_log(request_with(sandbox, "continue\n"))
    assert "src/ledger.py" in log
    assert session_id(first) in log
    with open_client(agent, sandbox) as screen:
        submit(agent, screen, "What is the weather like?", "cloudy")
    unrelated = request_with(sandbox, "What is the weather like?")
    assert LOG_TITLE not in as_json(unrelated), "the log was sent without being asked for"
    hint = r"leftoff: an earlier session.*?</leftoff-record-\w+>"
    (sent_hint,) = re.findall(hint, "".join(restored_texts(unrelated)), re.DOTALL)
    assert len(sent_hint) <= 600
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def cleared_session_is_not_offered(agent: Agent, sandbox: Sandbox) -> None:
    """After /clear nothing is restored, even by `continue`; the cleared session keeps a log and a place in the lineage."""
    install(agent, sandbox)
    with open_client(agent, sandbox) as screen:
        submit(agent, screen, MISSION, "understood")
        screen.wait_for(TURN_ENDED[agent.name])
        screen.type("/clear")
        if agent.name == "claude":
            sandbox.wait_until(lambda: len(saved_logs(sandbox)) == 1, "the log of the cleared session")
        else:  # Codex ends the session only when the next prompt starts another
            screen.wait_for(CODEX_EMPTY_SCREEN)
        submit(agent, screen, "continue", "afresh")
        sandbox.wait_until(lambda: len(saved_logs(sandbox)) == 1, "the log of the cleared session")
    check_nothing_handed_over(as_json(request_with(sandbox, "continue\n")))
    (log,) = saved_logs(sandbox)
    assert json.loads(log.read_text(encoding="utf-8"))["metadata"]["ended"] == "cleared"
    by_age = sorted(agent.transcripts(sandbox), key=lambda path: path.stat().st_mtime_ns)
    old, new = map(session_id, by_age)
    lineage = run_leftoff_json(sandbox, "lineage", new)
    chain = [(each["session_id"], each["derivation"]) for each in lineage["chain"]]
    assert chain == [(old, None), (new, "cleared-from")], lineage


@scenario(clients=("claude", "codex"))
def headless_gets_no_offer(agent: Agent, sandbox: Sandbox) -> None:
    """A headless run is saved but receives nothing, even when it asks to continue; neither does a subagent."""
    install(agent, sandbox)
    finished_session(agent, sandbox)
    run = require_success(agent.prompt(sandbox, "continue\n#say nothing to continue"))
    check_nothing_handed_over(as_json(run.last_messages))
    sandbox.wait_until(lambda: len(saved_logs(sandbox)) == 2, "the log of the second run")
    if agent.name == "claude":
        call = subagent_call(agent, in_background=False)
        with_subagent = require_success(agent.prompt(sandbox, f"Use a subagent.\n{call}\n#say done"))
        requests = [request for request in with_subagent.requests if request.is_subagent]
        assert requests
        for request in requests:
            check_nothing_handed_over(as_json(request.messages))
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def killed_session_gets_a_log(agent: Agent, sandbox: Sandbox) -> None:
    """A killed session has no log; the next start writes it, and the new session can continue from it."""
    install(agent, sandbox)
    short = shell_call(agent, "echo half > ledger.txt")
    long = shell_call(agent, "touch started && sleep 300")
    running = agent.start(sandbox, f"{MISSION}\n{short}\n{long}")
    sandbox.wait_until((sandbox.project / "started").exists, "the second command starts")
    running.send_signal(signal.SIGKILL)
    running.wait()
    killed = session_id(agent.latest_transcript(sandbox))
    assert saved_logs(sandbox) == []
    with open_client(agent, sandbox) as screen:
        submit(agent, screen, "continue", "going on")
    assert killed in restored_log(request_with(sandbox, "continue\n"))
    assert [path.stem for path in saved_logs(sandbox)] == [f"session-{killed}"]
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def typed_triggers(agent: Agent, sandbox: Sandbox) -> None:
    """Triggers such as `>pin` are answered without a request to the API, and the pin is in the log."""
    install(agent, sandbox)
    with open_client(agent, sandbox) as screen:
        submit(agent, screen, MISSION, "understood")
        screen.wait_for(TURN_ENDED[agent.name])
        before = len(sandbox.requests())
        screen.type(">pin The staging server is called quokka")
        screen.wait_for("pinned as number 1")
        screen.press(CLEAR_LINE)  # the client puts a blocked prompt back into its input line
        screen.type(">handoff")
        screen.wait_for("Continue in a fresh session")
        assert len(sandbox.requests()) == before, "a trigger was sent to the API"
    (log,) = saved_logs(sandbox)
    assert "quokka" in log.read_text(encoding="utf-8")
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def two_sessions_in_one_project(agent: Agent, sandbox: Sandbox) -> None:
    """Two live sessions in one project hear about each other: the new one at its start, the other at its next event."""
    install(agent, sandbox)
    with open_client(agent, sandbox) as first:
        submit(agent, first, "What is the weather like?", "cloudy")
        with open_client(agent, sandbox) as second:
            submit(agent, second, "And the sea?", "calm")
            second.wait_for("another session is running in this project")
            submit(agent, first, "And now?", "rainy")
            first.wait_for("another session has begun in this project")
    check_nothing_logged(sandbox)


def check_nothing_handed_over(request: str) -> None:
    """The client lists the plugin's own commands; all that leftoff hands over is fenced, and would name the mission."""
    assert "leftoff-record" not in request
    assert MISSION not in request


def finished_session(agent: Agent, sandbox: Sandbox) -> Path:
    """Run a headless session with unfinished work, wait for its log, and return its transcript."""
    write = shell_call(agent, "mkdir -p src && echo 'cents = 0' > src/ledger.py")
    run = require_success(agent.prompt(sandbox, f"{MISSION}\n{write}\n#say half of it is done"))
    sandbox.wait_until(lambda: len(saved_logs(sandbox)) == 1, "the log of the first session")
    return run.transcript


def restored_log(messages: list[Message]) -> str:
    """Return the complete resume log that was put into a request."""
    (log,) = [text for text in restored_texts(messages) if LOG_TITLE in text]
    return log


def session_id(transcript: Path) -> str:
    return transcript.stem[-36:]
