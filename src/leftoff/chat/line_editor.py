"""The terminal with a line editor: history, several lines, completion of commands, the gauge below. Needs prompt_toolkit and rich.

Imported only when somebody sits at a terminal. Ctrl-C clears the line; on an empty one it says how to leave.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from rich.console import Console as RichConsole

from leftoff.chat.commands import COMMANDS, SIGN
from leftoff.chat.console import PROMPT, Looks, PlainConsole
from leftoff.chat.drawing import AnswerDrawing


class LineEditor(PlainConsole):
    """A person at a terminal."""

    def __init__(
        self, history: Path | None, clean: Callable[[str], str], *, looks: Looks, agree: bool, colour: bool
    ) -> None:
        super().__init__(looks=looks, agree=agree)
        self._session: PromptSession[str] = PromptSession(
            history=None if history is None else _CleanHistory(history, clean),
            completer=_CommandCompleter(),
            complete_while_typing=False,
            multiline=True,
            key_bindings=_keys(),
        )
        self._drawing = AnswerDrawing(
            RichConsole(highlight=False, emoji=False, no_color=not colour),
            visible=looks.visible,
            seconds=time.monotonic,
        )

    def read(self, gauge: Callable[[], str]) -> str | None:
        """What is typed: Enter sends it, Alt-Enter begins a new line, a paste keeps its lines."""
        try:
            return self._session.prompt(PROMPT, bottom_toolbar=gauge, prompt_continuation="  ... ")
        except EOFError:
            return None

    def confirm(self, question: str) -> bool:
        """Typed like everything else, but not remembered."""
        if self._agree:
            return super().confirm(question)
        try:
            return input(f"⚠️ {question} ").strip().lower() in {"y", "yes"}
        except EOFError:
            return False

    def begin_answer(self, name: str) -> None:
        """The name stands before the first block."""
        self._is_answering = False
        self._drawing.begin(name)

    def heard(self, piece: str) -> None:
        """Drawn as Markdown, block by block."""
        self._is_answering = True
        self._drawing.heard(piece)

    def end_answer(self, text: str) -> None:
        """The rest of it, or all."""
        self._drawing.end(None if self._is_answering else text)


class _CleanHistory(FileHistory):
    """What was typed, without credentials, in a file that is the user's alone."""

    def __init__(self, path: Path, clean: Callable[[str], str]) -> None:
        super().__init__(str(path))
        self._clean = clean

    def store_string(self, string: str) -> None:
        super().store_string(self._clean(string))


class _CommandCompleter(Completer):
    """Commands, at the beginning of the first line."""

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        typed = document.text_before_cursor
        word = typed.removeprefix(SIGN)
        if " " in typed or "\n" in typed:
            return
        for name in COMMANDS:
            if name.startswith(word) and typed:
                yield Completion(name, start_position=-len(word))


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    def _clear(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt())

    return keys
