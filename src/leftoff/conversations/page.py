"""A chat as Markdown, exactly as design 003 draws it: header, entries, totals, summary.

Times are this machine's own, as people read them; the date in the header says their distance from UTC. What was said cannot
become structure: no line of it is a heading, a marker or a speaker's name at the beginning of a line (L19).
"""

from __future__ import annotations

import re
from datetime import datetime

from leftoff.conversations import names, summary
from leftoff.conversations.values import Header, Restoration, Tokens, Totals, Turn
from leftoff.model import markdown
from leftoff.model.wire import SCHEMAS

YOU = "You"
QUERIES = "**Total Queries:** "
SCHEMA_LINE = f"<!-- leftoff: chat, schema {SCHEMAS['chat']} -->"
_FENCE = ("```", "~~~")


def header(head: Header, queries: int) -> str:
    """Everything down to the first rule."""
    lines = [
        f"# {markdown.inline(head.agent)} Conversation",
        "",
        f"**Session ID:** {head.session_id}",
        f"**Date:** {head.date.astimezone().isoformat()}",
        f"**Agent:** {markdown.inline(head.agent)}",
        f"**Agent Path:** {markdown.inline(head.agent_path)}",
        f"{QUERIES}{queries}",
    ]
    if head.resumed_from is not None:
        lines.append(f"**Resumed From:** {head.resumed_from}")
    if head.previous_session is not None:
        lines.append(f"**Previous Session:** {markdown.inline(head.previous_session)}")
    return "\n".join([*lines, SCHEMA_LINE, "", "---", "", ""])


def entry(agent: str, each: Turn | Restoration, number: int) -> str:
    """One query and its answer, or the restoration; ``number`` is that of the query."""
    agent = markdown.inline(agent)
    if isinstance(each, Restoration):
        cost = names.cost(each.parent.queries, each.parent.tokens)
        top = [
            f"## Session Restored ({_clock(each.at)})",
            f"**Context:** Resumed from {each.parent.session_id} ({cost})",
            f"**Previous Session:** {markdown.inline(each.parent.path)}",
        ]
    else:
        top = [f"## Query {number} ({_clock(each.at)})", _speech(YOU, each.query, agent)]
    return "\n".join(
        [
            *top,
            "",
            _speech(agent, each.answer, agent),
            "",
            metrics(each.seconds, each.tokens),
            "",
            "---",
            "",
            "",
        ]
    )


def metrics(seconds: float, tokens: Tokens) -> str:
    """``*Time: 3.2s | Tokens: 345 (in: 123, out: 222)*``; an estimate is marked with ~."""
    mark = "~" if tokens.estimated else ""
    return (
        f"*Time: {seconds:.1f}s | Tokens: {mark}{tokens.total:,} "
        f"(in: {mark}{tokens.input_tokens:,}, out: {mark}{tokens.output_tokens:,})*"
    )


def tail(totals: Totals, summary_text: str | None) -> str:
    """What follows the last entry: the totals, and the summary where there is one."""
    return "\n".join(_footer(totals)) + "\n" + (f"\n{summary.block(summary_text)}" if summary_text else "")


def _footer(totals: Totals) -> list[str]:
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


def _speech(speaker: str, text: str, agent: str) -> str:
    """``**Speaker:** words``; a code block begins on a line of its own, or it would be none."""
    # A space at the margin changes nothing for a reader of the page, and everything for whoever looks for structure.
    ours = re.compile(rf"^(?=\*\*({YOU}|{re.escape(agent)}):\*\*|<!-- SESSION_SUMMARY_|## )", re.MULTILINE)
    said = ours.sub(" ", markdown.block(text))
    return f"**{speaker}:**{chr(10) if said.lstrip().startswith(_FENCE) else ' '}{said}"


def _clock(moment: datetime) -> str:
    return f"{moment.astimezone():%H:%M:%S}"
