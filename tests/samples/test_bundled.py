"""The bundled story holds what the demo is about."""

from __future__ import annotations

from itertools import pairwise

import pytest

from leftoff.model.script import Asked, Call, Compacted, Delegated, Event, Replied
from leftoff.samples import props, tools
from leftoff.samples.bundled import PROJECT, bundled_script
from leftoff.samples.weight import text_bytes

MIGRATIONS = "Never touch anything under migrations/"
EVENTS: tuple[Event, ...] = tuple(bundled_script().events)
CUT = next(at for at, event in enumerate(EVENTS) if isinstance(event, Compacted))
SUMMARY = EVENTS[CUT]
PROMPTS = [event.text for event in EVENTS if isinstance(event, Asked)]
REPLIES = [event for event in EVENTS if isinstance(event, Replied)]
CALLS: list[Call] = [call for reply in REPLIES for call in reply.calls]
assert isinstance(SUMMARY, Compacted)


def percents(events: tuple[Event, ...]) -> list[float]:
    """Of 167,000 tokens: where a window of 200,000 is compacted."""
    return [
        event.usage.occupancy_tokens / 1_670 for event in events if isinstance(event, Replied | Delegated)
    ]


def everything() -> str:
    found = list(PROMPTS)
    for reply in (
        *REPLIES,
        *(step for event in EVENTS if isinstance(event, Delegated) for step in event.steps),
    ):
        found += (reply.text, reply.thinking)
        for call in reply.calls:
            found += (call.answer or "", str(call.input))
    found += [event.summary for event in EVENTS if isinstance(event, Compacted)]
    found += [f"{event.task} {event.answer}" for event in EVENTS if isinstance(event, Delegated)]
    return "\n".join(found)


def test_the_story_is_the_same_every_time():
    """Two tellings are equal, and the events can be read again."""
    script = bundled_script()
    assert tuple(script.events) == EVENTS == tuple(script.events)
    assert script.window_tokens == 200_000


def test_it_has_the_length_of_a_real_session():
    """Several turns, some dozens of replies, text that fills two windows."""
    assert 60 <= len(EVENTS) <= 100
    assert len(PROMPTS) >= 6
    assert 600_000 < sum(map(text_bytes, EVENTS)) < 1_000_000


def test_it_can_happen_in_another_folder():
    """Only the folder changes: every path of a call lies below it."""
    moved = bundled_script(project="/scratch/demo")
    assert moved.project == "/scratch/demo"
    paths = [str(call.input["path"]) for call in calls_with_paths(tuple(moved.events))]
    assert all(path.startswith("/scratch/demo") for path in paths)
    assert all(str(call.input["path"]).startswith(PROJECT) for call in calls_with_paths(EVENTS))


def calls_with_paths(events: tuple[Event, ...]) -> list[Call]:
    replies = (event for event in events if isinstance(event, Replied))
    return [call for reply in replies for call in reply.calls if "path" in call.input]


def test_the_window_fills_twice():
    """From about 16,000 tokens through all four marks to a compaction, and then again, each level in its own reply."""
    before, after = percents(EVENTS[:CUT]), percents(EVENTS[CUT + 1 :])
    assert 9 < before[0] < 11
    assert 95 < before[-1] < 100
    assert SUMMARY.before_tokens > 160_000
    assert after[0] < 16
    assert 95 < after[-1] < 100
    for half in (before, after):
        assert all(earlier <= later for earlier, later in pairwise(half))
        for low, high in ((70, 85), (85, 90), (90, 95), (95, 100)):
            assert any(low <= percent < high for percent in half)


def test_time_goes_forward():
    """One working day, in order."""
    times = [event.at for event in EVENTS]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert 6 < (times[-1] - times[0]).total_seconds() / 3_600 < 10


def test_rules_are_stated_and_one_is_taken_back():
    """The first prompt has the rules; a later one replaces the 503."""
    for rule in (MIGRATIONS, "Use Redis, not process memory", "No new dependencies", "answer 503"):
        assert rule in PROMPTS[0]
    assert any("Forget the 503 rule" in prompt for prompt in PROMPTS[1:])


def test_the_summary_forgets():
    """It keeps the rule that was taken back and drops others, the way to run tests, a port and an exact sentence."""
    assert "503" in SUMMARY.summary
    for lost in ("migrations", "make test-redis", "6390", "staging", "TIME", "admin", "ただいま"):
        assert lost not in SUMMARY.summary
        assert any(lost in str(event) for event in EVENTS[:CUT])
    assert SUMMARY.automatic


def test_forgetting_costs_something():
    """After the compaction the agent breaks the forgotten rule, and the user has to say it again."""
    written = [call.input["path"] for reply in REPLIES for call in reply.calls if call.tool == "write"]
    assert f"{PROJECT}/migrations/0043_api_key_limits.py" in written
    rebuke = next(event for event in EVENTS[CUT:] if isinstance(event, Asked))
    assert "never touch migrations/" in rebuke.text
    assert "make test-redis" in rebuke.text


def test_a_user_message_is_in_japanese():
    """And it holds a sentence to be used word for word."""
    japanese = [prompt for prompt in PROMPTS if "お願いします" in prompt]
    assert len(japanese) == 1
    assert "「ただいまアクセスが集中しています。{秒} 秒後にもう一度お試しください。」" in japanese[0]


def test_a_secret_is_printed_once():
    """In a tool's answer and nowhere else; it does not stand in the files as it is printed."""
    secret = props.secret()
    assert everything().count(secret) == 1
    assert sum(secret in (call.answer or "") for call in CALLS) == 1
    assert not any(secret in props.text(name) for name in ("bundled-1", "bundled-2", "orders-api"))


def test_every_kind_of_thing_happens():
    """All tools, a picture, an interruption, parallel calls, failures, thoughts, one delegation, one compaction."""
    assert {call.tool for call in CALLS} == set(tools.TOOLS)
    assert sum(call.image is not None for call in CALLS) == 1
    assert sum(call.answer is None for call in CALLS) == 1
    assert any(len(reply.calls) > 2 for reply in REPLIES)
    assert sum(call.failed for call in CALLS) >= 5
    assert sum(bool(reply.thinking) for reply in REPLIES) >= 6
    assert [len(event.steps) for event in EVENTS if isinstance(event, Delegated)] == [3]
    assert sum(isinstance(event, Compacted) for event in EVENTS) == 1


@pytest.mark.parametrize("command", ["make test-redis ARGS=tests/ratelimit", "make test-redis && make types"])
def test_failed_commands_are_mended(command: str):
    """The same command fails first and works later."""
    outcomes = [call.failed for call in CALLS if call.input.get("command") == command]
    assert True in outcomes
    assert outcomes[-1] is False or command.endswith("types")


def test_an_attempt_is_given_up_with_a_reason():
    """The first design is dropped because of a measured number."""
    said = "\n".join(reply.text for reply in REPLIES)
    assert "I am dropping WATCH/MULTI" in said
    assert "38 %" in said


def test_work_is_committed():
    """Several commits, each with the id that git printed."""
    commits = [call for call in CALLS if "git commit" in str(call.input.get("command"))]
    assert len(commits) >= 5
    assert not any(call.failed for call in commits)


def test_an_edit_replaces_what_stands_in_the_file():
    """The story was played against its own files, so that every edit had something to replace."""
    assert sum(call.tool == "edit" for call in CALLS) > 30
    assert all(call.input["old"] != call.input["new"] for call in CALLS if call.tool == "edit")


def test_it_ends_with_open_work():
    """The last list of things to do has open items, and the last words say what is left."""
    last = [call for call in CALLS if call.tool == "todo"][-1]
    items = last.input["items"]
    assert isinstance(items, list)
    assert sum(isinstance(item, dict) and item["status"] != "completed" for item in items) >= 4
    assert "**Open**" in REPLIES[-1].text
    assert "Priya" in REPLIES[-1].text
    assert not REPLIES[-1].calls
