"""What a short command loads: somebody waits for it. Modules are counted, because milliseconds are not the same twice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.agents import codex
from leftoff.testing.builders import Story

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


# What a short command does without, each of which takes about as long as its work.
SPARED = (
    "click",
    "typing",
    "dataclasses",
    "inspect",
    "orjson",  # which loads dataclasses and uuid
    "json",
    "uuid",
    "hashlib",
    "tomllib",
    "textwrap",
    "shutil",
    "copy",
)


def loaded_in_the_short_way(*arguments):
    code = (
        "import sys; from leftoff.__main__ import _short_way\n"
        "print(_short_way(*sys.argv[1:]), *sys.modules, file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    exit_code, *modules = ended.stderr.split()
    assert exit_code == "0"
    return set(modules)


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


@pytest.mark.parametrize("named", [True, False], ids=["of a file", "latest"])
def test_status_loads_neither_the_command_line_nor_what_it_brings(own_world, unmeasured, named):
    """Of a transcript by its name, and of the latest: nor the library, where one of the newest is meant."""
    golden = GOLDEN / "claude-2.1.4-tiny-interrupted.jsonl"
    path = own_world / ".claude" / "projects" / "-slug" / golden.name
    path.parent.mkdir(parents=True)
    folder = next(json.loads(line)["cwd"] for line in golden.read_text().splitlines() if '"cwd"' in line)
    path.write_text(golden.read_text().replace(json.dumps(folder), json.dumps(str(Path.cwd()))))
    modules = loaded_in_the_short_way("status", *([str(path)] if named else []))
    assert "leftoff.agents.claude.tail" in modules
    heavy = [name for name in HEAVY if named or name != "leftoff.agents.codex"]
    assert [name for name in (*SPARED, *heavy) if name in modules] == []


def test_status_as_json_loads_what_writes_json_alone(unmeasured):
    """And no more."""
    modules = loaded_in_the_short_way("status", "--json", str(GOLDEN / "claude-2.1.4-tiny-interrupted.jsonl"))
    assert [name for name in (*SPARED, *HEAVY) if name in modules] == ["json"]


def test_status_of_any_agents_session_is_as_quick(own_world, unmeasured):
    """The second to be asked whose it is loads no more than the first."""
    path = own_world / "rollout.jsonl"
    codex.here().transcribe(
        Story(model="gpt-6.1-terra").asked("Write docs").replied("Written.", used=9_000).script(), path
    )
    modules = loaded_in_the_short_way("status", str(path))
    assert "leftoff.agents.codex.tail" in modules
    heavy = [name for name in HEAVY if name != "leftoff.agents.codex"]
    assert [name for name in (*SPARED, *heavy) if name in modules] == []
