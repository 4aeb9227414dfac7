"""``python -m bench retention`` on the command line."""

import json

import pytest

from bench import retention as flow
from bench.__main__ import run
from bench.scoring import Part, Score
from leftoff.agents import claude
from leftoff.errors import NothingToDoError
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript


def output_of(capsys, *arguments, code=0):
    assert run([*arguments]) == code
    return capsys.readouterr().out


def ran(command: str):
    return call("shell", {"command": command}, "ok")


@pytest.fixture
def transcript(tmp_path):
    story = Story().asked("Go on with the login").replied("", ran("make lint"), ran("make test"))
    story.compacted("Next is `login_user`.").replied("", ran("make lint"), ran("make test"))
    story.compacted("Next is `login_user` still.").replied("", ran("make lint"))
    path = tmp_path / "session.jsonl"
    write_transcript(claude.here(), story.script(), path)
    return path


def test_documents_can_be_plugged_in_and_are_measured_at_every_cut(transcript):
    """A document is any function of a cut; None where a cut has none."""
    rows = {
        "half": lambda cut: "make lint",
        "second": lambda cut: "make test" if "still" in cut.summary else None,
    }
    found = [*flow.measure(flow.Selection(transcripts=[transcript]), rows)]
    assert [(each.document, each.score.commands) for each in found] == [
        ("half", Part(held=1, of=2)),
        ("half", Part(held=1, of=1)),
        ("second", Part(held=0, of=1)),
    ]
    totals = flow.totals(found)
    assert totals["half"].commands == Part(held=2, of=3)
    assert (totals["half"].cuts, totals["second"].cuts) == (2, 1)


def test_quick_takes_the_last_cut_of_each_file(transcript):
    """Of two compactions, only the later one is measured."""
    wanted = flow.Selection(transcripts=[transcript], last_only=True)
    (found,) = flow.measure(wanted, {"half": lambda cut: "make lint"})
    assert found.score.commands == Part(held=1, of=1)


def test_documents_are_made_from_the_prefix_and_no_files_are_left(transcript):
    """The scratch copies are gone afterwards."""
    copies = []
    rows = {"copy": lambda cut: copies.append((cut.transcript, cut.transcript.read_bytes())) or ""}
    found = [*flow.measure(flow.Selection(transcripts=[transcript]), rows)]
    assert len(found) == len(copies) == 2
    assert not any(path.exists() for path, _ in copies)
    assert b"still" not in copies[1][1]


def test_without_a_cut_the_error_says_what_to_type(tmp_path):
    """A session that was never compacted."""
    path = tmp_path / "plain.jsonl"
    write_transcript(claude.here(), Story().asked("Go").replied("Done.").script(), path)
    with pytest.raises(NothingToDoError, match="--every"):
        [*flow.measure(flow.Selection(transcripts=[path]), {})]


def test_goals_are_missed_where_a_share_falls_short_and_stale_where_it_is_above():
    """What could not be measured is not missed."""
    (hook, _) = flow.GOALS
    full = Part(held=1, of=1)
    good = Score(
        cuts=1, characters=2, outside_characters=1, files=full, commands=full, names=full, agreement=full
    )
    assert [*flow.goals_missed({hook: good})] == []
    poor = Score(cuts=1, characters=2, files=Part(held=9, of=10), names=Part(held=90, of=90))
    assert [each.measure for each in flow.goals_missed({hook: poor})] == ["files", "outside"]


def test_the_table_has_the_rows_and_columns_of_the_measure_and_the_goals(transcript, capsys, monkeypatch):
    """Our log is shown beside the other documents, with its goals below it."""
    monkeypatch.setenv("COLUMNS", "120")
    out = output_of(capsys, "retention", str(transcript))
    for words in (
        "own summary",
        "last 40,000",
        "bare list",
        "9,900",
        "whole",
        "goal",
        "agreement",
        "Items without a valid source",
    ):
        assert words in out


def test_misses_and_every_cut_are_named_when_asked_for(transcript, capsys):
    """Misses show how a document can be improved."""
    out = output_of(capsys, "retention", "--verbose", "--misses", str(transcript))
    assert "session.jsonl:" in out
    assert "our log, whole" in out


def test_scripts_get_counts_fractions_and_misses(transcript, capsys):
    found = json.loads(output_of(capsys, "retention", "--json", str(transcript)))
    own = next(row for row in found["documents"] if "summary" in row["document"])
    assert own["cuts"] == 2
    assert own["agreement_fraction"] == 1.0
    assert own["counts"]["commands"] == {"held": 0, "of": 3}
    assert {each["text"] for each in own["missed"]} == {"make lint", "make test"}
    assert len(found["cuts"]) == 2 * len(flow.DOCUMENTS)
    assert set(found["goals"]) == set(flow.GOALS)
    assert [cut["without_source"] for cut in found["cuts"] if cut["document"] == "our log, whole"] == [[], []]


def test_without_a_file_the_bundled_session_is_measured(capsys):
    found = json.loads(output_of(capsys, "retention", "--quick", "--json"))
    assert {row["cuts"] for row in found["documents"]} == {1}


def test_strict_fails_when_a_goal_is_missed(transcript, capsys):
    """A build that must not get worse uses it."""
    rows = json.loads(output_of(capsys, "retention", "--json", str(transcript)))
    output_of(capsys, "retention", "--strict", str(transcript), code=1 if rows["goals_missed"] else 0)


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--at", "9999"], 2), (["--at", "2", "--every"], 2), (["--at", "1"], 2)]
)
def test_wrong_ways_to_cut_are_wrong_usage(transcript, capsys, arguments, code):
    output_of(capsys, "retention", str(transcript), *arguments, code=code)


def test_any_record_can_be_cut_at(transcript, capsys):
    """There is one cut, before that line."""
    found = json.loads(output_of(capsys, "retention", "--json", "--at", "3", str(transcript)))
    assert {cut["line"] for cut in found["cuts"]} == {3}


def test_cuts_along_the_way_need_no_compaction(tmp_path, capsys):
    path = tmp_path / "plain.jsonl"
    story = Story().asked("Go")
    for number in range(20):
        story.replied("", ran(f"make part{number % 3}"))
    write_transcript(claude.here(), story.script(), path)
    found = json.loads(output_of(capsys, "retention", "--json", "--every", str(path)))
    assert next(row["cuts"] for row in found["documents"] if "whole" in row["document"]) == 4
