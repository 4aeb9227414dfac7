"""The isolation that conftest.py gives each test: nothing of the developer's can be reached."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

from leftoff.platform import paths

_PRINT_FOLDERS = """
import json, os
from pathlib import Path
from leftoff.platform import paths
print(json.dumps([str(each) for each in (
    paths.home(), Path("~").expanduser(), paths.state_folder(), paths.data_folder(), paths.config_folder(),
    paths.agent_home("CLAUDE_CONFIG_DIR", below_home=".claude"), paths.agent_home("CODEX_HOME", below_home=".codex"),
    paths.agent_home("GEMINI_CLI_HOME", below_home=".gemini"), os.environ["XDG_CACHE_HOME"], Path.cwd(),
)]))
"""


def test_the_users_folders_are_below_tmp_path_in_child_processes(tmp_path: Path) -> None:
    """No folder that leftoff or an agent takes for the user's is the developer's."""
    answer = subprocess.run(
        [sys.executable, "-c", _PRINT_FOLDERS], capture_output=True, check=True, timeout=60
    )
    for folder in json.loads(answer.stdout):
        assert Path(folder).is_relative_to(tmp_path)


def test_no_variable_names_the_real_home(tmp_path: Path) -> None:
    """The home of the account that runs the tests is in no variable that programs read a home from."""
    real = pwd.getpwuid(os.getuid()).pw_dir
    naming = {name for name, value in paths.environment().items() if value.startswith(real + os.sep)}
    assert not {name for name in naming if name.endswith(("HOME", "_DIR"))} - {"JAVA_HOME"}


def test_git_reads_only_the_test_configuration(tmp_path: Path, isolated_home: Path) -> None:
    listed = subprocess.run(
        ["git", "config", "--list", "--show-origin"], capture_output=True, check=True, text=True, timeout=60
    ).stdout
    assert {line.split("\t")[0] for line in listed.splitlines()} == {f"file:{isolated_home / '.gitconfig'}"}
    assert "user.email=test@example.invalid" in listed


def test_variables_of_agents_and_servers_are_removed() -> None:
    left = {
        name
        for name in paths.environment()
        if name.startswith(
            ("ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE", "AWS_", "PG", "LEFTOFF_", "CLAUDE", "CODEX")
        )
    }
    assert left == {"CLAUDE_CONFIG_DIR", "CODEX_HOME"}
