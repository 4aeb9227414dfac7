"""No two records have the same id: of two that do, an agent forgets the first and all that hangs from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from leftoff.model.copying import Outline, Watcher
from leftoff.model.trim_plan import Cut


@dataclass(frozen=True, slots=True)
class UniqueIds:
    """Every record's id is its own."""

    name: str = "unique ids"

    def forbids(self, cut: Cut) -> str | None:  # noqa: ARG002 - a cut changes no id
        """Nothing: a cut leaves the ids as they are."""
        return None

    def watch(self) -> Watcher:
        """Remembers the ids."""
        return _Watcher()


@dataclass(slots=True)
class _Watcher:
    _seen: set[bytes] = field(default_factory=set)
    _twice: dict[bytes, None] = field(default_factory=dict)

    def see(self, lines: Outline) -> None:
        new = set(lines.ids)
        if len(new) < len(lines.ids):
            self._twice.update(
                dict.fromkeys(name for name, number in Counter(lines.ids).items() if number > 1)
            )
        if not self._seen.isdisjoint(new):
            self._twice.update(dict.fromkeys(name for name in lines.ids if name in self._seen))
        self._seen |= new

    def broken(self) -> tuple[str, ...]:
        return tuple(
            f"the id {name.decode('utf-8', 'replace')} stands on two records" for name in self._twice
        )
