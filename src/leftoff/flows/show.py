"""A session to read: record by record, shortened where it is long, redacted never: it is the user's own file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from leftoff.errors import UsageError
from leftoff.flows.choose import choose
from leftoff.model.records import (
    Block,
    Image,
    Opaque,
    Record,
    RecordKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from leftoff.model.values import dataclass
from leftoff.system import clock

_LINES_AROUND = 40
_MUTE = {RecordKind.SIDE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One record as a person reads it. ``line`` is 1-based, of ``transcript``: a session may go on from another's file."""

    transcript: str
    line: int
    kind: str
    at: str | None
    actor: str | None
    text: str


def show(words: str, working_folder: Path, *, full: bool) -> Iterator[Shown]:
    """The conversation of the session that ``words`` name, what it goes on from first; ``full`` shortens nothing."""
    for record in choose(words, working_folder).open().records:
        if record.kind not in _MUTE:
            yield shown(record, full=full)


def show_around(words: str, working_folder: Path, at_line: int, *, full: bool) -> list[Shown]:
    """A line of the session's own file and those around it, bookkeeping included; UsageError when there is none."""
    chosen = choose(words, working_folder)
    last, around = 0, []
    for record in chosen.agent.read(chosen.transcript):
        last = record.place.line_idx + 1
        if last > at_line + _LINES_AROUND:
            break
        if last >= at_line - _LINES_AROUND:
            around.append(shown(record, full=full))
    if at_line > last:
        raise UsageError(f"{chosen.transcript} has {last:,} lines; line {at_line:,} is not among them.")
    return around


def shown(record: Record, *, full: bool) -> Shown:
    """One record in words."""
    parts = [_block(block, full=full) for block in record.blocks]
    if record.compaction is not None:
        parts.insert(0, _compaction(record))
    if record.note:
        parts.append(f"({record.note}, {len(record.raw):,} bytes)" if record.raw else f"({record.note})")
    elif not parts:
        parts.append(f"({record.type})")
    return Shown(
        transcript=record.place.transcript,
        line=record.place.line_idx + 1,
        kind=record.kind,
        at=None if record.at is None else clock.rfc3339(record.at),
        actor=record.actor,
        text="\n".join(part for part in parts if part),
    )


def _compaction(record: Record) -> str:
    compaction = record.compaction
    assert compaction is not None
    before, after = (
        f"{tokens:,}" if tokens is not None else "?"
        for tokens in (compaction.before_tokens, compaction.after_tokens)
    )
    return f"— compaction ({compaction.trigger or '?'}): {before} → {after} tokens —"


def _block(block: Block, *, full: bool) -> str:
    match block:
        case Text(text=text):
            return text if full else shortened(text, 4000)
        case Thinking(text=text):
            return f"(thinks) {text if full else shortened(text, 600)}" if text else "(thinks)"
        case ToolUse(tool=tool, input=tool_input):
            given = tool_input if isinstance(tool_input, str) else json.dumps(tool_input, ensure_ascii=False)
            return f"→ {tool} {given if full else shortened(given, 600)}"
        case ToolResult(is_error=failed):
            mark = "✗" if failed else "←"
            return f"{mark} {block.text if full else shortened(block.text, 1200)}"
        case Image(media_type=media, size_bytes=size):
            return f"[{media or 'image'}, {size:,} bytes]"
        case Opaque(type=kind, chars=chars):
            return f"[{kind}, {chars:,} characters]"


def shortened(text: str, limit: int) -> str:
    """Head and tail of a long text, with how much lies between."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-limit // 3 :]
    return f"{head}\n  … {len(text) - len(head) - len(tail):,} characters …\n{tail}"
