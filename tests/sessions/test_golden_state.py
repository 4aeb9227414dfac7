"""The files of the state folder read as they were written by the first version that wrote them."""

from pathlib import Path

from leftoff.platform import paths
from leftoff.sessions.learned_windows import load_compaction_points
from leftoff.sessions.listing import numbered_transcript

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"


def place(name, target):
    paths.state_folder().mkdir(parents=True, exist_ok=True)
    (paths.state_folder() / target).write_bytes((GOLDEN / name).read_bytes())


def test_the_numbers_of_the_list_last_shown_are_read():
    place("last_list.v1.json", "last-list.json")
    assert numbered_transcript(2) == Path("/home/dev/.codex/sessions/b.jsonl")


def test_where_agents_compacted_is_read():
    place("compactions.v1.json", "compactions.json")
    assert 166_800 in load_compaction_points()["claude claude-sonnet-4-5 2.1.325"]
