"""The summary of a chat: by its own agent with 003's prompt, by the rules, or by whatever summariser the user names.

It has a time limit and one retry; then the chat goes without. Ctrl-C means: without.
"""

from __future__ import annotations

from collections.abc import Callable

from leftoff.conversations import page, prompts, reading, rules, summary
from leftoff.conversations.values import Totals
from leftoff.errors import LeftoffError
from leftoff.flows.chat_session import Chat
from leftoff.flows.polish import RULES, summariser_called
from leftoff.model.values import dataclass

AGENT = "agent"
_ATTEMPTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The text without its markers; None: there is none, and ``trouble`` says why."""

    text: str | None
    trouble: str | None = None


def summary_of(chat: Chat) -> Summary:
    """A summary of all that was said."""
    text = _text(chat)
    if chat.place.settings.chat.summariser == RULES:
        made = rules.summarise(reading.exchanges(text, chat.header.agent), chat.background)
        return Summary(text=chat.place.clean(made))
    prompt = prompts.for_summary(reading.body(text), chat.background)
    trouble = "no answer"
    for _ in range(_ATTEMPTS):
        try:
            found = summary.from_answer(_writer(chat)(prompt))
        except KeyboardInterrupt:
            return Summary(text=None, trouble="it was stopped")
        except LeftoffError as error:
            trouble = str(error)
            continue
        if found:
            return Summary(text=chat.place.clean(found))
        trouble = "the answer was no summary in the format that was asked for"
    return Summary(text=None, trouble=trouble)


def _writer(chat: Chat) -> Callable[[str], str]:
    """Who writes it: from a prompt to an answer, within the time limit."""
    seconds = chat.place.settings.chat.summary_seconds
    name = chat.place.settings.chat.summariser
    if name == AGENT:
        return lambda prompt: chat.agent.ask(prompt, heard=lambda _: None, timeout_seconds=seconds).text or ""
    return lambda prompt: summariser_called(name).summarise(prompt, timeout_seconds=seconds)


def _text(chat: Chat) -> str:
    """The page so far; what could not be saved yet is part of it."""
    saved = chat.file.text() if chat.file is not None else page.header(chat.header, 0)
    totals, waiting = Totals(), []
    for each in chat.unsaved:
        totals = totals.after(each)
        waiting.append(page.entry(chat.agent.name, each, totals.queries))
    return saved[: reading.tail_at(saved)] + "".join(waiting)
