"""Going on from a saved chat: its summary and nothing older (n-1), given to an agent whose own history is emptied first."""

from __future__ import annotations

from leftoff.conversations import prompts
from leftoff.conversations.index import Listed
from leftoff.conversations.values import Parent, Restoration
from leftoff.errors import LeftoffError
from leftoff.flows.chat_agent import ChatAgent, Heard, Reset
from leftoff.flows.chat_save import keep
from leftoff.flows.chat_session import Chat, ChatPlace
from leftoff.flows.chat_sessions import handed_over, require_summary, saved_in
from leftoff.flows.chat_turn import Answered, ask, note_usage
from leftoff.model.values import dataclass
from leftoff.system import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chat that can be gone on from."""

    listed: Listed
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The new chat, what the agent said to the summary, and whether it really forgot the rest."""

    chat: Chat
    answered: Answered
    reset: Reset | None  # None: there was nothing to forget
    unsaved: LeftoffError | None


def candidate(place: ChatPlace, listed: Listed) -> Candidate:
    """The chat with its summary; refused without one, and where this machine did not write it."""
    saved = saved_in(listed)
    summary = require_summary(saved)
    place.register.require_part(listed.path, handed_over(saved.header, summary))
    return Candidate(listed=listed, summary=summary)


def is_another(agent: ChatAgent, listed: Listed) -> bool:
    """Whether the chat was had with another agent."""
    return listed.agent_path != agent.path


def restore(before: Chat, chosen: Candidate, heard: Heard) -> Restored:
    """A new chat on the parent's summary. What the agent answers is taken as it is; if it fails, it is told again later."""
    listed, place = chosen.listed, before.place
    reset = before.agent.reset() if before.totals.queries or before.parent else None
    at = clock.now()
    parent = Parent(
        session_id=listed.session_id,
        path=str(listed.path),
        queries=listed.queries,
        tokens=listed.tokens,
        resumed_from=listed.resumed_from,
    )
    chat = Chat(
        agent=before.agent,
        place=place,
        began=at,
        parent=parent,
        background=chosen.summary,
        model=before.model,
    )
    prompt = prompts.for_restoration(parent, listed.date.astimezone(), chosen.summary)
    answered = ask(chat, prompt, heard, timeout_seconds=place.settings.chat.summary_seconds)
    chat.owed = prompt if answered.reply is None else None
    entry = Restoration(
        at=at,
        parent=parent,
        answer=place.clean(answered.text),
        seconds=answered.seconds,
        tokens=answered.tokens,
    )
    chat.totals = chat.totals.after(entry)
    note_usage(chat, answered)
    unsaved = keep(chat, entry)
    if answered.broken is not None:
        raise answered.broken
    return Restored(chat=chat, answered=answered, reset=reset, unsaved=unsaved)
