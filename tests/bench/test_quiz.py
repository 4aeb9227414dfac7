"""``python -m bench quiz``: questions answered by key phrases."""

import json

import pytest

from bench import quiz
from bench.__main__ import run
from leftoff.agents import claude, codex
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript

QUESTIONS = [
    {"kind": "goal", "weight": 3, "keys": [["rate limiter", "token bucket"], ["burst"]]},
    {"kind": "goal", "weight": 1, "keys": [["never said by anybody"]]},
    {"kind": "rule", "weight": 1, "keys": [["only in the summary"]]},
]


@pytest.fixture
def folder(tmp_path):
    """Return questions about a session with a summary that can be read, and one of which it cannot."""
    story = Story().asked("Write a RATE\n limiter that allows a burst").replied("I am at it.")
    story.compacted("This is only in the summary.").replied("After the cut: never said by anybody.")
    for number, agent in (1, claude), (2, codex):
        session = tmp_path / "questions" / f"{number:02d}"
        session.mkdir(parents=True)
        transcript = tmp_path / f"{agent.here().id}.jsonl"
        write_transcript(agent.here(), story.script(), transcript)
        lines = transcript.read_text("utf-8").splitlines()
        record = next(at for at, line in enumerate(lines) if "only in the summary" in line)
        source = {"transcript": transcript.name, "record": record, "agent": agent.here().id}
        (session / "source.json").write_text(json.dumps(source))
        (session / "questions.json").write_text(json.dumps(QUESTIONS))
    return tmp_path / "questions"


def test_every_document_of_a_session_is_asked(folder):
    """What follows the cut is in none of them."""
    found = {each.document: each for each in quiz.measure(folder, [1])}
    assert [*found] == [quiz.SUMMARY, quiz.FRESH, quiz.BOTH, quiz.WHOLE]
    assert found[quiz.SUMMARY].by_kind == {"goal": (0, 2), "rule": (1, 1)}
    assert found[quiz.FRESH].by_kind == {"goal": (1, 2), "rule": (0, 1)}
    assert found[quiz.BOTH].by_kind == {"goal": (1, 2), "rule": (1, 1)}
    assert found[quiz.WHOLE].weight_answered == 3
    assert quiz.answered_share(found.values()) == pytest.approx((1 + 3 + 4 + 3) / 20)
    assert quiz.answered_share_of_kind(found.values(), "goal") == pytest.approx(3 / 8)


def test_where_the_summary_cannot_be_read_our_documents_are_asked_alone(folder):
    found = [*quiz.measure(folder, [2])]
    assert [each.document for each in found] == [quiz.FRESH, quiz.AFTER, quiz.WHOLE]
    assert not any("only in the summary" in each.text for each in found)


def test_two_records_on_one_line_are_two_and_side_conversations_do_not_count(folder, tmp_path):
    """Records are counted as the questions count them."""
    path = tmp_path / "claude.jsonl"
    before = [*quiz.measure(folder, [1])]
    first, *rest = path.read_text("utf-8").splitlines(keepends=True)
    side = json.dumps({"type": "user", "isSidechain": True})
    path.write_text(f"{first.rstrip()}{side} {''.join(rest)}")
    assert [each.weight_answered for each in quiz.measure(folder, [1])] == [
        each.weight_answered for each in before
    ]


def test_the_tables_show_each_agent_and_the_documents_are_written(folder, tmp_path, capsys):
    assert run(["quiz", "--questions", str(folder), "--dump", str(tmp_path / "dump")]) == 0
    out = capsys.readouterr().out
    assert "session 01" in out
    assert "session 02" in out
    assert "bare lists, goal ≤ 8%" in out
    assert len([*(tmp_path / "dump").iterdir()]) == 7
    assert "rate" in (tmp_path / "dump" / "01-fresh.md").read_text("utf-8").lower()


def test_the_folder_can_be_named_in_the_environment_and_scripts_get_json(
    folder, monkeypatch, capsys, recwarn
):
    monkeypatch.setenv("LEFTOFF_QUIZ", str(folder))
    assert run(["quiz", "--json", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {each["session"] for each in found} == {"02"}
    assert found[0]["characters"] > 0
    assert not recwarn.list


def test_what_is_missing_is_said(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("LEFTOFF_QUIZ", raising=False)
    assert run(["quiz"]) == 1
    assert "--questions DIR" in capsys.readouterr().err
    assert run(["quiz", "--questions", str(tmp_path / "none")]) == 1
    assert "01/questions.json" in capsys.readouterr().err
    assert run(["quiz", "--questions", str(folder), "7"]) == 1
    assert "no session 07" in capsys.readouterr().err
    (tmp_path / "claude.jsonl").unlink()
    assert run(["quiz", "--questions", str(folder), "1"]) == 1
    assert "claude.jsonl is missing" in capsys.readouterr().err
