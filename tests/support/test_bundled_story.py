"""The bundled story contains what the demo shows."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bench.generate import text_bytes
from leftoff.testing.script import TOOLS, Asked, Call, Compacted, DelegatedTask, Event, Replied
from tests.support import screenplay_props
from tests.support.screenplay import PROJECT, bundled_script

MIGRATIONS = "Never touch anything under migrations/"
EVENTS: tuple[Event, ...] = tuple(bundled_script().events)
COMPACTED_AT = next(at for at, event in enumerate(EVENTS) if isinstance(event, Compacted))
SUMMARY = EVENTS[COMPACTED_AT]
PROMPTS = [event.text for event in EVENTS if isinstance(event, Asked)]
REPLIES = [event for event in EVENTS if isinstance(event, Replied)]
CALLS: list[Call] = [call for reply in REPLIES for call in reply.calls]
assert isinstance(SUMMARY, Compacted)


def percents(events: tuple[Event, ...]) -> list[float]:
    """Return occupancies as percentages of 167,000 tokens, where a window of 200,000 is compacted."""
    return [
        event.usage.occupancy_tokens / 1_670 for event in events if isinstance(event, Replied | DelegatedTask)
    ]


def all_text() -> str:
    found = list(PROMPTS)
    for reply in (
        *REPLIES,
        *(step for event in EVENTS if isinstance(event, DelegatedTask) for step in event.steps),
    ):
        found += (reply.text, reply.thinking)
        for call in reply.calls:
            found += (call.answer or "", str(call.input))
    found += [event.summary for event in EVENTS if isinstance(event, Compacted)]
    found += [f"{event.task} {event.answer}" for event in EVENTS if isinstance(event, DelegatedTask)]
    return "\n".join(found)


def test_the_story_is_the_same_every_time():
    """Two scripts are equal, and the events can be iterated twice."""
    script = bundled_script()
    assert tuple(script.events) == EVENTS == tuple(script.events)
    assert script.window_tokens == 200_000


def test_it_has_the_length_of_a_real_session():
    """The story has several turns, dozens of replies and text that fills two windows."""
    assert 60 <= len(EVENTS) <= 100
    assert len(PROMPTS) >= 6
    assert 600_000 < sum(map(text_bytes, EVENTS)) < 1_000_000


def test_the_project_folder_can_be_chosen():
    """Every path of a call is below the chosen folder."""
    moved = bundled_script(project="/scratch/demo")
    assert moved.project == "/scratch/demo"
    paths = [str(call.input["path"]) for call in calls_with_paths(tuple(moved.events))]
    assert all(path.startswith("/scratch/demo") for path in paths)
    assert all(str(call.input["path"]).startswith(PROJECT) for call in calls_with_paths(EVENTS))


def calls_with_paths(events: tuple[Event, ...]) -> list[Call]:
    replies = (event for event in events if isinstance(event, Replied))
    return [call for reply in replies for call in reply.calls if "path" in call.input]


def test_the_window_fills_twice():
    """Occupancy rises from about 16,000 tokens through all four levels to a compaction, and then again."""
    before, after = percents(EVENTS[:COMPACTED_AT]), percents(EVENTS[COMPACTED_AT + 1 :])
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
    """The events are in order and take one working day."""
    times = [event.at for event in EVENTS]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert 6 < (times[-1] - times[0]).total_seconds() / 3_600 < 10


def test_rules_are_stated_and_one_is_withdrawn():
    """The first prompt has the rules; a later one replaces the rule about 503."""
    for rule in (MIGRATIONS, "Use Redis, not process memory", "No new dependencies", "answer 503"):
        assert rule in PROMPTS[0]
    assert any("Forget the 503 rule" in prompt for prompt in PROMPTS[1:])


def test_the_summary_omits_rules_and_details():
    """The summary keeps the withdrawn rule and drops others, the test command, a port and a sentence."""
    assert "503" in SUMMARY.summary
    for lost in ("migrations", "make test-redis", "6390", "staging", "TIME", "admin", "ただいま"):
        assert lost not in SUMMARY.summary
        assert any(lost in str(event) for event in EVENTS[:COMPACTED_AT])
    assert SUMMARY.automatic


def test_the_agent_breaks_a_forgotten_rule():
    """After the compaction the agent breaks the rule, and the user has to repeat it."""
    written = [call.input["path"] for reply in REPLIES for call in reply.calls if call.tool == "write"]
    assert f"{PROJECT}/migrations/0043_api_key_limits.py" in written
    rebuke = next(event for event in EVENTS[COMPACTED_AT:] if isinstance(event, Asked))
    assert "never touch migrations/" in rebuke.text
    assert "make test-redis" in rebuke.text


def test_a_user_message_is_in_japanese():
    """The message contains a sentence to be used word for word."""
    japanese = [prompt for prompt in PROMPTS if "お願いします" in prompt]
    assert len(japanese) == 1
    assert "「ただいまアクセスが集中しています。{秒} 秒後にもう一度お試しください。」" in japanese[0]


def test_a_secret_is_printed_once():
    """The secret is in one tool answer and not in the story's files."""
    secret = screenplay_props.secret()
    assert all_text().count(secret) == 1
    assert sum(secret in (call.answer or "") for call in CALLS) == 1
    assert not any(secret in screenplay_props.text(name) for name in ("bundled-1", "bundled-2", "orders-api"))


def test_every_kind_of_event_occurs():
    """All tools, an image, an interruption, parallel calls, failures, thinking, one subagent and one compaction occur."""
    assert {call.tool for call in CALLS} == set(TOOLS)
    assert sum(call.image is not None for call in CALLS) == 1
    assert sum(call.answer is None for call in CALLS) == 1
    assert any(len(reply.calls) > 2 for reply in REPLIES)
    assert sum(call.failed for call in CALLS) >= 5
    assert sum(bool(reply.thinking) for reply in REPLIES) >= 6
    assert [len(event.steps) for event in EVENTS if isinstance(event, DelegatedTask)] == [3]
    assert sum(isinstance(event, Compacted) for event in EVENTS) == 1


@pytest.mark.parametrize("command", ["make test-redis ARGS=tests/ratelimit", "make test-redis && make types"])
def test_a_failed_command_succeeds_later(command: str):
    """The same command fails first and works later."""
    outcomes = [call.failed for call in CALLS if call.input.get("command") == command]
    assert True in outcomes
    assert outcomes[-1] is False or command.endswith("types")


def test_a_design_is_dropped_with_a_reason():
    """The first design is dropped because of a measured number."""
    replies = "\n".join(reply.text for reply in REPLIES)
    assert "I am dropping WATCH/MULTI" in replies
    assert "38 %" in replies


def test_work_is_committed():
    """There are several successful commits."""
    commits = [call for call in CALLS if "git commit" in str(call.input.get("command"))]
    assert len(commits) >= 5
    assert not any(call.failed for call in commits)


def test_every_edit_changes_text():
    """There are many edits, and each has different old and new text."""
    assert sum(call.tool == "edit" for call in CALLS) > 30
    assert all(call.input["old"] != call.input["new"] for call in CALLS if call.tool == "edit")


def test_it_ends_with_open_work():
    """The last todo list has open items, and the last reply says what is left."""
    last = [call for call in CALLS if call.tool == "todo"][-1]
    items = last.input["items"]
    assert isinstance(items, list)
    assert sum(isinstance(item, dict) and item["status"] != "completed" for item in items) >= 4
    assert "**Open**" in REPLIES[-1].text
    assert "Priya" in REPLIES[-1].text
    assert not REPLIES[-1].calls
