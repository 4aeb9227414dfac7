"""Projects in the real clients: the manifest in the request, the state after a turn, and trust."""

import shlex
import sys

from drive import Agent, Run
from installation import check_nothing_logged, ends_to_save, install, restored_texts, run_leftoff
from sandbox import Sandbox
from scenario import require_success, scenario, shell_call
from screens import ANSWER_MARK, open_client

from leftoff.projects.layout import HISTORY_NAME

STEPS = "## Section 1: Setup\n- [x] one\n\n## Section 2: Scoring\n- [ ] weigh\n- [ ] score\n"
FOLDER = "02-projects/24-skills"
STATE = f"{FOLDER}/01-planning/_resume.md"
SESSIONS = 12
MOST_STATE_BYTES = 8192


@scenario(clients=("claude", "codex"))
def continue_project(agent: Agent, sandbox: Sandbox) -> None:
    """The prompt "continue project 24" is sent with the manifest; tasks ticked in a turn are in the state after it."""
    install(agent, sandbox)
    create_project(sandbox)
    first = require_success(agent.prompt(sandbox, "continue project 24"))
    manifest = manifest_of(first)
    assert 'Next action: Continue Task 2 - "weigh"' in manifest
    assert f"1. {STATE}" in manifest
    assert "Current section: 2: Scoring" in manifest
    tick = shell_call(agent, f"sed -i 's/\\[ \\] weigh/[x] weigh/' {FOLDER}/01-planning/steps.md")
    require_success(agent.resume(sandbox, first.transcript, f"Tick it.\n{tick}\n#say ticked"))
    state = (sandbox.project / STATE).read_text(encoding="utf-8")
    assert "progress_tasks_completed: 2\n" in state
    assert 'next_action: Continue Task 3 - "score"\n' in state
    assert "session_count: 1 " in state
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def jump_to_section(agent: Agent, sandbox: Sandbox) -> None:
    """When the agent has jumped to a section, the next session is given the first open task of that section."""
    install(agent, sandbox)
    create_project(sandbox)
    steps = sandbox.project / FOLDER / "01-planning" / "steps.md"
    steps.write_text(f"{STEPS}\n## Section 3: Report\n- [ ] draw\n- [ ] print\n", encoding="utf-8")
    first = require_success(agent.prompt(sandbox, "continue project 24"))
    assert 'Next action: Continue Task 2 - "weigh"' in manifest_of(first)
    jump = shell_call(
        agent, f"{shlex.quote(sys.executable)} -P -m leftoff project save --project 24 --section 3"
    )
    require_success(agent.resume(sandbox, first.transcript, f"Jump to section 3.\n{jump}\n#say jumped"))
    given = manifest_of(require_success(agent.prompt(sandbox, "continue project 24")))
    assert 'Next action: Continue Task 4 - "draw"' in given, given
    assert "Current section: 3: Report" in given, given
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def save_progress(agent: Agent, sandbox: Sandbox) -> None:
    """ "save progress" saves the state of the session's project at once, and the user sees what comes next."""
    install(agent, sandbox)
    create_project(sandbox)
    with open_client(agent, sandbox) as screen:
        screen.type("continue project 24")
        screen.wait_for(f"{ANSWER_MARK[agent.name]} done")
        steps = sandbox.project / FOLDER / "01-planning" / "steps.md"
        steps.write_text(STEPS.replace("[ ] weigh", "[x] weigh"), encoding="utf-8")
        screen.type("save progress")
        screen.wait_for('he state of 24-skills is saved; next: Continue Task 3 - "score"')
        state = (sandbox.project / STATE).read_text(encoding="utf-8")
    assert "progress_tasks_completed: 2\n" in state
    check_nothing_logged(sandbox)


@scenario(clients=("claude", "codex"))
def state_of_many_sessions_is_small(agent: Agent, sandbox: Sandbox) -> None:
    """A state of long entries stays under 8 KB through twelve sessions; what no longer fits is in the history beside it."""
    install(agent, sandbox)
    create_project(sandbox)
    state = sandbox.project / STATE
    long_entries = [
        part
        for number in range(8)
        for option in ("--decision", "--assumption", "--pending", "--model")
        for part in (option, f"Entry{number}: {'because it is long ' * 8}")
    ]
    run_leftoff(sandbox, "project", "save", "--project", "24", *long_entries)
    for _ in range(SESSIONS):
        manifest = manifest_of(require_success(agent.prompt(sandbox, "continue project 24")))
        assert 'Next action: Continue Task 2 - "weigh"' in manifest, manifest
        sandbox.wait_until(lambda: not ends_to_save(sandbox), "that the session is saved")
        assert (size := len(state.read_bytes())) < MOST_STATE_BYTES, f"{size} bytes"
    text, history = (
        state.read_text(encoding="utf-8"),
        state.with_name(HISTORY_NAME).read_text(encoding="utf-8"),
    )
    assert f"session_count: {SESSIONS} " in text
    kept = text + history
    for number in range(8):
        assert kept.count(f"Entry{number}: because") >= 4, f"entry {number} is lost"
    check_nothing_logged(sandbox)


def manifest_of(run: Run) -> str:
    """Return the manifest of a project in the first request of a run."""
    texts = restored_texts(run.main_requests[0].messages)
    (manifest,) = [text for text in texts if "resume state of the project" in text]
    return manifest


def create_project(sandbox: Sandbox) -> None:
    """Create project 24 in its execution phase: the first of its steps is done."""
    (sandbox.project / "02-projects" / "23-older").mkdir(parents=True)
    run_leftoff(sandbox, "project", "init", "Skills")
    steps = sandbox.project / FOLDER / "01-planning" / "steps.md"
    steps.write_text(STEPS, encoding="utf-8")
