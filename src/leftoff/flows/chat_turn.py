"""One query and its answer: asked, timed, counted and saved; whatever the agent does, the query is kept."""

from __future__ import annotations

import time

from leftoff.conversations.values import Tokens, Turn
from leftoff.errors import LeftoffError
from leftoff.flows.chat_agent import Heard, Reply
from leftoff.flows.chat_save import keep
from leftoff.flows.chat_session import Chat
from leftoff.meter.crossings import crossing
from leftoff.model.context_metrics import Level
from leftoff.model.tokens import estimate_tokens
from leftoff.model.values import dataclass
from leftoff.system import clock

STOPPED = "[answer stopped]"
NOTHING = "[no answer: the agent returned nothing]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A turn that was taken. ``trouble``: why it has no answer. ``unsaved``: why it is not in the file yet."""

    turn: Turn
    stopped: bool = False
    trouble: LeftoffError | None = None
    unsaved: LeftoffError | None = None
    announce: Level | None = None  # a threshold that was crossed just now


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What came back of a prompt, whatever it was."""

    text: str
    seconds: float
    tokens: Tokens
    reply: Reply | None = None
    stopped: bool = False
    trouble: LeftoffError | None = None
    broken: BaseException | None = None  # nobody listens any more: the terminal or the pipe is gone


def take_turn(chat: Chat, query: str, heard: Heard) -> Taken:
    """Put the query to the agent; Ctrl-C stops the answer, and what was heard of it is kept.

    When nobody listens any more the turn is kept all the same, before that ends the chat.
    """
    at = clock.now()
    prompt = f"{chat.owed}\n\n{query}" if chat.owed else query
    answered = ask(chat, prompt, heard, timeout_seconds=None)
    if answered.reply is not None:
        chat.owed = None
    turn = Turn(
        at=at,
        query=chat.place.clean(query),
        answer=chat.place.clean(answered.text),
        seconds=answered.seconds,
        tokens=answered.tokens,
    )
    chat.totals = chat.totals.after(turn)
    note_usage(chat, answered)
    unsaved = keep(chat, turn)
    if answered.broken is not None:
        raise answered.broken
    step = crossing(chat.said, chat.metrics, chat.place.thresholds)
    chat.said = step.said
    return Taken(
        turn=turn,
        stopped=answered.stopped,
        trouble=answered.trouble,
        unsaved=unsaved,
        announce=step.announce,
    )


def ask(chat: Chat, prompt: str, heard: Heard, *, timeout_seconds: float | None) -> Answered:
    """The answer as it is kept: the agent's words, or a note in brackets why there are none."""
    pieces: list[str] = []

    def listen(piece: str) -> None:
        pieces.append(piece)
        heard(piece)

    begun = time.monotonic()
    reply: Reply | None = None
    stopped, trouble, broken = False, None, None
    try:
        reply = chat.agent.ask(prompt, heard=listen, timeout_seconds=timeout_seconds)
    except KeyboardInterrupt:
        stopped, note = True, STOPPED
    except LeftoffError as error:
        trouble, note = error, f"[no answer: {error}]"
    except (OSError, SystemExit) as error:  # a closed pipe, a hangup
        broken, note = error, STOPPED
    else:
        note = NOTHING
    text = (
        reply.text if reply is not None and reply.text else "\n\n".join(filter(None, ["".join(pieces), note]))
    )
    tokens = reply.tokens if reply is not None else None
    return Answered(
        text=text,
        seconds=time.monotonic() - begun,
        tokens=tokens or _estimated(prompt, text),
        reply=reply,
        stopped=stopped,
        trouble=trouble,
        broken=broken,
    )


def note_usage(chat: Chat, answered: Answered) -> None:
    """What stands in the window now: what the agent says, else the sum of all that was said, reckoned."""
    reply = answered.reply
    if reply is not None and reply.model:
        chat.model = reply.model
    if reply is not None and reply.tokens is not None:
        chat.used_tokens = reply.used_tokens if reply.used_tokens is not None else reply.tokens.total
        chat.used_is_estimated = reply.tokens.estimated
    else:
        chat.used_tokens = (chat.used_tokens or 0) + answered.tokens.total
        chat.used_is_estimated = True


def _estimated(prompt: str, text: str) -> Tokens:
    return Tokens(input_tokens=estimate_tokens(prompt), output_tokens=estimate_tokens(text), estimated=True)
