"""One line of a transcript as a ``Record``, independent of the agent that wrote it.

Reading loses nothing: bytes that are not a record become one of kind ``broken``, unknown types one of kind ``unknown``, so the
places of all records together cover the file. Records and their parts are named tuples, because a transcript has hundreds of
thousands of them and frozen dataclasses take nearly twice as long to create.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal, NamedTuple

from leftoff.core.wire import JsonObject

Role = Literal["user", "assistant", "system"]


class Place(NamedTuple):
    """Where a record is: the transcript, the line (0-based) and the bytes [start, end)."""

    transcript: str
    line_idx: int
    start: int
    end: int


class RecordKind(StrEnum):
    """What a record says about what happened."""

    PROMPT = "prompt"  # typed by the user
    REPLY = "reply"  # text, thinking and tool requests of the model
    RESULT = "result"  # results of tools
    CONTEXT = "context"  # added by the agent: environment, reminders, hook text
    COMPACTION = "compaction"  # the conversation before it is replaced by a summary
    REPEATED = "repeated"  # sent again after a compaction, perhaps changed: not typed, said or run again
    SIDE = "side"  # bookkeeping of the agent, never sent to the model
    UNKNOWN = "unknown"  # valid, but of a type that is not known; passed through
    BROKEN = "broken"  # not a valid record; passed through


class Text(NamedTuple):
    """Text."""

    text: str


class Thinking(NamedTuple):
    """Thinking of the model; ``text`` is empty if the transcript has only a signature or an encrypted form."""

    text: str


class Image(NamedTuple):
    """A picture or document; its bytes are in the raw record."""

    media_type: str | None
    size_bytes: int


class Opaque(NamedTuple):
    """A block of an unknown type; ``type`` is the agent's name for it."""

    type: str
    chars: int


class ToolUse(NamedTuple):
    """A tool request of the model. ``input`` is text if the tool takes free text (a patch) or the JSON is broken."""

    call_id: str
    tool: str
    input: JsonObject | str


class ToolResult(NamedTuple):
    """The result of a tool. ``is_error``: None if the agent does not say."""

    call_id: str
    parts: tuple[Text | Image | Opaque, ...]
    is_error: bool | None = None

    @property
    def text(self) -> str:
        """The text of the result."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


Block = Text | Thinking | Image | Opaque | ToolUse | ToolResult


class Message(NamedTuple):
    """What the model is sent of a record."""

    role: Role
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """The text, without thinking, tool requests and results."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, Text))


class Usage(NamedTuple):
    """The token counts that the API reported for one reply. The four numbers do not overlap."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0

    @property
    def occupancy_tokens(self) -> int:
        """The tokens in the window after this reply: the sum of all four, but of one reply only."""
        return self.sent_tokens + self.output_tokens

    @property
    def sent_tokens(self) -> int:
        """The tokens that the reply answers; 0 if the API does not say, as at the end of a stream."""
        return self.input_tokens + self.cache_read_tokens + self.cache_creation_tokens


class Compaction(NamedTuple):
    """A compaction by the agent. Numbers are None if it does not say."""

    trigger: Literal["auto", "manual", "micro"] | None
    before_tokens: int | None
    after_tokens: int | None
    summary: str | None  # None: missing or encrypted


class Record(NamedTuple):
    """One record of a transcript, normalised; ``raw`` is its bytes in the file. None means that the agent does not say.

    ``messages`` is what the model is sent of it: none for bookkeeping, usually one, several if the record replaces a
    history. This is a named tuple because transcripts have very many, and a frozen dataclass takes six times as long to
    create.
    """

    place: Place
    kind: RecordKind
    type: str  # the agent's own name for it
    raw: bytes
    messages: tuple[Message, ...] = ()
    id: str | None = None
    parent_id: str | None = None
    at: datetime | None = None  # aware, UTC
    actor: str | None = None  # the subagent that wrote it; None: the main conversation
    reply_id: str | None = None  # records with the same value belong to one reply of the API
    usage: Usage | None = None
    window_tokens: int | None = None  # as reported by the agent
    model: str | None = None
    compaction: Compaction | None = None
    cwd: str | None = None
    branch: str | None = None
    note: str | None = None  # what is wrong with a broken or unknown record

    @property
    def text(self) -> str:
        """The text of its messages, without thinking, tool requests and results."""
        return "\n".join(message.text for message in self.messages if message.text)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of all its messages."""
        if len(self.messages) == 1:
            return self.messages[0].blocks
        return tuple(block for message in self.messages for block in message.blocks)
