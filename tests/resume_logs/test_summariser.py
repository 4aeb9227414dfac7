"""Summarisers by name, and commands as summarisers with real child processes."""

import json
import os
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from leftoff.agents import claude, codex
from leftoff.core.protocols import CanRunHeadless
from leftoff.errors import ConfigError, ProcessError
from leftoff.plugins import Rules
from leftoff.resume_logs.summariser import CommandSummariser, find_summariser


def python_summariser(code):
    return CommandSummariser(arguments=(sys.executable, "-c", code))


def test_the_prompt_comes_on_standard_input_and_the_answer_is_what_it_prints():
    """A prompt of 200,000 non-ASCII characters arrives whole."""
    answer = python_summariser("import sys; print('[a0]', len(sys.stdin.read()))").summarise(
        "日本" * 100_000, timeout_seconds=30
    )
    assert answer == "[a0] 200000"


def test_the_command_runs_in_an_empty_folder_with_leftoff_disabled():
    """The folder is deleted afterwards; the rest of the environment is the user's."""
    code = "import json, os; print(json.dumps([os.getcwd(), os.listdir(), os.environ['LEFTOFF_DISABLE'], os.environ['HOME']]))"
    folder, found, disabled, home = json.loads(python_summariser(code).summarise("x", timeout_seconds=30))
    assert (found, disabled, home) == ([], "1", os.environ["HOME"])  # noqa: TID251 - what the child must have
    assert Path(folder) != Path.cwd()
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; sys.exit('no credit left')", "no summary: no credit left"),
        ("pass", "it printed nothing"),
        ("print(' ')", "it printed nothing"),
        ("print('x' * 5_000_000)", "it printed 5,000,001 bytes"),
    ],
)
def test_failure_is_an_error(code, words):
    """An exit code, an empty answer or a huge answer raises ProcessError."""
    with pytest.raises(ProcessError, match=words):
        python_summariser(code).summarise("x", timeout_seconds=30)


def test_a_missing_program_is_named():
    """The error says which program could not be started."""
    with pytest.raises(ProcessError, match="no-such-program: could not be started"):
        CommandSummariser(arguments=("no-such-program",)).summarise("x", timeout_seconds=5)


def test_the_time_limit_ends_the_command_and_its_children(tmp_path, process_has_ended):
    """No grandchild process survives the time limit."""
    pid = tmp_path / "pid"
    code = f"sleep 600 & echo $! > '{pid}'; wait"  # a shell, because it starts within the limit on a busy machine
    started = time.monotonic()
    with pytest.raises(ProcessError, match="no answer within 1 s"):
        CommandSummariser(arguments=("sh", "-c", code)).summarise("x", timeout_seconds=1)
    assert time.monotonic() - started < 60
    assert process_has_ended(int(pid.read_text(encoding="utf-8")))


@pytest.mark.parametrize("agent", [claude.here(), codex.here()])
def test_both_agents_answer_without_tools_or_hooks(agent, tmp_path, monkeypatch):
    """The headless command of each adapter disables hooks, tools and stored sessions."""
    assert isinstance(agent, CanRunHeadless)
    command = agent.headless_command()
    script = tmp_path / "bin" / command[0]
    script.parent.mkdir()
    script.write_text(
        f"#!{sys.executable}\nimport sys\nprint(sys.stdin.read(), sys.argv[1:])\n", encoding="utf-8"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    answer = CommandSummariser(arguments=command).summarise("[a0] x", timeout_seconds=30)
    assert answer == f"[a0] x {[*command[1:]]}"
    command_line = " ".join(command)
    assert "disableAllHooks" in command_line or "--disable hooks" in command_line
    assert ("--tools", "") in pairwise(command) or "--sandbox read-only" in command_line
    assert "--no-session-persistence" in command_line or "--ephemeral" in command_line


def test_rules_name_the_built_in_summariser():
    """The default setting starts no process."""
    assert isinstance(find_summariser("rules"), Rules)


def test_an_agent_id_names_its_headless_command():
    """Each agent is run with the headless command of its adapter."""
    for agent in (claude.here(), codex.here()):
        assert find_summariser(agent.id) == CommandSummariser(arguments=agent.headless_command())


def test_any_other_name_is_a_command_line():
    """The command line is split as a shell would, without running one."""
    assert find_summariser("my-model --prompt 'a b'") == CommandSummariser(
        arguments=("my-model", "--prompt", "a b")
    )


@pytest.mark.parametrize("name", ["", "  ", "a 'b"])
def test_an_invalid_command_line_is_a_config_error(name):
    """The error names the setting."""
    with pytest.raises(ConfigError, match="summariser"):
        find_summariser(name)
