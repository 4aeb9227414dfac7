"""Several processes on one library."""

import pytest

from tests.search.concurrent_processes import play


@pytest.mark.slow
def test_writers_and_readers_do_not_harm_each_other(tmp_path):
    """Nothing is corrupted, lost or stored twice with two writers, four readers and two kills."""
    play(tmp_path, seconds=3, kills=2, lines=120)


@pytest.mark.stress
def test_writers_and_readers_for_a_minute(tmp_path):
    """Nothing is corrupted, lost or stored twice within a minute with ten kills."""
    play(tmp_path, seconds=60, kills=10, lines=2500)
