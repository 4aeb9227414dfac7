"""The files of the state folder read as they were written by the first version that wrote them."""

from pathlib import Path

from leftoff.flows import sessions
from leftoff.flows.observed import observed_compaction
from leftoff.flows.sessions import Found, entries, numbered
from leftoff.model.occupancy import Occupancy
from leftoff.model.session import Parent
from leftoff.system import paths
from leftoff.testing.plain_agent import PlainAgent

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"


def place(name, target):
    paths.state_folder().mkdir(parents=True, exist_ok=True)
    (paths.state_folder() / target).write_bytes((GOLDEN / name).read_bytes())


def test_the_numbers_of_the_list_last_shown_are_read():
    """Schema 1."""
    place("last_list.v1.json", "last-list.json")
    assert numbered(2) == Path("/home/dev/.codex/sessions/b.jsonl")


def test_where_agents_compacted_is_read():
    """Schema 1."""
    place("compactions.v1.json", "compactions.json")
    occupancy = Occupancy(used_tokens=1, model="claude-sonnet-4-5", client_version="2.1.325")
    assert observed_compaction("claude", occupancy) == 166_800


def test_what_a_list_knows_of_a_session_is_read_without_the_file():
    """Schema 1: the transcript does not even exist, and is not asked for."""
    place("session_entries.v1.json", sessions._ENTRIES)
    found = Found(
        agent=PlainAgent(home=Path("/nowhere"), id="claude"),
        transcript=Path("/home/dev/.claude/projects/-x/a.jsonl"),
        modified_ns=1_760_000_000_000_000_000,
        size_bytes=1_234,
    )
    (entry,) = entries([found])
    assert (entry.first_prompt, entry.used_tokens, entry.project) == ("Fix the login", 83_500, "/home/dev/x")
    assert entry.parent == Parent(session_id="p", transcript="/home/dev/p.jsonl", derivation="trimmed")
