"""Several processes on one library."""

import pytest

from tests.search.concurrent_processes import play


@pytest.mark.slow
def test_writers_and_readers_do_not_harm_each_other(tmp_path):
    """Two writers, four readers, two kills: no corruption, nothing twice, nothing lost."""
    play(tmp_path, seconds=3, kills=2, lines=120)


@pytest.mark.stress
def test_writers_and_readers_for_a_minute(tmp_path):
    """The same for a minute, with ten kills."""
    play(tmp_path, seconds=60, kills=10, lines=2500)
