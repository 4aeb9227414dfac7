"""What a tool's answer says about itself."""

from __future__ import annotations

import pytest

from leftoff.agents.codex.items import is_error, split_output


@pytest.mark.parametrize(
    ("text", "output", "code"),
    [
        ('{"output":"a\\nb","metadata":{"exit_code":3,"duration_seconds":0.1}}', "a\nb", 3),
        ('{"output":"a","metadata":{}}', "a", None),
        ('{"output":"cut sho', '{"output":"cut sho', None),
        ('{"output":7}', '{"output":7}', None),
        ("Exit code: 0\nWall time: 1 seconds\nTotal output lines: 9\nOutput:\na\n", "a\n", 0),
        ("Exit code: -1\nWall time: 1 seconds\nOutput:\n", "", -1),
        (
            "Chunk ID: 0db7e5\nWall time: 0.0 seconds\nProcess exited with code 5\nOriginal token count: 2\nOutput:\na",
            "a",
            5,
        ),
        (
            "Chunk ID: 0db7e5\nWall time: 0.0 seconds\nProcess running with session ID 4\nOutput:\na",
            "a",
            None,
        ),
        ("Wall time: 2.5 seconds\nOutput:\na", "a", None),
        ("Exit code: 4\nWall time: 1 seconds\nOutput:", "", 4),
        ("Plan updated", "Plan updated", None),
        ("my Exit code: 4\nOutput:\n", "my Exit code: 4\nOutput:\n", None),
    ],
)
def test_output_and_exit_code_are_taken_from_every_shape(text: str, output: str, code: int | None) -> None:
    """The output is what the command printed, without what Codex put around it."""
    assert split_output(text) == (output, code)


def test_failure_is_read_from_the_exit_code_or_the_text() -> None:
    """An exit code decides; without one, the text of a failure; else it is unknown."""
    assert is_error("Exit code: 0\nOutput:\nerror: none really") is False
    assert is_error("failed in sandbox LinuxSeccomp with execution error: …") is True
    assert is_error("all good") is None
