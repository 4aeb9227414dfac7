"""An answer drawn on a terminal while it comes: complete blocks for good, of the last one a sketch that is wiped again.

The sketch is bounded in both ways: at most ten times a second, and only the last rows that fit the screen. So the work is
that of the words, however small the pieces are and however long a block of code becomes. Needs rich.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console as RichConsole
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment, Segments

from leftoff.chat.blocks import Blocks

_SECONDS_BETWEEN = 0.1


class AnswerDrawing:
    """One answer after the other; ``seconds`` is any clock that only goes forward."""

    def __init__(
        self, console: RichConsole, *, visible: Callable[[str], str], seconds: Callable[[], float]
    ) -> None:
        self._console = console
        self._visible = visible
        self._seconds = seconds
        self._name: str | None = None
        self._blocks = Blocks()
        self._live: Live | None = None
        self._sketched_at: float | None = None

    def begin(self, name: str) -> None:
        """The name stands before the first block."""
        self._name, self._blocks, self._sketched_at = name, Blocks(), None

    def heard(self, piece: str) -> None:
        """Drawn block by block; of the block that is not complete yet, what there is of it, until it is."""
        for block in self._blocks.feed(piece):
            self._draw(block)
        now = self._seconds()
        if self._sketched_at is None or now - self._sketched_at >= _SECONDS_BETWEEN:
            self._sketched_at = now
            self._sketch()

    def end(self, text: str | None) -> None:
        """``text``, or without one the rest of what was heard."""
        rest = self._blocks.rest() if text is None else text
        self._wipe()
        if rest or self._name is not None:
            self._draw(rest)

    def _draw(self, block: str) -> None:
        self._wipe()
        self._console.print(self._page(block))
        self._name = None

    def _sketch(self) -> None:
        rows = max(self._console.height - 1, 1)
        begun = self._blocks.ending(rows, rows * self._console.width)
        if not begun:
            return
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        lines = self._console.render_lines(self._page(begun), pad=False)[-rows:]
        drawn = [segment for line in lines for segment in (*line, Segment.line())]
        self._live.update(Segments(drawn[:-1]), refresh=True)

    def _wipe(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _page(self, block: str) -> Markdown:
        """A block as Markdown, with the name before the first one; a list or code begins below it."""
        safe = self._visible(block)
        if self._name is None:
            return Markdown(safe)
        is_prose = safe[:1].isalnum() or (safe[:1] in "\"'([*_`" and not safe.startswith(("```", "* ")))
        return Markdown(f"**{self._name}:**{' ' if is_prose else chr(10) * 2}{safe}")
