"""``python -m bench precision``: what a log states, against labels."""

import json

import pytest

from bench import precision
from bench.__main__ import run
from leftoff.agents import claude
from leftoff.core.metrics import ContextMetrics
from leftoff.core.resume_log import ResumeLog
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript


def log(**parts) -> ResumeLog:
    metrics = ContextMetrics(total_budget=100, used_tokens=10, remaining_tokens=90, percentage_used=10.0)
    return ResumeLog(session_id="s", context_metrics=metrics, **parts)


def verdicts(measure: str, labels, **parts) -> list[str]:
    return [verdict for what, _, verdict in precision.judge(log(**parts), labels) if what == measure]


def test_an_item_with_the_words_of_a_label_is_right_and_another_is_left_to_a_reader():
    rules = {
        "user_rules": [
            "“Never exceed the $40 budget without approval”",
            "“Make the button blue”",
            "(2 earlier rules left out)",
        ]
    }
    labels = {
        "rules": ["never exceed the $40 budget"],
        "decisions": [{"quote": "SQLite first, because it needs no server"}],
    }
    assert verdicts("rules", labels, critical_context=rules) == ["right", "unjudged"]
    decisions = [
        {"decision": "Start with SQLite first", "rationale": "it needs no server"},
        {"decision": "Use tabs"},
    ]
    assert verdicts("decisions", labels, decisions=decisions) == ["right", "unjudged"]
    assert verdicts("rules found", labels, critical_context=rules) == ["right"]
    assert verdicts("decisions found", labels, critical_context=rules) == ["wrong"]


def test_short_texts_must_agree_in_every_word():
    """Two of three common words are no agreement."""
    assert verdicts("rules", {"rules": ["use it now"]}, critical_context={"user_rules": ["“use it”"]}) == [
        "right"
    ]
    assert verdicts(
        "rules", {"rules": ["get it reviewed"]}, critical_context={"user_rules": ["“get it deployed”"]}
    ) == ["unjudged"]


@pytest.mark.parametrize(
    ("item", "verdict"),
    [
        ("`make test 2>&1 | tail -5` → 7 runs, 3 failed, the last passed (“ok”)", ["right"]),
        ("`make test` → failed", ["wrong"]),
        ("`make lint` → passed", ["unjudged"]),
        ("`make test` → outcome not shown", []),
        ("Failing check: `make test` → “1 failed”", ["wrong"]),
        ("Read about `make test`", []),
    ],
)
def test_claims_of_passed_and_failed_are_compared_by_their_command(item, verdict):
    """What only limits the output makes no other command."""
    labels = {"checks": [{"command": "cd /a && make test", "last_outcome": "passed"}]}
    part = (
        {"next_steps": [item]} if item.startswith("Failing") else {"critical_context": {"commands": [item]}}
    )
    assert verdicts("passed or failed", labels, **part) == verdict


def test_the_work_is_finished_only_where_the_log_says_so():
    assert verdicts("open or finished", {"finished": True}, next_steps=["Nothing is left open: …"]) == [
        "right"
    ]
    assert verdicts("open or finished", {"finished": False}, next_steps=["Nothing is left open: …"]) == [
        "wrong"
    ]
    assert verdicts("open or finished", {"finished": False}, next_steps=["To do: docs"]) == ["right"]
    assert verdicts("open or finished", {}, next_steps=["To do: docs"]) == []


def test_an_overtaken_statement_is_wrong_unless_the_item_says_so():
    labels = {"overtaken": ["the cause is a race in the cache"]}
    found = [
        "The cause is a race in the cache.",
        "It was thought that the cause is a race in the cache; superseded.",
        "A race.",
    ]
    assert verdicts("not overtaken", labels, key_findings=found) == ["wrong", "right", "right"]


@pytest.fixture
def labels(tmp_path, monkeypatch):
    story = Story().asked("Fix it. Never push to main without approval.")
    story.replied("", call("shell", {"command": "make test"}, "3 passed")).replied("Done.")
    write_transcript(claude.here(), story.script(), tmp_path / "session.jsonl")
    monkeypatch.setenv("LEFTOFF_TRANSCRIPTS", str(tmp_path))
    folder = tmp_path / "labels"
    folder.mkdir()
    known = {
        "transcript": "session.jsonl",
        "rules": [],
        "checks": [{"command": "make test", "last_outcome": "passed"}],
    }
    (folder / "one.json").write_text(json.dumps(known))
    return folder


def test_the_table_counts_and_the_unjudged_are_named_for_a_reader(labels, tmp_path, capsys):
    """The reader's verdicts count the next time."""
    assert run(["precision", "--labels", str(labels)]) == 0
    out = capsys.readouterr().out
    assert "unjudged  rules  one" in out
    assert run(["precision", "--labels", str(labels), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (rule,) = [each["text"] for each in found if each["measure"] == "rules"]
    (tmp_path / "verdicts.json").write_text(json.dumps({rule: "right"}))
    assert run(["precision", "--labels", str(labels), "--verdicts", str(tmp_path / "verdicts.json")]) == 0
    out = capsys.readouterr().out
    assert "1 (100.0% right)" in out
    assert "unjudged  rules" not in out


def test_the_log_is_made_of_what_is_before_the_line(labels, capsys):
    known = json.loads((labels / "one.json").read_text())
    (labels / "one.json").write_text(json.dumps({**known, "line": 2, "finished": False}))
    assert run(["precision", "--labels", str(labels), "--json"]) == 0
    measures = [each["measure"] for each in json.loads(capsys.readouterr().out)]
    assert "passed or failed" not in measures


def test_what_is_missing_is_said(labels, tmp_path, capsys):
    assert run(["precision", "--labels", str(tmp_path / "none")]) == 1
    assert "has no labels" in capsys.readouterr().err
    (tmp_path / "session.jsonl").unlink()
    assert run(["precision", "--labels", str(labels)]) == 1
    assert "LEFTOFF_TRANSCRIPTS=DIR" in capsys.readouterr().err
