"""Rewinds: what they remove from the conversation is in no section, however the agent records them."""

import json
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.claude import Claude
from leftoff.agents.codex.adapter import Codex
from leftoff.core.protocols import Agent
from leftoff.core.records import RecordKind
from leftoff.extraction import State, render, step
from leftoff.extraction.state import LIMITS, is_rewound
from tests.extraction.builders import PLAIN, record, through_json

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


def user_line(name: str, parent: str | None, at: int, words: str) -> Line:
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
    function_call = {
        "type": "function_call",
        "name": "exec_command",
        "call_id": call_id,
        "arguments": json.dumps({"cmd": command}),
    }
    back = {"type": "function_call_output", "call_id": call_id, "output": answer}
    return [{"type": "response_item", "payload": payload} for payload in (function_call, back)]


def rolled_back(turns: int) -> Line:
    return {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": turns}}


@pytest.fixture
def log_of(tmp_path: Path):
    """Return all that a log of these lines says, as one text, and its sources."""

    def text(agent: Agent, *lines: Line) -> str:
        path = tmp_path / "rollout-2026-01-06T12-00-00-01a1e0be-dee8-7b23-ae31-94e0123734a3.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return json.dumps(render(step(State(), agent.open(path).records, agent)), ensure_ascii=False)

    return text


TRUNK = [user_line("t", None, 0, "Never break the trunk."), reply("ta", "t", 1, "The trunk stands.")]
TAKEN = [
    user_line("l", "ta", 2, "Always go gauche, in GAUCHE_TURN and at https://gauche.example"),
    *work("la", "lx", 3, "go gauche", "gauche 7 passed"),
    reply("lb", "lar", 4, "I decided to go gauche because gauche is shorter than anything."),
]


def test_a_prompt_after_the_same_record_replaces_the_other_branch(tmp_path, log_of) -> None:
    """The text, work, rules and names of the abandoned branch are nowhere in the log."""
    log = log_of(
        Claude(home=tmp_path),
        *TRUNK,
        *TAKEN,
        user_line("r", "ta", 5, "Keep right from now on."),
        reply("ra", "r", 6, "Right."),
    )
    assert "gauche" not in log.lower()
    assert "Never break the trunk." in log
    assert "Keep right from now on." in log


def test_without_a_rewind_the_branch_is_in_the_log(tmp_path, log_of) -> None:
    """Without this, the test above could pass because the branch is never in the log."""
    log = log_of(Claude(home=tmp_path), *TRUNK, *TAKEN, user_line("r", "lb", 5, "Keep right from now on."))
    assert "Always go gauche" in log
    assert "`go gauche`" in log
    assert "GAUCHE_TURN" in log


def test_a_prompt_after_an_earlier_record_of_the_turn_is_a_rewind(tmp_path, log_of) -> None:
    """The client attaches a note to the reply and the next prompt to the note; a rewind attaches to the reply itself."""
    note = {"type": "attachment", "uuid": "n", "parentUuid": "ta", "attachment": {"type": "date"}}
    branch = [user_line("l", "n", 2, "Always go gauche."), reply("la", "l", 3, "Gauche it is.")]
    log = log_of(
        Claude(home=tmp_path), *TRUNK, note, *branch, user_line("r", "ta", 5, "Keep right from now on.")
    )
    assert "gauche" not in log.lower()


def test_a_named_leaf_removes_what_is_not_below_it(tmp_path, log_of) -> None:
    """Some rewinds only name the record that the conversation continues from."""
    right = [user_line("r", "ta", 5, "Keep right from now on."), reply("ra", "r", 6, "Right.")]
    log = log_of(Claude(home=tmp_path), *TRUNK, *TAKEN, *right, leaf("lb"))
    assert "Keep right" not in log
    assert "Always go gauche" in log


def test_a_leaf_on_the_current_branch_removes_nothing(tmp_path, log_of) -> None:
    """The client continues with what was written below the named record; an unknown id has no effect."""
    for named in ("ta", "lb", "nobody"):
        assert "Always go gauche" in log_of(Claude(home=tmp_path), *TRUNK, *TAKEN, leaf(named))


def test_an_abandoned_turn_can_be_continued_again(tmp_path, log_of) -> None:
    """The first branch is in the log again, the second is not."""
    right = [user_line("r", "ta", 5, "Keep right from now on."), reply("ra", "r", 6, "Right.")]
    log = log_of(
        Claude(home=tmp_path),
        *TRUNK,
        *TAKEN,
        *right,
        user_line("m", "lb", 7, "More of it, please, with care."),
    )
    assert "Keep right" not in log
    assert "Always go gauche" in log
    assert "More of it" in log


@pytest.mark.parametrize("name", ["rewind-newest", "rewind-older", "compaction", "interrupted", "too-long"])
def test_the_active_prompts_are_those_that_the_client_sends(name: str) -> None:
    """In real transcripts, the active prompts since the last compaction are those of the live chain."""
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
    assert [is_rewound(state, prompt.ref) for prompt in prompts] == [
        prompt.ref.start not in sent for prompt in prompts
    ]


CODEX_TURNS = [
    item("user", "Never break the trunk."),
    item("assistant", "The trunk stands."),
    item("user", "Always go gauche, in GAUCHE_TURN."),
    *shell("1", "go gauche", "gauche 7 passed"),
    item("assistant", "I decided to go gauche because gauche is shorter than anything."),
]


def test_rolled_back_turns_are_removed(tmp_path, log_of) -> None:
    """Codex says how many turns a rollback removes."""
    log = log_of(Codex(tmp_path), *CODEX_TURNS, rolled_back(1), item("user", "Keep right from now on."))
    assert "gauche" not in log.lower()
    assert "Never break the trunk." in log
    assert "Keep right from now on." in log


def test_a_second_rollback_counts_active_turns_only(tmp_path, log_of) -> None:
    """A turn that was removed is not removed again; a number that is too large removes all."""
    right = item("user", "Keep right from now on.")
    log = log_of(Codex(tmp_path), *CODEX_TURNS, rolled_back(1), right, rolled_back(2))
    assert "trunk" not in log
    assert "right" not in log
    assert "trunk" not in log_of(Codex(tmp_path), *CODEX_TURNS, rolled_back(9), rolled_back(9))


def test_a_rollback_of_no_turns_removes_nothing(tmp_path, log_of) -> None:
    """A rollback of zero turns, or with no turn before it, removes nothing."""
    assert "Always go gauche" in log_of(Codex(tmp_path), *CODEX_TURNS, rolled_back(0))
    assert "Never break" in log_of(Codex(tmp_path), rolled_back(3), *CODEX_TURNS)


def test_an_unanswered_call_of_a_removed_turn_is_not_a_next_step(tmp_path, log_of) -> None:
    """An unanswered call is a next step only while its turn is active."""
    waiting = [item("user", "Wait for it."), shell("2", "sleep 100", "")[0]]
    assert "Call without an answer: exec_command `sleep 100`" in log_of(
        Codex(tmp_path), *CODEX_TURNS, *waiting
    )
    assert "sleep 100" not in log_of(Codex(tmp_path), *CODEX_TURNS, *waiting, rolled_back(1))


def test_a_rule_holds_again_when_the_prompt_that_replaced_it_is_removed(tmp_path, log_of) -> None:
    """The removed text that superseded it is nowhere in the log."""
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
    """A fork continues its parent's file: the end of that file and the beginning of its own are removed."""
    records = [
        record(RecordKind.PROMPT, "Keep this", line=0, id="a", transcript="parent.jsonl"),
        record(RecordKind.PROMPT, "Drop this", line=4, id="b", parent_id="a", transcript="parent.jsonl"),
        record(RecordKind.REPLY, "Dropped soon", line=1, id="c", parent_id="b", transcript="own.jsonl"),
        record(RecordKind.PROMPT, "Write the docs", line=2, id="d", parent_id="a", transcript="own.jsonl"),
    ]
    state = step(State(), records, PLAIN)
    assert [is_rewound(state, prompt.ref) for prompt in state.prompts] == [False, True, False]
    assert state.rewinds == [("parent.jsonl", 4, 10**12), ("own.jsonl", 0, 2)]
    sources = render(state)["sources"]
    assert {source["transcript"] for source in sources} == {"parent.jsonl", "own.jsonl"}


def test_a_dropped_prompt_does_not_break_the_branch() -> None:
    """When the list of prompts was shortened, earlier and later prompts stay on the same branch."""
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
    assert len(state.prompts) <= LIMITS["prompts"] * 5 / 4
    assert [prompt.text for prompt in state.prompts if is_rewound(state, prompt.ref)] == [
        "Step 398 of many",
        "Step 399 of many",
    ]


def test_a_turn_keeps_the_ids_of_its_last_records_only() -> None:
    """An id that is no longer kept counts as part of the current turn."""
    records = [record(RecordKind.PROMPT, "First of all", line=0, id="p")]
    records += [record(RecordKind.REPLY, "On.", line=number, id=f"r{number}") for number in range(1, 100)]
    records += [record(RecordKind.PROMPT, "Second", line=100, id="q", parent_id="r99")]
    state = step(State(), records, PLAIN)
    assert len(state.prompts[0].tail) == 12
    state = step(state, [record(RecordKind.PROMPT, "Third", line=101, id="z", parent_id="r3")], PLAIN)
    assert not state.rewinds
    assert [prompt.previous_turn for prompt in state.prompts] == [0, 1, 2]


def test_a_leaf_before_the_first_prompt_removes_nothing(tmp_path, log_of) -> None:
    """The client may name a leaf before the first prompt."""
    note = {"type": "attachment", "uuid": "n", "parentUuid": None, "attachment": {"type": "date"}}
    assert "Never break the trunk." in log_of(Claude(home=tmp_path), note, leaf("n"), *TRUNK)
