"""The bench of the picker waits for a whole screen, and the first screen does not read every session."""

from bench.picker import describe, first_paints


def test_a_whole_screen_is_waited_for_and_timed():
    (paint,) = first_paints(40, 1)
    assert paint.screen.count(b"Fix the login") > 5
    assert b"Enter resume" in paint.screen
    assert paint.cpu_ms > 0
    assert paint.wall_ms > 0
    assert "goal 400" in describe([paint])
