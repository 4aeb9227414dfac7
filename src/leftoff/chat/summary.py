"""Summaries of a chat: the prompts that ask for one and hand one over, and a summary by rules that needs no model.

The chat's own agent, the rules or a configured summariser writes it. A model has a time limit and one retry; after that, or
after Ctrl-C, the chat is saved without a summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from leftoff.chat import chat_file, page
from leftoff.chat.chat_file import Exchange
from leftoff.chat.conversation import Chat
from leftoff.chat.page import END, PLACEHOLDER, START, Parent, Totals, escape_summary
from leftoff.errors import LeftoffError
from leftoff.resume_logs.summariser import RULES, find_summariser

MAX_CONVERSATION_CHARS = 120_000  # of the prompt: the agent's window must have space left for the summary
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
INITIAL = "Initial session."
_MAX_ITEMS = 12
_MAX_ITEM_CHARS = 200
_MIN_SENTENCE_CHARS = 12
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_DECIDED = re.compile(
    r"\b(?:decided|let'?s (?:use|go|keep|do)|we(?:'ll| will) (?:use|keep|go)|going with|settled on|agreed|instead of|rather than|chose)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:todo|still (?:to|open|missing)|next step|later|remaining|pending|not yet)\b", re.IGNORECASE
)
AGENT = "agent"
_ATTEMPTS = 2


def summary_prompt(conversation: str, previous: str | None) -> str:
    """Return the prompt for a summary; ``previous`` is the summary that the conversation continued from."""
    return _SUMMARY.format(
        background=_BACKGROUND.format(previous=previous) if previous else "",
        conversation=_shorten(conversation.strip()),
        start=START,
        placeholder=PLACEHOLDER,
        end=END,
    )


def restoration_prompt(parent: Parent, date: datetime, summary: str) -> str:
    """Return the prompt that hands over the parent's summary, and nothing older."""
    chain = f"This session was resumed from: {parent.resumed_from}\n" if parent.resumed_from else ""
    return _RESTORATION.format(
        date=f"{date:%Y-%m-%d %H:%M}",
        session_id=parent.session_id,
        cost=page.format_cost(parent.queries, parent.tokens),
        chain=chain,
        path=parent.path,
        start=START,
        summary=escape_summary(summary),
        end=END,
    )


def _shorten(conversation: str) -> str:
    """Return the beginning of a long conversation and, three times as long, its end."""
    left_out = len(conversation) - MAX_CONVERSATION_CHARS
    if left_out <= 0:
        return conversation
    head, tail = MAX_CONVERSATION_CHARS // 4, MAX_CONVERSATION_CHARS - MAX_CONVERSATION_CHARS // 4
    return f"{conversation[:head]}\n\n[{left_out:,} characters left out]\n\n{conversation[-tail:]}"


def summarise_by_rules(exchanges: Sequence[Exchange], previous: str | None) -> str:
    """Return a summary made of the queries, of sentences that decide something, and of what is open."""
    sentences = [
        each for exchange in exchanges for each in _sentences(f"{exchange.query}\n{exchange.answer}")
    ]
    pending = [*filter(_OPEN.search, sentences)]
    if exchanges:
        pending.append(f"Last asked: {exchanges[-1].query}")
    return "\n".join(
        [
            f"**Background Context:** {_background_line(previous)}",
            "",
            "**Current Session Summary:**",
            "**Topics Discussed:**",
            *_bullets(exchange.query for exchange in exchanges),
            "",
            "**Decisions Made:**",
            *_bullets(filter(_DECIDED.search, sentences)),
            "",
            "**Pending:**",
            *_bullets(pending),
        ]
    )


def _background_line(previous: str | None) -> str:
    """Return the topics of the previous summary as a sentence."""
    if not previous:
        return INITIAL
    topics = previous.partition("**Topics Discussed:**")[2].partition("**Decisions Made:**")[0]
    words = [line.removeprefix("- ").strip() for line in topics.splitlines() if line.strip()]
    return _clip(f"The session before was about: {'; '.join(words) or _clip(previous)}") + "."


def _sentences(text: str) -> list[str]:
    return [
        sentence for each in _SENTENCE.findall(text) if len(sentence := each.strip()) > _MIN_SENTENCE_CHARS
    ]


def _bullets(texts: Iterable[str]) -> list[str]:
    """Return the last of the texts, each once, as a list."""
    kept = [*dict.fromkeys(map(_clip, texts))][-_MAX_ITEMS:]
    return [f"- {each}" for each in kept] or ["- None noted."]


def _clip(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_ITEM_CHARS else f"{line[: _MAX_ITEM_CHARS - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryResult:
    """A summary without markers; ``text`` is ``None`` without one, and ``error`` says why."""

    text: str | None
    error: str | None = None


def write_summary(chat: Chat) -> SummaryResult:
    """Summarise the whole chat."""
    text = _chat_text(chat)
    redact = chat.store.workspace.redact
    if chat.store.settings.summariser == RULES:
        exchanges = chat_file.parse_exchanges(text, chat.header.agent)
        return SummaryResult(text=redact(summarise_by_rules(exchanges, chat.parent_summary)))
    prompt = summary_prompt(chat_file.entries_text(text), chat.parent_summary)
    reason = "no answer"
    for _ in range(_ATTEMPTS):
        try:
            summary = page.summary_from_answer(_request_summary(chat, prompt))
        except KeyboardInterrupt:
            return SummaryResult(text=None, error="it was stopped")
        except LeftoffError as error:
            reason = str(error)
            continue
        if summary:
            return SummaryResult(text=redact(summary))
        reason = "the answer was not a summary in the format that was asked for"
    return SummaryResult(text=None, error=reason)


def _request_summary(chat: Chat, prompt: str) -> str:
    """Return the answer of the summariser that the settings name, within the time limit."""
    seconds, name = chat.store.settings.summary_seconds, chat.store.settings.summariser
    if name == AGENT:
        return chat.agent.ask(prompt, on_text=lambda _: None, timeout_seconds=seconds).text or ""
    return find_summariser(name).summarise(prompt, timeout_seconds=seconds)


def _chat_text(chat: Chat) -> str:
    """Return the saved page without totals and summary, followed by the entries that could not be saved yet."""
    saved = chat.file.text() if chat.file is not None else page.render_header(chat.header, 0)
    totals, unsaved = Totals(), []
    for each in chat.unsaved:
        totals = totals.plus(each)
        unsaved.append(page.render_entry(chat.agent.name, each, totals.queries))
    return saved[: chat_file.find_tail(saved)] + "".join(unsaved)
