"""Many processes at one library."""

import pytest

from tests.library.crowd import play


@pytest.mark.slow
def test_writers_and_readers_do_not_harm_each_other(tmp_path):
    """Two writers, four readers, two kills: no corruption, nothing twice, nothing lost."""
    play(tmp_path, seconds=3, kills=2, lines=120)


@pytest.mark.stress
def test_a_minute_of_it(tmp_path):
    """The same for a minute, with ten kills."""
    play(tmp_path, seconds=60, kills=10, lines=2500)
