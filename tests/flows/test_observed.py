"""What this machine's own compactions teach the gauge."""

import pytest

from leftoff.flows.observed import observed_compaction
from leftoff.model.occupancy import Occupancy
from leftoff.system import paths


def seen(tokens, model="m-1", version="2.1"):
    return observed_compaction(
        "agent", Occupancy(used_tokens=1, model=model, client_version=version, compacted_at_tokens=tokens)
    )


def test_a_compaction_seen_once_is_known_to_later_sessions():
    """Of the same model under the same version, and of no other."""
    assert seen(None) is None
    assert seen(150_000) == 150_000
    assert seen(None) == 150_000
    assert seen(None, model="m-2") is None
    assert seen(None, version="2.2") is None


def test_of_several_the_middle_one_counts():
    """One odd compaction does not move the gauge, and only the last eight are kept."""
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
def test_a_broken_memory_is_an_empty_one(content):
    """And is mended by the next compaction."""
    paths.state_folder().mkdir(parents=True)
    (paths.state_folder() / "compactions.json").write_bytes(content)
    assert seen(None) is None
    assert seen(150_000) == 150_000
    assert seen(None) == 150_000


def test_what_cannot_be_remembered_is_used_all_the_same():
    """A folder that cannot be written is no reason not to measure."""
    paths.state_folder().parent.mkdir(parents=True)
    paths.state_folder().write_text("in the way", encoding="utf-8")
    assert seen(150_000) == 150_000
