"""The state is bounded, survives JSON, and is never changed in place by ``step``."""

import copy
import json
from dataclasses import fields
from pathlib import Path

import pytest

from bench.generate import Mix, generate
from leftoff.core.actions import Answer, Looked
from leftoff.core.records import RecordKind
from leftoff.errors import DocumentError
from leftoff.extraction import State, step
from leftoff.extraction.state import LIMITS, Prompt, enforce_limits, is_rewound, truncate
from leftoff.testing.builders import Story, call
from leftoff.testing.plain_agent import session_in_memory
from tests.extraction.builders import PLAIN, a_ref, add_call, folded, record, result, through_json, use
from tests.support.screenplay import bundled_script

GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "extraction.v3.json"
BOUND_BYTES = 3_000_000


@pytest.fixture(scope="module")
def full() -> State:
    """Return a state with an entry in every list, and the files of a whole session."""
    state = step(State(), session_in_memory(bundled_script()).records, PLAIN)
    example = State.from_dict(json.loads(GOLDEN.read_text(encoding="utf-8")))
    for name in LIMITS:
        held, more = getattr(state, name), getattr(example, name)
        held.update(more) if isinstance(held, dict) else held.extend(more)
    return state


def test_a_state_survives_json(full: State) -> None:
    """Every list has an entry, so every reader is used."""
    assert all(getattr(full, name) for name in LIMITS)
    assert through_json(full) == full
    assert through_json(State()) == State()


def test_the_json_form_is_stable(full: State) -> None:
    """Writing a state that was read gives the same bytes."""
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
        {"schema": 2, "prompts": None},
    ],
)
def test_an_invalid_document_is_a_document_error(broken) -> None:
    """The error names the file."""
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
        ("queued_ref", [1]),
        ("commands", [[[1, 2, 3, 4, "", ""], 5]]),
        ("unheard_of", 1),
    ],
)
def test_a_state_with_one_wrong_field_is_a_document_error(full: State, name: str, value) -> None:
    """Any value of the wrong type is rejected."""
    data = json.loads(json.dumps(full.to_dict()))
    with pytest.raises(DocumentError):
        State.from_dict(data | {name: value})


def test_step_does_not_change_its_argument(full: State) -> None:
    """``step`` works on a copy, lists and dictionaries included."""
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
def test_the_state_stays_bounded(records: int) -> None:
    """No list exceeds its limit by more than a quarter, nor the JSON its bound, however much is read."""
    state, read, seed = State(), 0, 0
    while read < records:
        seed += 1
        script = generate(seed=seed, size_bytes=2_000_000, options=Mix(images=0))
        part = [*session_in_memory(script).records]
        read += len(part)
        state = step(state, part, PLAIN)
        assert not _too_long(state)
    assert len(json.dumps(state.to_dict())) < BOUND_BYTES


def test_limits_are_enforced_at_side_records_too() -> None:
    """Limits are enforced by line, whatever kind of record it holds."""
    records = []
    for number in range(4_000):
        kind = RecordKind.SIDE if number % 2 == 0 else RecordKind.PROMPT
        records.append(record(kind, f"Do part {number}", line=number))
    assert not _too_long(step(State(), records, PLAIN))


def test_the_input_of_a_huge_pending_call_is_clipped() -> None:
    """Long texts, long lists and deep nesting are cut; the result can be saved and loaded."""
    deep: dict = {"command": "x"}
    for _ in range(900):
        deep = {"inner": deep}
    tool_input = {"text": "x" * 500_000, "many": [*range(200_000)], "deep": deep, "n": 1.5}
    raw = json.dumps({"text": "x", "deep": "{" * 2_000}).encode()
    state = step(State(), [record(RecordKind.REPLY, use("c", "odd", tool_input), raw=raw * 100)], PLAIN)
    (waiting,) = state.pending.values()
    assert len(json.dumps(state.to_dict())) < 60_000
    assert isinstance(waiting.input, dict)
    assert waiting.input["n"] == 1.5
    assert through_json(state) == state


def test_the_input_of_a_short_pending_call_is_kept() -> None:
    """Nothing is cut from an input of usual size."""
    tool_input = {"command": "ls", "nested": {"a": [1, 2, {"b": None}]}}
    state = step(State(), [record(RecordKind.REPLY, use("c", "odd", tool_input))], PLAIN)
    assert state.pending["/c"].input == tool_input


def test_the_first_prompts_stay() -> None:
    """The first prompts state the goal; of the others, the oldest are dropped."""
    state = State()
    state.prompts = [Prompt(a_ref(number), f"p{number}", number, number - 1, 0) for number in range(1, 152)]
    enforce_limits(state)
    texts = [prompt.text for prompt in state.prompts]
    assert texts[:3] == ["p1", "p2", "p3"]
    assert texts[3] == "p35"
    assert texts[-1] == "p151"
    assert len(texts) == LIMITS["prompts"]


def test_files_are_dropped_by_last_use() -> None:
    """A file that is seen again moves to the end."""
    state = State()
    add_call(state, Looked("first.py"), answer=Answer("x"))
    for number in range(LIMITS["files"] - 1):
        add_call(state, Looked(f"f{number}.py"), answer=Answer("x"))
    add_call(state, Looked("first.py"), answer=Answer("x"))
    for number in range(LIMITS["files"]):
        add_call(state, Looked(f"g{number}.py"), answer=Answer("x"))
    enforce_limits(state)
    assert len(state.files) == LIMITS["files"]
    assert "f0.py" not in state.files


def test_rewound_ranges_are_by_file_and_line() -> None:
    """The first line of a range is included, the last is not, and lines of other files are not meant."""
    state = State(rewinds=[("t.jsonl", 3, 5)])
    assert [is_rewound(state, a_ref(line)) for line in (2, 3, 4, 5)] == [False, True, True, False]
    assert not is_rewound(state, a_ref(3)._replace(transcript="other.jsonl"))


def test_an_unfinished_line_is_not_folded() -> None:
    """Reading continues before it, so that it is read once it is complete."""
    whole = record(RecordKind.PROMPT, "Do this", line=0)
    torn = record(RecordKind.BROKEN, line=1, raw=b'{"torn')
    state = step(State(), [whole, torn], PLAIN)
    assert state.after == whole.place
    assert step(State(), [torn], PLAIN) == State()
    broken = record(RecordKind.BROKEN, line=1, raw=b"garbage\n")
    assert step(State(), [whole, broken], PLAIN).after == broken.place


def test_an_answer_in_the_users_record_answers_its_call() -> None:
    """When the user typed while a tool ran, the answer and the prompt are in one record."""
    records = [
        record(RecordKind.PROMPT, "Go", line=0),
        record(RecordKind.REPLY, use("c", "shell", {"command": "make"}), line=1),
        record(RecordKind.PROMPT, result("c", "built"), "Never push that.", line=2),
    ]
    state = step(State(), records, PLAIN)
    assert not state.pending
    assert state.commands["make"].outcome == "passed"
    assert [rule.text for rule in state.rules] == ["Never push that."]


def test_an_interrupted_call_is_dropped() -> None:
    """It is dropped when the model replies after the next prompt; later turns have their summary."""
    story = Story().asked("Go").replied("", call("shell", {"command": "sleep 9"}, None))
    assert folded(story).pending
    story.asked("Leave it.")
    assert folded(story).pending
    story.replied("Left it as it is.")
    assert not folded(story).pending
    story.asked("Thanks, and now the docs")
    assert [each.text for each in folded(story).passages] == ["Left it as it is."]


def test_every_field_is_in_the_json() -> None:
    """A field that is added later cannot be forgotten."""
    assert {each.name for each in fields(State)} | {"schema"} == {*State().to_dict()}


def _too_long(state: State) -> dict[str, int]:
    return {
        name: len(getattr(state, name))
        for name, most in LIMITS.items()
        if len(getattr(state, name)) > most + most // 4 + 8
    }


def test_the_golden_form_is_read_and_written_again() -> None:
    """States that were saved must stay readable."""
    data = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert State.from_dict(data).to_dict() == data
    assert [name for name, value in data.items() if not value] == [], "the example shows every field"
    with pytest.raises(DocumentError):
        State.from_dict(data | {"schema": 2})


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("one two three", "one two"),
        ("one\ntwo-and-three", "one"),
        ("sk-abcdefghijkl", ""),
        ("日本語の文章を短くします", "日本語の文章を短く"),
        ("鍵は sk-abcdefghijkl", "鍵は"),
    ],
)
def test_a_text_is_cut_between_words_and_never_inside_a_credential(text: str, kept: str) -> None:
    assert truncate(text, 9) == kept
