"""The measures of trimming: their own memory, and no verdict on small files."""

import pytest

from bench.measuring import Row
from bench.speed import Size, _shrinking
from leftoff.agents.registry import load_agents

SMALL = Size(rounds=1, large_bytes=1_000_000, small_bytes=100_000, sessions=1, library_bytes=1)
LIMIT_MEGABYTES = 60


@pytest.mark.parametrize("agent_id", ["claude", "codex"])
def test_the_memory_of_a_trim_excludes_the_measuring_process(isolated_home, tmp_path, agent_id):
    """The memory of the measuring process is not counted, and small files are not judged."""
    held = b"x" * 200_000_000
    agent = next(each for each in load_agents() if each.id == agent_id)
    write, trim, memory = _shrinking(agent, tmp_path, SMALL)
    assert len(held) / 1e6 > LIMIT_MEGABYTES
    assert 10 < memory.ratio < LIMIT_MEGABYTES
    assert memory.reached
    assert (write.reached, trim.reached) == (None, None)
    assert write.ratio > 0
    assert trim.ratio > 0


@pytest.mark.parametrize(("ratio", "reached"), [(1.0, True), (3.0, False)])
def test_a_row_is_judged_by_its_limit(ratio, reached):
    """A limit is a maximum unless the row says that it is a minimum."""
    assert Row(what="a", against="b", ratio=ratio, limit=2.0).reached is reached
    assert Row(what="a", against="b", ratio=ratio, limit=2.0, at_most=False).reached is not reached
    assert Row(what="a", against="b", ratio=ratio, limit=2.0, is_judged=False).reached is None
