"""A streamed answer cut into blocks of Markdown, each of which can be drawn as soon as it is complete.

Every character is looked at once, however small the pieces are and however long a block becomes.
"""

from __future__ import annotations

_FENCES = ("```", "~~~")


class Blocks:
    """Takes pieces of any size; a block ends at a blank line that stands outside a code fence."""

    def __init__(self) -> None:
        self._lines: list[str] = []  # of the block that is not complete yet, with their ends
        self._pieces: list[str] = []  # of the line that is not complete yet
        self._fence: str | None = None  # the line that opened the fence in which the block stands

    def feed(self, piece: str) -> list[str]:
        """The blocks that are complete now."""
        *whole, rest = piece.split("\n")
        done = []
        for text in whole:
            line = "".join([*self._pieces, text, "\n"])
            self._pieces.clear()
            if (block := self._ended_by(line)) is not None:
                done.append(block)
        if rest:
            self._pieces.append(rest)
        return done

    @property
    def begun(self) -> str:
        """What has come of the block that is not complete yet."""
        return "".join([*self._lines, *self._pieces])

    def ending(self, most_lines: int, most_chars: int) -> str:
        """The last of what has begun: as much as fits; what stands in a fence still does."""
        last = "".join([*self._lines[-most_lines:], *self._pieces])
        text = last[-most_chars:]
        is_cut = len(self._lines) > most_lines or len(text) < len(last)
        return self._fence + text if self._fence is not None and is_cut else text

    def rest(self) -> str:
        """What is left when the answer is over."""
        left = self.begun.strip("\n")
        self._lines, self._pieces, self._fence = [], [], None
        return left

    def _ended_by(self, line: str) -> str | None:
        """The block that this line completes, if it does."""
        if line.lstrip().startswith(_FENCES):
            self._fence = line if self._fence is None else None
        if line.strip() or self._fence is not None:
            self._lines.append(line)
            return None
        block, self._lines = "".join(self._lines).strip("\n"), []
        return block if block.strip() else None
