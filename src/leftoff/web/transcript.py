"""Reads a transcript page by page for the reader and the export: what each record says, without credentials, long texts shortened.

A page is read by its bytes, so the size of the file does not matter. A line of more than a megabyte is not parsed: its beginning is
shown with its size.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Literal

from leftoff.core.actions import (
    Action,
    Changed,
    Delegated,
    Fetched,
    Looked,
    Moved,
    Questioned,
    Ran,
    Removed,
    Searched,
    Wrote,
)
from leftoff.core.protocols import Agent
from leftoff.core.quantities import count, size
from leftoff.core.records import (
    Block,
    Compaction,
    Image,
    Opaque,
    Place,
    Record,
    RecordKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from leftoff.core.visible import visible
from leftoff.platform import clock
from leftoff.web.line_index import Line, LineIndex

Mark = Literal["prompt", "error", "edit", "compaction"]
MARKS: tuple[Mark, ...] = ("prompt", "error", "edit", "compaction")

PAGE_LINES = 100
LINES_ABOVE = 10
_PAGE_BYTES = 768 * 1024
_SEARCHED_LINES = 600
_LINES_LOOKED_BACK = 60
LONGEST_PARSED_BYTES = 1024 * 1024
_LONGEST_RAW_BYTES = 64 * 1024  # read of a longer line, so that a credential in what is shown is whole
_RAW_CHARS = 2000
_TEXT_CHARS = 30_000
_FOLDED_CHARS = 8_000
_TITLE_CHARS = 160
_WHO = {
    RecordKind.PROMPT: "You",
    RecordKind.REPLY: "Reply",
    RecordKind.RESULT: "Result",
    RecordKind.CONTEXT: "Context",
    RecordKind.COMPACTION: "Compaction",
    RecordKind.REPEATED: "Sent again",
    RecordKind.SIDE: "Bookkeeping",
    RecordKind.UNKNOWN: "Unknown record",
    RecordKind.BROKEN: "Not readable",
}
_OPEN = {RecordKind.PROMPT, RecordKind.REPLY, RecordKind.RESULT, RecordKind.COMPACTION}
Redact = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of an entry. ``title`` is what a folded part shows; ``left_out`` how many characters are not in ``text``."""

    kind: Literal["text", "code", "thinking", "call", "diff", "result", "note"]
    title: str = ""
    text: str = ""
    is_folded: bool = False
    is_error: bool = False
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the transcript as the reader shows it. ``is_quiet``: nothing that was said or done, shown as one dim row."""

    line: int
    kind: str
    who: str
    at: str
    parts: tuple[Part, ...]
    marks: tuple[Mark, ...] = ()
    is_quiet: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderPage:
    """Some lines of a transcript. ``total_lines`` counts those found so far: all of them if ``is_counted``."""

    entries: tuple[Entry, ...]
    first_line: int
    last_line: int
    total_lines: int
    is_counted: bool

    @property
    def runs(self) -> list[tuple[bool, list[Entry]]]:
        """Return the entries in runs: those that are quiet, and the others."""
        return [(is_quiet, [*run]) for is_quiet, run in groupby(self.entries, attrgetter("is_quiet"))]

    @property
    def previous_line(self) -> int | None:
        """Before which line the page before this one ends; None before the first."""
        return self.first_line if self.first_line > 1 else None

    @property
    def next_line(self) -> int | None:
        """Where the next page begins; None after the last."""
        return self.last_line + 1 if self.last_line < self.total_lines or not self.is_counted else None


class TranscriptReader:
    """Reads one transcript. It keeps the index of its lines and nothing else; several threads may use it."""

    def __init__(self, agent: Agent, transcript: Path, redact: Redact) -> None:
        self.agent, self.transcript, self.redact = agent, transcript, redact
        self.index = LineIndex(transcript)

    def page(self, first_line: int, seconds: float | None = 0.05) -> ReaderPage:
        """Return the page that begins at a line; ``seconds`` is how long lines may be counted meanwhile."""
        lines = _within(self.index.lines(first_line, PAGE_LINES), _PAGE_BYTES)
        total, is_counted = self.index.count(seconds)
        return ReaderPage(
            entries=tuple(self.entries(lines)),
            first_line=lines[0].number if lines else first_line,
            last_line=lines[-1].number if lines else first_line - 1,
            total_lines=total,
            is_counted=is_counted,
        )

    def page_around(self, line: int) -> ReaderPage:
        """Return the page that has a line, with a few lines before it."""
        page = self.page(max(1, line - LINES_ABOVE))
        return page if page.last_line >= line else self.page(line)

    def page_before(self, line: int) -> ReaderPage:
        """Return the page that ends before a line."""
        first = max(1, line - PAGE_LINES)
        lines = _within(self.index.lines(first, line - first)[::-1], _PAGE_BYTES)[::-1]
        total, is_counted = self.index.count(0)
        return ReaderPage(
            entries=tuple(self.entries(lines)),
            first_line=lines[0].number if lines else 1,
            last_line=line - 1,
            total_lines=total,
            is_counted=is_counted,
        )

    def pages(self, lines: Sequence[Line]) -> Iterator[ReaderPage]:
        """Return the pages of successive lines, one at a time."""
        for at in range(0, len(lines), PAGE_LINES):
            part = lines[at : at + PAGE_LINES]
            yield ReaderPage(
                entries=tuple(self.entries(part)),
                first_line=part[0].number,
                last_line=part[-1].number,
                total_lines=part[-1].number,
                is_counted=False,
            )

    def lines_within(self, most_bytes: int, line: int, *, backwards: bool = False) -> Sequence[Line]:
        """Return the lines from this one on, or up to it, that take so many bytes together."""
        found: list[Line] = []
        while most_bytes > 0:
            first = max(1, line - _SEARCHED_LINES + 1) if backwards else line
            lines = self.index.lines(first, line - first + 1 if backwards else _SEARCHED_LINES)
            fitting = _within(lines[::-1] if backwards else lines, most_bytes)
            found += fitting
            most_bytes -= sum(map(_cost, fitting))
            if not lines or len(fitting) < len(lines) or (backwards and first == 1):
                break
            line = first - 1 if backwards else lines[-1].number + 1
        return found[::-1] if backwards else found

    def entries(self, lines: Sequence[Line]) -> Iterator[Entry]:
        """Return what the records of these lines say."""
        calls: dict[str, ToolUse] = {}
        for found in self._records(lines):
            if isinstance(found, Line):
                yield self._long_line(found)
            else:
                entry = _entry(found, calls, self.agent, self.redact)
                if entry.parts or not entry.is_quiet:
                    yield entry

    def find(self, mark: Mark, line: int, *, backwards: bool = False) -> int | None:
        """Return the nearest line after or before this one that has a mark; None if there is none."""
        if backwards:
            line = min(line, self.index.count()[0] + 1)
        while True:
            if backwards:
                first = max(1, line - _SEARCHED_LINES)
                lines = self.index.lines(first, line - first)
            else:
                lines = self.index.lines(line + 1, _SEARCHED_LINES)
            if not lines:
                return None
            found = [number for number, marks in self._marks(lines) if mark in marks]
            if found:
                return found[-1] if backwards else found[0]
            line = lines[0].number if backwards else lines[-1].number

    def _marks(self, lines: Sequence[Line]) -> Iterator[tuple[int, tuple[Mark, ...]]]:
        calls: dict[str, ToolUse] = {}
        for found in self._records(lines):
            if not isinstance(found, Line):
                yield found.place.line_idx + 1, _marks(found, calls, self.agent)

    def _records(self, lines: Sequence[Line]) -> Iterator[Record | Line]:
        """Read the records of successive lines; a line that is too long comes as itself."""
        at = 0
        while at < len(lines):
            if lines[at].size_bytes > LONGEST_PARSED_BYTES:
                yield lines[at]
                at += 1
                continue
            last = at
            while last + 1 < len(lines) and lines[last + 1].size_bytes <= LONGEST_PARSED_BYTES:
                last += 1
            yield from self._read(lines[at], lines[last].end)
            at = last + 1

    def _read(self, first: Line, end: int) -> Iterator[Record]:
        """Read the records up to a byte. An adapter may look back from the first, which would parse a long line before it."""
        nearby = self.index.lines(max(1, first.number - _LINES_LOOKED_BACK), _LINES_LOOKED_BACK)
        if any(line.size_bytes > LONGEST_PARSED_BYTES and line.number < first.number for line in nearby):
            yield from self._read_copy(first, end)
            return
        before = Place(str(self.transcript), max(0, first.number - 2), 0, first.start)
        for record in self.agent.read(self.transcript, before):
            yield record
            if record.place.end >= end:  # asking for one more could read a long line
                return

    def _read_copy(self, first: Line, end: int) -> Iterator[Record]:
        """Read the records from a copy of these lines alone."""
        with tempfile.TemporaryDirectory(prefix="leftoff-web-") as folder:
            copy = Path(folder) / "lines.jsonl"
            copy.write_bytes(self.index.beginning(first._replace(end=end), end - first.start))
            for record in self.agent.read(copy):
                _, line_idx, start, stop = record.place
                place = Place(
                    str(self.transcript), line_idx + first.number - 1, start + first.start, stop + first.start
                )
                yield record._replace(place=place)

    def _long_line(self, line: Line) -> Entry:
        raw = self.index.beginning(line, _LONGEST_RAW_BYTES)
        text = self.redact(raw.decode("utf-8", "replace"))[:_RAW_CHARS]
        part = Part(
            kind="result",
            title=f"{size(line.size_bytes)} on one line: too long to show here. It begins:",
            text=visible(text),
            is_folded=True,
        )
        return Entry(line=line.number, kind="long", who="Long line", at="", parts=(part,))


def _within(lines: Sequence[Line], most_bytes: int) -> Sequence[Line]:
    """Return the first lines that take so many bytes together, but at least one. Lines that are too long cost nothing."""
    used = 0
    for number, line in enumerate(lines):
        used += _cost(line)
        if used > most_bytes and number:
            return lines[:number]
    return lines


def _cost(line: Line) -> int:
    return line.size_bytes if line.size_bytes <= LONGEST_PARSED_BYTES else 0


def _entry(record: Record, calls: dict[str, ToolUse], agent: Agent, redact: Redact) -> Entry:
    is_quiet = record.kind not in _OPEN or record.actor is not None
    marks = _marks(record, calls, agent)
    parts = [part for block in record.blocks for part in _parts(block, record, calls, agent, redact)]
    if record.compaction is not None:
        parts.insert(0, Part(kind="note", text=describe_compaction(record.compaction)))
        if record.compaction.summary and not record.blocks:
            parts.append(Part(kind="text", title="Summary", text=record.compaction.summary, is_folded=True))
    if record.note:
        parts.append(Part(kind="note", text=f"{record.note}, {size(len(record.raw))}"))
    who = _WHO[record.kind]
    return Entry(
        line=record.place.line_idx + 1,
        kind=record.kind,
        who=redact(visible(f"{who} · subagent {record.actor[:40]}")) if record.actor else who,
        at="" if record.at is None else clock.format_rfc3339(record.at)[:19].replace("T", " "),
        parts=tuple(_clean(part, redact, fold=is_quiet) for part in parts)
        or ((Part(kind="note", text=redact(visible(record.type[:80]))),) if record.type else ()),
        marks=marks,
        is_quiet=is_quiet,
    )


def _clean(part: Part, redact: Redact, *, fold: bool) -> Part:
    """Return a part without credentials, shortened, with what cannot be seen made visible."""
    is_folded = part.is_folded or (fold and part.kind != "note")
    text, left_out = _shortened(redact(part.text), _FOLDED_CHARS if is_folded else _TEXT_CHARS)
    title = redact(part.title) if part.title else text if is_folded else ""
    if part.kind == "result" and (first := next(filter(str.strip, text.split("\n")), "")):
        title = f"{title} · {first}"
    return Part(
        kind=part.kind,
        title=_one_line(title),
        text=visible(text),
        is_folded=is_folded,
        is_error=part.is_error,
        left_out=left_out,
    )


def _shortened(text: str, limit: int) -> tuple[str, int]:
    """Return head and tail of a long text, and how many characters are left out between them."""
    if len(text) <= limit:
        return text, 0
    head, tail = text[: limit * 2 // 3], text[-limit // 3 :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n… {left_out:,} characters left out …\n{tail}", left_out


def _one_line(text: str) -> str:
    line = " ".join(visible(text[: 4 * _TITLE_CHARS]).split())
    return line if len(line) <= _TITLE_CHARS else f"{line[: _TITLE_CHARS - 1]}…"


def _parts(
    block: Block, record: Record, calls: dict[str, ToolUse], agent: Agent, redact: Redact
) -> Iterator[Part]:
    match block:
        case Text(text=text) if text.strip() and (record.kind not in _OPEN or record.compaction):
            yield Part(kind="text", title="Summary" if record.compaction else "", text=text, is_folded=True)
        case Text(text=text) if text.strip():
            yield from _paragraphs(redact(text))
        case Thinking(text=text) if text.strip():
            yield Part(kind="thinking", title="Thinking", text=text, is_folded=True)
        case ToolUse():
            yield from _call_parts(block, agent, redact)
        case ToolResult():
            failed = _failed(block, calls, agent)
            use = calls.get(block.call_id)
            length = count(block.text.count("\n") + 1, "line")
            yield Part(
                kind="result",
                title=f"{use.tool if use else 'Result'} {'failed' if failed else 'returned'} {length if block.text else 'nothing'}",
                text=block.text,
                is_folded=True,
                is_error=failed,
            )
            yield from (_other(part) for part in block.parts if not isinstance(part, Text))
        case Image() | Opaque():
            yield _other(block)
        case _:
            pass


def _paragraphs(text: str) -> Iterator[Part]:
    """Return a text in parts: what is between fences, and tables, are code. It is redacted before, because a fence may split a credential."""
    is_fenced = False
    kind: Literal["text", "code"] = "text"
    held: list[str] = []
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith("```")
        now: Literal["text", "code"] = "code" if is_fenced or is_fence or line.startswith("|") else "text"
        is_fenced = is_fenced != is_fence
        if now != kind:
            yield from _part(kind, held)
            kind, held = now, []
        if not is_fence:
            held.append(line)
        elif not is_fenced:
            yield from _part(kind, held)
            held = []
    yield from _part(kind, held)


def _part(kind: Literal["text", "code"], lines: list[str]) -> Iterator[Part]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield Part(kind=kind, text=text)


def _other(block: Image | Opaque) -> Part:
    if isinstance(block, Image):
        return Part(kind="note", text=f"{block.media_type or 'image'}, {size(block.size_bytes)}")
    return Part(kind="note", text=f"{block.type}, {count(block.chars, 'character')}")


def _call_parts(use: ToolUse, agent: Agent, redact: Redact) -> Iterator[Part]:
    actions = agent.actions(use)
    title = next(filter(None, map(_describe_action, actions)), "")
    changes = [action for action in actions if isinstance(action, Changed)]
    if changes:
        yield Part(
            kind="diff",
            title=f"{use.tool}  {title}",
            text="\n".join(_diff(redact(change.old), redact(change.new)) for change in changes),
        )
        return
    given = use.input if isinstance(use.input, str) else json.dumps(use.input, ensure_ascii=False, indent=2)
    yield Part(kind="call", title=f"{use.tool}  {title or given}", text=given, is_folded=True)


def _diff(old: str, new: str) -> str:
    """Return both texts with marks before their lines; they are redacted before, because a mark may split a credential."""
    removed = [f"- {line}" for line in old.split("\n")] if old else []
    added = [f"+ {line}" for line in new.split("\n")] if new else []
    return "\n".join([*removed, *added])


def _describe_action(action: Action) -> str:
    match action:
        case Ran(command=words) | Fetched(what=words) | Delegated(task=words):
            return words
        case Looked(path=path) | Changed(path=path) | Wrote(path=path) | Removed(path=path):
            return path
        case Moved(path=path, to=to):
            return f"{path} → {to}"
        case Searched(pattern=pattern, path=path):
            return f"{pattern} in {path}" if path else pattern
        case Questioned(questions=questions):
            return "; ".join(questions)
        case _:
            return ""


def _marks(record: Record, calls: dict[str, ToolUse], agent: Agent) -> tuple[Mark, ...]:
    """Return what one can jump to this record for; remember its calls, which results refer to."""
    if record.kind is RecordKind.REPEATED:
        return ()
    found: set[Mark] = set()
    if record.compaction is not None and record.compaction.trigger != "micro":
        found.add("compaction")
    if record.kind is RecordKind.PROMPT and record.actor is None:
        found.add("prompt")
    for block in record.blocks:
        if isinstance(block, ToolUse):
            calls[block.call_id] = block
            if any(isinstance(each, Changed | Wrote | Removed | Moved) for each in agent.actions(block)):
                found.add("edit")
        elif isinstance(block, ToolResult) and _failed(block, calls, agent):
            found.add("error")
    return tuple(mark for mark in MARKS if mark in found)


def _failed(result: ToolResult, calls: dict[str, ToolUse], agent: Agent) -> bool:
    use = calls.get(result.call_id) or ToolUse(result.call_id, "", {})
    return bool(agent.answer(use, result).failed)


def describe_compaction(compaction: Compaction) -> str:
    """Return how a compaction came about and what it did to the window."""
    before, after = compaction.before_tokens, compaction.after_tokens
    how = {
        "auto": "Automatic compaction",
        "manual": "Compaction on request",
        "micro": "Old tool results cleared",
    }
    words = how.get(compaction.trigger or "", "Compaction")
    if before is None:
        return words
    return f"{words} at {before:,} tokens" if after is None else f"{words}: {before:,} → {after:,} tokens"
