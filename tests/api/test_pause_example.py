"""The example program of a pause runs in its three forms."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "incremental_pause_usage.py"


def run(*arguments):
    return subprocess.run([sys.executable, EXAMPLE, *arguments], capture_output=True, text=True, check=False)


def test_the_basic_workflow():
    """The example runs from crossing the threshold to the snapshot."""
    done = run()
    assert done.returncode == 0, done.stderr
    assert "Auto-pause threshold reached: 90.5%" in done.stdout
    assert "Actions: 5\nContext: 90.5% -> 93.0%\n" in done.stdout
    assert "Kept 6 actions in 4 files." in done.stdout
    assert "## What the User Said" in done.stdout


@pytest.mark.parametrize(
    ("word", "output"),
    [
        ("discard", "Discarded: True\nOnce more: False\n"),
        ("resume", "Found a pause: True\nNow 7 actions.\nKept as JSON.\n"),
    ],
)
def test_the_example_discards_or_continues_a_pause(word, output):
    done = run(word)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(output)


def test_any_other_word_is_wrong_usage():
    """The usage error says what to type."""
    done = run("nonsense")
    assert (done.returncode, done.stdout) == (2, "")
    assert "[discard|resume]" in done.stderr


def test_nothing_is_left_behind():
    """The example works in a scratch folder."""
    run()
    assert [*Path.cwd().iterdir()] == []
