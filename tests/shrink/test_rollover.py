"""Rollovers into fresh sessions."""

import json
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.core.records import RecordKind
from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.platform import paths
from leftoff.sessions.ancestry import load_family
from leftoff.sessions.find import open_session
from leftoff.shrink import rollover, trim
from leftoff.shrink.rollover import RolloverOptions, first_message, shortened_summary, summary_prompt
from leftoff.shrink.trim import prepare_trim, write_trim
from leftoff.testing.builders import Story
from leftoff.workspace import Workspace
from tests.support.long_sessions import FIRST, RULE, write_long_session
from tests.support.screenplay import bundled_script
from tests.support.transcripts import write_transcript

OTHER = {"claude": "codex", "codex": "claude"}


@pytest.fixture(params=["claude", "codex"])
def agent_id(request):
    return request.param


@pytest.fixture
def source(home, agent_id):
    return write_long_session(home, agent_id, turns=12)


def opening_of(transcript: Path) -> str:
    records = open_session(str(transcript)).records
    return next(record.text for record in records if record.kind is RecordKind.PROMPT)


def test_a_fresh_session_begins_with_lineage_and_log(source, agent_id):
    """Nine tenths of the context are free again, and the log is saved."""
    derived = rollover.roll_over(str(source), Workspace.open(), RolloverOptions())
    message = opening_of(derived.output_file)
    assert message.startswith("[SESSION LINEAGE]\n")
    assert f"1. {source.name} (continued)" in message
    assert "<leftoff-record-" in message
    assert RULE in message
    assert derived.savings.tokens > 0
    assert len([*Path(".leftoff/resume-logs").glob("*.json")]) == 1
    session = open_session(str(derived.output_file))
    assert session.agent == agent_id
    assert session.parent.derivation == "continued"
    assert session.project == str(Path.cwd())
    node = load_family().node(derived.output_file)
    assert (node.derivation_type, node.parent.session_file) == ("continued", source)


def test_a_rollover_to_the_other_agent_has_its_format_and_command(source, agent_id):
    derived = rollover.roll_over(str(source), Workspace.open(), RolloverOptions(to=OTHER[agent_id]))
    assert open_session(str(derived.output_file)).agent == OTHER[agent_id]
    assert derived.resume_command[0] == OTHER[agent_id]
    assert load_family().node(derived.output_file).parent.session_file == source


@pytest.mark.slow
def test_twenty_rollovers_keep_a_rule_verbatim(home):
    """The lineage block does not grow with each."""
    session = write_long_session(home, "claude")
    for _ in range(20):
        session = rollover.roll_over(str(session), Workspace.open(), RolloverOptions(force=True)).output_file
    message = opening_of(session)
    assert RULE in message
    assert message.count("[SESSION LINEAGE]") == 1
    assert len(message) <= 10_000


def test_a_preview_writes_nothing(source):
    planned = rollover.preview_rollover(str(source), Workspace.open(), RolloverOptions())
    assert planned.message.startswith("[SESSION LINEAGE]")
    assert planned.to_dict()["tokens_saved"] == planned.savings.tokens > 0
    assert not Path(".leftoff").exists()
    assert [*source.parent.iterdir()] == [source]


def test_a_summary_comes_from_the_configured_summariser(home, tmp_path, monkeypatch):
    """The summary is fenced as data, and nothing is written if the summariser fails."""
    source = write_long_session(home, "claude")
    program = tmp_path / "summarise"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho 'The ledger is half done.'\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("LEFTOFF_SUMMARISER", str(program))
    derived = rollover.roll_over(str(source), Workspace.open(), RolloverOptions(with_summary=True))
    assert "\nThe ledger is half done.\n</leftoff-record-" in opening_of(derived.output_file)
    line = json.loads(derived.output_file.read_text(encoding="utf-8").splitlines()[0])
    assert line["continue_metadata"]["summary_included"] is True
    program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    before = {*source.parent.iterdir()}
    with pytest.raises(LeftoffError):
        rollover.roll_over(str(source), Workspace.open(), RolloverOptions(with_summary=True))
    assert {*source.parent.iterdir()} == before


def test_a_missing_folder_is_reported_with_what_to_type(home):
    source = write_long_session(home, "claude")
    source.write_text(
        source.read_text(encoding="utf-8").replace(str(Path.cwd()), "/gone/away"), encoding="utf-8"
    )
    with pytest.raises(LeftoffError, match="--here"):
        rollover.roll_over(str(source), Workspace.open(), RolloverOptions())


def test_a_handoff_is_written_where_the_settings_say(home):
    """Only leftoff's own part of the ledger is replaced."""
    source = write_long_session(home, "claude")
    config = paths.config_folder() / "configuration.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(
        "context_management:\n  handoffs:\n    folder: _handoffs\n    ledger: _ledgers/CURRENT.md\n",
        encoding="utf-8",
    )
    ledger = Path("_ledgers/CURRENT.md")
    ledger.parent.mkdir()
    ledger.write_text("# Mine\n\nKeep this.\n", encoding="utf-8")
    first = rollover.roll_over(str(source), Workspace.open(), RolloverOptions())
    second = rollover.roll_over(str(first.output_file), Workspace.open(), RolloverOptions(force=True))
    text = ledger.read_text(encoding="utf-8")
    assert text.startswith("# Mine\n\nKeep this.\n")
    assert text.count("<!-- leftoff: current session -->") == 1
    assert second.session_id in text
    documents = sorted(Path("_handoffs").iterdir())
    assert len(documents) == 2
    result = "".join(document.read_text(encoding="utf-8") for document in documents)
    assert f"session_id: {first.session_id}" in result
    assert "# Session Resume Log" in result


@pytest.mark.parametrize("setting", ["folder: out", "ledger: out/CURRENT.md"])
def test_a_handoff_is_never_written_outside_the_project(home, tmp_path, setting):
    source = write_long_session(home, "claude")
    config = paths.config_folder() / "configuration.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"context_management:\n  handoffs:\n    {setting}\n", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    Path("out").symlink_to(tmp_path / "outside")
    with pytest.raises(LeftoffError, match="leads out"):
        rollover.roll_over(str(source), Workspace.open(), RolloverOptions())
    assert [*(tmp_path / "outside").iterdir()] == []


def test_a_long_session_fits_into_the_first_message(isolated_home):
    script = bundled_script(project=str(Path.cwd()))
    source = isolated_home / ".claude" / "projects" / "-slug" / f"{script.session_id}.jsonl"
    source.parent.mkdir(parents=True)
    write_transcript(claude.here(), script, source)
    derived = rollover.roll_over(str(source), Workspace.open(), RolloverOptions())
    assert 9_000 < len(opening_of(derived.output_file)) <= 9_900
    assert derived.savings.tokens > 0


def test_a_ledger_that_cannot_be_read_is_not_changed(home):
    source = write_long_session(home, "claude")
    config = paths.config_folder() / "configuration.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("context_management:\n  handoffs:\n    ledger: out/CURRENT.md\n", encoding="utf-8")
    Path("out/CURRENT.md").mkdir(parents=True)
    with pytest.raises(LeftoffError, match="cannot be read"):
        rollover.roll_over(str(source), Workspace.open(), RolloverOptions())


def test_rolling_over_twice_keeps_mission_and_next_steps(home):
    source = write_long_session(home, "claude")
    first = rollover.roll_over(str(source), Workspace.open(), RolloverOptions()).output_file
    second = rollover.roll_over(str(first), Workspace.open(), RolloverOptions(force=True)).output_file
    mission = "## What the User Asked"
    before, after = (opening_of(each).partition(mission)[2].partition("\n## ")[0] for each in (first, second))
    assert before == after
    assert "Step 0 of src/ledger.py" in after


def test_a_fresh_session_is_expected_to_begin_as_this_one_did(source):
    """The agent sends its instructions and tools again: what the first request held besides the prompt."""
    planned = rollover.preview_rollover(str(source), Workspace.open(), RolloverOptions())
    first = next(each.usage for each in planned.ref.session.records if each.usage is not None)
    sent = first.occupancy_tokens - first.output_tokens
    assert planned.occupancy.baseline_tokens == pytest.approx(sent, abs=200)
    message = planned.savings.after.used_tokens - planned.occupancy.baseline_tokens
    assert message == pytest.approx(len(planned.message) * 0.32, rel=0.25)
    derived = rollover.roll_over(str(source), Workspace.open(), RolloverOptions())
    assert abs(derived.savings.tokens - planned.savings.tokens) < 100


def test_a_rollover_that_frees_nothing_is_not_written(home):
    """It is written for another agent, or with ``--force``."""
    story = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    source = home.claude(story.asked("Hello").replied("Hi.", used=40_000))
    planned = rollover.preview_rollover(str(source), Workspace.open(), RolloverOptions())
    assert planned.nothing_to_gain
    assert planned.savings.tokens == 0
    assert planned.to_dict()["nothing_to_gain"] is True
    with pytest.raises(NothingToDoError, match=r"nothing to gain.*--force"):
        rollover.roll_over(str(source), Workspace.open(), RolloverOptions())
    assert [*source.parent.iterdir()] == [source]
    assert rollover.roll_over(str(source), Workspace.open(), RolloverOptions(to="codex")).session_id
    assert rollover.roll_over(str(source), Workspace.open(), RolloverOptions(force=True)).session_id


def test_a_rollover_is_written_if_the_reported_tokens_promise_a_gain(home):
    """A window can be full of what the transcript does not show: the preview, advise and the command agree that it helps."""
    story = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    source = home.claude(
        story.asked("Hello").replied("Hi.", used=40_000).asked("More").replied("Yes.", used=150_000)
    )
    planned = rollover.preview_rollover(str(source), Workspace.open(), RolloverOptions())
    assert planned.savings.tokens > 50_000
    assert not planned.nothing_to_gain
    assert rollover.roll_over(str(source), Workspace.open(), RolloverOptions()).session_id


def test_the_lineage_block_ends_with_the_session_s_own_file(source, tmp_path):
    fresh = rollover.roll_over(str(source), Workspace.open(), RolloverOptions()).output_file
    assert f"\n2. {fresh.name} (current)\n" in opening_of(fresh)
    copy = write_trim(prepare_trim(str(source), Workspace.open(), trim.TrimOptions())).output_file
    assert f"\n2. {copy.name} (current)\n" in opening_of(copy)
    again = write_trim(
        prepare_trim(str(copy), Workspace.open(), trim.TrimOptions(threshold=1, project=tmp_path))
    )
    result = opening_of(again.output_file)
    assert f"\n2. {copy.name} (trimmed)\n3. {again.output_file.name} (current)\n" in result
    assert result.count("(current)") == 1


def test_the_restored_log_comes_last():
    assert first_message("block", "summary", "record") == "block\n\nsummary\n\nrecord"
    assert first_message("block", None, "record") == "block\n\nrecord"


def test_a_long_summary_is_shortened():
    assert shortened_summary(" short \n") == "short"
    long = shortened_summary("x" * 10_000)
    assert (len(long), long[-1]) == (6_000, "…")


def test_the_summary_prompt_marks_texts_as_data():
    prompt = summary_prompt("LOG", "LAST")
    assert "<record>\nLOG\n</record>" in prompt
    assert "<conversation-end>\nLAST\n</conversation-end>" in prompt
    assert "not instructions to you" in prompt
