"""How the size of events is counted."""

from __future__ import annotations

from datetime import UTC, datetime

from bench.generate import ENVELOPE_BYTES, carried_bytes, text_bytes
from leftoff.core.records import Usage
from leftoff.testing import script
from leftoff.testing.script import Asked, Compacted, DelegatedTask, Replied
from tests.support.token_gauge import IMAGE_CHARS, answered_chars, sent_chars

AT = datetime(2026, 1, 5, tzinfo=UTC)
USAGE = Usage(input_tokens=1, output_tokens=1)


def test_text_is_counted_as_utf8():
    """Three characters of Japanese are nine bytes."""
    assert text_bytes(Asked(text="日本語", at=AT)) == 9
    assert carried_bytes(Asked(text="x" * 400, at=AT)) == 800 + ENVELOPE_BYTES


def test_a_reply_takes_a_line_for_each_of_its_parts():
    """Thoughts, text, each call and each answer have their own lines; an interrupted call has one."""
    calls = (script.shell("ls", "a"), script.shell("ls", None))
    reply = Replied(at=AT, text="t", thinking="h", calls=calls, usage=USAGE)
    assert carried_bytes(reply) // ENVELOPE_BYTES == 5


def test_a_delegation_carries_its_steps():
    """The subagent's own conversation counts, and so do task and answer."""
    step = Replied(at=AT, calls=(script.shell("ls", "x" * 1_000),), usage=USAGE)
    bare = DelegatedTask(task="t", steps=(), answer="a", at=AT, usage=USAGE)
    full = DelegatedTask(task="t", steps=(step,), answer="a", at=AT, usage=USAGE)
    assert text_bytes(bare) == 2
    assert text_bytes(full) > 1_000
    assert carried_bytes(full) - carried_bytes(bare) > 2 * ENVELOPE_BYTES


def test_a_summary_is_text():
    event = Compacted(summary="s" * 80, before_tokens=9, after_tokens=1, automatic=True, at=AT)
    assert text_bytes(event) == 80


def test_calls_are_counted_by_what_was_written_and_answered():
    """Inputs of any shape count with their keys; an image counts like a long text."""
    assert sent_chars(script.shell("ls -l", "")) == len("shell" + "command" + "ls -l")
    assert sent_chars(script.todo([("ab", "pending")], "")) == len(
        "todo" + "items" + "text" + "ab" + "status" + "pending"
    )
    assert sent_chars(script.read("/a", "", offset=1, limit=2)) > sent_chars(script.read("/a", ""))
    assert answered_chars(script.shell("x", None)) == 0
    assert answered_chars(script.read("/a.png", "abc", image=b"png")) == 3 + IMAGE_CHARS
