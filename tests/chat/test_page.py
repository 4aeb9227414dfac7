"""The Markdown of a chat, which nothing in the text can break."""

import itertools
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.chat import chat_file, page
from leftoff.chat.page import END, START, Tokens, Totals
from leftoff.errors import DocumentError
from leftoff.platform import clock
from tests.chat.sample_chats import AT, SUMMARY, header, restoration, turn

GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "chat.v1.md"


def whole(*entries, summary=None, head=None):
    head = head or header()
    totals, texts = Totals(), []
    for each in entries:
        totals = totals.plus(each)
        texts.append(page.render_entry(head.agent, each, totals.queries))
    return page.render_header(head, totals.queries) + "".join(texts) + page.render_tail(totals, summary)


def read(text):
    return chat_file.parse(text, "sally_1", where="sally_1.md")


def test_a_page_without_entries_is_read():
    """The entries may have been cut out; the summary is still found."""
    saved = read(whole(summary=SUMMARY))
    assert (saved.totals, saved.summary.text) == (Totals(), SUMMARY)
    assert chat_file.parse_exchanges(whole(), "Simple Sally") == []


def test_an_entry_has_heading_speakers_and_metrics(monkeypatch):
    """An entry has a heading with the time, both speakers, a line of numbers and a rule."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert page.render_entry("Simple Sally", turn(), 7) == (
        "## Query 7 (11:22:23)\n**You:** What now?\n\n**Simple Sally:** This.\n\n"
        "*Time: 3.2s | Tokens: 1,345 (in: 1,123, out: 222)*\n\n---\n\n"
    )
    assert page.render_entry("Simple Sally", restoration(), 0) == (
        "## Session Restored (11:21:53)\n**Context:** Resumed from session_2 (5 queries, 2.3K tokens)\n"
        "**Previous Session:** /chats/session_2.md\n\n**Simple Sally:** Ready!\n\n"
        "*Time: 2.1s | Tokens: 156 (in: 89, out: 67)*\n\n---\n\n"
    )


def test_totals_list_the_restoration_separately():
    """The restoration adds tokens but no query, and is left out if there was none."""
    totals = Totals().plus(restoration()).plus(turn())
    assert page.render_tail(totals, None) == (
        "Total Queries: 1 (user queries only)\nRestoration: 156 tokens (in: 89, out: 67)\n"
        "Session Tokens: 1,345 tokens\nCombined Total: 1,501 tokens\n"
    )
    assert "Restoration" not in page.render_tail(Totals().plus(turn()), None)


def test_estimates_are_marked():
    """An estimate is marked in its entry and in every total that includes it."""
    guess = turn(tokens=Tokens(input_tokens=1, output_tokens=2, estimated=True))
    text = whole(guess)
    assert "Tokens: ~3 (in: ~1, out: ~2)" in text
    assert "Session Tokens: ~3 tokens\nCombined Total: ~3 tokens" in text
    assert read(text).totals.estimated


def test_a_written_page_is_read_back():
    """The header, totals, summary and texts are read back as they were written."""
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
    assert [(each.query, each.answer) for each in chat_file.parse_exchanges(text, "Simple Sally")] == [
        ("What now?", "This."),
        ("And?", "That."),
    ]


def test_the_golden_file_is_read():
    """Files on users' disks stay readable."""
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
def test_quoted_structure_stays_text(number):
    """Markers, headings, speakers, totals and fences in a query or an answer are not taken for structure."""
    hostile = HOSTILE[number]
    for text in (
        whole(turn(hostile), turn(answer=hostile), turn("last")),
        whole(turn(hostile), summary=hostile),
    ):
        saved = read(text)
        assert saved.totals.queries == text.count("\n## Query ")
        assert saved.totals.tokens == 1345 * saved.totals.queries
        assert saved.header.session_id == "sally_1"
        assert len(chat_file.parse_exchanges(text, "Simple Sally")) == saved.totals.queries
    assert read(whole(turn(hostile), turn(answer=hostile))).summary.problem == "missing"
    found = read(whole(turn(answer=hostile), summary=f"{hostile}\nreal words")).summary.text
    assert "real words" in found


@given(st.text(), st.text(), st.text(min_size=1))
def test_any_text_leaves_the_page_readable(query, answer, summary):
    """The counts and the tail are found again."""
    text = whole(turn(query, answer), turn(), summary=summary)
    saved = read(text)
    assert (saved.totals.queries, saved.totals.tokens) == (2, 2690)
    assert text[chat_file.find_tail(text) :].startswith("Total Queries: 2 ")


def test_code_begins_on_a_line_of_its_own():
    """A fence directly after the speaker's name would not be a fence."""
    assert "**Simple Sally:**\n```python\nx = 1\n```\n" in page.render_entry(
        "Simple Sally", turn(answer="```python\nx = 1\n```"), 1
    )


def test_other_pages_are_refused():
    """A page without a header and a page of a newer leftoff are refused."""
    with pytest.raises(DocumentError, match="not a saved chat"):
        read("# Notes\n\n---\n\n**Session ID:** x\n**Agent:** y\n")
    with pytest.raises(DocumentError, match="newer leftoff"):
        read(whole(turn()).replace("schema 1", "schema 2"))


def test_a_page_of_an_earlier_tool_is_read():
    """The page has no schema, time zone or totals, and an invalid date does not hide it."""
    text = (
        "# Sally Conversation\n\n**Session ID:** s\n**Date:** 2025-12-30T14:30:22.123456\n**Agent:** Sally\n\n---\n\n"
        "## Query 1 (14:30:45)\n**You:** Hi\n\n**Sally:** Ho\n\n---\n\n"
    )
    saved = read(text)
    assert (saved.totals.queries, saved.totals.tokens, saved.summary.problem) == (1, 0, "missing")
    assert read(text.replace("2025-12-30T14:30:22.123456", "yesterday")).header.date.year == 1970
    assert chat_file.parse_exchanges(text, "Sally")[0].answer == "Ho\n\n---"


@pytest.mark.parametrize(
    ("agent", "slug"),
    [
        ("Simple Sally", "simple_sally"),
        ("../../etc", "etc"),
        ("日本", "agent"),
        ("a" * 99, "a" * 60),
        ("X-1.2", "x_1_2"),
    ],
)
def test_an_id_is_the_agents_name_and_the_time(agent, slug):
    """Any name gives a valid file name; a taken id gets a number."""
    first, second, third = itertools.islice(page.session_ids(agent, AT), 3)
    assert re.fullmatch(rf"{slug}_\d{{8}}_\d{{6}}", first)
    assert (second, third) == (f"{first}_2", f"{first}_3")
    assert all(page.looks_like_id(each) and clock.check_id(each) for each in (first, second))


@pytest.mark.parametrize(
    ("tokens", "short"),
    [(0, "0"), (999, "999"), (1000, "1.0K"), (2345, "2.3K"), (999_999, "999.9K"), (1_450_000, "1.4M")],
)
def test_short_token_counts_are_rounded_down(tokens, short):
    """A rounded number never looks larger than the real one."""
    assert page.format_tokens(tokens) == short


def test_one_query_is_singular():
    assert (page.format_cost(1, 5), page.format_cost(5, 2345)) == (
        "1 query, 5 tokens",
        "5 queries, 2.3K tokens",
    )
