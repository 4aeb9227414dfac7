"""What a short command loads: somebody waits for it. Modules are counted, because milliseconds are not the same twice."""

import json
import subprocess
import sys
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden" / "transcripts"

# Each costs as much as the work of the command itself, or is for another command.
HEAVY = (
    "rich",  # only to draw tables
    "ruamel",  # only if there is a YAML file
    "importlib.metadata",  # only to look for guests
    "importlib.resources",
    "statistics",
    "difflib",  # only for those who mistyped
    "sqlite3",
    "subprocess",
    "leftoff.agents.codex",  # another agent's
    "leftoff.agents.claude.chain",
    "leftoff.agents.claude.scribe",
    "leftoff.model.resume_log",
    "leftoff.samples",
)


def loaded(*arguments):
    code = (
        "import sys, json; from leftoff.cli.main import run; code = run(sys.argv[1:]); "
        "print(json.dumps([code, *sys.modules]), file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    exit_code, *modules = json.loads(ended.stderr)
    assert exit_code == 0
    return set(modules)


def test_status_loads_nothing_that_it_does_not_need(unmeasured):
    """Neither what draws tables nor what other commands and other agents need."""
    modules = loaded("status", str(GOLDEN / "claude-2.1.4-tiny-interrupted.jsonl"))
    assert "leftoff.agents.claude.tail" in modules
    assert [name for name in HEAVY if name in modules] == []


def test_status_as_json_loads_no_more(unmeasured):
    modules = loaded("status", "--json", str(GOLDEN / "claude-2.1.4-tiny-interrupted.jsonl"))
    assert [name for name in HEAVY if name in modules] == []
