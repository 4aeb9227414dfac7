"""The measures of the hooks, on the installed fast path."""

import pytest

from bench.live import measure_hooks
from leftoff.agents.registry import load_agents
from leftoff.platform import paths


@pytest.mark.slow
def test_each_side_is_timed_in_every_round(tmp_path):
    """A bare interpreter, a small and a large transcript; no files are left with the user."""
    pairs = measure_hooks(load_agents()[0], tmp_path, 1, 2_000_000, 100_000)
    assert {name: len(rounds) for name, rounds in pairs.items()} == {"fast": 1, "large": 1, "save": 1}
    assert all(ours > 0 < theirs for rounds in pairs.values() for ours, theirs in rounds)
    assert not (tmp_path / ".local/state/leftoff/leftoff.log").exists(), "a hook failed"
    assert not paths.state_folder().exists()
