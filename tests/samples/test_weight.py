"""What events are counted as."""

from __future__ import annotations

from datetime import UTC, datetime

from leftoff.model.records import Usage
from leftoff.model.script import Asked, Compacted, Delegated, Replied
from leftoff.samples import tools
from leftoff.samples.weight import (
    ENVELOPE_BYTES,
    IMAGE_CHARS,
    answered_chars,
    carried_bytes,
    sent_chars,
    text_bytes,
)

AT = datetime(2026, 1, 5, tzinfo=UTC)
USAGE = Usage(input_tokens=1, output_tokens=1)


def test_text_is_counted_as_utf8():
    """Three characters of Japanese are nine bytes."""
    assert text_bytes(Asked(text="日本語", at=AT)) == 9
    assert carried_bytes(Asked(text="x" * 400, at=AT)) == 800 + ENVELOPE_BYTES


def test_a_reply_takes_a_line_for_each_of_its_parts():
    """Thoughts, words, each call and each answer stand on lines of their own; an interrupted call has one."""
    calls = (tools.shell("ls", "a"), tools.shell("ls", None))
    reply = Replied(at=AT, text="t", thinking="h", calls=calls, usage=USAGE)
    assert carried_bytes(reply) // ENVELOPE_BYTES == 5


def test_a_delegation_carries_its_steps():
    """The subagent's own conversation counts, and so do task and answer."""
    step = Replied(at=AT, calls=(tools.shell("ls", "x" * 1_000),), usage=USAGE)
    bare = Delegated(task="t", steps=(), answer="a", at=AT, usage=USAGE)
    full = Delegated(task="t", steps=(step,), answer="a", at=AT, usage=USAGE)
    assert text_bytes(bare) == 2
    assert text_bytes(full) > 1_000
    assert carried_bytes(full) - carried_bytes(bare) > 2 * ENVELOPE_BYTES


def test_a_summary_is_text():
    """A compaction carries its summary."""
    event = Compacted(summary="s" * 80, before_tokens=9, after_tokens=1, automatic=True, at=AT)
    assert text_bytes(event) == 80


def test_calls_are_counted_by_what_was_written_and_answered():
    """Inputs of any shape count with their keys; a picture counts as much of the window as a long text."""
    assert sent_chars(tools.shell("ls -l", "")) == len("shell" + "command" + "ls -l")
    assert sent_chars(tools.todo([("ab", "pending")], "")) == len(
        "todo" + "items" + "text" + "ab" + "status" + "pending"
    )
    assert sent_chars(tools.read("/a", "", offset=1, limit=2)) > sent_chars(tools.read("/a", ""))
    assert answered_chars(tools.shell("x", None)) == 0
    assert answered_chars(tools.read("/a.png", "abc", image=b"png")) == 3 + IMAGE_CHARS
