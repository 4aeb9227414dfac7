"""Sessions cut in two: what was before, and what the agent did next, which shows what a log should have kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path

from leftoff.core.records import Block, Record, RecordKind, Text, Thinking, ToolResult, ToolUse
from leftoff.diagnose.report import Cut, compaction_starts, cut_session
from leftoff.errors import UsageError

NEXT_CALLS = 30
SHARES_OF_CALLS = (0.50, 0.65, 0.80, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCut(Cut):
    """A cut with the content of both sides, as far as it is measured."""

    records: tuple[Record, ...]  # of the main conversation, before the cut
    context: str  # their texts: prompts, replies, thoughts, inputs and results of tools
    next_calls: tuple[ToolUse, ...]

    @property
    def is_measurable(self) -> bool:
        """Whether anything recorded after the cut shows what a resume log should hold."""
        return self.summary is not None or bool(self.next_calls)


def cut_at_compactions(transcript: Path, folder: Path) -> Iterator[MeasuredCut]:
    """Cut at every compaction."""
    return _cuts(transcript, folder, compaction_starts)


def cut_at_line(transcript: Path, folder: Path, line: int) -> Iterator[MeasuredCut]:
    """Cut before the first record of that line (1-based)."""

    def at(records: Sequence[Record]) -> Iterator[int]:
        found = next((at for at, record in enumerate(records) if record.place.line_idx == line - 1), None)
        if not found:
            raise UsageError(
                f"{transcript}: nothing to cut at line {line}. Give a line between 2 and its last."
            )
        yield found

    return _cuts(transcript, folder, at)


def cut_along_the_way(transcript: Path, folder: Path) -> Iterator[MeasuredCut]:
    """Cut after 50, 65, 80 and 95 % of the tool calls, for sessions that were never compacted."""
    return _cuts(transcript, folder, _shares)


def strings(value: object) -> Iterator[str]:
    """Return every text in a tool's input, at any depth."""
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
) -> Iterator[MeasuredCut]:
    for cut, before, after in cut_session(transcript, folder, where):
        spoken = tuple(record for record in before if record.actor is None)
        calls = (call for record in after for call in _calls(record))
        yield MeasuredCut(
            **{field.name: getattr(cut, field.name) for field in fields(cut)},
            records=spoken,
            context="\n".join(_text(block) for record in spoken for block in record.blocks),
            next_calls=tuple(islice(calls, NEXT_CALLS)),
        )


def _shares(records: Sequence[Record]) -> Iterator[int]:
    calls = [at for at, record in enumerate(records) for _ in _calls(record)]
    return (calls[int(len(calls) * share)] for share in SHARES_OF_CALLS if len(calls) > 1)


def _calls(record: Record) -> Iterator[ToolUse]:
    """Return the tool calls of the main conversation; a compaction that replaces the history only repeats calls."""
    if record.actor is None and record.kind is not RecordKind.COMPACTION:
        yield from (block for block in record.blocks if isinstance(block, ToolUse))


def _text(block: Block) -> str:
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
