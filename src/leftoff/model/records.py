"""One line of a transcript, whatever agent wrote it: where it stands, what it is, what the model sees of it.

Nothing is lost in reading: bytes that are no record become a record of kind ``broken``, types we do not know one of
kind ``unknown``, so the places of a transcript's records, laid end to end, are the file.
"""

from __future__ import annotations

from enum import StrEnum

from leftoff.model.tuples import NamedTuple
from leftoff.model.values import dataclass

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal

    from leftoff.model.wire import JsonObject

    Role = Literal["user", "assistant", "system"]
else:
    Role = str


class Place(NamedTuple):
    """Where a record stands: the transcript, the line (0-based) and the bytes [start, end) it takes."""

    transcript: str
    line_idx: int
    start: int
    end: int


class RecordKind(StrEnum):
    """What a record is to somebody who wants to know what happened."""

    PROMPT = "prompt"  # the user's own words
    REPLY = "reply"  # the model's words, thoughts and tool requests
    RESULT = "result"  # what tools answered
    CONTEXT = "context"  # what the agent itself tells the model: environment, reminders, hook text
    COMPACTION = "compaction"  # from here on the model is sent something shorter
    SIDE = "side"  # the agent's own bookkeeping, never sent
    UNKNOWN = "unknown"  # well formed, of a type no data file knows; passed through
    BROKEN = "broken"  # bytes that are no record; passed through


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """The model's thoughts; ``text`` is empty where only a signature or an encrypted form was kept."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A picture or document; its bytes stay in the raw record."""

    media_type: str | None
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """A block of a type we do not know; ``type`` is the agent's word for it."""

    type: str
    chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """The model asks for a tool. ``input`` is text where the tool takes free text (a patch) or sent broken JSON."""

    call_id: str
    tool: str
    input: JsonObject | str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answered. ``is_error`` is None where the agent does not say."""

    call_id: str
    parts: tuple[Text | Image | Opaque, ...]
    is_error: bool | None = None

    @property
    def text(self) -> str:
        """The words of the answer."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


Block = Text | Thinking | Image | Opaque | ToolUse | ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What the model is sent of a record."""

    role: Role
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """The words, without thoughts, tool requests and results."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, Text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the API said one reply took. The four numbers never overlap."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0

    @property
    def occupancy_tokens(self) -> int:
        """What stands in the window after the reply (L1): all four, of this one reply, never a sum over replies."""
        return self.input_tokens + self.cache_read_tokens + self.cache_creation_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """The agent made its context shorter. Numbers are None where it does not say."""

    trigger: Literal["auto", "manual", "micro"] | None
    before_tokens: int | None
    after_tokens: int | None
    summary: str | None  # None: there is none, or it is encrypted


class Record(NamedTuple):
    """One record of a transcript, normalised; ``raw`` is its bytes as they stand in the file.

    A record carries what the model is sent of it as ``messages``: none for bookkeeping, one as a rule, several where
    one record replaces a history. Fields are None where the agent does not say. A named tuple, because one is made for
    every line of files of hundreds of megabytes, and a frozen dataclass of this size takes six times as long to make.
    """

    place: Place
    kind: RecordKind
    type: str  # the agent's own word for it
    raw: bytes
    messages: tuple[Message, ...] = ()
    id: str | None = None
    parent_id: str | None = None
    at: datetime | None = None  # aware, UTC
    actor: str | None = None  # the subagent that wrote it; None: the main conversation
    reply_id: str | None = None  # several records with the same one are one reply of the API (L2)
    usage: Usage | None = None
    window_tokens: int | None = None  # as the agent itself reports it
    model: str | None = None
    compaction: Compaction | None = None
    cwd: str | None = None
    branch: str | None = None
    note: str | None = None  # what is wrong with a broken or unknown one

    @property
    def text(self) -> str:
        """The words in it, without thoughts, tool requests and results."""
        return "\n".join(message.text for message in self.messages if message.text)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks of all its messages."""
        if len(self.messages) == 1:
            return self.messages[0].blocks
        return tuple(block for message in self.messages for block in message.blocks)
