"""What every derived session goes through: who can be copied, where the copy goes, and that a registry that fails harms nobody."""

import json
from pathlib import Path

import pytest

import leftoff
from leftoff.errors import LeftoffError, StorageError
from leftoff.flows.ancestry import family_here, session_id_of
from leftoff.flows.derive import copier
from leftoff.flows.run_agent import run_agent
from leftoff.flows.shrink_session import Wanted, carried_out, planned
from leftoff.lineage.metadata import Origin
from leftoff.system import paths
from tests.flows.shrinking import FIRST, put


class Unknown:
    """An agent of which nobody knows how it resumes."""

    id = name = "unknown"


def test_an_agent_whose_sessions_nobody_can_copy_is_said():
    """Nor can it be started."""
    with pytest.raises(LeftoffError, match="cannot be copied"):
        copier(Unknown())
    with pytest.raises(LeftoffError):
        run_agent("unknown", [], Path.cwd(), lambda _: None)


def test_a_registry_that_cannot_be_written_costs_no_copy(home):
    """The session says the same of itself."""
    source = put(home, "claude")
    paths.data_folder().parent.mkdir(parents=True, exist_ok=True)
    paths.data_folder().write_text("a file in its place", encoding="utf-8")
    made = carried_out(planned(str(source), Path.cwd(), Wanted()))
    assert family_here().node(made.output_file).parent.session_file == source


def test_a_place_that_cannot_be_written_is_said_with_where_the_copy_is(home, tmp_path):
    """Nothing is lost."""
    source = put(home, "claude")
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    with pytest.raises(StorageError):
        leftoff.trim_and_create_session("claude", source, None, 1000, output_dir=tmp_path / "taken")


def test_a_fork_that_names_its_parent_is_believed(home):
    """As newer clients do."""
    source = put(home, "claude")
    fork = source.with_name("2c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b33.jsonl")
    lines = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    told = [line | {"sessionId": fork.stem, "forkedFrom": {"sessionId": FIRST}} for line in lines]
    fork.write_text("".join(json.dumps(line) + "\n" for line in told), encoding="utf-8")
    node = family_here().node(fork)
    assert (node.derivation_type, node.parent.session_file) == ("forked", source)


def test_what_is_no_transcript_has_no_lineage(tmp_path):
    """Whatever the path."""
    odd = tmp_path / "odd.jsonl"
    odd.write_text("{}\n", encoding="utf-8")
    assert session_id_of(odd) is None
    assert family_here().origin(odd) is None
    assert family_here().file_of(Origin(derivation="forked", parent_file="a\0b")) is None
    assert (
        family_here().file_of(Origin(derivation="forked", parent_file="/gone", parent_session_id="nobody"))
        is None
    )
