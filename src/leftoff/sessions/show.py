"""Read a session record by record, or export it as Markdown.

What is shown is not redacted, because it is the user's own file; an export is, like everything that leftoff writes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from leftoff.agents.registry import agent_of
from leftoff.core import markdown
from leftoff.core.quantities import count
from leftoff.core.records import Block, Image, Opaque, Record, RecordKind, Text, Thinking, ToolResult, ToolUse
from leftoff.core.session import SessionNode
from leftoff.errors import StorageError, UsageError, describe_os_error
from leftoff.platform import clock
from leftoff.sessions.ancestry import load_family
from leftoff.sessions.find import find_session
from leftoff.sessions.lineage import oldest_first
from leftoff.workspace import Workspace

_LINES_AROUND = 40
_TITLES = {RecordKind.PROMPT: "User", RecordKind.REPLY: "Assistant", RecordKind.COMPACTION: "Compaction"}
_EXPORTED = {*_TITLES, RecordKind.RESULT}
_TICKS = re.compile(r"`{3,}")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BIDI_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# A code span, or outside of one the beginning of a tag, or of a link to something that runs.
_CODE_OR_LIVE = re.compile(
    r"(?P<code>(?P<ticks>(?<!`)`+(?!`)).*?(?<!`)(?P=ticks)(?!`))"
    r"|\\*<(?=[a-zA-Z/!?])|\](?=[(:]\s*<?\s*(?:javascript|vbscript|data|file)\s*:)[(:]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRecord:
    """One record as a person reads it. ``line`` is 1-based and of ``transcript``, which may be an ancestor's file."""

    transcript: str
    line: int
    kind: str
    at: str | None
    actor: str | None
    text: str


def show(selector: str, workspace: Workspace, *, full: bool) -> Iterator[ShownRecord]:
    """Yield the conversation of a session, beginning with what it continues; ``full`` shortens and leaves out nothing."""
    for record in find_session(selector, workspace).session.records:
        if record.kind is not RecordKind.SIDE and (full or record.kind is not RecordKind.REPEATED):
            yield describe_record(record, full=full)


def show_around(selector: str, workspace: Workspace, at_line: int, *, full: bool) -> list[ShownRecord]:
    """Return a line of the session's own file and those around it, bookkeeping included; UsageError past its end."""
    ref = find_session(selector, workspace)
    last, around = 0, []
    for record in ref.agent.read(ref.transcript):
        last = record.place.line_idx + 1
        if last > at_line + _LINES_AROUND:
            break
        if last >= at_line - _LINES_AROUND:
            around.append(describe_record(record, full=full))
    if at_line > last:
        raise UsageError(f"{ref.transcript} has {count(last, 'line')}; line {at_line:,} is not among them.")
    return around


def describe_record(record: Record, *, full: bool) -> ShownRecord:
    """Return one record as text for a person."""
    parts = [_block(block, full=full) for block in record.blocks]
    if record.compaction is not None:
        parts.insert(0, _compaction(record))
    if record.note:
        parts.append(f"({record.note}, {len(record.raw):,} bytes)" if record.raw else f"({record.note})")
    elif not parts:
        parts.append(f"({record.type})")
    return ShownRecord(
        transcript=record.place.transcript,
        line=record.place.line_idx + 1,
        kind=record.kind,
        at=None if record.at is None else clock.format_rfc3339(record.at),
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
    """Return head and tail of a long text, and say how much was left out between them."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-limit // 3 :]
    return f"{head}\n  … {len(text) - len(head) - len(tail):,} characters …\n{tail}"


def export(selector: str, workspace: Workspace, *, chain: bool) -> Iterator[str]:
    """Yield a session as Markdown, piece by piece: it may be larger than memory. ``chain`` adds its ancestors."""
    ref = find_session(selector, workspace)
    nodes = oldest_first(load_family().node(ref.transcript))
    for node in nodes if chain else nodes[-1:]:
        yield from _export_session(node, workspace.redact)


def _export_session(node: SessionNode, redact: Callable[[str], str]) -> Iterator[str]:
    name = markdown.escape_inline(node.session_id or node.session_file.name)
    if node.missing:
        is_there = node.session_file.exists()
        what = "Another file is in its place" if is_there else "This session's file is gone"
        yield f"# Session {_without_html(name)}\n\n{what}: {_inline(str(node.session_file))}\n\n"
        return
    session = agent_of(node.session_file).open(node.session_file)
    facts = {
        "Agent": session.agent,
        "Project": session.project,
        "Model": session.model,
        "Transcript": session.transcript,
        "Derived": node.derivation_type and f"{node.derivation_type} from {_parent(node)}",
    }
    lines = [f"- {title}: {_inline(fact)}" for title, fact in facts.items() if fact]
    yield "\n".join([f"# Session {_without_html(name)}", "", *lines, "", ""])
    for record in session.records:
        if record.actor is None and record.kind in _EXPORTED:
            yield redact(_export_record(record))


def _parent(node: SessionNode) -> str:
    return (node.parent.session_id or node.parent.session_file.name) if node.parent else "?"


def _export_record(record: Record) -> str:
    when = f" ({clock.format_rfc3339(record.at)})" if record.at is not None else ""
    parts = [part for block in record.blocks if (part := _export_block(block))]
    if not parts:
        return ""
    title = _TITLES.get(record.kind)
    heading = [f"## {title}{when}"] if title else []
    return "\n\n".join([*heading, *parts, ""]) + "\n"


def _export_block(block: Block) -> str:
    match block:
        case Text(text=text):
            return _without_html(markdown.escape_block(text))
        case Thinking(text=text):
            return f"<details><summary>thinking</summary>\n\n{_code(text)}\n\n</details>" if text else ""
        case ToolUse(tool=tool, input=given):
            shown = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=2)
            return f"**{_inline(tool)}**\n\n{_code(shown)}"
        case ToolResult(is_error=failed):
            return f"{'failed:' if failed else 'answered:'}\n\n{_code(block.text)}"
        case Image(media_type=media, size_bytes=size):
            return f"*({_inline(media or 'image')}, {size:,} bytes)*"
        case Opaque(type=kind, chars=chars):
            return f"*({_inline(kind)}, {chars:,} characters)*"


def _code(text: str) -> str:
    """Return the text between fences that are longer than any in it."""
    fence = "`" * max(3, 1 + max((len(found) for found in _TICKS.findall(text)), default=0))
    return f"{fence}\n{_show_bidi(markdown.clean_text(text))}\n{fence}"


def _inline(text: str) -> str:
    return _without_html(markdown.escape_inline(text))


def _without_html(text: str) -> str:
    """Return Markdown without HTML or links that run something; code stays as it is."""
    lines, fence = [], ""
    for line in _show_bidi(text).split("\n"):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            lines.append(line)
        elif mark:
            fence = mark[1]
            lines.append(line)
        else:
            lines.append(_CODE_OR_LIVE.sub(lambda found: found["code"] or _escaped(found[0]), line))
    return "\n".join(lines)


def _escaped(live: str) -> str:
    if live.startswith("]"):
        return f"]\\{live[1:]}"
    slashes = live[:-1]
    return slashes[: len(slashes) // 2 * 2] + "&lt;"  # one that escaped the sign has done its work


def _show_bidi(text: str) -> str:
    """Make bidirectional control characters visible, so that text reads in the order it is stored."""
    return _BIDI_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_export(pieces: Iterator[str], out: Path) -> int:
    """Write the pieces into a new file that only this user can read and return its size; never overwrite one."""
    try:
        fd = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise UsageError(f"{out} exists already. Give --out another name.", path=out) from error
    except OSError as error:
        raise StorageError(f"{out}: not written: {describe_os_error(error)}.", path=out) from error
    try:
        with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as file:
            for piece in pieces:
                file.write(piece)
            return file.tell()
    except OSError as error:
        out.unlink(missing_ok=True)
        raise StorageError(f"{out}: not written: {describe_os_error(error)}.", path=out) from error
