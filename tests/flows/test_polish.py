"""The summariser of the settings: the rules, an agent, or a command; failing never costs the log."""

import sys

import pytest

from leftoff.errors import ConfigError
from leftoff.flows.polish import polish, summariser_called
from leftoff.summarisers.rules import Rules
from tests.restore.logs import log

LOG = log(next_steps=["So now one has to move the refill", "run it"])


@pytest.fixture
def script(tmp_path):
    """Plays a model: takes 'So now one has to' out of what it is sent."""
    path = tmp_path / "model.py"
    code = "import sys\nprint(sys.stdin.read().replace('So now one has to move', 'Move'))\n"
    path.write_text(code, encoding="utf-8")
    return f"{sys.executable} '{path}'"


def test_the_rules_are_the_default_and_change_nothing():
    """No process is started."""
    assert polish(LOG, "rules").log is LOG
    assert isinstance(summariser_called("rules"), Rules)


def test_any_command_can_polish(script):
    """What it says better is taken."""
    done = polish(LOG, script)
    assert (done.log.next_steps, done.rephrased, done.trouble) == (["Move the refill", "run it"], 1, "")


def test_an_agent_is_called_by_its_id(tmp_path, monkeypatch):
    """By the headless command of its adapter."""
    for name in ("claude", "codex"):
        program = tmp_path / name
        program.write_text(f"#!{sys.executable}\nprint('[n0] Move the refill')\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name in ("claude", "codex"):
        assert polish(LOG, name).log.next_steps[0] == "Move the refill"


@pytest.mark.parametrize("command", ["no-such-program", f"{sys.executable} -c 'import time; time.sleep(30)'"])
def test_failure_leaves_the_rules_version(command):
    """Not there, or too slow: told, and the log stands."""
    done = polish(LOG, command, timeout_seconds=1)
    assert (done.log, done.rephrased) == (LOG, 0)
    assert done.trouble


@pytest.mark.parametrize("words", ["", "  ", "a 'b"])
def test_what_is_no_command_is_a_mistake_of_the_settings(words):
    """Named as such."""
    with pytest.raises(ConfigError, match="summariser"):
        summariser_called(words)
