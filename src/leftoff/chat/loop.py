"""The chat loop: read a line, answer, save; compact and resume through summaries; save with a summary on exit.

Errors of the agent or the disk are shown, and the loop continues.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leftoff.chat import chat_file, page, saved_chats, turn
from leftoff.chat.console import (
    COMMAND_SIGN,
    COMMANDS,
    Command,
    Console,
    Looks,
    choose_console,
    parse_command,
)
from leftoff.chat.conversation import Chat, ChatAgent, ChatStore
from leftoff.chat.drivers import wrap_agent
from leftoff.chat.saved_chats import ChatInfo
from leftoff.chat.turn import RestoredChat, ResumableChat, SaveResult
from leftoff.core.levels import warning_text
from leftoff.core.metrics import Level
from leftoff.core.quantities import count
from leftoff.errors import DocumentError, LeftoffError, NotFoundError
from leftoff.platform import paths
from leftoff.workspace import Workspace

NO_SUMMARY = "Summary generation failed - session saved but cannot be resumed"
_STARTING_FRESH = ", starting fresh"
_CANNOT_RESET = (
    "This agent keeps its own history and leftoff cannot empty it: it still holds everything that was said. "
    "Give it a reset() method, or start it from a file."
)


class ChatLoop:
    """A chat with any agent: an object of any framework, or one of leftoff's own chat agents.

    ``folder`` holds the saved chats; the default is the setting ``chat.folder`` below ``working_folder``. ``workspace`` may be
    given instead of ``working_folder``.
    """

    def __init__(
        self,
        agent: Any,
        *,
        name: str | None = None,
        agent_path: str = "",
        workspace: Workspace | None = None,
        working_folder: Path | None = None,
        folder: Path | None = None,
        window_tokens: int | None = None,
        console: Console | None = None,
        looks: Looks | None = None,
        agree: bool = False,
    ) -> None:
        self._looks = looks or Looks()
        self.store = ChatStore.open(workspace or Workspace.open(working_folder), folder)
        self.agent: ChatAgent = wrap_agent(agent, name=name, path=agent_path)
        self.console: Console = console or choose_console(
            self.store.workspace.redact, looks=self._looks, agree=agree
        )
        self.chat = Chat(agent=self.agent, store=self.store, window_tokens=window_tokens)
        self.sessions: list[str] = []  # the ids of all chats that were saved in this loop

    def run(self, resume: str | None = None) -> int:
        """Chat until the user leaves. Return 0, or 1 if something could not be saved."""
        self.console.say(f"{self.agent.name} is here. Type help for the commands, exit to leave.")
        if resume is not None:
            self.restore_session(resume)
        while True:
            try:
                if self._handle_line():
                    return 1 if self.chat.unsaved and self.store.settings.auto_save else 0
            except KeyboardInterrupt:
                self.console.say("Type exit to leave; Ctrl-C stops an answer.")

    def _handle_line(self) -> bool:
        """Read one line and act on it; return True if it ends the chat."""
        line = self.console.read(self._gauge)
        command = Command(name="exit") if line is None else parse_command(line)
        if command is not None and command.name == "exit":
            return self._leave(at_end_of_input=line is None)
        if command is not None:
            self._run_command(command)
        elif line and line.strip():
            self.ask(line)
        return False

    def ask(self, query: str) -> str:
        """Take one turn: show, count, save and return the agent's answer."""
        self.console.begin_answer(self.agent.name)
        result = turn.take_turn(self.chat, query, self.console.show_piece)
        self.console.end_answer(result.turn.answer)
        if result.stopped:
            self.console.say("Stopped. What was said so far is kept.")
        if result.error is not None:
            self._warn(f"{result.error} Ask again, or type exit.")
        self.console.say(page.render_metrics(result.turn.seconds, result.turn.tokens).strip("*"))
        self.console.say("")
        self._report_save_error(result.save_error)
        if result.crossed_level is not None:
            self._announce_level(result.crossed_level)
        return result.turn.answer

    def save_conversation(self) -> Path | None:
        """Save with a summary and return the file; None if there is nothing to save yet."""
        saved = self._save()
        return saved.file.path if saved else None

    def compact(self) -> bool:
        """Save with a summary and start a new session that knows only the summary; return whether that worked."""
        saved = self._save(done="")
        if saved is None:
            self.console.say("Nothing was said yet, so there is nothing to compact.")
            return False
        if saved.summary is None:
            self.console.say(
                "Nothing was compacted; the agent still knows everything. Try again, or continue."
            )
            return False
        cost = page.format_cost(saved.file.totals.queries, saved.file.totals.tokens)
        self.console.say(f"Saved session: {saved.file.session_id} ({cost})", "💾")
        self.console.say("Starting new session with summary...", "🔄")
        try:
            info = saved_chats.find_chat(self.store.folder, saved.file.session_id, [])
            self._start_from_summary(turn.load_resumable(self.store, info))
        except LeftoffError as error:
            self._warn(f"{error} This session continues.")
            return False
        return True

    def restore_session(self, words: str) -> bool:
        """Start a new session from the summary of the chat that ``words`` name; return whether that worked."""
        self.console.say("Loading session...", "📋")
        chosen = self._choose_chat(words)
        if chosen is None:
            return False
        info = chosen.info
        when = f"{info.date.astimezone():%b %d, %H:%M}"
        cost = page.format_cost(info.queries, info.tokens)
        self.console.say(f"Found: {self._looks.visible(info.agent)} - {when} ({cost})", "✓")
        if not self._save_before_resuming():
            return False
        self.console.say("Restoring context...", "🔄")
        self._start_from_summary(chosen)
        return True

    def _choose_chat(self, selector: str) -> ResumableChat | None:
        """Return the chat to resume, after asking if it was with another agent; None after saying why not."""
        ending = "" if self.chat.totals.queries else _STARTING_FRESH
        try:
            info = self._find_chat(selector)
            if self._is_current(info):
                self._warn("That is this session. To continue from its summary alone: compact")
                return None
            chosen = turn.load_resumable(self.store, info)
        except NotFoundError:
            self._warn(f"Parent session {selector} not found{ending}")
            return None
        except DocumentError as error:
            self._warn(f"{error}{ending if 'no summary' in str(error) else ''}")
            return None
        except LeftoffError as error:
            self._warn(str(error))
            return None
        if info.agent_path != self.agent.path:
            was = self._looks.visible(info.agent_path)
            if not self.console.confirm(
                f"Session created with {was}, using {self.agent.path}. Continue? (y/n)"
            ):
                return None
        return chosen

    def _save_before_resuming(self) -> bool:
        """Save the present chat with its summary, so that it can be resumed too; delete it if it is empty."""
        if not self.chat.totals.queries:
            self._delete_if_empty()
            return True
        try:
            self._save()
        except LeftoffError as error:
            self._warn(f"{error} This session continues; nothing was resumed.")
            return False
        return True

    def _start_from_summary(self, chosen: ResumableChat) -> None:
        """Replace the present chat by a new one that starts from a summary."""
        self.console.say("")
        self.console.begin_answer(self.agent.name)
        restored: RestoredChat = turn.restore_chat(self.chat, chosen, self.console.show_piece)
        self.console.end_answer(restored.answer.text)
        self.console.say("")
        self.chat = restored.chat
        self._record_session_id()
        self._report_save_error(restored.save_error)
        if restored.reset == "cannot":
            self._warn(_CANNOT_RESET)

    def _save(self, done: str = "✓") -> SaveResult | None:
        """Save with a summary, showing progress that ends with ``done``; return None if there is nothing to save."""
        if not self.chat.totals.queries:
            return None
        self.console.begin_line("Generating session summary...", "📝")
        saved = None
        try:
            saved = turn.save_with_summary(self.chat)
        finally:
            self.console.end_line(done if saved is not None and saved.summary is not None else "")
        self._record_session_id()
        if saved.summary is None:
            self._warn(self._without_summary())
            self.console.say(f"   ({self._looks.visible(saved.summary_error or 'no reason is known')})")
        return saved

    def _without_summary(self) -> str:
        """Return the warning for a failed summary; an earlier one in the file can still be resumed from."""
        if self.chat.file is None or self.chat.file.summary is None:
            return NO_SUMMARY
        missing = self.chat.totals.queries - self.chat.summarised_queries
        since = count(missing, "query", "queries")
        return f"Summary generation failed - session saved; it can be resumed from its earlier summary, which is {since} old"

    def _leave(self, *, at_end_of_input: bool) -> bool:
        """Save and say goodbye; return False if saving failed and the user wants to stay."""
        if not self.store.settings.auto_save or not self.chat.totals.queries:
            if self._delete_if_empty() and self.chat.parent:
                self.console.say(
                    f"Nothing was said since. To continue later: resume {self.chat.parent.session_id}"
                )
            if self.chat.unsaved:
                self.console.say("Not saved, because chat.auto_save is off.")
            self.console.say("Goodbye!")
            return True
        try:
            saved = self._save()
        except LeftoffError as error:
            self._warn(f"{error} This session is not saved.")
            return at_end_of_input or self.console.confirm("Leave anyway, without saving? (y/n)")
        self.console.say("Goodbye!")
        if saved is not None:
            self.console.say("Conversation saved successfully!", "✓")
            self.console.say(f"  Session ID: {saved.file.session_id}")
            self.console.say(f"  Queries: {saved.file.totals.queries}")
            mark = "~" if saved.file.totals.estimated else ""
            self.console.say(f"  Tokens: {mark}{saved.file.totals.tokens:,}")
        return True

    def _delete_if_empty(self) -> bool:
        """Delete a resumed session that has no queries: its parent is the one to resume from."""
        file = self.chat.file
        if file is None or self.chat.totals.queries:
            return False
        try:
            chat_file.delete(saved_chats.find_chat(self.store.folder, file.session_id, []).path)
        except LeftoffError:
            return False
        self.sessions.remove(file.session_id)
        return True

    def _run_command(self, command: Command) -> None:
        """Run a command of the user's and show what goes wrong."""
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
                    self._manage_saved_chat(command.name, command.argument or "")
        except LeftoffError as error:
            self._warn(str(error))

    def _manage_saved_chat(self, name: str, selector: str) -> None:
        """Show, export or delete one saved chat."""
        info = self._find_chat(selector)
        if name == "show":
            self.console.say(self._looks.visible(chat_file.read_text(info.path)))
        elif name == "export":
            target = paths.working_folder() / f"{info.session_id}-chain.md"
            text = saved_chats.export_chain(self.store.folder, info)
            self.console.say(f"Written: {saved_chats.write_export(text, target)}")
        elif self._is_current(info):
            self._warn("That is this session. Leave it first: exit")
        else:
            saved_chats.require_full_id(selector, info)
            if self.console.confirm(f"Delete {info.session_id} for good? (y/n)"):
                chat_file.delete(info.path)
                self.console.say(f"Deleted: {info.session_id}")

    def _list(self) -> None:
        saved = saved_chats.list_chats(self.store.folder)
        others = [each for each in saved.chats if not self._is_current(each)]
        saved_chats.remember_list(self.store.folder, others)
        for number, each in enumerate(others, start=1):
            self.console.say(describe_chat(number, each, self._looks))
        for error in saved.errors:
            self._warn(str(error))
        if not others:
            self.console.say("No saved sessions yet.")

    def _help(self) -> None:
        for name, (takes, selector) in COMMANDS.items():
            self.console.say(f"  {f'{name} {takes}':<16} {selector}")
        self.console.say(
            f"  {COMMAND_SIGN}compact and the like always mean the command. Alt-Enter begins a new line."
        )

    def _find_chat(self, selector: str) -> ChatInfo:
        """Find a saved chat. Numbers refer to the list last shown; say so if there are newer chats."""
        shown = saved_chats.last_list(self.store.folder)
        chats = saved_chats.list_chats(self.store.folder).chats
        now = [each.session_id for each in chats if not self._is_current(each)]
        if shown is not None and selector.isdecimal() and (newer := len({*now} - {*shown})):
            self.console.say(
                f"{selector} is the number in the list last shown; {newer} newer since: sessions"
            )
        return saved_chats.find_chat(self.store.folder, selector, now if shown is None else shown)

    def _is_current(self, info: ChatInfo) -> bool:
        return self.chat.file is not None and info.session_id == self.chat.file.session_id

    def _record_session_id(self) -> None:
        file = self.chat.file
        if file is not None and file.session_id not in self.sessions:
            self.sessions.append(file.session_id)

    @property
    def is_hanging(self) -> bool:
        """Whether code of the agent is still running that did not stop when asked to."""
        return bool(getattr(self.agent, "is_hanging", False))

    def _gauge(self) -> str:
        return f" {self.agent.name} · {self._looks.gauge(self.chat.metrics, self.chat.thresholds)}"

    def _announce_level(self, level: Level) -> None:
        metrics = self.chat.metrics
        head = (warning_text(level, metrics) or "").partition("\n")[0]
        self.console.say(head)
        self.console.say(
            f"{metrics.remaining_tokens or 0:,} tokens remaining - type compact to continue with a summary."
        )

    def _report_save_error(self, error: LeftoffError | None) -> None:
        self._record_session_id()
        if error is not None:
            self._warn(f"{error} It is kept in memory and saved with the next answer.")

    def _warn(self, selector: str) -> None:
        self.console.say(self._looks.visible(selector), "⚠️")


def describe_chat(number: int, each: ChatInfo, looks: Looks) -> str:
    """Return the line of a chat in a list."""
    when = f"{each.date.astimezone():%b %d, %H:%M}"
    note = "" if each.has_summary else ", no summary"
    cost = page.format_cost(each.queries, each.tokens)
    return f"{number:>3}  {each.session_id}  {looks.visible(each.agent)} - {when} ({cost}{note})"
