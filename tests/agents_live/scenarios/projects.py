"""Projects in the real client: the manifest in the request, the state after a turn, and nothing before it is trusted."""

import subprocess

from drive import Agent
from sandbox import Sandbox
from scenario import command, scenario, succeeded
from scenarios.filling_up import install, log_lines, restorations
from scenarios.left_off import words_of

STEPS = "## Section 1: Setup\\n- [x] one\\n\\n## Section 2: Scoring\\n- [ ] weigh\\n- [ ] score\\n"
FOLDER = "02-projects/24-skills"
STATE = f"{FOLDER}/01-planning/_resume.md"


@scenario(clients=("claude", "codex"))
def continue_project(agent: Agent, sandbox: Sandbox) -> None:
    """ "continue project 24" is sent with the manifest; ticked tasks are in the state when the turn has ended."""
    install(agent, sandbox)
    begin(sandbox)
    first = succeeded(agent.prompt(sandbox, "continue project 24"))
    (handed,) = [
        text for text in restorations(first.main[0].messages) if "resume state of the project" in text
    ]
    assert 'Next action: Continue Task 2 - "weigh"' in handed
    assert f"1. {STATE}" in handed
    assert "Current section: 2: Scoring" in handed
    tick = command(agent, f"sed -i 's/\\[ \\] weigh/[x] weigh/' {FOLDER}/01-planning/steps.md")
    succeeded(agent.resume(sandbox, first.transcript, f"Tick it.\n{tick}\n#say ticked"))
    state = (sandbox.project / STATE).read_text(encoding="utf-8")
    assert "progress_tasks_completed: 2\n" in state
    assert 'next_action: Continue Task 3 - "score"\n' in state
    assert "session_count: 1 " in state
    assert log_lines(sandbox) == [], log_lines(sandbox)


@scenario(clients=("claude",))
def cloned_project(agent: Agent, sandbox: Sandbox) -> None:
    """Of a state that git tracks nothing is sent before `leftoff trust`, however the user asks for it."""
    install(agent, sandbox)
    begin(sandbox)
    for arguments in (["init", "-q"], ["add", "-f", STATE]):
        subprocess.run(["git", *arguments], cwd=sandbox.project, check=True, capture_output=True)
    before = (sandbox.project / STATE).read_bytes()
    refused = succeeded(agent.prompt(sandbox, "continue project 24"))
    assert "Next action" not in words_of(refused.main[0].messages)
    assert (sandbox.project / STATE).read_bytes() == before
    trusted = sandbox.leftoff("trust", "--yes", STATE)
    assert trusted.code == 0, trusted
    told = succeeded(agent.prompt(sandbox, "continue project 24"))
    assert "Next action: Continue Task 2" in words_of(told.main[0].messages)
    assert log_lines(sandbox) == [], log_lines(sandbox)


def begin(sandbox: Sandbox) -> None:
    """Project 24, of whose steps the first is done: so it is in its execution."""
    (sandbox.project / "02-projects" / "23-older").mkdir(parents=True)
    ended = sandbox.leftoff("project", "init", "Skills")
    assert ended.code == 0, ended
    steps = sandbox.project / FOLDER / "01-planning" / "steps.md"
    steps.write_text(STEPS.replace("\\n", "\n"), encoding="utf-8")
