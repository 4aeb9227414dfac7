"""The messages of a running session as the agent holds them in memory, which may be newer than its transcript."""

from __future__ import annotations

from typing import Literal, NamedTuple

from leftoff.core.records import ToolResult, ToolUse


class LiveMessage(NamedTuple):
    """One message: its text, the calls it makes and the results it brings.

    ``handle`` is the agent's own name for it, by which its record is found in the transcript; None for a message that leftoff built.
    """

    role: Literal["user", "assistant"]
    text: str
    calls: tuple[ToolUse, ...] = ()
    results: tuple[ToolResult, ...] = ()
    handle: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it can be sent, as of a message that only held thinking."""
        return not (self.text or self.calls or self.results)
