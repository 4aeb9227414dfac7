"""A session, or a whole chain of them, as Markdown to read and to keep: without credentials, as everything that we write."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from leftoff.errors import StorageError, UsageError
from leftoff.flows.agents import agent_of
from leftoff.flows.ancestry import family_here
from leftoff.flows.choose import choose
from leftoff.flows.cleaning import cleaner
from leftoff.lineage.chain import oldest_first
from leftoff.model import markdown
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
from leftoff.model.session_node import SessionNode
from leftoff.system import clock, reasons

_TITLES = {RecordKind.PROMPT: "User", RecordKind.REPLY: "Assistant", RecordKind.COMPACTION: "Compaction"}
_TOLD = {*_TITLES, RecordKind.RESULT}
_TICKS = re.compile(r"`{3,}")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# A code span, or outside of one the beginning of a tag, or of a link to something that runs.
_CODE_OR_LIVE = re.compile(
    r"(?P<code>(?P<ticks>(?<!`)`+(?!`)).*?(?<!`)(?P=ticks)(?!`))"
    r"|\\*<(?=[a-zA-Z/!?])|\](?=[(:]\s*<?\s*(?:javascript|vbscript|data|file)\s*:)[(:]",
    re.IGNORECASE,
)


def export(words: str, working_folder: Path, *, chain: bool) -> Iterator[str]:
    """The Markdown, piece by piece: a session may be larger than the memory. ``chain`` begins with its oldest ancestor."""
    chosen = choose(words, working_folder)
    nodes = oldest_first(family_here().node(chosen.transcript))
    clean = cleaner(working_folder)
    for node in nodes if chain else nodes[-1:]:
        yield from _session(node, clean)


def _session(node: SessionNode, clean: Callable[[str], str]) -> Iterator[str]:
    name = markdown.inline(node.session_id or node.session_file.name)
    if node.missing:
        is_there = node.session_file.exists()
        what = (
            "What stands in its place is no transcript of it" if is_there else "This session's file is gone"
        )
        yield f"# Session {_tame(name)}\n\n{what}: {_inline(str(node.session_file))}\n\n"
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
    yield "\n".join([f"# Session {_tame(name)}", "", *lines, "", ""])
    for record in session.records:
        if record.actor is None and record.kind in _TOLD:
            yield clean(_record(record))


def _parent(node: SessionNode) -> str:
    return (node.parent.session_id or node.parent.session_file.name) if node.parent else "?"


def _record(record: Record) -> str:
    when = f" ({clock.rfc3339(record.at)})" if record.at is not None else ""
    parts = [part for block in record.blocks if (part := _block(block))]
    if not parts:
        return ""
    title = _TITLES.get(record.kind)
    heading = [f"## {title}{when}"] if title else []
    return "\n\n".join([*heading, *parts, ""]) + "\n"


def _block(block: Block) -> str:
    match block:
        case Text(text=text):
            return _tame(markdown.block(text))
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
    """The text between fences that are longer than any in it."""
    fence = "`" * max(3, 1 + max((len(found) for found in _TICKS.findall(text)), default=0))
    return f"{fence}\n{_straight(markdown.plain(text))}\n{fence}"


def _inline(text: str) -> str:
    return _tame(markdown.inline(text))


def _tame(text: str) -> str:
    """Markdown in which nothing is HTML, or a link that runs something; what is code stays as it is."""
    made, fence = [], ""
    for line in _straight(text).split("\n"):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            made.append(line)
        elif mark:
            fence = mark[1]
            made.append(line)
        else:
            made.append(_CODE_OR_LIVE.sub(lambda found: found["code"] or _escaped(found[0]), line))
    return "\n".join(made)


def _escaped(live: str) -> str:
    if live.startswith("]"):
        return f"]\\{live[1:]}"
    slashes = live[:-1]
    return slashes[: len(slashes) // 2 * 2] + "&lt;"  # one that escaped the sign has done its work


def _straight(text: str) -> str:
    """Without signs that turn the order of letters round, so that what is read is what stands there."""
    return _TURNING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def written(pieces: Iterator[str], out: Path) -> int:
    """Write the pieces into a new file of this user's own; its size. One that exists is never overwritten."""
    try:
        fd = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise UsageError(f"{out} exists already. Give --out another name.", path=out) from error
    except OSError as error:
        raise StorageError(f"{out}: not written: {reasons.words(error)}.", path=out) from error
    with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as file:
        for piece in pieces:
            file.write(piece)
        return file.tell()
