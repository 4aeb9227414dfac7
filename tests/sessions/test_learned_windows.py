"""What leftoff learns from this machine's own compactions."""

import pytest

from leftoff.core.metrics import Occupancy
from leftoff.platform import clock, paths
from leftoff.sessions.learned_windows import Gauge, learn_compaction_point
from leftoff.testing.plain_agent import PlainAgent


def seen(tokens, model="m-1", version="2.1"):
    """Let a live session be compacted at ``tokens``, and return where the gauge expects another one to be."""
    learn_compaction_point("plain", occupancy(model, version)._replace(compacted_at_tokens=tokens))
    return usable(occupancy(model, version))


def occupancy(model="m-1", version="2.1"):
    return Occupancy(used_tokens=1, model=model, window_tokens=200_000, client_version=version)


def usable(found):
    agent = PlainAgent(home=paths.state_folder())
    tokens = Gauge({}).metrics(agent, "s", found, None, clock.now()).total_budget
    return None if tokens == 200_000 else tokens


def test_an_observed_compaction_applies_to_later_sessions():
    """An observation applies only to the same model and client version."""
    assert seen(None) is None
    assert seen(150_000) == 150_000
    assert seen(None) == 150_000
    assert seen(None, model="m-2") is None
    assert seen(None, version="2.2") is None


def test_the_median_of_the_last_eight_compactions_counts():
    """One odd compaction does not move the gauge."""
    for tokens in (150_000, 151_000, 20_000):
        seen(tokens)
    assert seen(None) == 150_000
    for tokens in range(160_000, 168_000, 1_000):
        seen(tokens)
    assert seen(None) == 163_000


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b'{"schema": 9, "points": {"plain m-1 2.1": [5]}}',
        b'{"schema": 1, "points": 3}',
        b'{"schema": 1, "points": {"plain m-1 2.1": ["x"]}}',
    ],
)
def test_a_broken_file_counts_as_empty(content):
    """The next compaction replaces it."""
    paths.state_folder().mkdir(parents=True)
    (paths.state_folder() / "compactions.json").write_bytes(content)
    assert seen(None) is None
    assert seen(150_000) == 150_000
    assert seen(None) == 150_000


def test_a_compaction_that_cannot_be_saved_counts_for_its_own_session():
    paths.state_folder().parent.mkdir(parents=True)
    paths.state_folder().write_text("in the way", encoding="utf-8")
    assert seen(150_000) is None
    assert usable(occupancy()._replace(compacted_at_tokens=150_000)) == 150_000


def test_the_own_compaction_of_a_session_comes_before_those_of_others():
    seen(150_000)
    assert usable(occupancy()._replace(compacted_at_tokens=140_000)) == 140_000


def test_more_tokens_in_use_prove_a_compaction_point_outdated():
    seen(150_000)
    assert usable(occupancy()._replace(used_tokens=150_001)) is None
