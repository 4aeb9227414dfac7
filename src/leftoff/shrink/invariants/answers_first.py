"""In a message that answers calls, the answers stand first: the API refuses words before them."""

from __future__ import annotations

from dataclasses import dataclass, field

from leftoff.model.copying import Outline, Watcher
from leftoff.model.trim_plan import Cut


@dataclass(frozen=True, slots=True)
class AnswersFirst:
    """Answers stand before everything else in their message."""

    name: str = "answers first"

    def forbids(self, cut: Cut) -> str | None:  # noqa: ARG002 - a cut stays in its place, so it moves nothing
        """Nothing: what is cut is replaced where it stands."""
        return None

    def watch(self) -> Watcher:
        """Looks for words before answers."""
        return _Watcher()


@dataclass(slots=True)
class _Watcher:
    _misplaced: list[bytes] = field(default_factory=list)

    def see(self, lines: Outline) -> None:
        self._misplaced += lines.misplaced

    def broken(self) -> tuple[str, ...]:
        names = (call.decode("utf-8", "replace") for call in self._misplaced)
        return tuple(f"something stands before the answer to {name} in its message" for name in names)
