"""Every record hangs from one that is there: an agent that follows the chain up stops, or guesses, where a link is missing."""

from __future__ import annotations

from dataclasses import dataclass, field

from leftoff.model.copying import Outline, Watcher
from leftoff.model.trim_plan import Cut


@dataclass(frozen=True, slots=True)
class UnbrokenChain:
    """What a record hangs from is in the same session."""

    name: str = "unbroken chain"

    def forbids(self, cut: Cut) -> str | None:
        """A whole record may go for thoughts alone: whoever writes the copy hangs what follows higher up."""
        return None if cut.replacement or cut.part == "thinking" else "what follows would hang from nothing"

    def watch(self) -> Watcher:
        """Remembers what is there and what is pointed to."""
        return _Watcher()


@dataclass(slots=True)
class _Watcher:
    _there: set[bytes] = field(default_factory=set)
    _missing: set[bytes] = field(default_factory=set)  # so far: a parent may stand behind its child

    def see(self, lines: Outline) -> None:
        self._there.update(lines.ids)
        self._missing.update(set(lines.parent_ids) - self._there)

    def broken(self) -> tuple[str, ...]:
        missing = sorted(self._missing - self._there)
        return tuple(
            f"something hangs from {name.decode('utf-8', 'replace')}, which is not there" for name in missing
        )
