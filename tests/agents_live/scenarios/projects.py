"""Projects in the real clients: the manifest in the request, the state after a turn, and trust."""

from drive import Agent
from installation import check_nothing_logged, install, restored_texts, run_leftoff
from sandbox import Sandbox
from scenario import require_success, scenario, shell_call

STEPS = "## Section 1: Setup\n- [x] one\n\n## Section 2: Scoring\n- [ ] weigh\n- [ ] score\n"
FOLDER = "02-projects/24-skills"
STATE = f"{FOLDER}/01-planning/_resume.md"


@scenario(clients=("claude", "codex"))
def continue_project(agent: Agent, sandbox: Sandbox) -> None:
    """The prompt "continue project 24" is sent with the manifest; tasks ticked in a turn are in the state after it."""
    install(agent, sandbox)
    create_project(sandbox)
    first = require_success(agent.prompt(sandbox, "continue project 24"))
    texts = restored_texts(first.main_requests[0].messages)
    (manifest,) = [text for text in texts if "resume state of the project" in text]
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


def create_project(sandbox: Sandbox) -> None:
    """Create project 24 in its execution phase: the first of its steps is done."""
    (sandbox.project / "02-projects" / "23-older").mkdir(parents=True)
    run_leftoff(sandbox, "project", "init", "Skills")
    steps = sandbox.project / FOLDER / "01-planning" / "steps.md"
    steps.write_text(STEPS, encoding="utf-8")
