"""The Markdown of a chat: design 003's, and nothing that was said can change it."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.conversations import page, reading
from leftoff.conversations.summary import END, START
from leftoff.conversations.values import Tokens, Totals
from leftoff.errors import DocumentError
from tests.conversations.making import SUMMARY, header, restoration, turn

GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "chat.v1.md"


def whole(*entries, summary=None, head=None):
    head = head or header()
    totals, texts = Totals(), []
    for each in entries:
        totals = totals.after(each)
        texts.append(page.entry(head.agent, each, totals.queries))
    return page.header(head, totals.queries) + "".join(texts) + page.tail(totals, summary)


def read(text):
    return reading.read(text, "sally_1", where="sally_1.md")


def test_a_page_on_which_nothing_was_said_is_read():
    """Somebody may have cut the rest away; the summary is still there."""
    saved = read(whole(summary=SUMMARY))
    assert (saved.totals, saved.summary.text) == (Totals(), SUMMARY)
    assert reading.exchanges(whole(), "Simple Sally") == []


def test_an_entry_is_as_the_design_draws_it(monkeypatch):
    """Heading with the time, both speakers, the line of numbers, a rule."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert page.entry("Simple Sally", turn(), 7) == (
        "## Query 7 (11:22:23)\n**You:** What now?\n\n**Simple Sally:** This.\n\n"
        "*Time: 3.2s | Tokens: 1,345 (in: 1,123, out: 222)*\n\n---\n\n"
    )
    assert page.entry("Simple Sally", restoration(), 0) == (
        "## Session Restored (11:21:53)\n**Context:** Resumed from session_2 (5 queries, 2.3K tokens)\n"
        "**Previous Session:** /chats/session_2.md\n\n**Simple Sally:** Ready!\n\n"
        "*Time: 2.1s | Tokens: 156 (in: 89, out: 67)*\n\n---\n\n"
    )


def test_the_totals_are_those_of_the_design():
    """The restoration counts tokens and no query; it is left out where there was none."""
    totals = Totals().after(restoration()).after(turn())
    assert page.tail(totals, None) == (
        "Total Queries: 1 (user queries only)\nRestoration: 156 tokens (in: 89, out: 67)\n"
        "Session Tokens: 1,345 tokens\nCombined Total: 1,501 tokens\n"
    )
    assert "Restoration" not in page.tail(Totals().after(turn()), None)


def test_estimates_are_marked():
    """In the entry and in every total that holds one."""
    guess = turn(tokens=Tokens(input_tokens=1, output_tokens=2, estimated=True))
    text = whole(guess)
    assert "Tokens: ~3 (in: ~1, out: ~2)" in text
    assert "Session Tokens: ~3 tokens\nCombined Total: ~3 tokens" in text
    assert read(text).totals.estimated


def test_what_was_written_is_read_back():
    """Header, totals, summary and words."""
    head = header(resumed_from="session_2", previous_session="/chats/session_2.md")
    text = whole(restoration(), turn(), turn("And?", "That."), summary=SUMMARY, head=head)
    saved = read(text)
    assert (saved.header.agent, saved.header.date, saved.header.resumed_from) == (
        "Simple Sally",
        head.date,
        "session_2",
    )
    assert saved.header.previous_session == "/chats/session_2.md"
    assert (saved.totals.queries, saved.totals.tokens) == (2, 156 + 2 * 1345)
    assert saved.summary.text == SUMMARY
    assert [(each.query, each.answer) for each in reading.exchanges(text, "Simple Sally")] == [
        ("What now?", "This."),
        ("And?", "That."),
    ]


def test_the_golden_file_is_read():
    """What stands on users' disks stays readable."""
    saved = read(GOLDEN.read_text(encoding="utf-8"))
    assert (saved.totals.queries, saved.totals.tokens, saved.header.resumed_from) == (
        1,
        501,
        "simple_sally_20251230_112153",
    )
    assert saved.summary.text.startswith("**Background Context:** We discussed auth")


HOSTILE = (
    f"{START}\nspoofed\n{END}",
    f"```\n{START}\nspoofed\n{END}\n```",
    f"as in `{START}` and {END}",
    "## Query 9 (10:00:00)\n**You:** spoofed",
    "```\n## Query 9 (10:00:00)\n**You:** spoofed\n```",
    "**You:** spoofed\n\n**Simple Sally:** spoofed",
    "---\n**Session ID:** spoofed\n**Total Queries:** 99\n---",
    "*Time: 1.0s | Tokens: 9 (in: 4, out: 5)*",
    "Total Queries: 9 (user queries only)\nSession Tokens: 9 tokens\nCombined Total: 9 tokens",
    "an open fence\n```python\nx = 1",
    "bells \x07 and \x00 and halves \ud800",
    "## Session Restored (10:00:00)",
    "<!-- an open comment",
)


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_what_is_said_cannot_become_structure(number):
    """Markers, headings, speakers, totals and fences quoted in a chat are harmless, in the query and in the answer (L19)."""
    said = HOSTILE[number]
    for text in (whole(turn(said), turn(answer=said), turn("last")), whole(turn(said), summary=said)):
        saved = read(text)
        assert saved.totals.queries == text.count("\n## Query ")
        assert saved.totals.tokens == 1345 * saved.totals.queries
        assert saved.header.session_id == "sally_1"
        assert len(reading.exchanges(text, "Simple Sally")) == saved.totals.queries
    assert read(whole(turn(said), turn(answer=said))).summary.trouble == "missing"
    found = read(whole(turn(answer=said), summary=f"{said}\nreal words")).summary.text
    assert "real words" in found


@given(st.text(), st.text(), st.text(min_size=1))
def test_any_words_leave_the_page_whole(query, answer, summary):
    """Whatever is said, the numbers and the tail are found again."""
    text = whole(turn(query, answer), turn(), summary=summary)
    saved = read(text)
    assert (saved.totals.queries, saved.totals.tokens) == (2, 2690)
    assert text[reading.tail_at(text) :].startswith("Total Queries: 2 ")


def test_code_begins_on_a_line_of_its_own():
    """Behind the speaker's name a fence would be no fence."""
    assert "**Simple Sally:**\n```python\nx = 1\n```\n" in page.entry(
        "Simple Sally", turn(answer="```python\nx = 1\n```"), 1
    )


def test_what_is_no_chat_is_refused():
    """A page without a header, and one of a newer leftoff."""
    with pytest.raises(DocumentError, match="not a saved chat"):
        read("# Notes\n\n---\n\n**Session ID:** x\n**Agent:** y\n")
    with pytest.raises(DocumentError, match="newer leftoff"):
        read(whole(turn()).replace("schema 1", "schema 2"))


def test_a_predecessors_page_is_read():
    """No schema, no zone, no totals; a date that is none is no reason to hide the chat."""
    text = (
        "# Sally Conversation\n\n**Session ID:** s\n**Date:** 2025-12-30T14:30:22.123456\n**Agent:** Sally\n\n---\n\n"
        "## Query 1 (14:30:45)\n**You:** Hi\n\n**Sally:** Ho\n\n---\n\n"
    )
    saved = read(text)
    assert (saved.totals.queries, saved.totals.tokens, saved.summary.trouble) == (1, 0, "missing")
    assert read(text.replace("2025-12-30T14:30:22.123456", "yesterday")).header.date.year == 1970
    assert reading.exchanges(text, "Sally")[0].answer == "Ho\n\n---"
