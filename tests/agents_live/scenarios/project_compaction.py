"""A project in a session that the client compacts: what the API receives afterwards."""

import json

from directives import SUMMARY
from drive import Agent
from installation import check_nothing_logged, install, restored_texts, saved_logs
from sandbox import Sandbox
from scenario import has_text, require_success, scenario, shell_call
from scenarios.projects import FOLDER, STATE, create_project


@scenario(clients=("claude", "codex"))
def project_after_compaction(agent: Agent, sandbox: Sandbox) -> None:
    """After a compaction the client sends the project's next task, section and files, and no request "continue project 24"."""
    install(agent, sandbox)
    create_project(sandbox)
    first = require_success(agent.prompt(sandbox, "continue project 24"))
    tick = shell_call(agent, f"sed -i 's/\\[ \\] weigh/[x] weigh/' {FOLDER}/01-planning/steps.md")
    ticked = require_success(agent.resume(sandbox, first.transcript, f"Weigh them.\n{tick}\n#say weighed"))
    saved = require_success(agent.resume(sandbox, ticked.transcript, "save progress"))
    full = f"#usage {agent.full_tokens}\n{shell_call(agent, 'echo late-result')}\n#say scored"
    run = require_success(agent.resume(sandbox, saved.transcript, f"Score them.\n{full}"))
    assert run.summary_requests, "the client did not compact"
    assert has_text(run.last_messages, "user", SUMMARY)
    texts = [text for text in restored_texts(run.last_messages) if "saved before the compaction" in text]
    assert len(texts) == 1, f"{len(texts)} texts hand the project back"
    for words in (
        'Next action: Continue Task 3 - "score"',
        "Current section: 2: Scoring",
        "Next task: #3: score",
        "Progress: 2/3 tasks (66%)",
        f"1. {STATE}",
        f". {FOLDER}/01-planning/steps.md\n",
    ):
        assert texts[0].count(words) == 1, f"{words!r} is there {texts[0].count(words)} times"
    assert "“Score them." in texts[0], "the request is missing"
    for phrase in ("continue project 24", "save progress"):
        assert phrase not in texts[0].lower(), f"{phrase!r} is taken for a request"
    (log,) = [json.loads(path.read_text(encoding="utf-8")) for path in saved_logs(sandbox)]
    assert log["mission_summary"].startswith("The user first asked: “Weigh them.")
    check_nothing_logged(sandbox)
