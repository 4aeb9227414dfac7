"""The console on a terminal: a line editor, and answers rendered as Markdown while they stream.

The editor has history, several lines, completion of commands and the gauge below. Complete blocks of an answer are drawn
for good; the last one is a preview, drawn at most ten times a second and no higher than the screen, so that the work stays
proportional to the text however small the pieces are. Needs prompt_toolkit and rich, and is imported only on a terminal.
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
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment, Segments

from leftoff.chat.console import COMMAND_SIGN, COMMANDS, PROMPT, Looks, PlainConsole

_PREVIEW_SECONDS = 0.1
_FENCES = ("```", "~~~")


class LineEditor(PlainConsole):
    """The console of a person at a terminal. Ctrl-C clears the line."""

    def __init__(
        self, history: Path | None, clean: Callable[[str], str], *, looks: Looks, agree: bool, colour: bool
    ) -> None:
        super().__init__(looks=looks, agree=agree)
        self._session: PromptSession[str] = PromptSession(
            history=None if history is None else _CleanHistory(history, clean),
            completer=_CommandCompleter(),
            complete_while_typing=False,
            multiline=True,
            key_bindings=_key_bindings(),
        )
        self._renderer = AnswerRenderer(
            RichConsole(highlight=False, emoji=False, no_color=not colour),
            visible=looks.visible,
            seconds=time.monotonic,
        )

    def read(self, gauge: Callable[[], str]) -> str | None:
        """Read a query: Enter sends it, Alt-Enter begins a new line, pasted text keeps its lines."""
        try:
            return self._session.prompt(PROMPT, bottom_toolbar=gauge, prompt_continuation="  ... ")
        except EOFError:
            return None

    def confirm(self, question: str) -> bool:
        """Ask without adding the answer to the history."""
        if self._agree:
            return super().confirm(question)
        try:
            return input(f"⚠️ {question} ").strip().lower() in {"y", "yes"}
        except EOFError:
            return False

    def begin_answer(self, name: str) -> None:
        """Start an answer; the name precedes its first block."""
        self._has_shown_piece = False
        self._renderer.begin(name)

    def show_piece(self, piece: str) -> None:
        """Draw the answer as Markdown, block by block."""
        self._has_shown_piece = True
        self._renderer.show_piece(piece)

    def end_answer(self, text: str) -> None:
        """Draw the rest of the answer, or all of it."""
        self._renderer.end(None if self._has_shown_piece else text)


class _CleanHistory(FileHistory):
    """The history of what was typed, without credentials."""

    def __init__(self, path: Path, clean: Callable[[str], str]) -> None:
        super().__init__(str(path))
        self._clean = clean

    def store_string(self, string: str) -> None:
        super().store_string(self._clean(string))


class _CommandCompleter(Completer):
    """Completes commands at the beginning of the first line."""

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        typed = document.text_before_cursor
        word = typed.removeprefix(COMMAND_SIGN)
        if " " in typed or "\n" in typed:
            return
        for name in COMMANDS:
            if name.startswith(word) and typed:
                yield Completion(name, start_position=-len(word))


def _key_bindings() -> KeyBindings:
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


class AnswerRenderer:
    """Draws one answer after the other; ``seconds`` is any monotonic clock."""

    def __init__(
        self, console: RichConsole, *, visible: Callable[[str], str], seconds: Callable[[], float]
    ) -> None:
        self._console = console
        self._visible = visible
        self._clock = seconds
        self._name: str | None = None
        self._blocks = BlockSplitter()
        self._live: Live | None = None
        self._previewed_at: float | None = None

    def begin(self, name: str) -> None:
        """Start an answer; the name precedes its first block."""
        self._name, self._blocks, self._previewed_at = name, BlockSplitter(), None

    def show_piece(self, piece: str) -> None:
        """Draw the blocks that are complete now, and a preview of the one that is not."""
        for block in self._blocks.feed(piece):
            self._draw(block)
        now = self._clock()
        if self._previewed_at is None or now - self._previewed_at >= _PREVIEW_SECONDS:
            self._previewed_at = now
            self._draw_preview()

    def end(self, text: str | None) -> None:
        """Draw ``text``; if that is ``None``, the rest of the pieces."""
        rest = self._blocks.rest() if text is None else text
        self._clear_preview()
        if rest or self._name is not None:
            self._draw(rest)

    def _draw(self, block: str) -> None:
        self._clear_preview()
        self._console.print(self._markdown(block))
        self._name = None

    def _draw_preview(self) -> None:
        rows = max(self._console.height - 1, 1)
        incomplete = self._blocks.last_lines(rows, rows * self._console.width)
        if not incomplete:
            return
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        lines = self._console.render_lines(self._markdown(incomplete), pad=False)[-rows:]
        drawn = [segment for line in lines for segment in (*line, Segment.line())]
        self._live.update(Segments(drawn[:-1]), refresh=True)

    def _clear_preview(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _markdown(self, block: str) -> Markdown:
        """Return a block as Markdown; the first follows the name, a list or code begins below it."""
        safe = self._visible(block)
        if self._name is None:
            return Markdown(safe)
        is_prose = safe[:1].isalnum() or (safe[:1] in "\"'([*_`" and not safe.startswith(("```", "* ")))
        return Markdown(f"**{self._name}:**{' ' if is_prose else chr(10) * 2}{safe}")


class BlockSplitter:
    """Splits a stream into blocks of Markdown: a block ends at a blank line outside a code fence."""

    def __init__(self) -> None:
        self._lines: list[str] = []  # of the incomplete block, with their line ends
        self._pieces: list[str] = []  # of the incomplete line
        self._fence: str | None = None  # the line that opened the code fence around the incomplete block

    def feed(self, piece: str) -> list[str]:
        """Add a piece of any size; return the blocks that are complete now."""
        *whole, rest = piece.split("\n")
        done = []
        for text in whole:
            line = "".join([*self._pieces, text, "\n"])
            self._pieces.clear()
            if (block := self._add_line(line)) is not None:
                done.append(block)
        if rest:
            self._pieces.append(rest)
        return done

    @property
    def incomplete(self) -> str:
        """The text of the block that is not complete yet."""
        return "".join([*self._lines, *self._pieces])

    def last_lines(self, max_lines: int, max_chars: int) -> str:
        """Return the end of the incomplete block, with its opening fence if that was cut off."""
        last = "".join([*self._lines[-max_lines:], *self._pieces])
        text = last[-max_chars:]
        is_cut = len(self._lines) > max_lines or len(text) < len(last)
        return self._fence + text if self._fence is not None and is_cut else text

    def rest(self) -> str:
        """Return what is left at the end of the answer."""
        left = self.incomplete.strip("\n")
        self._lines, self._pieces, self._fence = [], [], None
        return left

    def _add_line(self, line: str) -> str | None:
        """Add a line; return the block that it completes, or None."""
        if line.lstrip().startswith(_FENCES):
            self._fence = line if self._fence is None else None
        if line.strip() or self._fence is not None:
            self._lines.append(line)
            return None
        block, self._lines = "".join(self._lines).strip("\n"), []
        return block if block.strip() else None
