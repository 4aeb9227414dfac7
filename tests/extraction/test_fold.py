"""Any partition of a transcript folds to the same state, also when the state is saved and loaded in between."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.generate import Mix, generate
from leftoff.agents.registry import agent_of
from leftoff.core.records import Compaction, Record, RecordKind
from leftoff.extraction import Reader, State, step
from leftoff.testing.plain_agent import session_in_memory
from tests.extraction.builders import PLAIN, record, through_json, use
from tests.support.screenplay import bundled_script

RESTLESS = Mix(subagents=0.2, interrupted=0.1, errors=0.2, parallel=0.4, cjk=0.3)


def in_parts(records: list[Record], cuts: Iterable[int], reader: Reader) -> State:
    state, begin = State(), 0
    for cut in [*sorted(cuts), len(records)]:
        state = through_json(step(state, records[begin:cut], reader))
        begin = cut
    return state


@cache
def generated(seed: int) -> list[Record]:
    script = generate(seed=seed, size_bytes=120_000, options=RESTLESS)
    return [*session_in_memory(script).records]


@cache
def bundled() -> list[Record]:
    return [*session_in_memory(bundled_script()).records]


@given(seed=st.integers(0, 20), data=st.data())
def test_any_partition_of_a_generated_session_folds_to_the_same_state(seed: int, data: st.DataObject) -> None:
    """The session has subagents, failures, interruptions and parallel calls."""
    records = generated(seed)
    cuts = data.draw(st.lists(st.integers(0, len(records)), max_size=12))
    assert in_parts(records, cuts, PLAIN) == step(State(), records, PLAIN)


@settings(max_examples=20)
@given(data=st.data())
def test_any_partition_of_the_bundled_session_folds_to_the_same_state(data: st.DataObject) -> None:
    """The session has a compaction and rules that are superseded."""
    records = bundled()
    cuts = data.draw(st.lists(st.integers(0, len(records)), max_size=12))
    assert in_parts(records, cuts, PLAIN) == step(State(), records, PLAIN)


def test_folding_record_by_record_gives_the_same_state() -> None:
    records = generated(1)
    assert in_parts(records, range(len(records)), PLAIN) == step(State(), records, PLAIN)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "claude-2.1.4-tiny-interrupted.jsonl",
        "claude-2.0.76-glued-line-todos.jsonl",
        "claude-2.1.14-microcompact-compact.jsonl",
        "claude-1.0.98-sidechains.jsonl",
        "codex-0.142-compacted.jsonl",
        "codex-old-header-cjk.jsonl",
    ],
)
def test_any_partition_of_a_real_transcript_folds_to_the_same_state(
    name: str, real_transcripts: Path
) -> None:
    """Glued lines, CJK, sidechains and micro-compactions; reading continues where the last part ended."""
    path = real_transcripts / name
    agent = agent_of(path)
    records = [*agent.read(path)]
    whole = step(State(), records, agent)
    share = len(records)
    for cuts in ([share // 2], [1, 7, share // 3, share - 2], [*range(0, share, max(1, share // 9))]):
        assert in_parts(records, cuts, agent) == whole
    half = step(State(), records[: share // 2], agent)
    assert step(half, agent.read(path, half.after), agent) == whole


def test_replies_that_the_client_wrote_are_ignored() -> None:
    """A reply of a model in angle brackets adds no text and no call."""
    synthetic = record(RecordKind.REPLY, "The root cause is me.", use("c"))._replace(model="<synthetic>")
    state = step(State(), [synthetic], PLAIN)
    assert not state.pending
    assert state.last_words is None


def test_a_compaction_counts_once() -> None:
    """A boundary and its summary are one compaction, two boundaries are two; clearing old answers does not count."""

    def compaction(line: int, trigger: str | None, summary: str | None = None) -> Record:
        details = Compaction(trigger=trigger, before_tokens=None, after_tokens=None, summary=summary)  # type: ignore[arg-type]
        return record(RecordKind.COMPACTION, "summary", line=line)._replace(compaction=details)

    records = [
        compaction(0, "micro"),
        compaction(1, "auto"),
        compaction(2, None, "A summary."),
        record(RecordKind.COMPACTION, "no numbers", line=3),
    ]
    assert step(State(), records, PLAIN).compactions == 1
    assert step(State(), [*records, compaction(4, "manual")], PLAIN).compactions == 2


def test_an_answer_without_its_call_is_ignored() -> None:
    """The beginning of the transcript may have been cut away."""
    from tests.extraction.builders import result  # noqa: PLC0415 - only here

    assert step(State(), [record(RecordKind.RESULT, "words", result("gone"))], PLAIN).calls == 0


def test_a_prompt_without_text_is_not_a_turn() -> None:
    """A picture alone, or blanks, starts no turn."""
    assert step(State(), [record(RecordKind.PROMPT, "  \n")], PLAIN).turns == 0


def test_a_subagents_prompt_is_not_the_users() -> None:
    """The prompt of a subagent adds no rule, text or turn to the session."""
    records = [
        record(RecordKind.PROMPT, "Never do that.", actor="sub"),
        record(RecordKind.REPLY, "I decided so because of it, instead.", actor="sub", line=1),
    ]
    state = step(State(), records, PLAIN)
    assert (state.turns, state.rules, state.statements, state.last_words) == (0, [], [], None)
