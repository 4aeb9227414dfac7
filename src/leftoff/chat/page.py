"""The data of a chat, and the Markdown page made of it: header, entries, totals, summary.

Times are local; the date in the header includes the offset from UTC. What was said cannot become structure: no line of it is
a heading, a summary marker or a speaker's name at the beginning of a line. Only a pair of markers at the very end of a page
is the summary, and the text between them cannot close them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import Literal

from leftoff.core import markdown
from leftoff.core.wire import SCHEMAS

YOU = "You"
QUERIES = "**Total Queries:** "
SCHEMA_LINE = f"<!-- leftoff: chat, schema {SCHEMAS['chat']} -->"
_FENCE = ("```", "~~~")
_MAX_SLUG_CHARS = 60
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")
# The second form is a short one that earlier tools wrote.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*_\d{8}_\d{6}(_\d+)?|session_\d+")
START = "<!-- SESSION_SUMMARY_START -->"
END = "<!-- SESSION_SUMMARY_END -->"
PLACEHOLDER = "[your summary here]"
_HEADINGS = ("**Current Session Summary:**", "**Topics Discussed:**")
_FENCED = re.compile(r"```\w*\n(.*?)\n?```\s*\Z", re.DOTALL)
_MARKER_LINE = re.compile(r"^(?=<!-- SESSION_SUMMARY_)", re.MULTILINE)


def render_header(head: Header, queries: int) -> str:
    """Return everything up to and including the first rule."""
    lines = [
        f"# {markdown.escape_inline(head.agent)} Conversation",
        "",
        f"**Session ID:** {head.session_id}",
        f"**Date:** {head.date.astimezone().isoformat()}",
        f"**Agent:** {markdown.escape_inline(head.agent)}",
        f"**Agent Path:** {markdown.escape_inline(head.agent_path)}",
        f"{QUERIES}{queries}",
    ]
    if head.resumed_from is not None:
        lines.append(f"**Resumed From:** {head.resumed_from}")
    if head.previous_session is not None:
        lines.append(f"**Previous Session:** {markdown.escape_inline(head.previous_session)}")
    return "\n".join([*lines, SCHEMA_LINE, "", "---", "", ""])


def render_entry(agent: str, each: Turn | Restoration, number: int) -> str:
    """Return a turn, or the restoration, as Markdown; ``number`` is the number of the query."""
    agent = markdown.escape_inline(agent)
    if isinstance(each, Restoration):
        cost = format_cost(each.parent.queries, each.parent.tokens)
        top = [
            f"## Session Restored ({_local_time(each.at)})",
            f"**Context:** Resumed from {each.parent.session_id} ({cost})",
            f"**Previous Session:** {markdown.escape_inline(each.parent.path)}",
        ]
    else:
        top = [f"## Query {number} ({_local_time(each.at)})", _render_speech(YOU, each.query, agent)]
    return "\n".join(
        [
            *top,
            "",
            _render_speech(agent, each.answer, agent),
            "",
            render_metrics(each.seconds, each.tokens),
            "",
            "---",
            "",
            "",
        ]
    )


def render_metrics(seconds: float, tokens: Tokens) -> str:
    """Return ``*Time: 3.2s | Tokens: 345 (in: 123, out: 222)*``; estimates are marked with ~."""
    mark = "~" if tokens.estimated else ""
    return (
        f"*Time: {seconds:.1f}s | Tokens: {mark}{tokens.total:,} "
        f"(in: {mark}{tokens.input_tokens:,}, out: {mark}{tokens.output_tokens:,})*"
    )


def render_tail(totals: Totals, summary_text: str | None) -> str:
    """Return what follows the last entry: the totals, and the summary if there is one."""
    return (
        "\n".join(_totals_lines(totals)) + "\n" + (f"\n{summary_block(summary_text)}" if summary_text else "")
    )


def _totals_lines(totals: Totals) -> list[str]:
    lines = [f"Total Queries: {totals.queries} (user queries only)"]
    if (restoration := totals.restoration) is not None:
        mark = "~" if restoration.estimated else ""
        lines.append(
            f"Restoration: {mark}{restoration.total:,} tokens "
            f"(in: {mark}{restoration.input_tokens:,}, out: {mark}{restoration.output_tokens:,})"
        )
    mark = "~" if totals.session.estimated else ""
    lines.append(f"Session Tokens: {mark}{totals.session.total:,} tokens")
    mark = "~" if totals.estimated else ""
    lines.append(f"Combined Total: {mark}{totals.tokens:,} tokens")
    return lines


def _render_speech(speaker: str, text: str, agent: str) -> str:
    """Return ``**Speaker:** text``; code begins on its own line, because it would not be a code block otherwise."""
    # A leading space changes nothing for a reader of the page, and a parser no longer takes the line for structure.
    ours = re.compile(rf"^(?=\*\*({YOU}|{re.escape(agent)}):\*\*|<!-- SESSION_SUMMARY_|## )", re.MULTILINE)
    said = ours.sub(" ", markdown.escape_block(text))
    return f"**{speaker}:**{chr(10) if said.lstrip().startswith(_FENCE) else ' '}{said}"


def _local_time(moment: datetime) -> str:
    return f"{moment.astimezone():%H:%M:%S}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of one answer. ``estimated``: counted from the text, because the agent did not report them."""

    input_tokens: int
    output_tokens: int
    estimated: bool = False

    @property
    def total(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            estimated=self.estimated or other.estimated,
        )


NO_TOKENS = Tokens(input_tokens=0, output_tokens=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One query and its answer."""

    at: datetime
    query: str
    answer: str
    seconds: float
    tokens: Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The chat that another one continues. ``resumed_from`` is ``None`` if the parent did not continue one itself."""

    session_id: str
    path: str
    queries: int
    tokens: int
    resumed_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration:
    """The agent's answer to the parent's summary. It has tokens, but does not count as a query."""

    at: datetime
    parent: Parent
    answer: str
    seconds: float
    tokens: Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The data above the first rule of a page."""

    session_id: str
    date: datetime
    agent: str
    agent_path: str
    resumed_from: str | None = None
    previous_session: str | None = None  # the path of the parent's file


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The queries and tokens of a chat. ``restoration`` is ``None`` for a chat that continues no other."""

    queries: int = 0
    session: Tokens = NO_TOKENS
    restoration: Tokens | None = None

    @property
    def tokens(self) -> int:
        """All tokens, including the restoration."""
        return self.session.total + (self.restoration.total if self.restoration else 0)

    @property
    def estimated(self) -> bool:
        """Whether any of the tokens are estimated."""
        return self.session.estimated or bool(self.restoration and self.restoration.estimated)

    def plus(self, entry: Turn | Restoration) -> Totals:
        """Return the totals with one more entry."""
        if isinstance(entry, Restoration):
            return replace(self, restoration=(self.restoration or NO_TOKENS) + entry.tokens)
        return replace(self, queries=self.queries + 1, session=self.session + entry.tokens)


def session_ids(agent: str, moment: datetime) -> Iterator[str]:
    """Yield ids for a chat that begins at ``moment``: the second and later ones end with ``_2``, ``_3``."""
    first = f"{slug(agent)}_{moment.astimezone():%Y%m%d_%H%M%S}"
    yield first
    for number in count(2):
        yield f"{first}_{number}"


def slug(agent: str) -> str:
    """Return an agent's name as part of an id."""
    return _NOT_ALPHANUMERIC.sub("_", agent.lower())[:_MAX_SLUG_CHARS].strip("_") or "agent"


def looks_like_id(word: str) -> bool:
    """Return whether a word has the form of a chat's id."""
    return _ID.fullmatch(word) is not None


def format_cost(queries: int, tokens: int) -> str:
    """Return text such as ``5 queries, 2.3K tokens``."""
    return f"{queries} {'query' if queries == 1 else 'queries'}, {format_tokens(tokens)} tokens"


def format_tokens(tokens: int) -> str:
    """Return ``156``, ``2.3K`` or ``1.4M``, rounded down."""
    for size, letter in ((1_000_000, "M"), (1_000, "K")):
        if tokens >= size:
            return f"{tokens * 10 // size / 10:.1f}{letter}"
    return str(tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryBlock:
    """The summary of a page; ``text`` is ``None`` without one, and ``problem`` says why."""

    text: str | None
    problem: Literal["missing", "invalid"] | None = None


def find_summary(chat: str) -> SummaryBlock:
    """Return the summary at the end of a page, without its markers."""
    lines = chat.rstrip().split("\n")
    if START not in lines and END not in lines:
        return SummaryBlock(text=None, problem="missing")
    begin = summary_start(lines)
    text = "\n".join(lines[begin + 1 : -1]).strip() if begin is not None else ""
    return SummaryBlock(text=text) if text else SummaryBlock(text=None, problem="invalid")


def summary_start(lines: list[str]) -> int | None:
    """Return the index of the line that opens the summary; None if ``lines`` do not end with one."""
    if lines[-1] != END or START not in lines:
        return None
    return len(lines) - 1 - lines[::-1].index(START)


def summary_block(text: str) -> str:
    """Return a summary between its markers."""
    return f"{START}\n{escape_summary(text)}\n{END}\n"


def escape_summary(text: str) -> str:
    """Return text in which no line is a marker, a heading or an open fence."""
    return _MARKER_LINE.sub(" ", markdown.escape_block(text))


def summary_from_answer(answer: str) -> str | None:
    """Return the summary in an agent's answer: between the last pair of markers, or the whole answer if it has the right form.

    Only a marker that is alone on its line counts; quoted elsewhere it is part of the summary. None if there is no summary.
    """
    lines = answer.strip().split("\n")
    marks = [line.strip() for line in lines]
    pair = _last_pair(marks)
    if pair is not None:
        text = "\n".join(lines[pair[0] + 1 : pair[1]]).strip()
    elif any(heading in answer for heading in _HEADINGS) and START not in marks and END not in marks:
        fenced = _FENCED.search(answer)
        text = (fenced[1] if fenced else answer).strip()
    else:
        return None
    return text if text and text != PLACEHOLDER else None


def strip_markers(text: str) -> str:
    """Return a summary without the markers that may surround it."""
    lines = text.strip().split("\n")
    is_marked = len(lines) > 1 and (lines[0].strip(), lines[-1].strip()) == (START, END)
    return "\n".join(lines[1:-1]).strip() if is_marked else text


def _last_pair(marks: list[str]) -> tuple[int, int] | None:
    """Return the lines of the last pair of markers; a pair quoted inside of it belongs to its text."""
    if END not in marks:
        return None
    end = len(marks) - 1 - marks[::-1].index(END)
    open_pairs = 0
    for at in range(end, -1, -1):
        open_pairs += (marks[at] == END) - (marks[at] == START)
        if open_pairs == 0:
            return at, end
    return None
