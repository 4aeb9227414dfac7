"""The chat loop, top to bottom: read, answer, save; compact and resume along a chain of summaries; a summary on the way out.

Every word the loop says is design 003's. Whatever goes wrong with the agent or the disk is said, and the loop goes on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leftoff.chat import commands
from leftoff.chat.commands import Command
from leftoff.chat.console import Console, Looks
from leftoff.chat.drivers.choose import agent_from
from leftoff.chat.opening import console_here
from leftoff.conversations import names, page
from leftoff.conversations.index import Listed
from leftoff.errors import DocumentError, LeftoffError, NotFoundError
from leftoff.flows import chat_restore, chat_save, chat_sessions, chat_turn
from leftoff.flows.chat_agent import ChatAgent
from leftoff.flows.chat_restore import Candidate, Restored
from leftoff.flows.chat_save import SavedChat
from leftoff.flows.chat_session import Chat, ChatPlace, begin, place_of
from leftoff.meter.warnings import warning
from leftoff.model.context_metrics import Level
from leftoff.system import paths

NO_SUMMARY = "Summary generation failed - session saved but cannot be resumed"
_FRESH = ", starting fresh"
_CANNOT_RESET = (
    "This agent keeps its own history and leftoff cannot empty it: it still holds everything that was said. "
    "Give it a reset() method, or start it from a file."
)


class ChatLoop:
    """A chat with any agent: an object of any framework, or one of leftoff's own drivers.

    ``folder`` holds the saved chats; by default the one that the settings name, below ``working_folder``.
    """

    def __init__(
        self,
        agent: Any,
        *,
        name: str | None = None,
        agent_path: str = "",
        working_folder: Path | None = None,
        folder: Path | None = None,
        window_tokens: int | None = None,
        console: Console | None = None,
        looks: Looks | None = None,
        agree: bool = False,
    ) -> None:
        self._looks = looks or Looks()
        self.place: ChatPlace = place_of(
            working_folder or paths.working_folder(), folder=folder, window_tokens=window_tokens
        )
        self.agent: ChatAgent = agent_from(agent, name=name, path=agent_path)
        self.console: Console = console or console_here(self.place, looks=self._looks, agree=agree)
        self.chat: Chat = begin(self.agent, self.place)
        self.sessions: list[str] = []  # the ids of all chats that were saved in this loop

    def run(self, resume: str | None = None) -> int:
        """Talk until the user leaves; 0, or 1 when something that was said could not be saved."""
        self.console.say(f"{self.agent.name} is here. Type help for the commands, exit to leave.")
        if resume is not None:
            self.restore_session(resume)
        while True:
            try:
                if self._step():
                    return 1 if self.chat.unsaved and self.place.settings.chat.auto_save else 0
            except KeyboardInterrupt:
                self.console.say("Type exit to leave; Ctrl-C stops an answer.")

    def _step(self) -> bool:
        """One line of the user's; whether it was the last."""
        line = self.console.read(self._gauge)
        command = Command(name="exit") if line is None else commands.parse(line)
        if command is not None and command.name == "exit":
            return self._leave(at_end_of_input=line is None)
        if command is not None:
            self._obey(command)
        elif line and line.strip():
            self.ask(line)
        return False

    def ask(self, query: str) -> str:
        """One turn: the agent's answer, which is shown, counted and saved."""
        self.console.begin_answer(self.agent.name)
        taken = chat_turn.take_turn(self.chat, query, self.console.heard)
        self.console.end_answer(taken.turn.answer)
        if taken.stopped:
            self.console.say("Stopped. What was said so far is kept.")
        if taken.trouble is not None:
            self._warn(f"{taken.trouble} Ask again, or type exit.")
        self.console.say(page.metrics(taken.turn.seconds, taken.turn.tokens).strip("*"))
        self.console.say("")
        self._tell_unsaved(taken.unsaved)
        if taken.announce is not None:
            self._tell_threshold(taken.announce)
        return taken.turn.answer

    def save_conversation(self) -> Path | None:
        """Save with a summary; the file, or None when nothing was said yet. The chat goes on."""
        saved = self._save()
        return saved.file.path if saved else None

    def compact(self) -> bool:
        """Save with a summary and go on in a new session that knows only the summary; whether that was done."""
        saved = self._save(done="")
        if saved is None:
            self.console.say("Nothing was said yet, so there is nothing to compact.")
            return False
        if saved.summary is None:
            self.console.say("Nothing was compacted; the agent still knows everything. Try again, or go on.")
            return False
        cost = names.cost(saved.file.totals.queries, saved.file.totals.tokens)
        self.console.say(f"Saved session: {saved.file.session_id} ({cost})", "💾")
        self.console.say("Starting new session with summary...", "🔄")
        try:
            listed = chat_sessions.resolve(self.place, saved.file.session_id, [])
            self._go_on_from(chat_restore.candidate(self.place, listed))
        except LeftoffError as error:
            self._warn(f"{error} This session goes on.")
            return False
        return True

    def restore_session(self, words: str) -> bool:
        """Go on from the chat that a number or id names, by its summary alone; whether that was done."""
        self.console.say("Loading session...", "📋")
        chosen = self._candidate(words)
        if chosen is None:
            return False
        listed = chosen.listed
        when = f"{listed.date.astimezone():%b %d, %H:%M}"
        cost = names.cost(listed.queries, listed.tokens)
        self.console.say(f"Found: {self._looks.visible(listed.agent)} - {when} ({cost})", "✓")
        if not self._put_aside():
            return False
        self.console.say("Restoring context...", "🔄")
        self._go_on_from(chosen)
        return True

    def _candidate(self, words: str) -> Candidate | None:
        """The chat to go on from, with the user's consent; else why not, in 003's words."""
        ending = "" if self.chat.totals.queries else _FRESH
        try:
            listed = self._resolved(words)
            if self._is_this(listed):
                self._warn("That is this session. To go on from its summary alone: compact")
                return None
            chosen = chat_restore.candidate(self.place, listed)
        except NotFoundError:
            self._warn(f"Parent session {words} not found{ending}")
            return None
        except DocumentError as error:
            self._warn(f"{error}{ending if 'no summary' in str(error) else ''}")
            return None
        except LeftoffError as error:
            self._warn(str(error))
            return None
        if chat_restore.is_another(self.agent, listed):
            was = self._looks.visible(listed.agent_path)
            if not self.console.confirm(
                f"Session created with {was}, using {self.agent.path}. Continue? (y/n)"
            ):
                return None
        return chosen

    def _put_aside(self) -> bool:
        """Save what was said so far with its summary, so that it can be resumed too; a session without a query goes."""
        if not self.chat.totals.queries:
            self._drop_empty()
            return True
        try:
            self._save()
        except LeftoffError as error:
            self._warn(f"{error} This session goes on; nothing was resumed.")
            return False
        return True

    def _go_on_from(self, chosen: Candidate) -> None:
        self.console.say("")
        self.console.begin_answer(self.agent.name)
        restored: Restored = chat_restore.restore(self.chat, chosen, self.console.heard)
        self.console.end_answer(restored.answered.text)
        self.console.say("")
        self.chat = restored.chat
        self._note_session()
        self._tell_unsaved(restored.unsaved)
        if restored.reset == "cannot":
            self._warn(_CANNOT_RESET)

    def _save(self, done: str = "✓") -> SavedChat | None:
        """With the line of progress, and ``done`` at its end; None when nothing was said."""
        if not self.chat.totals.queries:
            return None
        self.console.begin("Generating session summary...", "📝")
        saved = None
        try:
            saved = chat_save.save_with_summary(self.chat)
        finally:
            self.console.end(done if saved is not None and saved.summary is not None else "")
        self._note_session()
        if saved.summary is None:
            self._warn(self._without_summary())
            self.console.say(f"   ({self._looks.visible(saved.summary_trouble or 'no reason is known')})")
        return saved

    def _without_summary(self) -> str:
        """003's words; where an earlier summary stands in the file, that one can be resumed from, and is older."""
        if self.chat.file is None or self.chat.file.summary is None:
            return NO_SUMMARY
        missing = self.chat.totals.queries - self.chat.summarised_queries
        since = "1 query" if missing == 1 else f"{missing} queries"
        return f"Summary generation failed - session saved; it can be resumed from its earlier summary, which is {since} old"

    def _leave(self, *, at_end_of_input: bool) -> bool:
        """The way out: whether it was taken. What cannot be saved is not left behind without a word."""
        if not self.place.settings.chat.auto_save or not self.chat.totals.queries:
            if self._drop_empty() and self.chat.parent:
                self.console.say(
                    f"Nothing was said since. To go on another time: resume {self.chat.parent.session_id}"
                )
            if self.chat.unsaved:
                self.console.say("Not saved, as the setting chat.auto_save wants it.")
            self.console.say("Goodbye!")
            return True
        try:
            saved = self._save()
        except LeftoffError as error:
            self._warn(f"{error} This session is not saved.")
            return at_end_of_input or self.console.confirm("Leave anyway, without it? (y/n)")
        self.console.say("Goodbye!")
        if saved is not None:
            self.console.say("Conversation saved successfully!", "✓")
            self.console.say(f"  Session ID: {saved.file.session_id}")
            self.console.say(f"  Queries: {saved.file.totals.queries}")
            mark = "~" if saved.file.totals.estimated else ""
            self.console.say(f"  Tokens: {mark}{saved.file.totals.tokens:,}")
        return True

    def _drop_empty(self) -> bool:
        """Take away a session that was resumed and in which nothing was said: the one before it is the one to go on from."""
        file = self.chat.file
        if file is None or self.chat.totals.queries:
            return False
        try:
            chat_sessions.delete(chat_sessions.resolve(self.place, file.session_id, []))
        except LeftoffError:
            return False
        self.sessions.remove(file.session_id)
        return True

    def _obey(self, command: Command) -> None:
        """A command of the user's; what goes wrong with it is said."""
        try:
            match command.name:
                case "compact":
                    self.compact()
                case "save":
                    path = self.save_conversation()
                    self.console.say(f"Saved: {path}" if path else "Nothing was said yet.")
                case "sessions":
                    self._list()
                case "help":
                    self._help()
                case name if command.argument is None:
                    self.console.say(
                        f"{name} takes the number or id of a session: {name} 1. sessions lists them."
                    )
                case "resume":
                    self.restore_session(command.argument or "")
                case _:
                    self._handle(command.name, command.argument or "")
        except LeftoffError as error:
            self._warn(str(error))

    def _handle(self, name: str, words: str) -> None:
        """show, export or delete one saved chat."""
        listed = self._resolved(words)
        if name == "show":
            self.console.say(self._looks.visible(chat_sessions.text_of(listed)))
        elif name == "export":
            target = paths.working_folder() / f"{listed.session_id}-chain.md"
            text = chat_sessions.export(self.place, listed)
            self.console.say(f"Written: {chat_sessions.write_export(text, target)}")
        elif self._is_this(listed):
            self._warn("That is this session. Leave it first: exit")
        else:
            chat_sessions.require_whole(words, listed)
            if self.console.confirm(f"Delete {listed.session_id} for good? (y/n)"):
                chat_sessions.delete(listed)
                self.console.say(f"Deleted: {listed.session_id}")

    def _list(self) -> None:
        shelf = chat_sessions.chats_in(self.place)
        others = [each for each in shelf.chats if not self._is_this(each)]
        chat_sessions.remember_shown(self.place, others)
        for number, each in enumerate(others, start=1):
            self.console.say(line_of(number, each, self._looks))
        for trouble in shelf.troubles:
            self._warn(str(trouble))
        if not others:
            self.console.say("No saved sessions yet.")

    def _help(self) -> None:
        for name, (takes, words) in commands.COMMANDS.items():
            self.console.say(f"  {f'{name} {takes}':<16} {words}")
        self.console.say(
            f"  {commands.SIGN}compact and the like always mean the command. Alt-Enter begins a new line."
        )

    def _resolved(self, words: str) -> Listed:
        """A number is that of the list last shown, here or by ``--list``; that is said where another list would be shown now."""
        shown = chat_sessions.last_shown(self.place)
        now = [
            each.session_id for each in chat_sessions.chats_in(self.place).chats if not self._is_this(each)
        ]
        if shown is not None and words.isdecimal() and (newer := len({*now} - {*shown})):
            self.console.say(f"{words} is the number in the list last shown; {newer} newer since: sessions")
        return chat_sessions.resolve(self.place, words, now if shown is None else shown)

    def _is_this(self, listed: Listed) -> bool:
        return self.chat.file is not None and listed.session_id == self.chat.file.session_id

    def _note_session(self) -> None:
        file = self.chat.file
        if file is not None and file.session_id not in self.sessions:
            self.sessions.append(file.session_id)

    @property
    def is_hanging(self) -> bool:
        """Whether code of the agent still runs that would not stop when it was told to."""
        return bool(getattr(self.agent, "is_hanging", False))

    def _gauge(self) -> str:
        return f" {self.agent.name} · {self._looks.gauge(self.chat.metrics, self.place.thresholds)}"

    def _tell_threshold(self, level: Level) -> None:
        metrics = self.chat.metrics
        head = (warning(level, metrics) or "").partition("\n")[0]
        self.console.say(head)
        self.console.say(
            f"{metrics.remaining_tokens or 0:,} tokens remaining - type compact to go on with a summary."
        )

    def _tell_unsaved(self, error: LeftoffError | None) -> None:
        self._note_session()
        if error is not None:
            self._warn(f"{error} It is kept in memory and saved with the next answer.")

    def _warn(self, words: str) -> None:
        self.console.say(self._looks.visible(words), "⚠️")


def line_of(number: int, each: Listed, looks: Looks) -> str:
    """A chat in a list."""
    when = f"{each.date.astimezone():%b %d, %H:%M}"
    note = "" if each.has_summary else ", no summary"
    cost = names.cost(each.queries, each.tokens)
    return f"{number:>3}  {each.session_id}  {looks.visible(each.agent)} - {when} ({cost}{note})"
