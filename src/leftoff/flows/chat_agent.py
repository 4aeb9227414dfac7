"""What the chat loop talks to, and what it promises; the ways to drive one are in the chat's own room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from leftoff.conversations.values import Tokens
from leftoff.model.values import dataclass

# How an agent's history was emptied: by a hook of its own, because we carried it, by its list of messages being cleared,
# because a fresh one took its place; or it could not be.
Reset = Literal["hook", "dropped", "cleared", "fresh", "cannot"]
Heard = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer. ``text`` None: the agent returned nothing. ``tokens`` and ``used_tokens`` None: it did not say.

    ``used_tokens`` is what stood in the window when the answer was complete.
    """

    text: str | None
    tokens: Tokens | None = None
    used_tokens: int | None = None
    model: str | None = None


class ChatAgent(Protocol):
    """Anything that answers a prompt.

    Promises. *Failure is a LeftoffError*, whatever the agent raised. *Ctrl-C stops the answer*: KeyboardInterrupt comes back out
    of ``ask`` soon, however the agent hangs, and the next ``ask`` works or says why not. *What was streamed was heard*.
    """

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def path(self) -> str:
        """Where it comes from: a file, an agent's id, an address."""
        ...

    def ask(self, prompt: str, *, heard: Heard, timeout_seconds: float | None) -> Reply:
        """The answer; pieces of it are ``heard`` as they come, by agents that stream."""
        ...

    def reset(self) -> Reset:
        """Forget everything that was said."""
        ...
