"""A session, its turns, tool calls and live chain, its place in a lineage, and the lineage block in a user message.

A ``Session`` costs nothing until its records are iterated; each iteration reads the transcript again, so that large files need
little memory. A derived session starts with text that leftoff wrote, the ``[SESSION LINEAGE]`` block. It is recognised by each of
its lines, so that a user who quotes the marks is never mistaken for leftoff."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from leftoff.core.metrics import Occupancy
from leftoff.core.records import Message, Place, Record, RecordKind, ToolResult, ToolUse
from leftoff.core.wire import JsonObject

if TYPE_CHECKING:
    from pathlib import Path

Derivation = Literal["trimmed", "continued", "forked", "cleared-from"]
# The metadata keys of derived sessions.
DERIVED_BY: Mapping[str, Derivation] = {"trim_metadata": "trimmed", "continue_metadata": "continued"}
MAX_PROMPT_CHARS = 2000  # of the first prompt in a SessionEntry
BEGIN, END = "[SESSION LINEAGE]", "[/SESSION LINEAGE]"
INTRODUCTION = "This session continues from previous work:"
CONCLUSION = "Context from parent sessions may be relevant."
UNNAMED = "this session"  # until it has a file name
_LONGEST_NAME = 120
_UNSAFE = r"[\[\]\x00-\x1f\x7f-\x9f\u2028\u2029]+"
# Patterns that few commands need, so they are compiled where they are used.
_BLOCK = (
    rf"\A{re.escape(BEGIN)}\n{re.escape(INTRODUCTION)}\n"
    r"(?:(?:\d+\. [^\n\[\]]+ \([a-z, ]+\)|… \d+ more)\n)+"
    rf"\n{re.escape(CONCLUSION)}\n{re.escape(END)}(?:\n\n?|\Z)"
)
# How a record for a fresh session begins. People paste it into the first prompt of one.
RESTORED = "leftoff restored this from an earlier session of this project."
LOG_TITLE = "# Session Resume Log:"
_RESTORED_LOG = re.compile(
    rf"\A{re.escape(RESTORED)}[^\n]*\n\n<leftoff-record-[0-9a-f]{{8}}>\n{re.escape(LOG_TITLE)} (?P<session_id>\S+)\n"
)
# A sentence, then a record or summary between the markers of ``core.markdown.fence``.
_RECORD = r"(?s)\A[^\n]*\n\n<(?P<mark>leftoff-record-[0-9a-f]{8})>\n.*?\n</(?P=mark)>\n*"


class Parent(NamedTuple):
    """The session that this one was derived from. ``transcript``: None if only the id is known."""

    session_id: str | None
    transcript: str | None
    derivation: Derivation
    is_untrimmed: bool = False  # a trimmed session in which everything is back


class Session(NamedTuple):
    """One run of one agent in one project. None means that the transcript does not say."""

    agent: str
    session_id: str
    transcript: str
    records: Iterable[Record]
    project: str | None = None  # the folder it ran in
    model: str | None = None
    client_version: str | None = None
    parent: Parent | None = None

    def turns(self) -> Iterator[Turn]:
        """Iterate over the main conversation, prompt by prompt."""
        return split_turns(self.records)

    def tool_calls(self) -> Iterator[ToolCall]:
        """Iterate over the tool calls with their results, in the order of the results; unanswered calls come last."""
        return join_tool_calls(self.records)


class SessionEntry(NamedTuple):
    """One line of the list of sessions, read from the head and tail of the transcript only.

    ``occupancy`` is all that the gauge needs, without earlier turns.
    """

    agent: str
    session_id: str
    transcript: str
    size_bytes: int
    modified_at: datetime
    project: str | None = None
    model: str | None = None
    first_prompt: str | None = None
    occupancy: Occupancy = Occupancy(used_tokens=None)
    parent: Parent | None = None


class ToolCall(NamedTuple):
    """A tool request with its result; ``result``: None if the call was interrupted or is still running."""

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
        """Whether the agent called the result an error; None if it does not say or there is no result."""
        return None if self.result is None else self.result.is_error


class Turn(NamedTuple):
    """A prompt and all records until the next one. ``prompt``: None for what precedes the first."""

    number: int  # 1-based; 0 for what precedes the first prompt
    prompt: Record | None
    records: tuple[Record, ...]


class LiveChain(NamedTuple):
    """What the model is sent next: places in sending order, and the calls whose results are no longer sent."""

    places: tuple[Place, ...]
    cleared_calls: frozenset[str] = frozenset()

    def messages(self, records: Iterable[Record]) -> list[Message]:
        """Return the messages in sending order, without cleared results."""
        places = set(self.places)
        by_place = {record.place: record.messages for record in records if record.place in places}
        ordered = (message for place in self.places for message in by_place.get(place, ()))
        return [sent for message in ordered if (sent := self._without_cleared(message)).blocks]

    def _without_cleared(self, message: Message) -> Message:
        if not self.cleared_calls:
            return message
        blocks = tuple(
            block
            for block in message.blocks
            if not (isinstance(block, ToolResult) and block.call_id in self.cleared_calls)
        )
        return Message(role=message.role, blocks=blocks)


def split_turns(records: Iterable[Record]) -> Iterator[Turn]:
    """Split the main conversation at the user's prompts; only one turn is in memory at a time."""
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
    """Join each request with its result, in the order of the results; unanswered requests come last.

    A result without a request, as at the beginning of a cut transcript, is ignored; so are calls that a compaction repeats.
    """
    pending: dict[str, ToolCall] = {}
    for record in records:
        if record.kind is RecordKind.REPEATED:
            continue
        for block in record.blocks:
            if isinstance(block, ToolUse):
                pending[block.call_id] = ToolCall(
                    call_id=block.call_id,
                    tool=block.tool,
                    input=block.input,
                    asked=record.place,
                    asked_at=record.at,
                    actor=record.actor,
                )
            elif isinstance(block, ToolResult) and (call := pending.pop(block.call_id, None)):
                yield call._replace(result=block, answered=record.place, answered_at=record.at)
    yield from pending.values()


@dataclass(frozen=True, slots=True)
class SessionNode:
    """A session file and the one it was derived from. ``missing`` says that the file no longer exists."""

    session_file: Path
    derivation_type: Derivation | None  # None: an original
    exported_file: Path | None = None
    parent: SessionNode | None = None
    session_id: str | None = None
    missing: bool = False


def add_lineage_block(message: str, block: str) -> str:
    """Put the block before the message; it replaces an older block."""
    older = re.match(_BLOCK, message)
    return f"{block}\n\n{message[older.end() :] if older else message}"


def name_in_lineage_block(message: str, file_name: str) -> str:
    """Put the file name of the new session into the block of the message."""
    block = re.match(_BLOCK, message)
    if block is None:
        return message
    named = block[0].replace(f". {UNNAMED} (current)\n", f". {lineage_name(file_name)} (current)\n")
    return named + message[block.end() :]


def lineage_name(file_name: str) -> str:
    """Return a file name on one line, without characters that could end the block."""
    name = re.sub(_UNSAFE, " ", file_name).strip() or "?"
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def strip_leftoff_text(message: str) -> str:
    """Return the user's part of a message: what follows a lineage block and records; empty if leftoff wrote it all."""
    block = re.match(_BLOCK, message)
    if block is None and restored_session(message) is None:
        return message
    rest = message[block.end() :] if block else message
    while record := re.match(_RECORD, rest):
        rest = rest[record.end() :]
    return rest


def restored_session(message: str) -> str | None:
    """Return the session whose log a message begins with, as ``leftoff resume --print`` prints it; None for any other."""
    found = _RESTORED_LOG.match(message)
    return found["session_id"] if found else None
