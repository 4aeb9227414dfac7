"""Thoughts are signed or encrypted by the model: they are taken out whole or not at all. It holds for every agent that keeps them."""

from __future__ import annotations

from dataclasses import dataclass

from leftoff.model.copying import Watcher
from leftoff.model.trim_plan import Cut


@dataclass(frozen=True, slots=True)
class SignedThoughts:
    """No thought is shortened."""

    name: str = "signed thoughts"

    def forbids(self, cut: Cut) -> str | None:
        """Other words would not fit the signature, and the API refuses them."""
        return (
            "thoughts are signed: whole or not at all" if cut.part == "thinking" and cut.replacement else None
        )

    def watch(self) -> Watcher | None:
        """Nobody: a thought that is still there was passed through as it was."""
        return None
