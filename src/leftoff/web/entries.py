"""Turns a record of a transcript into what the reader shows of it: without credentials, long texts shortened, hidden characters named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from leftoff.core.actions import (
    Action,
    Answer,
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
    Record,
    RecordKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from leftoff.core.visible import visible
from leftoff.platform import clock

Mark = Literal["prompt", "error", "edit", "compaction"]
MARKS: tuple[Mark, ...] = ("prompt", "error", "edit", "compaction")
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


def entry_of(record: Record, calls: dict[str, ToolUse], agent: Agent, redact: Redact) -> Entry:
    """Return what a record says. ``calls`` has the calls of the records before it, and gets its own."""
    marks = marks_of(record, calls, agent)
    parts = [part for block in record.blocks for part in _parts(block, record, calls, agent, redact)]
    if record.compaction is not None:
        parts.insert(0, Part(kind="note", text=describe_compaction(record.compaction)))
        if record.compaction.summary and not record.blocks:
            parts.append(Part(kind="text", title="Summary", text=record.compaction.summary, is_folded=True))
    if record.note:
        parts.append(Part(kind="note", text=f"{record.note}, {size(len(record.raw))}"))
    is_quiet = record.kind not in _OPEN or record.actor is not None or not parts
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
            yield from _call_parts(block, record, agent, redact)
        case ToolResult():
            answer, use = _answer(block, calls, agent), calls.get(block.call_id)
            length = count(answer.text.count("\n") + 1, "line") if answer.text else "nothing"
            title = f"{use.tool if use else 'Result'} {'failed' if answer.failed else 'returned'} {length}"
            first = next(filter(str.strip, redact(answer.text[:_FOLDED_CHARS]).split("\n")), "")
            yield Part(
                kind="result",
                title=f"{title} · {first}" if first else title,
                text=block.text,
                is_folded=True,
                is_error=bool(answer.failed),
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


def _call_parts(use: ToolUse, record: Record, agent: Agent, redact: Redact) -> Iterator[Part]:
    actions = agent.actions(use)
    title = next(filter(None, map(_describe_action, actions)), "")
    title = (
        title.replace(f"{record.cwd}/", "") if record.cwd else title
    )  # which takes the place of what differs
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


def marks_of(record: Record, calls: dict[str, ToolUse], agent: Agent) -> tuple[Mark, ...]:
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
        elif isinstance(block, ToolResult) and _answer(block, calls, agent).failed:
            found.add("error")
    return tuple(mark for mark in MARKS if mark in found)


def _answer(result: ToolResult, calls: dict[str, ToolUse], agent: Agent) -> Answer:
    return agent.answer(calls.get(result.call_id) or ToolUse(result.call_id, "", {}), result)


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
