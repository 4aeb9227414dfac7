"""Saving a chat: after every answer, and with a summary at its end. What cannot be written now is written with the next save."""

from __future__ import annotations

from leftoff.conversations import chat_file
from leftoff.conversations.chat_file import ChatFile, Entry
from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.flows.chat_session import Chat
from leftoff.flows.chat_sessions import handed_over
from leftoff.flows.chat_summary import Summary, summary_of
from leftoff.model.values import dataclass
from leftoff.system import clock, interrupts, paths


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedChat:
    """What was saved. ``summary_trouble``: why it has no summary of all that was said."""

    file: ChatFile
    summary: str | None
    summary_trouble: str | None = None


def keep(chat: Chat, entry: Entry) -> LeftoffError | None:
    """Put one more entry into the file; where that fails, why, and the entry waits for the next time.

    Without auto_save every entry waits until somebody asks for the chat to be saved.
    """
    chat.unsaved.append(entry)
    if not chat.place.settings.chat.auto_save:
        return None
    try:
        _write(chat, None)
    except LeftoffError as error:
        return error
    return None


def save_with_summary(chat: Chat) -> SavedChat:
    """All of it, with a summary by whoever the settings name; without one where that fails (003)."""
    if not chat.totals.queries:
        raise NothingToDoError("Nothing was said in this chat yet, so there is nothing to save.")
    if chat.unsaved:
        _write(chat, None)  # before anything that takes time: a summary may never come
    if chat.file is not None and chat.summarised_queries == chat.totals.queries:
        return SavedChat(file=chat.file, summary=chat.file.summary)
    made = summary_of(chat)
    file = _write(chat, made.text)
    return SavedChat(file=file, summary=made.text, summary_trouble=_why(made))


def _write(chat: Chat, summary: str | None) -> ChatFile:
    """``summary`` None leaves the one that stands there. Ctrl-C waits: a save that was begun is known to be done."""
    with interrupts.held():
        if chat.place.folder.is_relative_to(chat.place.project.folder) and not chat.place.folder.is_dir():
            paths.make_project_folder(chat.place.project)
        if chat.file is None:
            chat.file = chat_file.create(chat.place.folder, chat.header, chat.unsaved, None)
        elif chat.unsaved:
            chat.file.append(chat.unsaved)
        chat.unsaved.clear()
        if summary is not None:
            # What may be handed to an agent again is known to be ours before it stands there, however the writing ends.
            chat.place.register.note_part(
                chat.file.path, handed_over(chat.file.header, summary), chat.file.session_id, clock.now()
            )
            chat.file.finish([], summary)
            chat.summarised_queries = chat.totals.queries
        return chat.file


def _why(made: Summary) -> str | None:
    return made.trouble if made.text is None else None
