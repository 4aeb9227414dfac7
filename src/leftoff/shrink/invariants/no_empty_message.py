"""No message is empty: the API refuses one with nothing in it."""

from __future__ import annotations

from dataclasses import dataclass

from leftoff.model.copying import Outline, Watcher
from leftoff.model.trim_plan import Cut


@dataclass(frozen=True, slots=True)
class NoEmptyMessage:
    """Something is left of every message."""

    name: str = "no empty message"

    def forbids(self, cut: Cut) -> str | None:
        """Words must be left where words were; thoughts alone may go whole, and an empty line goes with them."""
        if cut.part == "thinking" or cut.replacement.strip():
            return None
        return "nothing would be left of it"

    def watch(self) -> Watcher:
        """Counts empty ones."""
        return _Watcher()


@dataclass(slots=True)
class _Watcher:
    _empty: int = 0

    def see(self, lines: Outline) -> None:
        self._empty += lines.empty_messages

    def broken(self) -> tuple[str, ...]:
        return tuple(f"{number} changed messages have nothing in them" for number in (self._empty,) if number)
