"""What the agent is asked: for a progressive summary, and to take up a chat from its parent's summary. The words are 003's."""

from __future__ import annotations

from datetime import datetime

from leftoff.conversations import names
from leftoff.conversations.summary import END, PLACEHOLDER, START, harmless
from leftoff.conversations.values import Parent

MOST_CHARS = (
    120_000  # of a conversation in a prompt: an agent that is asked to summarise must have room to do it
)

_SUMMARY = """\
Generate a progressive session summary:

{background}**Current Session:**
{conversation}

Create a structured summary:

**Background Context:** [condensed previous context or "Initial session."]

**Current Session Summary:**
**Topics Discussed:**
- [bullet points about THIS session]

**Decisions Made:**
- [bullet points about THIS session]

**Pending:**
- [what's still open]

Aim for less than 500 words, be complete but terse, no fluff.
Use the exact format with HTML comment markers:

{start}
{placeholder}
{end}
"""

_BACKGROUND = """\
**Background Context:** Condense this previous summary to 1-2 sentences:
{previous}

"""

_RESTORATION = """\
CONTEXT RESTORATION: You are continuing a previous conversation from {date}.

Previous session summary (Session ID: {session_id}, {cost}):

{chain}Previous session file: {path}

{start}
{summary}
{end}

Task: Review the above and provide a brief acknowledgment (2-6 sentences or bullets) that includes:
1. Main topics discussed
2. Key decisions made
3. Confirmation you're ready to continue

Keep your response concise.
"""


def for_summary(conversation: str, previous: str | None) -> str:
    """Asks for the summary of a conversation; ``previous`` is the summary that it went on from."""
    return _SUMMARY.format(
        background=_BACKGROUND.format(previous=previous) if previous else "",
        conversation=_bounded(conversation.strip()),
        start=START,
        placeholder=PLACEHOLDER,
        end=END,
    )


def for_restoration(parent: Parent, date: datetime, summary: str) -> str:
    """Hands over the parent's summary, and nothing older."""
    chain = f"This session was resumed from: {parent.resumed_from}\n" if parent.resumed_from else ""
    return _RESTORATION.format(
        date=f"{date:%Y-%m-%d %H:%M}",
        session_id=parent.session_id,
        cost=names.cost(parent.queries, parent.tokens),
        chain=chain,
        path=parent.path,
        start=START,
        summary=harmless(summary),
        end=END,
    )


def _bounded(conversation: str) -> str:
    """Its beginning and, three times as long, its end; what lies between is counted."""
    left_out = len(conversation) - MOST_CHARS
    if left_out <= 0:
        return conversation
    head, tail = MOST_CHARS // 4, MOST_CHARS - MOST_CHARS // 4
    return f"{conversation[:head]}\n\n[{left_out:,} characters left out]\n\n{conversation[-tail:]}"
