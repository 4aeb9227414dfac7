"""Common rules of derived sessions: what can be copied, where the copy goes, and that a failing registry does no harm."""

import json
from pathlib import Path

import pytest

import leftoff
from leftoff.errors import LeftoffError, StorageError
from leftoff.platform import paths
from leftoff.resume.next_session import run_agent
from leftoff.sessions.ancestry import load_family, session_id_of
from leftoff.sessions.lineage import Origin
from leftoff.shrink.derive import copying_agent
from leftoff.shrink.trim import TrimOptions, prepare_trim, write_trim
from leftoff.workspace import Workspace
from tests.support.long_sessions import FIRST, write_long_session


class Unknown:
    """An agent without a known way to resume."""

    id = name = "unknown"


def test_an_agent_without_copying_is_refused():
    with pytest.raises(LeftoffError, match="cannot be copied"):
        copying_agent(Unknown())
    with pytest.raises(LeftoffError):
        run_agent("unknown", [], Path.cwd(), lambda _: None)


def test_a_registry_that_cannot_be_written_does_not_prevent_a_copy(home):
    """The copy's own metadata says the same."""
    source = write_long_session(home, "claude")
    paths.data_folder().parent.mkdir(parents=True, exist_ok=True)
    paths.data_folder().write_text("a file in its place", encoding="utf-8")
    derived = write_trim(prepare_trim(str(source), Workspace.open(), TrimOptions()))
    assert load_family().node(derived.output_file).parent.session_file == source


def test_a_target_that_cannot_be_written_is_reported(home, tmp_path):
    source = write_long_session(home, "claude")
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    with pytest.raises(StorageError):
        leftoff.trim_and_create_session("claude", source, None, 1000, output_dir=tmp_path / "taken")


def test_a_fork_that_names_its_parent_has_that_parent(home):
    source = write_long_session(home, "claude")
    fork = source.with_name("2c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b33.jsonl")
    lines = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    result = [line | {"sessionId": fork.stem, "forkedFrom": {"sessionId": FIRST}} for line in lines]
    fork.write_text("".join(json.dumps(line) + "\n" for line in result), encoding="utf-8")
    node = load_family().node(fork)
    assert (node.derivation_type, node.parent.session_file) == ("forked", source)


def test_a_file_that_is_not_a_transcript_has_no_lineage(tmp_path):
    odd = tmp_path / "odd.jsonl"
    odd.write_text("{}\n", encoding="utf-8")
    assert session_id_of(odd) is None
    assert load_family().origin(odd) is None
    assert load_family().file_of(Origin(derivation="forked", parent_file="a\0b")) is None
    assert (
        load_family().file_of(Origin(derivation="forked", parent_file="/gone", parent_session_id="nobody"))
        is None
    )
