"""What the status line loads: agents run it again and again. Modules are compared, because milliseconds vary."""

import json
import subprocess
import sys
from pathlib import Path

from leftoff.agents import claude
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"

# All of ours that may be loaded. What the hook loads is compared with a bare interpreter in tests/live/test_fast.py.
ALLOWED = {
    "leftoff",
    "leftoff.errors",
    "leftoff.version",
    "leftoff.plugins",
    "leftoff.agents",
    "leftoff.agents.base",
    "leftoff.agents.jsonl",
    "leftoff.agents.claude",
    "leftoff.agents.claude.adapter",
    "leftoff.agents.claude.records",
    "leftoff.agents.claude.repeated",
    "leftoff.agents.claude.usage",
    "leftoff.agents.claude.user_text",
    "leftoff.agents.claude.versions",
    "leftoff.cli",
    "leftoff.cli.agent_hook",
    "leftoff.cli.agent_statusline",
    "leftoff.cli.gauge",
    "leftoff.core",
    "leftoff.core.levels",
    "leftoff.core.metrics",
    "leftoff.core.quantities",
    "leftoff.core.records",
    "leftoff.core.wire",
    "leftoff.live",
    "leftoff.live.status_line",
    "leftoff.platform",
    "leftoff.platform.clock",
    "leftoff.platform.files",
    "leftoff.platform.locks",
    "leftoff.platform.log",
    "leftoff.platform.paths",
    "leftoff.platform.process",
    "leftoff.sessions",
    "leftoff.sessions.learned_windows",
}
FORBIDDEN = {
    "click",
    "rich",
    "ruamel",
    "sqlite3",
    "subprocess",
    "tomllib",
    "difflib",
    "importlib.metadata",
    "importlib.resources",
}


def test_the_status_line_loads_only_what_it_needs(isolated_home, without_coverage):
    """It loads neither the command line nor the settings nor any other agent."""
    path = isolated_home / ".claude" / "projects" / "-slug" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    story = Story(session_id=SESSION, project=str(Path.cwd()), model="claude-sonnet-4-5")
    write_transcript(claude.here(), story.asked("Fix it").replied("Done.", used=83_500).script(), path)
    client_json = {
        "session_id": SESSION,
        "transcript_path": str(path),
        "workspace": {"project_dir": str(Path.cwd())},
        "context_window": {"context_window_size": 200_000},
    }
    code = "import sys; from leftoff.cli.agent_statusline import run_statusline; run_statusline(); print(*sys.modules, file=sys.stderr)"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(client_json),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert " 50% " in ended.stdout
    modules = {*ended.stderr.split()}
    assert {name for name in modules if name.partition(".")[0] == "leftoff"} - ALLOWED == set()
    assert modules & FORBIDDEN == set()
