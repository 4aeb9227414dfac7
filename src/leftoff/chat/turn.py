"""One turn of a chat: ask, count and save; save with a summary; restore a chat from its summary.

Whatever the agent does, the query is kept. What cannot be written now is written with the next save.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from leftoff.chat import chat_file
from leftoff.chat.chat_file import ChatFile, Entry
from leftoff.chat.conversation import Chat, ChatStore, OnText, Reply, Reset
from leftoff.chat.page import Parent, Restoration, Tokens, Turn
from leftoff.chat.saved_chats import ChatInfo, require_summary, trusted_part
from leftoff.chat.summary import restoration_prompt, write_summary
from leftoff.core.budget import estimate_tokens
from leftoff.core.levels import check_crossing
from leftoff.core.metrics import Level
from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.platform import clock, process

STOPPED_NOTE = "[answer stopped]"
NO_ANSWER_NOTE = "[no answer: the agent returned nothing]"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """A turn. ``error`` says why it has no answer, ``save_error`` why it is not saved yet."""

    turn: Turn
    stopped: bool = False
    error: LeftoffError | None = None
    save_error: LeftoffError | None = None
    crossed_level: Level | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a prompt. ``output_error``: the terminal or pipe that shows the answer is gone."""

    text: str
    seconds: float
    tokens: Tokens
    reply: Reply | None = None
    stopped: bool = False
    error: LeftoffError | None = None
    output_error: BaseException | None = None


def take_turn(chat: Chat, query: str, on_text: OnText) -> TurnResult:
    """Put the query to the agent and save both. Ctrl-C stops the answer, and the text so far is kept.

    If the output is gone, the turn is saved before the error ends the chat.
    """
    at = clock.now()
    prompt = f"{chat.pending_context}\n\n{query}" if chat.pending_context else query
    answer = _ask(chat, prompt, on_text, timeout_seconds=None)
    if answer.reply is not None:
        chat.pending_context = None
    turn = Turn(
        at=at,
        query=chat.store.workspace.redact(query),
        answer=chat.store.workspace.redact(answer.text),
        seconds=answer.seconds,
        tokens=answer.tokens,
    )
    save_error = _record(chat, turn, answer)
    step = check_crossing(chat.announced_level, chat.metrics, chat.thresholds)
    chat.announced_level = step.announced
    return TurnResult(
        turn=turn,
        stopped=answer.stopped,
        error=answer.error,
        save_error=save_error,
        crossed_level=step.announce,
    )


def _ask(chat: Chat, prompt: str, on_text: OnText, *, timeout_seconds: float | None) -> Answer:
    """Ask the agent; the text is its answer, or a note in brackets that says why it did not answer."""
    pieces: list[str] = []

    def collect(piece: str) -> None:
        pieces.append(piece)
        on_text(piece)

    started = time.monotonic()
    reply: Reply | None = None
    stopped = False
    failure: LeftoffError | None = None
    output_error: BaseException | None = None
    try:
        reply = chat.agent.ask(prompt, on_text=collect, timeout_seconds=timeout_seconds)
    except KeyboardInterrupt:
        stopped, note = True, STOPPED_NOTE
    except LeftoffError as error:
        failure, note = error, f"[no answer: {error}]"
    except (OSError, SystemExit) as error:  # a closed pipe, a hangup
        output_error, note = error, STOPPED_NOTE
    else:
        note = NO_ANSWER_NOTE
    text = (
        reply.text if reply is not None and reply.text else "\n\n".join(filter(None, ["".join(pieces), note]))
    )
    tokens = reply.tokens if reply is not None else None
    return Answer(
        text=text,
        seconds=time.monotonic() - started,
        tokens=tokens
        or Tokens(input_tokens=estimate_tokens(prompt), output_tokens=estimate_tokens(text), estimated=True),
        reply=reply,
        stopped=stopped,
        error=failure,
        output_error=output_error,
    )


def _record(chat: Chat, entry: Entry, answer: Answer) -> LeftoffError | None:
    """Count and save an entry; return the error if it cannot be saved. Raise if the output of the answer is gone."""
    chat.totals = chat.totals.plus(entry)
    _update_usage(chat, answer)
    save_error = _save_entry(chat, entry)
    if answer.output_error is not None:
        raise answer.output_error
    return save_error


def _update_usage(chat: Chat, answer: Answer) -> None:
    """Update the used tokens: as the agent reports them, else the sum of all estimates."""
    reply = answer.reply
    if reply is not None and reply.model:
        chat.model = reply.model
    if reply is not None and reply.tokens is not None:
        chat.used_tokens = reply.used_tokens if reply.used_tokens is not None else reply.tokens.total
        chat.used_is_estimated = reply.tokens.estimated
    else:
        chat.used_tokens = (chat.used_tokens or 0) + answer.tokens.total
        chat.used_is_estimated = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveResult:
    """What was saved. ``summary_error`` says why there is no summary of the whole chat."""

    file: ChatFile
    summary: str | None
    summary_error: str | None = None


def _save_entry(chat: Chat, entry: Entry) -> LeftoffError | None:
    """Save an entry if ``chat.auto_save`` is on; return the error if that fails, and keep the entry for the next save."""
    chat.unsaved.append(entry)
    if not chat.store.settings.auto_save:
        return None
    try:
        _write(chat, None)
    except LeftoffError as error:
        return error
    return None


def save_with_summary(chat: Chat) -> SaveResult:
    """Save everything, with a summary if one can be written."""
    if not chat.totals.queries:
        raise NothingToDoError("Nothing was said in this chat yet, so there is nothing to save.")
    if chat.unsaved:
        _write(chat, None)  # first, because writing a summary takes time and may fail
    if chat.file is not None and chat.summarised_queries == chat.totals.queries:
        return SaveResult(file=chat.file, summary=chat.file.summary)
    result = write_summary(chat)
    return SaveResult(file=_write(chat, result.text), summary=result.text, summary_error=result.error)


def _write(chat: Chat, summary: str | None) -> ChatFile:
    """Write the unsaved entries, and ``summary`` unless it is ``None``. Ctrl-C waits, so that it is known what was written."""
    with process.defer_signals():
        if not chat.store.folder.is_dir():
            chat.store.create_project_folder()
        if chat.file is None:
            chat.file = chat_file.create(chat.store.folder, chat.header, chat.unsaved, None)
        elif chat.unsaved:
            chat.file.append(chat.unsaved)
        chat.unsaved.clear()
        if summary is not None:
            # Registered before it is written, so that a killed process leaves no summary that cannot be resumed from.
            chat.store.register.note_part(
                chat.file.path, trusted_part(chat.file.header, summary), chat.file.session_id, clock.now()
            )
            chat.file.finish([], summary)
            chat.summarised_queries = chat.totals.queries
        return chat.file


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumableChat:
    """A saved chat with the summary that a new one can start from."""

    info: ChatInfo
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredChat:
    """The new chat and the agent's answer to the summary. ``reset`` is ``None`` if there was nothing to forget."""

    chat: Chat
    answer: Answer
    reset: Reset | None
    save_error: LeftoffError | None


def load_resumable(store: ChatStore, info: ChatInfo) -> ResumableChat:
    """Load a chat with its summary. Raise if it has none, or if this machine did not write it."""
    saved = chat_file.load(info.path)
    summary = require_summary(saved)
    store.register.require_part(info.path, trusted_part(saved.header, summary))
    return ResumableChat(info=info, summary=summary)


def restore_chat(before: Chat, chosen: ResumableChat, on_text: OnText) -> RestoredChat:
    """Start a new chat from a summary. If the agent fails, it receives the summary again with the next query."""
    info, store = chosen.info, before.store
    reset = before.agent.reset() if before.totals.queries or before.parent else None
    at = clock.now()
    parent = Parent(
        session_id=info.session_id,
        path=str(info.path),
        queries=info.queries,
        tokens=info.tokens,
        resumed_from=info.resumed_from,
    )
    chat = Chat(
        agent=before.agent,
        store=store,
        window_tokens=before.window_tokens,
        began=at,
        parent=parent,
        parent_summary=chosen.summary,
        model=before.model,
    )
    prompt = restoration_prompt(parent, info.date.astimezone(), chosen.summary)
    answer = _ask(chat, prompt, on_text, timeout_seconds=store.settings.summary_seconds)
    chat.pending_context = prompt if answer.reply is None else None
    entry = Restoration(
        at=at,
        parent=parent,
        answer=store.workspace.redact(answer.text),
        seconds=answer.seconds,
        tokens=answer.tokens,
    )
    save_error = _record(chat, entry, answer)
    return RestoredChat(chat=chat, answer=answer, reset=reset, save_error=save_error)
