"""A session and what can be said of it without knowing the agent: turns, joined tool calls, the live chain.

A session costs nothing until its records are asked for: ``records`` may be iterated again and again, and each pass may
read the transcript anew, so that a file of any size fits into little memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from leftoff.model.records import Message, Place, Record, RecordKind, ToolResult, ToolUse
from leftoff.model.values import dataclass

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal

    from leftoff.model.wire import JsonObject

    Derivation = Literal["trimmed", "continued", "forked", "cleared-from"]
else:
    Derivation = str
# The keys that 002 puts into a derived session, and what each says of it.
DERIVED_BY: Mapping[str, Derivation] = {"trim_metadata": "trimmed", "continue_metadata": "continued"}
LONGEST_PROMPT = 2000  # characters of it that an entry has: a list shows a line of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The session that this one was derived from. ``transcript`` is None where only the id is known (L37)."""

    session_id: str | None
    transcript: str | None
    derivation: Derivation


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One run of one agent in one project. Fields are None where the transcript does not say."""

    agent: str
    session_id: str
    transcript: str
    records: Iterable[Record]
    project: str | None = None  # the folder it ran in
    model: str | None = None
    client_version: str | None = None
    parent: Parent | None = None

    def turns(self) -> Iterator[Turn]:
        """The main conversation, prompt by prompt."""
        return turns(self.records)

    def tool_calls(self) -> Iterator[ToolCall]:
        """Every tool call with its answer, in the order of the answers; those without one come last."""
        return join_tool_calls(self.records)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    """One line of the list of sessions, from a look at head and tail of the transcript alone.

    ``used_tokens`` is None where the tail has no usage; ``compactions`` counts those that head and tail show.
    """

    agent: str
    session_id: str
    transcript: str
    size_bytes: int
    modified_at: datetime
    project: str | None = None
    model: str | None = None
    first_prompt: str | None = None
    used_tokens: int | None = None
    window_tokens: int | None = None
    tail_chars: int = 0  # added since the reply that ``used_tokens`` is of
    client_version: str | None = None
    compactions: int | None = None
    parent: Parent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool request joined with its answer; ``result`` is None when the call was interrupted or is still running."""

    call_id: str
    tool: str
    input: JsonObject | str
    asked: Place
    asked_at: datetime | None
    actor: str | None
    result: ToolResult | None = None
    answered: Place | None = None
    answered_at: datetime | None = None

    @property
    def failed(self) -> bool | None:
        """Whether the agent called it an error; None when it does not say or there is no answer."""
        return None if self.result is None else self.result.is_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A prompt and all that followed until the next one. ``prompt`` is None for what precedes the first."""

    number: int  # 1-based; 0 for what precedes the first prompt
    prompt: Record | None
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveChain:
    """What the model is sent next: places in sending order, and the calls whose answers are no longer sent."""

    places: tuple[Place, ...]
    cleared_calls: frozenset[str] = frozenset()

    def messages(self, records: Iterable[Record]) -> list[Message]:
        """The messages themselves, in sending order; cleared answers are left out."""
        wanted = set(self.places)
        found = {record.place: record.messages for record in records if record.place in wanted}
        ordered = (message for place in self.places for message in found.get(place, ()))
        return [kept for message in ordered if (kept := self._without_cleared(message)).blocks]

    def _without_cleared(self, message: Message) -> Message:
        if not self.cleared_calls:
            return message
        kept = tuple(
            block
            for block in message.blocks
            if not (isinstance(block, ToolResult) and block.call_id in self.cleared_calls)
        )
        return Message(role=message.role, blocks=kept)


def turns(records: Iterable[Record]) -> Iterator[Turn]:
    """The main conversation cut at the user's prompts; one turn is in memory at a time."""
    prompt: Record | None = None
    held: list[Record] = []
    number = 0
    for record in records:
        if record.actor is None and record.kind is RecordKind.PROMPT:
            if held:
                yield Turn(number=number, prompt=prompt, records=tuple(held))
            number, prompt, held = number + 1, record, []
        held.append(record)
    if held:
        yield Turn(number=number, prompt=prompt, records=tuple(held))


def join_tool_calls(records: Iterable[Record]) -> Iterator[ToolCall]:
    """Each request with its answer as soon as the answer is there; the unanswered at the end.

    An answer without a request (the transcript's beginning was cut away) is not a call and is left out.
    """
    asked: dict[str, ToolCall] = {}
    for record in records:
        for block in record.blocks:
            if isinstance(block, ToolUse):
                asked[block.call_id] = _asked(block, record)
            elif isinstance(block, ToolResult) and (call := asked.pop(block.call_id, None)):
                yield _answered(call, block, record)
    yield from asked.values()


def _asked(use: ToolUse, record: Record) -> ToolCall:
    return ToolCall(
        call_id=use.call_id,
        tool=use.tool,
        input=use.input,
        asked=record.place,
        asked_at=record.at,
        actor=record.actor,
    )


def _answered(call: ToolCall, result: ToolResult, record: Record) -> ToolCall:
    return ToolCall(
        call_id=call.call_id,
        tool=call.tool,
        input=call.input,
        asked=call.asked,
        asked_at=call.asked_at,
        actor=call.actor,
        result=result,
        answered=record.place,
        answered_at=record.at,
    )
