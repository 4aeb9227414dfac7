"""The messages of a running session as the agent holds them in memory, which may be newer than its transcript; and who can replace them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from leftoff.core.records import ToolResult, ToolUse
from leftoff.core.session import Session
from leftoff.core.wire import JsonValue


class LiveMessage(NamedTuple):
    """One message: its text, the calls it makes and the results it brings.

    ``handle`` is the agent's own name for it, by which its record is found in the transcript; None for a message that leftoff built.
    A message that is answered with its handle is one that the agent keeps as it is, with an image that no rebuilt message can hold.
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


def is_in_turn(messages: Sequence[LiveMessage]) -> bool:
    """Say whether the conversation ends in the middle of a turn: results came, and no reply to them."""
    since_reply = takewhile(lambda message: message.role == "user", reversed(messages))
    return any(message.results for message in since_reply)


@runtime_checkable
class CompactsInPlace(Protocol):
    """An agent that lets leftoff replace the messages of a running session, through a plugin inside it.

    Promise. *Exact*: what is answered is what the agent sends next, also after it is resumed.
    """

    def plugin_files(self) -> Mapping[str, bytes]:
        """Return the files of the plugin, by their path in its folder."""

    def read_live_messages(self, value: JsonValue) -> list[LiveMessage]:
        """Read the messages that the plugin hands over."""

    def write_live_messages(self, messages: Iterable[LiveMessage]) -> list[JsonValue]:
        """Write rebuilt messages as the plugin answers with them; calls get new ids."""

    def needs_thinking(self, session: Session) -> bool:
        """Say whether a turn that is not over may need its thinking to continue, which a rebuilt message cannot hold."""

    def is_typed(self, text: str) -> bool:
        """Say whether the user typed the text of a message, judging by its beginning."""
