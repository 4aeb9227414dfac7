"""What untrim restores, and when it refuses."""

from pathlib import Path

import pytest

from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.sessions.ancestry import load_family
from leftoff.sessions.find import open_session
from leftoff.sessions.lineage import newest_first
from leftoff.shrink import untrim
from leftoff.shrink.placeholder import parse_placeholder
from leftoff.workspace import Workspace
from tests.support.long_sessions import LONG, inputs, results, trimmed, write_long_session


def replies(transcript: Path) -> list[str]:
    return [
        record.text
        for record in open_session(str(transcript)).records
        if record.kind == "reply" and record.text
    ]


def test_untrim_restores_every_original(source):
    """The copy is a session of its own."""
    derived = trimmed(source)
    back = untrim.untrim(str(derived.output_file), Workspace.open())
    assert results(back.output_file) == results(source)
    assert inputs(back.output_file) == inputs(source)
    assert back.given_back == derived.tools_trimmed
    assert back.left == ()
    assert [node.session_file for node in newest_first(load_family().node(back.output_file))] == [
        back.output_file,
        derived.output_file,
        source,
    ]


def test_a_dry_run_of_untrim_writes_nothing(source):
    derived = trimmed(source)
    before = {*derived.output_file.parent.iterdir()}
    preview = untrim.untrim(str(derived.output_file), Workspace.open(), dry_run=True)
    assert preview.given_back == derived.tools_trimmed
    assert preview.to_dict()["session_id"] is None
    assert {*derived.output_file.parent.iterdir()} == before


def test_untrim_fails_if_nothing_was_cut_or_all_is_gone(source):
    with pytest.raises(NothingToDoError):
        untrim.untrim(str(source), Workspace.open())
    derived = trimmed(source)
    source.unlink()
    with pytest.raises(LeftoffError, match="None of"):
        untrim.untrim(str(derived.output_file), Workspace.open())


def test_untrim_restores_what_still_exists(home, agent_id):
    """Results were cut from the first session, which is deleted, and replies from its copy."""
    source = write_long_session(home, agent_id, words=LONG)
    first = trimmed(source)
    second = trimmed(first.output_file, trim_assistant=3)
    assert any(parse_placeholder(text) for text in replies(second.output_file))
    source.unlink()
    back = untrim.untrim(str(second.output_file), Workspace.open())
    assert replies(back.output_file) == replies(first.output_file)
    assert back.given_back == 3
    assert results(back.output_file) == results(second.output_file)
    assert len(back.left) >= 1
    assert all("is gone" in reason for reason in back.left)
