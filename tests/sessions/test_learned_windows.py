"""What leftoff learns from this machine's own compactions."""

import pytest

from leftoff.core.metrics import Occupancy
from leftoff.platform import paths
from leftoff.sessions.learned_windows import observed_compaction


def seen(tokens, model="m-1", version="2.1"):
    return observed_compaction(
        "agent", Occupancy(used_tokens=1, model=model, client_version=version, compacted_at_tokens=tokens)
    )


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
        b'{"schema": 9, "points": {"agent m-1 2.1": [5]}}',
        b'{"schema": 1, "points": 3}',
        b'{"schema": 1, "points": {"agent m-1 2.1": ["x"]}}',
    ],
)
def test_a_broken_file_counts_as_empty(content):
    """The next compaction replaces it."""
    paths.state_folder().mkdir(parents=True)
    (paths.state_folder() / "compactions.json").write_bytes(content)
    assert seen(None) is None
    assert seen(150_000) == 150_000
    assert seen(None) == 150_000


def test_a_compaction_that_cannot_be_saved_is_still_used():
    paths.state_folder().parent.mkdir(parents=True)
    paths.state_folder().write_text("in the way", encoding="utf-8")
    assert seen(150_000) == 150_000
