"""A command as summariser, with real child processes: sealed off, within its time, and never silent about failure."""

import json
import os
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from leftoff.agents import claude, codex
from leftoff.errors import ProcessError
from leftoff.model.protocols import CanRunHeadless
from leftoff.summarisers.command import Command


def python(code):
    return Command(arguments=(sys.executable, "-c", code))


def test_the_prompt_comes_on_standard_input_and_the_answer_is_what_it_prints():
    """Any script, any length."""
    answer = python("import sys; print('[a0]', len(sys.stdin.read()))").summarise(
        "日本" * 100_000, timeout_seconds=30
    )
    assert answer == "[a0] 200000"


def test_it_runs_in_an_empty_folder_with_leftoff_switched_off():
    """The folder is gone afterwards; the rest of the environment is the user's."""
    code = "import json, os; print(json.dumps([os.getcwd(), os.listdir(), os.environ['LEFTOFF_DISABLE'], os.environ['HOME']]))"
    folder, found, disabled, home = json.loads(python(code).summarise("x", timeout_seconds=30))
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
    """Never an empty summary."""
    with pytest.raises(ProcessError, match=words):
        python(code).summarise("x", timeout_seconds=30)


def test_a_program_that_is_not_there_is_named():
    """With what could not be started."""
    with pytest.raises(ProcessError, match="no-such-program: could not be started"):
        Command(arguments=("no-such-program",)).summarise("x", timeout_seconds=5)


def test_it_ends_in_time_and_its_children_with_it(tmp_path, has_ended):
    """A time limit that leaves a child running is none."""
    pid = tmp_path / "pid"
    code = f"import subprocess; p = subprocess.Popen(['sleep', '60']); open({str(pid)!r}, 'w').write(str(p.pid)); p.wait()"
    begun = time.monotonic()
    with pytest.raises(ProcessError, match="no answer within 2 s"):
        python(code).summarise("x", timeout_seconds=2)
    assert time.monotonic() - begun < 10
    assert has_ended(int(pid.read_text(encoding="utf-8")))


@pytest.mark.parametrize("agent", [claude.here(), codex.here()])
def test_both_agents_answer_without_tools_or_hooks(agent, tmp_path, monkeypatch):
    """Their command, played by a script of the same name, gets the prompt and these switches."""
    assert isinstance(agent, CanRunHeadless)
    command = agent.headless_command()
    script = tmp_path / "bin" / command[0]
    script.parent.mkdir()
    script.write_text(
        f"#!{sys.executable}\nimport sys\nprint(sys.stdin.read(), sys.argv[1:])\n", encoding="utf-8"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    answer = Command(arguments=command).summarise("[a0] x", timeout_seconds=30)
    assert answer == f"[a0] x {[*command[1:]]}"
    said = " ".join(command)
    assert "disableAllHooks" in said or "--disable hooks" in said
    assert ("--tools", "") in pairwise(command) or "--sandbox read-only" in said
    assert "--no-session-persistence" in said or "--ephemeral" in said
