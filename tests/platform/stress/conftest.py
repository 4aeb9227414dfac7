"""What a stress test measured is printed at the end of the run, where it was measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

_NOTES = pytest.StashKey[list[str]]()


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Takes a line for the end of the run."""
    notes = request.config.stash.setdefault(_NOTES, [])
    return lambda words: notes.append(f"{request.node.name}: {words}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the notes."""
    for words in config.stash.get(_NOTES, []):
        terminalreporter.write_line(words)
