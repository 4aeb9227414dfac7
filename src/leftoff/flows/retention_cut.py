"""Cuts a transcript where its agent compacted: what existed then as a file of its own, and what came next.

A document under measure is made from the prefix alone, so it can know nothing of what followed. The prefix is exact: the bytes
up to the compaction's first record, even in the middle of a line. Clearing old tool results is no cut, because the model
keeps its conversation. What subagents did belongs to neither side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

from leftoff.errors import UsageError
from leftoff.flows.agents import agent_of
from leftoff.model.records import Block, Record, RecordKind, Text, Thinking, ToolResult, ToolUse
from leftoff.model.values import dataclass

NEXT_CALLS = 30
SHARES_OF_CALLS = (0.50, 0.65, 0.80, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A session as it stood at one moment, and what its agent did afterwards."""

    agent: str
    source: Path  # the whole transcript
    line: int  # 1-based, of the first record that is not in the prefix
    at: datetime | None  # when it was; None: the record does not say
    transcript: Path  # the prefix, a file of the same name
    project: str | None
    records: tuple[Record, ...]  # of the main conversation, before the cut
    context: str  # their words: prompts, replies, thoughts, what tools were given and answered
    summary: str | None  # the agent's own of this stretch; None: none, or not readable
    next_calls: tuple[ToolUse, ...]

    @property
    def is_measurable(self) -> bool:
        """Whether anything tells what a document of it should hold."""
        return self.summary is not None or bool(self.next_calls)


def cuts_at_compactions(transcript: Path, folder: Path) -> Iterator[Cut]:
    """A cut for every compaction."""
    return _cuts(transcript, folder, _compactions)


def cut_at_line(transcript: Path, folder: Path, line: int) -> Iterator[Cut]:
    """One cut before the first record of that line (1-based)."""

    def at(records: Sequence[Record]) -> Iterator[int]:
        found = next((at for at, record in enumerate(records) if record.place.line_idx == line - 1), None)
        if not found:
            raise UsageError(
                f"{transcript}: nothing to cut at line {line}. Give a line between 2 and its last."
            )
        yield found

    return _cuts(transcript, folder, at)


def cuts_along_the_way(transcript: Path, folder: Path) -> Iterator[Cut]:
    """Cuts after 50, 65, 80 and 95 % of the tool calls: for sessions that were never compacted."""
    return _cuts(transcript, folder, _shares)


def strings(value: object) -> Iterator[str]:
    """Every text in a tool's input, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def _cuts(
    transcript: Path, folder: Path, where: Callable[[Sequence[Record]], Iterable[int]]
) -> Iterator[Cut]:
    agent = agent_of(transcript)
    records = [*agent.read(transcript)]
    project = agent.open(transcript).project
    for number, at in enumerate(where(records)):
        before = tuple(record for record in records[:at] if record.actor is None)
        summary, rest = _after(records[at:])
        yield Cut(
            agent=agent.id,
            source=transcript,
            line=records[at].place.line_idx + 1,
            at=records[at].at,
            transcript=_prefix(transcript, folder / str(number), records[at].place.start),
            project=project,
            records=before,
            context="\n".join(words for record in before for words in _words(record)),
            summary=summary,
            next_calls=rest,
        )


def _compactions(records: Sequence[Record]) -> Iterator[int]:
    """The first record of each: a boundary and the summary behind it are one compaction."""
    inside = False
    for at, record in enumerate(records):
        if record.actor is not None or record.compaction is None or record.compaction.trigger == "micro":
            inside = inside and record.kind is not RecordKind.REPLY
            continue
        if not inside:
            yield at
        inside = record.compaction.summary is None and not record.messages  # its summary is still to come


def _shares(records: Sequence[Record]) -> Iterator[int]:
    asked = [at for at, record in enumerate(records) for _ in _calls(record)]
    return (asked[int(len(asked) * share)] for share in SHARES_OF_CALLS if len(asked) > 1)


def _after(records: Sequence[Record]) -> tuple[str | None, tuple[ToolUse, ...]]:
    """The summary at the head of ``records``, and the next tool calls."""
    summary = None
    for record in records:
        if record.kind is RecordKind.REPLY and record.actor is None:
            break
        if record.compaction is not None and record.actor is None:
            summary = summary or record.compaction.summary
    return summary or None, tuple(islice((call for record in records for call in _calls(record)), NEXT_CALLS))


def _calls(record: Record) -> Iterator[ToolUse]:
    """What the main conversation asked for; a compaction that replaces the history repeats calls, it makes none."""
    if record.actor is None and record.kind is not RecordKind.COMPACTION:
        yield from (block for block in record.blocks if isinstance(block, ToolUse))


def _prefix(transcript: Path, folder: Path, size_bytes: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / transcript.name
    with transcript.open("rb") as source, target.open("wb") as copy:
        left = size_bytes
        while left and (chunk := source.read(min(left, 1 << 20))):
            copy.write(chunk)
            left -= len(chunk)
    return target


def _words(record: Record) -> Iterator[str]:
    for block in record.blocks:
        yield _said(block)


def _said(block: Block) -> str:
    match block:
        case Text(text=text) | Thinking(text=text):
            return text
        case ToolUse(input=str(given)):
            return given
        case ToolUse(input=given):
            return "\n".join(strings(given))
        case ToolResult():
            return block.text
        case _:
            return ""
