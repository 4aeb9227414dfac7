"""The notation of screenplays."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from leftoff.errors import InvalidValueError
from leftoff.testing.script import Asked, Compacted, DelegatedTask, Event, Replied
from tests.support.screenplay import Stage, parts
from tests.support.token_gauge import Gauge

START = datetime(2026, 1, 5, tzinfo=UTC)


def play(text: str) -> Sequence[Event]:
    stage = Stage(
        project="/p",
        start=START,
        gauge=Gauge(base_tokens=1_000, tokens_per_char=0.5, ceiling_tokens=100_000),
        pictures={"chart": b"png"},
        subagent_tokens=500,
    )
    return list(stage.play(parts(text, {"twice": lambda word: word * 2, "dots": lambda _: "..."})))


def only_reply(text: str) -> Replied:
    (reply,) = play(text)
    assert isinstance(reply, Replied)
    return reply


def test_parts_become_events():
    """A screenplay gives a prompt and a reply with thinking, text and a call."""
    asked, replied = play(
        "%% asked\nPlease.\n\n%% replied +2m\nSure.\n%% thinking\nHm.\n%% shell\nls\n%% answer\na\nb\n"
    )
    assert isinstance(asked, Asked)
    assert isinstance(replied, Replied)
    assert (asked.text, replied.text, replied.thinking) == ("Please.", "Sure.", "Hm.")
    assert replied.calls[0].input == {"command": "ls"}
    assert replied.calls[0].answer == "a\nb"
    assert replied.at - asked.at == timedelta(minutes=2)


def test_a_read_returns_the_file():
    """A read returns the whole file or the requested lines, and paths in the call are absolute."""
    reply = only_reply("%% file a.txt\none\ntwo\nthree\n\n%% replied\n%% read a.txt\n%% read a.txt 2-3\n")
    whole, ranged = reply.calls
    assert whole.input == {"path": "/p/a.txt"}
    assert whole.answer == "one\ntwo\nthree\n"
    assert ranged.input == {"path": "/p/a.txt", "offset": 2, "limit": 2}
    assert ranged.answer == "two\nthree\n"


def test_a_read_sees_what_was_written_and_edited():
    """The files are kept up to date while the story is played."""
    reply = only_reply(
        "%% replied\n%% write a.txt\none\n%% edit a.txt\none\n%% becomes\nuno\n%% read a.txt\n"
    )
    assert [call.tool for call in reply.calls] == ["write", "edit", "read"]
    assert reply.calls[-1].answer == "uno\n"


@pytest.mark.parametrize("outcome", ["failed\nno", "interrupted"])
def test_a_failed_or_interrupted_call_changes_no_file(outcome: str):
    """A write or edit that failed or was interrupted does not change the file."""
    reply = only_reply(
        f"%% file a.txt\none\n%% replied\n%% write a.txt\nx\n%% {outcome}\n"
        f"%% edit a.txt\nmissing\n%% becomes\nx\n%% {outcome}\n%% read a.txt\n"
    )
    assert reply.calls[-1].answer == "one\n"
    assert reply.calls[0].failed is reply.calls[1].failed is (outcome != "interrupted")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("%% file a\nx x\n%% replied\n%% edit a\nx\n%% becomes\ny\n", "finds its text 2 times"),
        ("%% replied\n%% edit a\nx\n%% becomes\ny\n", "finds its text 0 times"),
        ("%% replied\n%% edit a\nx\n", "has no `%% becomes`"),
        ("%% replied\n%% shell\nls\n", "has no answer"),
        ("%% replied\n%% read nowhere\n", "has no answer"),
        ("%% delegated\nLook.\n", "has no `%% returned`"),
        ("%% danced\n", "cannot begin an event"),
    ],
)
def test_a_contradictory_story_is_an_error(text: str, why: str):
    """The message names the line and the reason."""
    with pytest.raises(InvalidValueError, match=why) as caught:
        play(text)
    assert caught.value.line is not None


def test_every_tool_has_a_notation():
    """Searches, lists, todos, fetches and pictures can be written."""
    reply = only_reply(
        "%% replied\n%% search a|b in app\n%% answer\nx\n%% search c\n%% answer\ny\n%% list .\n%% answer\nz\n"
        "%% todo\n[x] one\n[>] two\n[ ] three\n%% fetch https://x.example\n%% answer\npage\n"
        "%% read c.png\n%% answer\na chart\n%% picture chart\n"
    )
    search, everywhere, listed, todo, fetched, picture = reply.calls
    assert search.input == {"pattern": "a|b", "path": "/p/app"}
    assert everywhere.input == {"pattern": "c"}
    assert listed.input == {"path": "/p"}
    assert todo.input["items"] == [
        {"text": "one", "status": "completed"},
        {"text": "two", "status": "in_progress"},
        {"text": "three", "status": "pending"},
    ]
    assert fetched.input == {"url": "https://x.example"}
    assert picture.image == b"png"


def test_inserts_are_replaced():
    """Inserts work anywhere in a text, with arguments or without."""
    (asked,) = play("%% asked\na ⟦twice xy⟧ b ⟦dots⟧\n")
    assert isinstance(asked, Asked)
    assert asked.text == "a xyxy b ..."


def test_a_subagent_has_its_own_window():
    """The steps of a subagent do not fill the main window; its answer does."""
    first, delegated, last = play(
        "%% replied\nHi.\n%% delegated\nLook.\n%% step\n%% shell\nls\n%% answer\n" + "x" * 9_000 + "\n"
        "%% step\n%% returned\n" + "y" * 100 + "\n%% replied\nBye.\n"
    )
    assert isinstance(first, Replied)
    assert isinstance(delegated, DelegatedTask)
    assert isinstance(last, Replied)
    assert delegated.steps[-1].usage.occupancy_tokens > 4_000
    assert last.usage.occupancy_tokens < 1_100


def test_a_compaction_resets_the_token_count():
    """The summary replaces everything before it."""
    _, compacted, after = play(
        "%% asked\n" + "x" * 4_000 + "\n%% compacted 700 +50s\nShort.\n%% replied\nOn.\n"
    )
    assert isinstance(compacted, Compacted)
    assert isinstance(after, Replied)
    assert (compacted.before_tokens, compacted.after_tokens, compacted.summary) == (3_000, 700, "Short.")
    assert 700 < after.usage.occupancy_tokens < 720
