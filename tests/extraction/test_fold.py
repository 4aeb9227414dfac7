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
from leftoff.extraction import Reader, State, is_finished, render, step
from leftoff.testing.builders import Story, call
from leftoff.testing.plain_agent import PlainAgent, session_in_memory
from tests.extraction.builders import PLAIN, folded, record, result, through_json, use
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
    assert state.last_reply is None


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
    assert (state.turns, state.rules, state.passages) == (0, [], [])


def test_an_answer_that_stands_before_its_call_answers_it() -> None:
    """Some clients write them in this order; the call must not seem to be under way."""
    records = [
        record(RecordKind.PROMPT, "Go", line=0),
        record(RecordKind.RESULT, result("c", "built"), line=1),
        record(RecordKind.REPLY, use("c", "shell", {"command": "make"}), line=2),
        record(RecordKind.REPLY, use("d", "shell", {"command": "make test"}), line=3),
    ]
    for cut in range(5):
        state = step(through_json(step(State(), records[:cut], PLAIN)), records[cut:], PLAIN)
        assert [*state.pending] == ["/d"]


class Queueing(PlainAgent):
    """A client that writes down what the user types while it works."""

    def queued(self, record: Record) -> str | None:
        return record.text if record.type == "queue" else None


def queue(text: str, line: int) -> Record:
    return record(RecordKind.SIDE, text, line=line)._replace(type="queue")


def test_a_prompt_that_waits_is_the_first_thing_to_do() -> None:
    """Until it is sent, or the user takes it back."""
    agent = Queueing(home=Path("/nowhere"))
    records = [record(RecordKind.PROMPT, "Write it", line=0), record(RecordKind.REPLY, "Done.", line=1)]
    waiting = step(State(), [*records, queue("And render markdown, please", 2)], agent)
    assert render(waiting)["next_steps"][0] == "Newest request, not begun: “And render markdown, please”"
    assert not is_finished(waiting)
    for gone in (queue("", 3), record(RecordKind.PROMPT, "And render markdown, please", line=3)):
        log = render(step(through_json(waiting), [gone], agent))
        assert not any(step.startswith("Newest request") for step in log["next_steps"])


def test_what_was_typed_before_a_reply_answers_no_question_in_it() -> None:
    """A prompt that waited in the queue while the agent wrote its question is a request of its own."""
    asked = record(RecordKind.PROMPT, "Write it", line=0)
    reply = record(RecordKind.REPLY, "Done. Shall I push it?", line=2)
    typed = record(RecordKind.PROMPT, "yes", line=3)
    waited = step(State(), [asked, queue("yes", 1), reply, typed], Queueing(home=Path("/nowhere")))
    assert waited.rules == []
    answered = step(State(), [asked, reply, typed], Queueing(home=Path("/nowhere")))
    assert [rule.about for rule in answered.rules] == ["Shall I push it?"]


INSTRUCTIONS = "Review the diff for races and say which lock guards which field. " * 4


def test_a_summary_is_kept_only_of_what_is_not_in_the_transcript() -> None:
    """What it sums up of this transcript is there word for word, and later."""

    def compacted(line: int, summary: str) -> Record:
        details = Compaction(trigger="auto", before_tokens=None, after_tokens=None, summary=summary)
        return record(RecordKind.COMPACTION, summary, line=line)._replace(compaction=details)

    reply = record(RecordKind.REPLY, "On it.", line=1)
    state = step(State(), [compacted(0, "The first."), reply, compacted(2, "The second.")], PLAIN)
    assert [each.text for each in state.passages if each.kind == "summary"] == ["The first."]


def test_the_last_text_of_a_turn_is_its_outcome() -> None:
    """What was said on the way is not, nor a text before calls that were never answered."""
    story = Story().asked("Do it").replied("First I look.").replied("It writes CSV.").asked("Thanks")
    assert [(each.kind, each.text) for each in folded(story).passages] == [
        ("reply", "First I look."),
        ("outcome", "It writes CSV."),
    ]
    torn = Story().asked("Do it").replied("Looking.", call("shell", {"command": "ls"}, None)).asked("Stop")
    assert [each.kind for each in folded(torn).passages] == ["reply"]
