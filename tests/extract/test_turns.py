"""Rewinds: what the user took back is in no section, whichever way the agent notes that it was."""

import json
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.claude import Claude
from leftoff.agents.codex.adapter import Codex
from leftoff.extract import State, render, step
from leftoff.extract.state import MOST, is_taken_back
from leftoff.model.protocols import Agent
from leftoff.model.records import RecordKind
from tests.extract.making import PLAIN, record, through_json

GOLDEN = Path(__file__).parents[1] / "golden" / "clients"
Line = dict[str, Any]


def claude_line(kind: str, name: str, parent: str | None, at: int, content: Any) -> Line:
    role = "assistant" if kind == "assistant" else "user"
    message = {"id": f"msg_{name}", "role": role, "model": "claude-opus-5-5", "content": content}
    stamp = f"2026-01-06T12:00:{at:02}.000Z"
    return {
        "type": kind,
        "uuid": name,
        "parentUuid": parent,
        "timestamp": stamp,
        "sessionId": "s",
        "message": message,
    }


def said(name: str, parent: str | None, at: int, words: str) -> Line:
    return claude_line("user", name, parent, at, words)


def reply(name: str, parent: str, at: int, words: str) -> Line:
    return claude_line("assistant", name, parent, at, [{"type": "text", "text": words}])


def work(name: str, parent: str, at: int, command: str, answer: str) -> list[Line]:
    ask = {"type": "tool_use", "id": f"c{name}", "name": "Bash", "input": {"command": command}}
    back = {"type": "tool_result", "tool_use_id": f"c{name}", "content": answer}
    return [
        claude_line("assistant", name, parent, at, [ask]),
        claude_line("user", f"{name}r", name, at, [back]),
    ]


def leaf(name: str) -> Line:
    return {"type": "last-prompt", "leafUuid": name, "sessionId": "s"}


def item(role: str, words: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    payload = {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}
    return {"timestamp": "2026-01-06T12:00:00Z", "type": "response_item", "payload": payload}


def shell(call_id: str, command: str, answer: str) -> list[Line]:
    asked = {
        "type": "function_call",
        "name": "exec_command",
        "call_id": call_id,
        "arguments": json.dumps({"cmd": command}),
    }
    back = {"type": "function_call_output", "call_id": call_id, "output": answer}
    return [{"type": "response_item", "payload": payload} for payload in (asked, back)]


def rolled_back(turns: int) -> Line:
    return {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": turns}}


@pytest.fixture
def log_of(tmp_path: Path):
    """All that a log of these lines tells, as one text, and its sources."""

    def text(agent: Agent, *lines: Line) -> str:
        path = tmp_path / "rollout-2026-01-06T12-00-00-01a1e0be-dee8-7b23-ae31-94e0123734a3.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return json.dumps(render(step(State(), agent.open(path).records, agent)), ensure_ascii=False)

    return text


TRUNK = [said("t", None, 0, "Never break the trunk."), reply("ta", "t", 1, "The trunk stands.")]
TAKEN = [
    said("l", "ta", 2, "Always go gauche, in GAUCHE_TURN and at https://gauche.example"),
    *work("la", "lx", 3, "go gauche", "gauche 7 passed"),
    reply("lb", "lar", 4, "I decided to go gauche because gauche is shorter than anything."),
]


def test_a_prompt_behind_the_same_record_takes_the_other_ones_place(tmp_path, log_of) -> None:
    """The words, the work, the rule and the names of the branch that was left are nowhere."""
    log = log_of(
        Claude(home=tmp_path),
        *TRUNK,
        *TAKEN,
        said("r", "ta", 5, "Keep right from now on."),
        reply("ra", "r", 6, "Right."),
    )
    assert "gauche" not in log.lower()
    assert "Never break the trunk." in log
    assert "Keep right from now on." in log


def test_without_a_rewind_the_branch_is_told(tmp_path, log_of) -> None:
    """The test above would notice nothing if the branch were never told."""
    log = log_of(Claude(home=tmp_path), *TRUNK, *TAKEN, said("r", "lb", 5, "Keep right from now on."))
    assert "Always go gauche" in log
    assert "`go gauche`" in log
    assert "GAUCHE_TURN" in log


def test_a_prompt_behind_an_earlier_record_of_the_turn_went_back_too(tmp_path, log_of) -> None:
    """The client hangs a note on the reply and the next prompt on the note; a rewind goes to the reply itself."""
    note = {"type": "attachment", "uuid": "n", "parentUuid": "ta", "attachment": {"type": "date"}}
    branch = [said("l", "n", 2, "Always go gauche."), reply("la", "l", 3, "Gauche it is.")]
    log = log_of(Claude(home=tmp_path), *TRUNK, note, *branch, said("r", "ta", 5, "Keep right from now on."))
    assert "gauche" not in log.lower()


def test_the_named_leaf_takes_back_what_is_not_below_it(tmp_path, log_of) -> None:
    """A rewind that only names where it goes on."""
    right = [said("r", "ta", 5, "Keep right from now on."), reply("ra", "r", 6, "Right.")]
    log = log_of(Claude(home=tmp_path), *TRUNK, *TAKEN, *right, leaf("lb"))
    assert "Keep right" not in log
    assert "Always go gauche" in log


def test_a_leaf_on_the_way_takes_nothing_back(tmp_path, log_of) -> None:
    """What was written below the named record is what the client goes on with; an unknown name says nothing."""
    for named in ("ta", "lb", "nobody"):
        assert "Always go gauche" in log_of(Claude(home=tmp_path), *TRUNK, *TAKEN, leaf(named))


def test_a_turn_that_was_left_can_be_gone_on_from_again(tmp_path, log_of) -> None:
    """The first branch is alive once more, the second is gone."""
    right = [said("r", "ta", 5, "Keep right from now on."), reply("ra", "r", 6, "Right.")]
    log = log_of(
        Claude(home=tmp_path), *TRUNK, *TAKEN, *right, said("m", "lb", 7, "More of it, please, with care.")
    )
    assert "Keep right" not in log
    assert "Always go gauche" in log
    assert "More of it" in log


@pytest.mark.parametrize("name", ["rewind-newest", "rewind-older", "compaction", "interrupted", "too-long"])
def test_the_living_prompts_are_those_that_the_client_sends(name: str) -> None:
    """In transcripts of the real client: what is alive since the last compaction is what the live chain has."""
    path = GOLDEN / f"claude-2.1.325-{name}.jsonl"
    agent = Claude(home=path.parent)
    session = agent.open(path)
    state = step(State(), session.records, agent)
    sent = {place.start for place in agent.live_chain(session).places}
    compacted = max(
        (each.place.line_idx for each in session.records if each.kind is RecordKind.COMPACTION), default=-1
    )
    prompts = [prompt for prompt in state.prompts if prompt.ref.line_idx > compacted]
    assert prompts
    assert [is_taken_back(state, prompt.ref) for prompt in prompts] == [
        prompt.ref.start not in sent for prompt in prompts
    ]


CODEX_TURNS = [
    item("user", "Never break the trunk."),
    item("assistant", "The trunk stands."),
    item("user", "Always go gauche, in GAUCHE_TURN."),
    *shell("1", "go gauche", "gauche 7 passed"),
    item("assistant", "I decided to go gauche because gauche is shorter than anything."),
]


def test_turns_that_were_rolled_back_are_gone(tmp_path, log_of) -> None:
    """Codex counts the turns that it takes back."""
    log = log_of(Codex(tmp_path), *CODEX_TURNS, rolled_back(1), item("user", "Keep right from now on."))
    assert "gauche" not in log.lower()
    assert "Never break the trunk." in log
    assert "Keep right from now on." in log


def test_a_second_rollback_counts_the_living_turns(tmp_path, log_of) -> None:
    """One that was taken back already is not taken back again; more than there are takes all."""
    right = item("user", "Keep right from now on.")
    log = log_of(Codex(tmp_path), *CODEX_TURNS, rolled_back(1), right, rolled_back(2))
    assert "trunk" not in log
    assert "right" not in log
    assert "trunk" not in log_of(Codex(tmp_path), *CODEX_TURNS, rolled_back(9), rolled_back(9))


def test_a_rollback_of_nothing_takes_nothing(tmp_path, log_of) -> None:
    """Zero turns, or none to take."""
    assert "Always go gauche" in log_of(Codex(tmp_path), *CODEX_TURNS, rolled_back(0))
    assert "Never break" in log_of(Codex(tmp_path), rolled_back(3), *CODEX_TURNS)


def test_a_call_of_a_turn_that_was_taken_back_is_not_under_way(tmp_path, log_of) -> None:
    """An unanswered call is a next step only where its turn lives."""
    waiting = [item("user", "Wait for it."), shell("2", "sleep 100", "")[0]]
    assert "has no answer" in log_of(Codex(tmp_path), *CODEX_TURNS, *waiting)
    assert "has no answer" not in log_of(Codex(tmp_path), *CODEX_TURNS, *waiting, rolled_back(1))


def test_a_rule_that_was_superseded_by_words_taken_back_holds_again(tmp_path, log_of) -> None:
    """And the words that superseded it are told nowhere."""
    turns = [
        item("user", "Always use retry_queue for mails."),
        item("assistant", "Yes."),
        item("user", "Never use retry_queue for mails."),
    ]
    assert "superseded" in log_of(Codex(tmp_path), *turns)
    log = log_of(Codex(tmp_path), *turns, rolled_back(1))
    assert "superseded" not in log
    assert "Never use" not in log
    assert "Always use retry_queue for mails." in log


def test_a_turn_may_begin_in_another_file() -> None:
    """A fork goes on from its parent's file: taken back are the rest of that one and the beginning of its own."""
    records = [
        record(RecordKind.PROMPT, "Keep this", line=0, id="a", transcript="parent.jsonl"),
        record(RecordKind.PROMPT, "Drop this", line=4, id="b", parent_id="a", transcript="parent.jsonl"),
        record(RecordKind.REPLY, "Dropped soon", line=1, id="c", parent_id="b", transcript="own.jsonl"),
        record(RecordKind.PROMPT, "Write the docs", line=2, id="d", parent_id="a", transcript="own.jsonl"),
    ]
    state = step(State(), records, PLAIN)
    assert [is_taken_back(state, prompt.ref) for prompt in state.prompts] == [False, True, False]
    assert state.rewinds == [("parent.jsonl", 4, 10**12), ("own.jsonl", 0, 2)]
    sources = render(state)["sources"]
    assert {source["transcript"] for source in sources} == {"parent.jsonl", "own.jsonl"}


def test_a_forgotten_turn_does_not_cut_the_way_back() -> None:
    """Of very many prompts some are forgotten; those before and behind them stay on the same way."""
    records = [
        record(
            RecordKind.PROMPT,
            f"Step {number} of many",
            line=number,
            id=f"p{number}",
            parent_id=f"p{number - 1}",
        )
        for number in range(400)
    ]
    state = step(State(), records, PLAIN)
    gone_back = record(RecordKind.PROMPT, "Back again", line=400, id="x", parent_id="p397")
    state = step(through_json(state), [gone_back], PLAIN)
    assert len(state.prompts) <= MOST["prompts"] * 5 / 4
    assert [prompt.text for prompt in state.prompts if is_taken_back(state, prompt.ref)] == [
        "Step 398 of many",
        "Step 399 of many",
    ]


def test_a_long_turn_remembers_its_last_records_alone() -> None:
    """The ids of a turn do not grow with it; one that is forgotten counts as the turn under way."""
    records = [record(RecordKind.PROMPT, "First of all", line=0, id="p")]
    records += [record(RecordKind.REPLY, "On.", line=number, id=f"r{number}") for number in range(1, 100)]
    records += [record(RecordKind.PROMPT, "Second", line=100, id="q", parent_id="r99")]
    state = step(State(), records, PLAIN)
    assert len(state.prompts[0].tail) == 12
    state = step(state, [record(RecordKind.PROMPT, "Third", line=101, id="z", parent_id="r3")], PLAIN)
    assert not state.rewinds
    assert [prompt.after for prompt in state.prompts] == [0, 1, 2]


def test_a_leaf_before_the_first_prompt_takes_nothing_back(tmp_path, log_of) -> None:
    """The client names where it stands before anybody has asked anything."""
    note = {"type": "attachment", "uuid": "n", "parentUuid": None, "attachment": {"type": "date"}}
    assert "Never break the trunk." in log_of(Claude(home=tmp_path), note, leaf("n"), *TRUNK)
