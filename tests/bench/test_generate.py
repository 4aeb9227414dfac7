"""Generated sessions: any size, reproducible, and similar to real ones."""

from __future__ import annotations

import re
import tracemalloc
from collections import Counter
from collections.abc import Iterable
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.generate import Mix, carried_bytes, generate, plan_facts, text_bytes
from leftoff.errors import InvalidValueError
from leftoff.testing.script import TOOLS, Asked, Call, Compacted, DelegatedTask, Event, Replied

NOTHING = Mix(
    compactions=False, subagents=0, images=0, parallel=0, cjk=0, errors=0, interrupted=0, thinking=0
)


def events_of(size_bytes: int, options: Mix | None = None, seed: int = 7) -> Iterable[Event]:
    return generate(seed=seed, size_bytes=size_bytes, options=options or Mix()).events


def replies_of(events: Iterable[Event]) -> list[Replied]:
    return [event for event in events if isinstance(event, Replied)]


def calls_of(events: Iterable[Event]) -> list[Call]:
    return [call for reply in replies_of(events) for call in reply.calls]


def texts_of(events: Iterable[Event]) -> str:
    found: list[str] = []
    for event in events:
        if isinstance(event, Asked):
            found.append(event.text)
        elif isinstance(event, Replied):
            found += (event.text, event.thinking, *(call.answer or "" for call in event.calls))
        elif isinstance(event, Compacted):
            found.append(event.summary)
    return "\n".join(found)


def test_the_same_seed_gives_the_same_session():
    """Events are equal when they are read again, and when the session is generated again."""
    script = generate(seed=11, size_bytes=300_000)
    once = list(script.events)
    assert once == list(script.events)
    assert once == list(generate(seed=11, size_bytes=300_000).events)
    assert script == generate(seed=11, size_bytes=300_000)


def test_another_seed_gives_another_session():
    """Ids and events differ."""
    one, other = generate(seed=1, size_bytes=50_000), generate(seed=2, size_bytes=50_000)
    assert one.session_id != other.session_id
    assert list(one.events) != list(other.events)


@pytest.mark.parametrize("size_bytes", [10_000, 1_000_000, pytest.param(20_000_000, marks=pytest.mark.slow)])
def test_the_size_is_as_requested(size_bytes: int):
    """Only the last event and the closing words may exceed the requested size."""
    carried = sum(map(carried_bytes, events_of(size_bytes)))
    assert size_bytes <= carried <= size_bytes * 1.1 + 8_000


@given(seed=st.integers(0, 10**6), size_bytes=st.integers(1, 20_000))
def test_a_small_session_is_complete(seed: int, size_bytes: int):
    """It begins with a prompt and ends with text or an interruption."""
    events = list(events_of(size_bytes, seed=seed))
    assert isinstance(events[0], Asked)
    last = events[-1]
    assert isinstance(last, Replied)
    assert not last.calls or last.calls[-1].answer is None


@pytest.mark.slow
def test_memory_does_not_grow_with_the_session():
    """A session of fifteen megabytes needs less than five megabytes of memory."""
    events = events_of(15_000_000)
    tracemalloc.start()
    try:
        carried = sum(map(carried_bytes, events))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert carried > 15_000_000
    assert peak < 5_000_000


def test_a_gigabyte_begins_at_once():
    """The first events of a huge session do not wait for the rest."""
    assert len(list(islice(events_of(10**9), 50))) == 50


def test_timestamps_increase():
    """Every event is later than the one before; a subagent's steps lie between its delegation and what follows."""
    times = []
    for event in events_of(2_000_000):
        times.append(event.at)
        if isinstance(event, DelegatedTask):
            times += [step.at for step in event.steps]
    assert all(earlier < later for earlier, later in pairwise(times))


@pytest.mark.parametrize("options", [Mix(), Mix(compactions=False)])
def test_usage_grows_until_a_compaction_and_fits_the_window(options: Mix):
    """Usage falls only at a compaction and never exceeds the window."""
    script = generate(seed=3, size_bytes=8_000_000, options=options)
    seen = 0
    for event in script.events:
        if isinstance(event, Compacted):
            assert 167_000 < event.before_tokens <= script.window_tokens
            assert 28_000 < event.after_tokens < 33_000
            seen = event.after_tokens
        elif not isinstance(event, Asked):
            assert seen <= event.usage.occupancy_tokens <= script.window_tokens
            seen = event.usage.occupancy_tokens


def test_usage_fits_the_text():
    """About 0.374 tokens a character on top of 38,000, as measured in real sessions."""
    events = list(events_of(200_000, NOTHING))
    chars = sum(map(text_bytes, events))
    used = replies_of(events)[-1].usage.occupancy_tokens
    assert used == pytest.approx(38_000 + 0.374 * chars, rel=0.05)


def test_answers_are_as_large_as_in_real_sessions():
    """The median and the 90th and 99th percentiles are those of real tool answers."""
    sizes = sorted(len(call.answer or "") for call in calls_of(events_of(20_000_000)))
    p50, p90, p99 = (sizes[int(share * len(sizes))] for share in (0.5, 0.9, 0.99))
    assert 230 < p50 < 520
    assert 3_400 < p90 < 7_700
    assert 15_000 < p99 < 60_000


def test_work_looks_like_work():
    """Shares of tools, failures and ranged reads; files are read again and edited, commands run again."""
    calls = calls_of(events_of(20_000_000))
    tally = Counter(call.tool for call in calls)
    assert set(tally) == set(TOOLS)
    assert 0.25 < tally["shell"] / len(calls) < 0.38
    assert 0.18 < tally["read"] / len(calls) < 0.32
    assert 0.15 < tally["edit"] / len(calls) < 0.25
    assert 0.035 < sum(call.failed for call in calls) / len(calls) < 0.065
    reads = [call for call in calls if call.tool == "read"]
    assert 0.55 < sum("limit" in call.input for call in reads) / len(reads) < 0.75
    assert len({str(call.input["path"]) for call in reads}) < len(reads) / 5
    commands = Counter(str(call.input["command"]) for call in calls if call.tool == "shell")
    assert commands["uv run pytest -q"] > 20


def test_an_edit_replaces_what_was_shown_before():
    """The replaced text is in an earlier answer, or was written by the model."""
    shown: dict[str, str] = {}
    supported = edits = 0
    for call in calls_of(events_of(2_000_000, NOTHING)):
        path = str(call.input.get("path"))
        if call.tool == "edit":
            edits += 1
            supported += str(call.input["old"]) in shown.get(path, "")
            shown[path] = shown.get(path, "") + "\n" + str(call.input["new"])
        elif call.tool in {"read", "write"}:
            shown[path] = f"{shown.get(path, '')}\n{call.answer}\n{call.input.get('content', '')}"
    assert edits > 30
    assert supported / edits > 0.8  # the rest joins lines of two answers


def test_names_recur():
    """The same paths, functions and errors occur again and again."""
    text = texts_of(events_of(2_000_000))
    paths = Counter(re.findall(r"src/[\w/]+\.py", text))
    assert paths.most_common(10)[-1][1] > 10


def test_a_failed_command_is_tried_again():
    """Most test runs that failed are followed by the same command, answered well."""
    calls = [call for call in calls_of(events_of(8_000_000)) if call.tool == "shell"]
    failed = [at for at, call in enumerate(calls) if call.failed]
    mended = [
        at
        for at in failed
        if any(c.input == calls[at].input and not c.failed for c in calls[at + 1 : at + 30])
    ]
    assert len(failed) > 10
    assert len(mended) > len(failed) / 2


def test_compactions_can_be_switched_off():
    """With them a long session has several, without them none."""
    kinds = Counter(type(event) for event in events_of(5_000_000))
    assert kinds[Compacted] >= 2
    assert Compacted not in Counter(type(event) for event in events_of(5_000_000, Mix(compactions=False)))


def test_subagents_can_be_switched_on_and_off():
    """A rate of 1 delegates before every reply, and subagents only read and search."""
    always = [event for event in events_of(800_000, Mix(subagents=1)) if isinstance(event, DelegatedTask)]
    assert len(always) > 5
    assert {call.tool for event in always for step in event.steps for call in step.calls} == {
        "read",
        "search",
    }
    assert not any(isinstance(event, DelegatedTask) for event in events_of(1_000_000, Mix(subagents=0)))


def test_images_can_be_switched_on_and_off():
    """Images are PNGs in the results of reads."""
    pictures = [call.image for call in calls_of(events_of(300_000, Mix(images=1))) if call.image]
    assert pictures
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)
    assert not any(call.image for call in calls_of(events_of(1_000_000, Mix(images=0))))


def test_parallel_calls_can_be_switched_on_and_off():
    """Without parallel calls, every reply but the first makes at most one call."""
    side_by_side = [
        reply for reply in replies_of(events_of(300_000, Mix(parallel=1))) if len(reply.calls) > 1
    ]
    assert len(side_by_side) > 10
    assert all(len(reply.calls) <= 1 for reply in replies_of(events_of(300_000, Mix(parallel=0)))[1:])


def test_other_scripts_can_be_switched_on_and_off():
    """Prompts are in Japanese, Chinese and Korean; without them everything is ASCII."""
    prompts = [event.text for event in events_of(2_000_000, Mix(cjk=1)) if isinstance(event, Asked)]
    assert any("してください" in prompt for prompt in prompts)
    assert any("请" in prompt for prompt in prompts)
    assert any("주세요" in prompt for prompt in prompts)
    assert texts_of(events_of(500_000, Mix(cjk=0))).isascii()
    assert not texts_of(events_of(10_000)).isascii()  # present by default even in a small one


def test_errors_can_be_switched_on_and_off():
    """At a high rate many answers are failures, and at 0 none is."""
    assert sum(call.failed for call in calls_of(events_of(600_000, Mix(errors=0.5)))) > 10
    assert not any(call.failed for call in calls_of(events_of(1_000_000, Mix(errors=0))))


def test_interruptions_can_be_switched_on_and_off():
    """An interrupted call has no answer, is the last of its reply, and the user speaks next."""
    events = list(events_of(600_000, Mix(interrupted=0.3)))
    stopped = [
        (reply, after)
        for reply, after in pairwise(events)
        if isinstance(reply, Replied) and any(call.answer is None for call in reply.calls)
    ]
    assert len(stopped) > 5
    for reply, after in stopped:
        assert isinstance(reply, Replied)
        assert reply.calls[-1].answer is None
        assert isinstance(after, Asked)
    assert not any(call.answer is None for call in calls_of(events_of(1_000_000, Mix(interrupted=0))))


def test_thinking_can_be_switched_on_and_off():
    """A rate of 1 gives every reply a thought, and 0 gives none."""
    assert all(reply.thinking for reply in replies_of(events_of(300_000, Mix(thinking=1))))
    assert not any(reply.thinking for reply in replies_of(events_of(300_000, Mix(thinking=0))))


@pytest.mark.parametrize("rate", [-0.1, 1.5])
def test_a_rate_is_a_share(rate: float):
    """The message names the rate."""
    with pytest.raises(InvalidValueError, match=r"Mix\.errors"):
        Mix(errors=rate)


def test_a_session_takes_at_least_a_byte():
    """A size of nothing is refused."""
    with pytest.raises(InvalidValueError, match="at least one byte"):
        generate(seed=1, size_bytes=0)


def test_the_planned_facts_are_in_the_session():
    """The rules in the prompts, the reversal in the second one, the secret once in an answer."""
    plan = plan_facts(seed=7)
    events = list(events_of(600_000))
    first, second, *_ = (event.text for event in events if isinstance(event, Asked))
    assert all(rule in first for rule in (*plan.rules[:-1], plan.superseded))
    assert second == plan.reversal == plan.rules[-1]
    assert texts_of(events).count(plan.secret) == 1


def test_a_summary_forgets_rules():
    """The first rule survives a compaction, the others do not."""
    plan = plan_facts(seed=7)
    summary = next(event.summary for event in events_of(5_000_000) if isinstance(event, Compacted))
    assert plan.rules[0] in summary
    assert not any(rule in summary for rule in (*plan.rules[1:], plan.superseded))
