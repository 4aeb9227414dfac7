"""Rollover: a fresh session whose first message is the lineage, a summary and what the log holds; handoffs where wanted."""

import json
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.flows import rollover, shrink_session
from leftoff.flows.ancestry import family_here
from leftoff.flows.choose import open_session
from leftoff.flows.rollover import Wanted
from leftoff.flows.shrink_session import carried_out, planned
from leftoff.model.records import RecordKind
from leftoff.samples.bundled import bundled_script
from leftoff.shrink import planning
from leftoff.system import paths
from leftoff.testing.builders import Story
from tests.flows.shrinking import FIRST, RULE, put

OTHER = {"claude": "codex", "codex": "claude"}


@pytest.fixture(params=["claude", "codex"])
def agent_id(request):
    return request.param


@pytest.fixture
def source(home, agent_id):
    return put(home, agent_id, turns=12)


def first_message(transcript: Path) -> str:
    records = open_session(str(transcript)).records
    return next(record.text for record in records if record.kind is RecordKind.PROMPT)


def test_a_fresh_session_begins_with_lineage_and_record(source, agent_id):
    """Nine tenths of the context are free again; the log is saved; the native picker sees a session."""
    made = rollover.rolled_over(str(source), Path.cwd(), Wanted())
    message = first_message(made.output_file)
    assert message.startswith("[SESSION LINEAGE]\n")
    assert f"1. {source.name} (continued)" in message
    assert "<leftoff-record-" in message
    assert RULE in message
    assert made.context_saved_percent >= 90
    assert len([*Path(".leftoff/resume-logs").glob("*.json")]) == 1
    session = open_session(str(made.output_file))
    assert session.agent == agent_id
    assert session.parent.derivation == "continued"
    assert session.project == str(Path.cwd())
    node = family_here().node(made.output_file)
    assert (node.derivation_type, node.parent.session_file) == ("continued", source)


def test_the_other_agent_can_go_on(source, agent_id):
    """Its own kind of file, its own command, the same lineage."""
    made = rollover.rolled_over(str(source), Path.cwd(), Wanted(to=OTHER[agent_id]))
    assert open_session(str(made.output_file)).agent == OTHER[agent_id]
    assert made.resume_command[0] == OTHER[agent_id]
    assert family_here().node(made.output_file).parent.session_file == source


def test_twenty_rollovers_carry_the_rule_word_for_word(home):
    """And the block does not stack up."""
    session = put(home, "claude")
    for _ in range(20):
        session = rollover.rolled_over(str(session), Path.cwd(), Wanted(force=True)).output_file
    message = first_message(session)
    assert RULE in message
    assert message.count("[SESSION LINEAGE]") == 1
    assert len(message) <= 10_000


def test_a_look_writes_nothing(source):
    """It shows the first message and the numbers."""
    planned = rollover.looked_at(str(source), Path.cwd(), Wanted())
    assert planned.message.startswith("[SESSION LINEAGE]")
    assert planned.to_dict()["tokens_saved"] == planned.tokens_saved > 0
    assert not Path(".leftoff").exists()
    assert [*source.parent.iterdir()] == [source]


def test_a_summary_comes_from_the_summariser_of_the_settings(home, tmp_path, monkeypatch):
    """Fenced as data; a summariser that fails fails the rollover, and nothing is written."""
    source = put(home, "claude")
    program = tmp_path / "summarise"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho 'The ledger is half done.'\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("LEFTOFF_SUMMARISER", str(program))
    made = rollover.rolled_over(str(source), Path.cwd(), Wanted(with_summary=True))
    assert "\nThe ledger is half done.\n</leftoff-record-" in first_message(made.output_file)
    line = json.loads(made.output_file.read_text(encoding="utf-8").splitlines()[0])
    assert line["continue_metadata"]["summary_included"] is True
    program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    before = {*source.parent.iterdir()}
    with pytest.raises(LeftoffError):
        rollover.rolled_over(str(source), Path.cwd(), Wanted(with_summary=True))
    assert {*source.parent.iterdir()} == before


def test_a_folder_that_is_gone_is_said(home):
    """With what to type instead."""
    source = put(home, "claude")
    source.write_text(
        source.read_text(encoding="utf-8").replace(str(Path.cwd()), "/gone/away"), encoding="utf-8"
    )
    with pytest.raises(LeftoffError, match="--here"):
        rollover.rolled_over(str(source), Path.cwd(), Wanted())


def test_a_handoff_is_left_where_the_settings_name_it(home):
    """A document with the lineage, and the ledger's own part replaced, not the person's words."""
    source = put(home, "claude")
    config = paths.config_folder() / "configuration.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(
        "context_management:\n  handoffs:\n    folder: _handoffs\n    ledger: _ledgers/CURRENT.md\n",
        encoding="utf-8",
    )
    ledger = Path("_ledgers/CURRENT.md")
    ledger.parent.mkdir()
    ledger.write_text("# Mine\n\nKeep this.\n", encoding="utf-8")
    first = rollover.rolled_over(str(source), Path.cwd(), Wanted())
    second = rollover.rolled_over(str(first.output_file), Path.cwd(), Wanted(force=True))
    text = ledger.read_text(encoding="utf-8")
    assert text.startswith("# Mine\n\nKeep this.\n")
    assert text.count("<!-- leftoff: current session -->") == 1
    assert second.session_id in text
    documents = sorted(Path("_handoffs").iterdir())
    assert len(documents) == 2
    told = "".join(document.read_text(encoding="utf-8") for document in documents)
    assert f"session_id: {first.session_id}" in told
    assert "# Session Resume Log" in told


@pytest.mark.parametrize("setting", ["folder: out", "ledger: out/CURRENT.md"])
def test_a_handoff_never_leaves_the_project(home, tmp_path, setting):
    """Where a link in the way leads out."""
    source = put(home, "claude")
    config = paths.config_folder() / "configuration.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"context_management:\n  handoffs:\n    {setting}\n", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    Path("out").symlink_to(tmp_path / "outside")
    with pytest.raises(LeftoffError, match="leads out"):
        rollover.rolled_over(str(source), Path.cwd(), Wanted())
    assert [*(tmp_path / "outside").iterdir()] == []


def test_a_long_story_fits_where_a_hook_would_have_to(own_world):
    """Lineage and record together keep to the characters that agents take; nine tenths and more are free."""
    script = bundled_script(project=str(Path.cwd()))
    source = own_world / ".claude" / "projects" / "-slug" / f"{script.session_id}.jsonl"
    source.parent.mkdir(parents=True)
    claude.here().transcribe(script, source)
    made = rollover.rolled_over(str(source), Path.cwd(), Wanted())
    assert 9_000 < len(first_message(made.output_file)) <= 9_900
    assert made.context_saved_percent >= 90


def test_a_ledger_that_cannot_be_read_is_said(home):
    """And not touched."""
    source = put(home, "claude")
    config = paths.config_folder() / "configuration.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("context_management:\n  handoffs:\n    ledger: out/CURRENT.md\n", encoding="utf-8")
    Path("out/CURRENT.md").mkdir(parents=True)
    with pytest.raises(LeftoffError, match="cannot be read"):
        rollover.rolled_over(str(source), Path.cwd(), Wanted())


def test_a_fresh_session_in_which_nothing_was_asked_hands_on_all_that_it_was_given(home):
    """Mission and next steps are not lost by rolling over twice."""
    source = put(home, "claude")
    first = rollover.rolled_over(str(source), Path.cwd(), Wanted()).output_file
    second = rollover.rolled_over(str(first), Path.cwd(), Wanted(force=True)).output_file
    mission = "## Mission Summary"
    before, after = (
        first_message(each).partition(mission)[2].partition("\n## ")[0] for each in (first, second)
    )
    assert before == after
    assert "Step 0 of src/ledger.py" in after


def test_what_it_frees_is_counted_of_the_conversation_as_a_trim_counts_it(source):
    """What the agent reports also holds its own instructions and tools, which a fresh session has as well."""
    planned = rollover.looked_at(str(source), Path.cwd(), Wanted())
    agent = planned.chosen.agent
    live = agent.live_pieces(planned.session, at_least_chars=1 << 62, head=0, tail=0)
    freed = live.live_chars - len(planned.message)
    assert planned.tokens_saved == planning.tokens(freed, live)
    made = rollover.rolled_over(str(source), Path.cwd(), Wanted())
    assert abs(made.tokens_saved - planned.tokens_saved) < 100


def test_a_rollover_that_would_be_larger_is_nothing_to_gain(home):
    """Nothing is written, unless it is for the other agent or by force."""
    story = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    source = home.claude(story.asked("Hello").replied("Hi.", used=40_000))
    planned = rollover.looked_at(str(source), Path.cwd(), Wanted())
    assert planned.nothing_to_gain
    assert (planned.tokens_saved, planned.context_saved_percent) == (0, 0.0)
    assert planned.to_dict()["nothing_to_gain"] is True
    with pytest.raises(NothingToDoError, match=r"nothing to gain.*--force"):
        rollover.rolled_over(str(source), Path.cwd(), Wanted())
    assert [*source.parent.iterdir()] == [source]
    assert rollover.rolled_over(str(source), Path.cwd(), Wanted(to="codex")).tokens_saved == 0
    assert rollover.rolled_over(str(source), Path.cwd(), Wanted(force=True)).session_id


def test_the_block_ends_with_the_session_s_own_file(source, tmp_path):
    """As 002 has it, in a fresh session and in copies."""
    fresh = rollover.rolled_over(str(source), Path.cwd(), Wanted()).output_file
    assert f"\n2. {fresh.name} (current)\n" in first_message(fresh)
    copy = carried_out(planned(str(source), Path.cwd(), shrink_session.Wanted())).output_file
    assert f"\n2. {copy.name} (current)\n" in first_message(copy)
    again = carried_out(planned(str(copy), Path.cwd(), shrink_session.Wanted(threshold=1, project=tmp_path)))
    told = first_message(again.output_file)
    assert f"\n2. {copy.name} (trimmed)\n3. {again.output_file.name} (current)\n" in told
    assert told.count("(current)") == 1
