"""Sessions that continue one another, and open work that no other session hides."""

import json
import os
from pathlib import Path
from typing import Any

from drive import Agent
from installation import (
    check_nothing_logged,
    ends_to_save,
    install,
    restored_texts,
    run_leftoff_json,
    saved_logs,
    state_folder,
)
from sandbox import Sandbox
from scenario import require_success, scenario
from screens import ANSWER_MARK, as_json, open_client, request_with, submit

from leftoff.platform import clock

RULES = ("Never delete rows in accounts.", "Always keep the audit trail.")
MISSION = f"Migrate billing to the ledger. {' '.join(RULES)}"
REPLY = "Done half. Next: update CHANGELOG.md."
LINKS = 10
EXIT = {"claude": "/exit", "codex": "/quit"}
SAVE_OPEN_LOGS = """
import sys
from leftoff import ResumeLogGenerator
logs = ResumeLogGenerator({"context_management": {"resume_logs": {"cleanup": {"enabled": False}}}})
for name in sys.argv[1:]:
    state = {"mission_summary": f"Task {name}", "next_steps": [f"Finish {name}"]}
    logs.save_resume_log(logs.generate_from_session_state(name, state))
"""
TWO_DAYS = 2 * 24 * 3600


@scenario(clients=("claude", "codex"))
def ten_continues(agent: Agent, sandbox: Sandbox) -> None:
    """Ten sessions continue one another by `continue`: each is given the rules, mission and step of the first and passes them on."""
    install(agent, sandbox)
    chain = [session_on_screen(agent, sandbox, MISSION, REPLY)]
    for number in range(LINKS):
        before = len(sandbox.requests())
        chain.append(session_on_screen(agent, sandbox, "continue"))
        given = "".join(
            text for request in sandbox.requests(before) for text in restored_texts(request.messages)
        )
        for text in (*RULES, "Migrate billing to the ledger.", "update CHANGELOG.md"):
            assert text in given, (number, text, given)
        log = load_log(sandbox, chain[-1])
        assert log["critical_context"]["user_rules"] == [f"“{rule}”" for rule in RULES], (number, log)
        assert log["mission_summary"].startswith("The user first asked: “Migrate billing"), (number, log)
        assert "continue" not in log["mission_summary"] + "".join(log["next_steps"]), (number, log)
        assert any("update CHANGELOG.md" in step for step in log["next_steps"]), (number, log)
    lineage = run_leftoff_json(sandbox, "lineage", chain[-1])
    expected = [(each, "continued" if number else None) for number, each in enumerate(chain)]
    assert [(each["session_id"], each["derivation"]) for each in lineage["chain"]] == expected, lineage
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def open_work_is_not_hidden(agent: Agent, sandbox: Sandbox) -> None:
    """Headless one-liners and an answered question neither hide nor remove the log of open work, and are not offered."""
    install(agent, sandbox)
    settings = sandbox.home / ".config" / "leftoff" / "configuration.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("context_management: {resume_logs: {cleanup: {keep_count: 1}}}\n", encoding="utf-8")
    unfinished = session_on_screen(agent, sandbox, MISSION, REPLY)
    for number in range(3):
        run_headless(agent, sandbox, number)
    make_older(agent, sandbox)
    run_headless(agent, sandbox, 3)
    sandbox.wait_until(lambda: len(saved_logs(sandbox)) <= 3, "old logs of one-liners are cleaned up")
    assert load_log(sandbox, unfinished), "the log of open work was cleaned up"
    session_on_screen(agent, sandbox, "What is the capital of France?", "Paris.")
    known = {*saved_logs(sandbox)}
    with open_client(agent, sandbox) as screen:
        shown = submit(agent, screen, "What is the weather like?", "cloudy")
        assert "Migrate billing" in shown, shown
        assert "more: >pickup" not in shown, shown
        screen.type(EXIT[agent.name])  # a session that is killed counts as open until its log is made
        sandbox.wait_until(lambda: {*saved_logs(sandbox)} - known, "the log of the last session")
    sent = as_json(request_with(sandbox, "What is the weather like?"))
    assert "Mission: Migrate billing" in sent
    assert "France" not in sent
    assert run_leftoff_json(sandbox, "resume")["session_id"] == unfinished
    assert run_leftoff_json(sandbox)["left_off"]["session_id"] == unfinished


@scenario(clients=("claude", "codex"))
def killed_question_is_not_left_off(agent: Agent, sandbox: Sandbox) -> None:
    """A question in a session that was killed, answered or not, is not what was left off, with a log or without: open work is."""
    install(agent, sandbox)
    unfinished = session_on_screen(agent, sandbox, MISSION, REPLY)
    with open_client(agent, sandbox) as screen:
        submit(agent, screen, "What is the weather like?", "cloudy")
    check_left_off(sandbox, unfinished)
    with open_client(agent, sandbox) as screen:
        screen.type("And tomorrow?\n#silence")
        sandbox.wait_until(
            lambda: "And tomorrow?" in newest_transcript(agent, sandbox), "that the prompt is on disk"
        )
    check_left_off(sandbox, unfinished)
    with open_client(agent, sandbox) as screen:
        shown = submit(agent, screen, "Hello.", "hi")
        assert "Migrate billing" in shown, shown
        submit(agent, screen, "continue", "continued")
    assert "Migrate billing" in as_json(request_with(sandbox, "continue"))


@scenario(clients=("claude", "codex"))
def open_work_is_kept_within_bounds(agent: Agent, sandbox: Sandbox) -> None:
    """When a session is saved, the project keeps the 50 newest logs of open work, none older than 90 days, and names those that go."""
    install(agent, sandbox)
    add_open_logs(
        sandbox, [*(f"days-{days}" for days in (1, 2, 89, 91)), *(f"hours-{hours}" for hours in range(1, 12))]
    )
    session_on_screen(agent, sandbox, MISSION, REPLY)
    assert (gone := missing_logs(sandbox)) == {"days-91"}, gone
    add_open_logs(sandbox, [f"hours-{hours}" for hours in range(12, 48)])
    session_on_screen(agent, sandbox, "Port the report.", "Half of it. Next: the second page.")
    gone = missing_logs(sandbox)
    assert gone == {"days-91", "days-89", "days-2"}, gone
    logged = (state_folder(sandbox) / "leftoff.log").read_text(encoding="utf-8").splitlines()
    assert len(logged) == 3, logged
    for session_id in gone:
        assert any(f"session-{session_id}." in line and f"Task {session_id}" in line for line in logged), (
            logged
        )


def add_open_logs(sandbox: Sandbox, names: list[str]) -> None:
    """Save logs of open work that are as old as their names say."""
    done = sandbox.run_python(SAVE_OPEN_LOGS, *names)
    assert done.code == 0, done
    for name in names:
        unit, _, count = name.partition("-")
        moment = clock.now().timestamp() - int(count) * {"hours": 3600, "days": 24 * 3600}[unit]
        for path in (sandbox.project / ".leftoff" / "resume-logs").glob(f"session-{name}.*"):
            os.utime(path, (moment, moment))
            added = sandbox.home / "added"
            added.mkdir(exist_ok=True)
            (added / name).touch()


def missing_logs(sandbox: Sandbox) -> set[str]:
    """Return the logs that were added and are gone when everything is saved."""
    sandbox.wait_until(lambda: not ends_to_save(sandbox), "that the last session is saved")
    saved = {path.stem.removeprefix("session-") for path in saved_logs(sandbox)}
    return {path.name for path in (sandbox.home / "added").iterdir()} - saved


def check_left_off(sandbox: Sandbox, session_id: str) -> None:
    """Check that leftoff names this session, and still does when the logs of all sessions are saved."""
    for _ in range(2):
        assert run_leftoff_json(sandbox)["left_off"]["session_id"] == session_id
        assert run_leftoff_json(sandbox, "resume")["session_id"] == session_id  # this saves the newest log


def newest_transcript(agent: Agent, sandbox: Sandbox) -> str:
    return agent.latest_transcript(sandbox).read_text(encoding="utf-8")


def session_on_screen(agent: Agent, sandbox: Sandbox, prompt: str, reply: str | None = None) -> str:
    """Type one prompt in a new session, leave it, wait for its log, and return its id. Without a reply the API says "done"."""
    known = {*saved_logs(sandbox)}
    with open_client(agent, sandbox) as screen:
        screen.type(prompt if reply is None else f"{prompt}\n#say {reply}")
        screen.wait_for(f"{ANSWER_MARK[agent.name]} {reply or 'done'}")
        screen.type(EXIT[agent.name])
        sandbox.wait_until(lambda: {*saved_logs(sandbox)} - known, f"the log of the session about {prompt!r}")
    (new,) = {*saved_logs(sandbox)} - known
    return new.stem.removeprefix("session-")


def run_headless(agent: Agent, sandbox: Sandbox, number: int) -> None:
    """Run one headless prompt and wait for its log."""
    known = {*saved_logs(sandbox)}
    require_success(agent.prompt(sandbox, f"commit message {number}\n#say feat: part {number}"))
    sandbox.wait_until(lambda: {*saved_logs(sandbox)} - known, f"the log of headless run {number}")


def make_older(agent: Agent, sandbox: Sandbox) -> None:
    """Make logs and transcripts two days older, in their order: those of the last hour are never cleaned up."""
    sandbox.wait_until(lambda: not ends_to_save(sandbox), "that nothing is written in the background")
    for path in (*(sandbox.project / ".leftoff" / "resume-logs").iterdir(), *agent.transcripts(sandbox)):
        moment = path.stat().st_mtime - TWO_DAYS
        os.utime(path, (moment, moment))


def load_log(sandbox: Sandbox, session_id: str) -> dict[str, Any]:
    path = Path(sandbox.project, ".leftoff", "resume-logs", f"session-{session_id}.json")
    log: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return log
