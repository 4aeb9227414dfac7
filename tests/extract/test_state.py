"""The state: bounded, written and read as the same, and never changed under somebody's hands."""

import copy
import json
from dataclasses import fields
from pathlib import Path

import pytest

from leftoff.errors import DocumentError
from leftoff.extract import State, step
from leftoff.extract.state import MOST, Prompt, bounded, is_taken_back
from leftoff.model.actions import Answer, Looked, Moved, Ran
from leftoff.model.records import RecordKind
from leftoff.samples.bundled import bundled_script
from leftoff.samples.generate import Mix, generate
from leftoff.testing.builders import Story, call
from leftoff.testing.plain_agent import session_in_memory
from tests.extract.making import PLAIN, a_ref, folded, noted, record, result, through_json, use

BOUND_BYTES = 12_000_000  # 60 calls in full, the others cut short


@pytest.fixture(scope="module")
def full() -> State:
    """A state with something in every list but the rewinds."""
    state = step(State(), session_in_memory(bundled_script()).records, PLAIN)
    noted(state, Looked("/p/a.py", 3, 9), answer=Answer("x"))
    noted(state, Moved("/p/a.py", "/p/b.py"), answer=Answer("x"))
    noted(state, Ran("git commit -m x"), answer=Answer("[main 1234567] x\n", 0, failed=False))
    state.rewinds = [("t.jsonl", 3, 9)]
    state.pending["/c"] = state.pending.get("/c") or _waiting(state)
    return state


def _waiting(state: State):
    asked = step(state, [record(RecordKind.REPLY, use("c"), line=9_000)], PLAIN)
    return asked.pending["/c"]


def test_a_state_comes_back_from_json_as_it_was(full: State) -> None:
    """Every list has something in it, so every reader is used."""
    assert all(getattr(full, name) for name in MOST if name != "agents")
    assert through_json(full) == full
    assert through_json(State()) == State()


def test_what_comes_back_is_written_the_same_again(full: State) -> None:
    """The wire form is stable, byte for byte."""
    once = json.dumps(full.to_dict())
    assert json.dumps(State.from_dict(json.loads(once)).to_dict()) == once


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        "text",
        {},
        {"schema": 99},
        {"schema": 1},
        {"schema": 1, "prompts": None},
    ],
)
def test_what_is_no_state_is_a_document_error(broken) -> None:
    """And the file is named in it."""
    with pytest.raises(DocumentError, match="some-file"):
        State.from_dict(broken, where="some-file")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("calls", "many"),
        ("calls", None),
        ("branch", 7),
        ("prompts", 5),
        ("prompts", [["not", "a", "ref"]]),
        ("prompts", [[[1, 2]]]),
        ("files", {"a": 1}),
        ("files", [7]),
        ("agents", "x"),
        ("after", [1]),
        ("rewinds", [[1]]),
        ("last_words", [1]),
        ("unheard_of", 1),
    ],
)
def test_a_state_with_one_wrong_field_is_a_document_error(full: State, name: str, value) -> None:
    """Whatever stands there instead."""
    data = json.loads(json.dumps(full.to_dict()))
    with pytest.raises(DocumentError):
        State.from_dict(data | {name: value})


def test_the_state_that_is_given_is_not_changed(full: State) -> None:
    """``step`` works on a state of its own, lists and tables included."""
    before = copy.deepcopy(full)
    records = [*session_in_memory(generate(seed=3, size_bytes=200_000)).records]
    after = step(full, records, PLAIN)
    assert full == before
    assert after != before


def test_no_records_give_the_same_state(full: State) -> None:
    """An empty step changes nothing."""
    assert step(full, [], PLAIN) == full


@pytest.mark.slow
@pytest.mark.parametrize("records", [8_000, pytest.param(50_000, marks=pytest.mark.stress)])
def test_many_thousand_records_stay_below_a_bound(records: int) -> None:
    """No list grows beyond a quarter more than its size, nor the JSON beyond its bound, however much is read."""
    state, read, seed = State(), 0, 0
    while read < records:
        seed += 1
        script = generate(seed=seed, size_bytes=2_000_000, options=Mix(images=0))
        part = [*session_in_memory(script).records]
        read += len(part)
        state = step(state, part, PLAIN)
        assert not _too_long(state)
    assert len(json.dumps(state.to_dict())) < BOUND_BYTES


def test_side_records_do_not_keep_a_list_from_being_cut() -> None:
    """Lines are cut where they are, whatever kind of record stands there."""
    records = []
    for number in range(4_000):
        kind = RecordKind.SIDE if number % 2 == 0 else RecordKind.PROMPT
        records.append(record(kind, f"Do part {number}", line=number))
    assert not _too_long(step(State(), records, PLAIN))


def test_a_huge_call_waits_in_a_small_form() -> None:
    """Long texts, long lists and deep nests are cut while the call waits; what is written can be read again."""
    deep: dict = {"command": "x"}
    for _ in range(900):
        deep = {"inner": deep}
    given = {"text": "x" * 500_000, "many": [*range(200_000)], "deep": deep, "n": 1.5}
    raw = json.dumps({"text": "x", "deep": "{" * 2_000}).encode()
    state = step(State(), [record(RecordKind.REPLY, use("c", "odd", given), raw=raw * 100)], PLAIN)
    (waiting,) = state.pending.values()
    assert len(json.dumps(state.to_dict())) < 60_000
    assert isinstance(waiting.input, dict)
    assert waiting.input["n"] == 1.5
    assert through_json(state) == state


def test_a_short_call_waits_as_it_is() -> None:
    """Nothing is cut off an input of usual size."""
    given = {"command": "ls", "nested": {"a": [1, 2, {"b": None}]}}
    state = step(State(), [record(RecordKind.REPLY, use("c", "odd", given))], PLAIN)
    assert state.pending["/c"].input == given


def test_the_first_prompts_stay() -> None:
    """They say what it is all about; the others go oldest first."""
    state = State()
    state.prompts = [Prompt(a_ref(number), f"p{number}", number, number - 1, 0) for number in range(1, 152)]
    bounded(state)
    texts = [prompt.text for prompt in state.prompts]
    assert texts[:3] == ["p1", "p2", "p3"]
    assert texts[3] == "p35"
    assert texts[-1] == "p151"
    assert len(texts) == MOST["prompts"]


def test_tables_lose_what_was_touched_longest_ago() -> None:
    """A file that is seen again moves to the end."""
    state = State()
    noted(state, Looked("first.py"), answer=Answer("x"))
    for number in range(MOST["files"] - 1):
        noted(state, Looked(f"f{number}.py"), answer=Answer("x"))
    noted(state, Looked("first.py"), answer=Answer("x"))
    for number in range(MOST["files"]):
        noted(state, Looked(f"g{number}.py"), answer=Answer("x"))
    bounded(state)
    assert len(state.files) == MOST["files"]
    assert "f0.py" not in state.files


def test_taken_back_is_told_by_file_and_line() -> None:
    """The first line of a stretch is in it, the last is not, and another file's lines are not meant."""
    state = State(rewinds=[("t.jsonl", 3, 5)])
    assert [is_taken_back(state, a_ref(line)) for line in (2, 3, 4, 5)] == [False, True, True, False]
    assert not is_taken_back(state, a_ref(3)._replace(transcript="other.jsonl"))


def test_a_line_that_is_still_being_written_waits() -> None:
    """It is not folded in, and reading goes on before it, so that it is taken when it is whole."""
    whole = record(RecordKind.PROMPT, "Do this", line=0)
    torn = record(RecordKind.BROKEN, line=1, raw=b'{"torn')
    state = step(State(), [whole, torn], PLAIN)
    assert state.after == whole.place
    assert step(State(), [torn], PLAIN) == State()
    broken = record(RecordKind.BROKEN, line=1, raw=b"garbage\n")
    assert step(State(), [whole, broken], PLAIN).after == broken.place


def test_an_answer_in_the_users_record_answers_its_call() -> None:
    """Where the user typed while a tool ran, the answer and the words stand in one record."""
    records = [
        record(RecordKind.PROMPT, "Go", line=0),
        record(RecordKind.REPLY, use("c", "shell", {"command": "make"}), line=1),
        record(RecordKind.PROMPT, result("c", "built"), "Never push that.", line=2),
    ]
    state = step(State(), records, PLAIN)
    assert not state.pending
    assert state.commands["make"].failed is False
    assert [rule.text for rule in state.rules] == ["Never push that."]


def test_a_call_that_was_interrupted_does_not_wait_for_ever() -> None:
    """It waits until the model speaks again after the user's next prompt; turns after it have their account."""
    story = Story().asked("Go").replied("", call("shell", {"command": "sleep 9"}, None))
    assert folded(story).pending
    story.asked("Leave it.")
    assert folded(story).pending
    story.replied("Left it as it is.")
    assert not folded(story).pending
    story.asked("Thanks, and now the docs")
    assert [each.text for each in folded(story).statements] == ["Left it as it is."]


def test_every_field_is_written() -> None:
    """A field that is added later cannot be forgotten."""
    assert {each.name for each in fields(State)} | {"schema"} == {*State().to_dict()}


def _too_long(state: State) -> dict[str, int]:
    return {
        name: len(getattr(state, name))
        for name, most in MOST.items()
        if len(getattr(state, name)) > most + most // 4 + 8
    }


def test_the_first_form_is_read() -> None:
    """Schema 1, as it was first written; a form that cannot be read any more costs a full read, and a new number."""
    golden = Path(__file__).parents[1] / "golden" / "wire" / "extraction.v1.json"
    data = json.loads(golden.read_text(encoding="utf-8"))
    state = State.from_dict(data)
    assert state.to_dict() == data
    assert [rule.text for rule in state.rules] == ["Never log ids."]
    assert state.files["/home/dev/project/a.py"].seen == (3, 7)
