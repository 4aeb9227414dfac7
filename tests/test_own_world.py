"""The world that conftest.py gives each test: nothing of the developer's can be reached from it."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

from leftoff.system import paths

_WHERE = """
import json, os
from pathlib import Path
from leftoff.system import paths
print(json.dumps([str(each) for each in (
    paths.home(), Path("~").expanduser(), paths.state_folder(), paths.data_folder(), paths.config_folder(),
    paths.agent_home("CLAUDE_CONFIG_DIR", below_home=".claude"), paths.agent_home("CODEX_HOME", below_home=".codex"),
    paths.agent_home("GEMINI_CLI_HOME", below_home=".gemini"), os.environ["XDG_CACHE_HOME"], Path.cwd(),
)]))
"""


def test_every_folder_of_the_user_lies_below_tmp_path_in_children_too(tmp_path: Path) -> None:
    """No folder that leftoff or an agent would take for the user's own is the developer's."""
    answer = subprocess.run([sys.executable, "-c", _WHERE], capture_output=True, check=True, timeout=30)
    for folder in json.loads(answer.stdout):
        assert Path(folder).is_relative_to(tmp_path)


def test_the_real_home_is_named_by_nothing(tmp_path: Path) -> None:
    """The home of the account that runs the tests stands in no variable that programs look for a home in."""
    real = pwd.getpwuid(os.getuid()).pw_dir
    naming = {name for name, value in paths.environment().items() if value.startswith(real + os.sep)}
    assert not {name for name in naming if name.endswith(("HOME", "_DIR"))} - {"JAVA_HOME"}


def test_git_knows_only_the_test_identity(tmp_path: Path, own_world: Path) -> None:
    """git reads no configuration but that of the test."""
    listed = subprocess.run(
        ["git", "config", "--list", "--show-origin"], capture_output=True, check=True, text=True, timeout=30
    ).stdout
    assert {line.split("\t")[0] for line in listed.splitlines()} == {f"file:{own_world / '.gitconfig'}"}
    assert "user.email=test@example.invalid" in listed


def test_nothing_foreign_is_left_in_the_environment() -> None:
    """Keys, endpoints and switches of agents and servers are gone."""
    left = {
        name
        for name in paths.environment()
        if name.startswith(
            ("ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE", "AWS_", "PG", "LEFTOFF_", "CLAUDE", "CODEX")
        )
    }
    assert left == {"CLAUDE_CONFIG_DIR", "CODEX_HOME"}
