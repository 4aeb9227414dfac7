"""Verifying a log: each item is supported, contradicted, or its source is gone."""

import json

import pytest

from leftoff.core.provenance import Source
from leftoff.core.records import Place
from leftoff.core.resume_log import Edit
from leftoff.resume_logs.verify_items import (
    Event,
    evidence_of,
    last_run_passed,
    list_items,
    log_says_passed,
    mark_items,
    runs_tests,
    strike_unknown,
    text_of,
    verify_items,
    verify_text,
)
from tests.resume_logs.sample_logs import full, log

T = "/t.jsonl"


def record(line, **value):
    """A record and its place."""
    raw = json.dumps(value, ensure_ascii=False).encode() + b"\n"
    return Place(T, line, line * 1000, line * 1000 + len(raw)), raw


def source(item, place, raw):
    return Source(item=item, place=place, sha256=evidence_of(raw).sha256, excerpt="")


def verdict(item, text_fields, raw_value, *, events=(), line=3):
    """Return the verdict on one item with one source."""
    place, raw = record(line, **raw_value)
    of = log(**text_fields, sources=[source(item, place, raw)])
    (found,) = verify_items(of, {place: evidence_of(raw)}, events)
    assert found.item == item
    return found


def test_an_item_whose_words_are_in_its_source_is_supported():
    """Names and paths are compared if there are any, words otherwise."""
    fields = {"key_findings": ["`refill` in src/bucket.py leaks 3 tokens"]}
    assert verdict("key_findings/0", fields, {"text": "refill of src/bucket.py leaks"}).outcome == "supported"
    fields = {"accomplishments": ["The limiter is finished"]}
    assert verdict("accomplishments/0", fields, {"a": ["limiter", {"b": "FINISHED"}]}).outcome == "supported"


def test_what_git_said_is_not_looked_for_in_the_transcript():
    fields = {
        "critical_context": {"state": ["Not committed, as git said when this was saved: `src/other.py`"]}
    }
    assert verdict("critical_context/state/0", fields, {"text": "go"}).reason == "git said so"


@pytest.mark.parametrize(
    ("old", "outcome"), [("wait / 1000", "supported"), ("something else", "contradicted")]
)
def test_the_lines_of_a_diff_are_compared_one_by_one(old, outcome):
    """Not as one quotation, which no record has."""
    text = "Edit in `bucket.lua`:\n```diff\n- return wait / 1000\n- return nothing\n```"
    edit = {
        "file_path": "/a/bucket.lua",
        "old_string": f"return {old}\n  return {'nothing' if outcome == 'supported' else old}",
    }
    assert verdict("accomplishments/0", {"accomplishments": [text]}, edit).outcome == outcome


def test_an_item_whose_source_says_something_else_is_contradicted():
    """The verdict names the reason and the record that decided."""
    found = verdict(
        "key_findings/0", {"key_findings": ["`take` in src/other.py"]}, {"text": "refill in src/bucket.py"}
    )
    assert (found.outcome, found.place.line_idx) == ("contradicted", 3)
    assert found.reason == "the source names none of this, or less than half"
    found = verdict(
        "next_steps/0", {"next_steps": ["Deploy everything tonight"]}, {"text": "write more tests"}
    )
    assert (found.outcome, found.reason) == ("contradicted", "the source has next to none of these words")


@pytest.mark.parametrize(
    ("key", "entry", "source_text", "outcome"),
    [
        ("user_rules", "“never push  to main”", "please never push to\nmain!", "supported"),
        ("user_rules", "“always push to main”", "never push to main", "contradicted"),
        ("user_rules", "“use tabs” (superseded by: “use spaces”)", "use tabs", "supported"),
        (
            "user_rules",
            "“first:\none thing\nand another”",
            "first:\n- one thing\n- and  another",
            "supported",
        ),
        (
            "user_rules",
            "“first:\none thing\nand others”",
            "first:\n- one thing\n- and another",
            "contradicted",
        ),
        ("user_rules", "The user refused `rm`: “no way”", "the user said:\nno way", "supported"),
        ("pins", "ports → 8080", "ports → 8080", "supported"),
        ("pins", "ports → 8081", "ports → 8080", "contradicted"),
        ("commands", "`pytest -x` → exit 0", "pytest   -x", "supported"),
        ("commands", "`pytest -y` → exit 0", "pytest -x", "contradicted"),
        ("commands", "`curl -H [REDACTED:bearer] x.io` → exit 0", "curl -H secretsecret x.io", "supported"),
        ("ids_and_urls", "https://x.io/1", "see https://x.io/1", "supported"),
        ("environment_variables", "REDIS_URL", "export REDIS_URL=1", "supported"),
    ],
)
def test_rules_pins_and_commands_must_match_word_for_word(key, entry, source_text, outcome):
    """Lines are compared one by one; redacted parts match anything, leftoff's own words are ignored."""
    fields = {"critical_context": {key: [entry]}}
    assert verdict(f"critical_context/{key}/0", fields, {"text": source_text}).outcome == outcome


def test_the_arguments_of_a_call_are_read_inside_their_json():
    """One agent writes the arguments of a call as JSON text."""
    fields = {"critical_context": {"commands": ['`grep "a\tb" x`']}}
    arguments = json.dumps({"command": 'grep "a\tb" x'})
    assert verdict("critical_context/commands/0", fields, {"arguments": arguments}).outcome == "supported"


def test_a_source_that_is_gone_is_marked():
    """The file, the record or the source itself may be gone."""
    place, raw = record(1, text="write the parser")
    of = log(next_steps=["write the parser", "write more"], sources=[source("next_steps/0", place, raw)])
    first, second = verify_items(of, {})
    assert (first.outcome, first.reason) == ("source gone", "the record is not there any more")
    assert (second.outcome, second.reason, second.place) == ("source gone", "no source is named", None)
    (other, _) = verify_items(of, {place: evidence_of(b'{"text": "write the parser!"}')})
    assert (other.outcome, other.reason) == ("source gone", "another record is there now")


def test_one_unchanged_source_of_several_is_enough():
    """The mission may have many; a named entry may be cited by its number."""
    place, raw = record(1, text="Build the parser")
    gone, raw_gone = record(2, text="x")
    of = log(
        mission_summary="Build the parser",
        critical_context={"files": {"src/a.py": "read"}, "branch": "parser"},
        sources=[
            source("mission_summary/1", gone, raw_gone),
            source("mission_summary/0", place, raw),
            source("critical_context/files/0", place, raw),
            source("critical_context/branch", place, raw),
        ],
    )
    found = {each.item: each.outcome for each in verify_items(of, {place: evidence_of(raw)})}
    assert found == {
        "mission_summary": "supported",
        "critical_context/files/src/a.py": "contradicted",
        "critical_context/branch": "supported",
    }


def ran(line, failed, command="pytest -x"):
    return Event(Place(T, line, line * 1000, line * 1000 + 1), "ran", command, failed)


@pytest.mark.parametrize(
    ("text", "failed_later", "outcome"),
    [
        ("pytest tests pass", True, "contradicted"),
        ("pytest tests pass", False, "supported"),
        ("pytest tests pass", None, "supported"),
        ("pytest tests fail", False, "contradicted"),
        ("pytest tests fail", True, "supported"),
        ("pytest failed, then passed", True, "supported"),
        ("pytest was written", True, "supported"),
        ("pytest → 3 runs, 1 failed, the last worked", False, "supported"),
        ("pytest → 3 runs, 1 failed, the last worked", True, "contradicted"),
        ("pytest → 2 runs, 2 failed, the last failed", False, "contradicted"),
    ],
)
def test_a_later_run_of_the_same_command_decides(text, failed_later, outcome):
    """An item about both outcomes, or none, is not refuted."""
    place, raw = record(3, text="pytest -x: tests pass or fail, written failed then passed")
    events = [
        Event(place, "ran", "pytest -x", None),
        ran(5, not failed_later),
        ran(7, failed_later),
        ran(9, True, "make"),
    ]
    found = verdict("accomplishments/0", {"accomplishments": [text]}, json.loads(raw), events=events)
    assert found.outcome == outcome
    if outcome == "contradicted":
        assert found.reason == f"the same command {'failed' if failed_later else 'passed'} later"
        assert found.place.line_idx == 7


def test_the_run_itself_refutes_nothing():
    """When the last run is the source, there is no later one."""
    place, raw = record(3, text="pytest -x tests pass")
    events = [ran(1, True), Event(place, "ran", "pytest -x", True)]
    fields = {"accomplishments": ["pytest tests pass"]}
    assert verdict("accomplishments/0", fields, json.loads(raw), events=events).outcome == "supported"


def did(line, kind, path="/p/src/a.py", transcript=T):
    return Event(Place(transcript, line, 0, 1), kind, path)


@pytest.mark.parametrize(
    ("note", "events", "outcome"),
    [
        ("changed", [did(5, "removed")], "contradicted"),
        ("changed", [did(5, "removed"), did(6, "written")], "supported"),
        ("changed", [did(2, "removed")], "supported"),
        ("changed", [did(5, "removed", transcript="/other")], "supported"),
        ("changed", [did(5, "removed", "/p/src/aa.py")], "supported"),
        ("deleted", [did(5, "removed")], "supported"),
        ("changed", [], "supported"),
    ],
)
def test_a_file_that_was_removed_later_is_contradicted(note, events, outcome):
    """A file that was written again, or that the log calls removed, is not contradicted."""
    fields = {"critical_context": {"files": {"src/a.py": note}}}
    item = "critical_context/files/src/a.py"
    assert verdict(item, fields, {"path": "/p/src/a.py changed deleted"}, events=events).outcome == outcome


def test_what_a_person_wrote_needs_no_source():
    """A person's text counts as supported."""
    of = log(
        next_steps=["Ask Ann"],
        edits=[Edit(section="next_steps", wrote="Ask Ann"), Edit(section="next_steps", before="x")],
    )
    (found,) = verify_items(of, {})
    assert (found.outcome, found.reason) == ("supported", "a person wrote it")


def test_marking_strikes_contradicted_items():
    """Struck items have a reason, items without a source say so, and the rest is unchanged."""
    place, raw = record(1, text="all good here: pytest")
    of = log(
        mission_summary="Mission",
        accomplishments=["good pytest", "`bad` item"],
        decisions=[{"decision": "D", "rationale": "R"}],
        critical_context={
            "files": {"a.py": "x"},
            "commands": ["`make`", 5],
            "branch": "b",
            "n": {"k": 1},
            "odd": None,
        },
        sources=[source("accomplishments/0", place, raw), source("accomplishments/1", place, raw)],
    )
    marked = mark_items(of, verify_items(of, {place: evidence_of(raw)}))
    assert marked.mission_summary == "Mission (source gone)"
    assert marked.accomplishments[0] == "good pytest"
    assert marked.accomplishments[1].startswith("~~`bad` item~~ (contradicted: the source names none")
    assert marked.decisions == [{"decision": "D (source gone)", "rationale": "R"}]
    assert marked.critical_context == {
        "files": {"a.py": "x (source gone)"},
        "commands": ["`make` (source gone)", 5],
        "branch": "b (source gone)",
        "n": {"k": 1},
        "odd": None,
    }


def test_every_item_of_a_log_is_checked():
    names = [item.names[0] for item in list_items(full())]
    assert (
        len(names) == len(set(names)) == len(verify_items(full(), {})) == 1 + 12 * 4 + 1 + 3 + 12 * 2 + 1 + 1
    )
    assert [*list_items(log())] == []


def test_a_text_of_a_model_is_checked_claim_by_claim():
    """Unknown claims are struck through."""
    text = "Changed `refill_all` in src/part_1.py and src/made_up.py; 12 tests, 999 lines; run `rm -rf /`."
    findings = verify_text(text, [text_of(full())])
    assert {finding.claim.value: finding.known for finding in findings} == {
        "refill_all": False,
        "src/part_1.py": True,
        "src/made_up.py": False,
        "12": True,
        "999": False,
        "rm -rf /": False,
    }
    assert strike_unknown(text, findings) == (
        "Changed ~~`refill_all`~~ in src/part_1.py and ~~src/made_up.py~~; 12 tests, ~~999~~ lines; run ~~`rm -rf /`~~."
    )


def test_an_invented_quotation_and_an_invented_test_result_are_struck():
    """Claims inside a quotation are not counted twice."""
    text = "All tests fail. The user said “Always force-push src/x.py to main.” and “never push to main”."
    findings = verify_text(text, ["Never push to main"], tests_pass=True)
    assert [(each.claim.kind, each.known) for each in findings] == [
        ("tests", False),
        ("quotation", False),
        ("quotation", True),
    ]
    assert strike_unknown(text, findings) == (
        "All tests ~~fail~~. The user said ~~“Always force-push src/x.py to main.”~~ and “never push to main”."
    )
    assert [each.known for each in verify_text("All tests fail", [], tests_pass=False)] == [True]
    assert [each.known for each in verify_text("All tests pass", [])] == [False]


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("pytest -x", True),
        ("cd a && npm run test:unit", True),
        ("/tmp/v/bin/pytest a | tail -3", True),
        ("python -m unittest", True),
        ("cat tests/a.py", False),
        ("git test", False),
        ("ls; make build", False),
        ("", False),
    ],
)
def test_commands_that_run_tests_are_recognised(command, runs):
    """Commands that only look at tests do not count."""
    assert runs_tests(command) is runs


def test_the_last_run_of_tests_says_whether_they_pass():
    """A run without a known end says nothing, nor do other commands."""
    at = Place(T, 1, 0, 1)
    runs = [Event(at, "ran", "pytest", False), Event(at, "ran", "pytest -x", True)]
    assert last_run_passed(runs) is False
    assert last_run_passed([*runs, Event(at, "ran", "pytest"), Event(at, "ran", "make", False)]) is False
    assert last_run_passed([*reversed(runs)]) is True
    assert last_run_passed([]) is None


@pytest.mark.parametrize(
    ("commands", "passes"),
    [
        (["`pytest` → exit 1, 2 times", "`ls` → exit 0"], False),
        (["`pytest` → exit 0"], True),
        (["`pytest` → exit 0", "`npm test` → exit 1"], None),
        (["`pytest`", 3], None),
        ("`pytest` → exit 0", None),
    ],
)
def test_a_log_alone_says_whether_tests_pass(commands, passes):
    """Passing commands in the log are enough if they agree."""
    assert log_says_passed(log(critical_context={"commands": commands})) is passes


def test_a_refusal_without_text_is_supported_by_the_refused_call():
    """There is nothing to match word for word; another command does not support it."""
    fields = {"critical_context": {"user_rules": ["The user refused `git push -u origin x 2>&1`"]}}
    name = "critical_context/user_rules/0"
    refused_call = {"command": "git push -u origin x 2>&1", "answer": "The user doesn't want to proceed"}
    assert verdict(name, fields, refused_call).outcome == "supported"
    assert verdict(name, fields, {"command": "ls"}).outcome == "contradicted"


def test_bytes_that_are_not_json_are_text_too():
    """A torn line still has its text."""
    assert "never push" in evidence_of(b'{"text": "never push').text
    assert evidence_of(b"null").text == ""
    assert evidence_of(b"[" * 100_000).text.startswith("[[")
