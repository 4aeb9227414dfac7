"""Finds transcripts, recognises them, and reads what their first lines say about the session."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from orjson import loads

from leftoff.agents.base import TranscriptHead
from leftoff.agents.claude.records import read_record
from leftoff.agents.claude.user_text import as_typed, is_typed
from leftoff.agents.claude.versions import known
from leftoff.agents.jsonl import JsonLines, table, text
from leftoff.core.records import Record, RecordKind, Text
from leftoff.core.session import DERIVED_BY, Parent
from leftoff.core.wire import JsonObject

_SUBAGENT = "agent-"  # how the name of a subagent's file begins; some versions put it beside the sessions
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RECOGNISED_TYPES = {"user", "assistant", "system", "attachment", "tool_result"}
_RECOGNISED_KEYS = {"uuid", "sessionId", "leafUuid", "snapshot"}
# How a line begins whose end is beyond the head.
_UNFINISHED_LINE = re.compile(
    rb'\A\{"(?:parentUuid|isSidechain)":'
    rb'|\A\{(?:"sessionId": ?"[^"]*", ?)?"type": ?"(?:user|assistant|queue-operation|file-history-snapshot)"'
)
_NOT_ALPHANUMERIC = re.compile(r"[^a-zA-Z0-9]")
_LONGEST_SLUG = 200
_LAST_LINES = 20  # one of them names the folder; those of bookkeeping do not
_BASE_36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def transcripts(home: Path) -> Iterator[Path]:
    """Find every session's file under the agent's home. A folder that cannot be read does not hide the others."""
    for folder in _entries(home / "projects"):
        if folder.is_dir():
            with suppress(OSError):
                # Not by os.scandir: with a hundred thousand files, making a Path from each name takes most of the time.
                for file in Path(folder.path).iterdir():
                    if file.name.endswith(".jsonl") and not file.name.startswith(_SUBAGENT):
                        yield file


def subagents(transcript: Path) -> tuple[Path, ...]:
    """Find the transcripts of the session's subagents."""
    files = _entries(transcript.with_suffix("") / "subagents")
    return tuple(sorted(Path(file.path) for file in files if file.name.endswith(".jsonl")))


def recognises(head: bytes) -> bool:
    """Say whether a file that begins with these bytes is a transcript."""
    if b"\n" not in head and _UNFINISHED_LINE.match(head):
        return True
    return any(_is_line(raw) for raw in head.split(b"\n"))


def read_head(lines: JsonLines) -> TranscriptHead:
    """Read what comes before the first prompt, within the first megabyte."""
    stem = lines.path.stem
    session_id = stem if _UUID.fullmatch(stem) else None
    project = prompt = parent = None
    for piece in lines.oldest_first():
        if piece.value:
            record = read_record(piece)
            session_id = session_id or text(piece.value, "sessionId")
            project = project or record.cwd
            parent = parent or _parent(piece.value)
            prompt = prompt or _prompt(record)
            if project and prompt:
                break
    if project:
        project = _current_folder(lines, project)
    return TranscriptHead(session_id or stem, project=project, first_prompt=prompt, parent=parent)


def _current_folder(lines: JsonLines, first: str) -> str:
    """Return the folder that the session runs in: the first that it names, unless its project was renamed since.

    The first lines of such a transcript still name the old folder, but the file is where the client looks for sessions of the new one.
    """
    last = (text(piece.value, "cwd") for piece in islice(lines.newest_first(), _LAST_LINES) if piece.value)
    for folder in chain([first], last):
        with suppress(ValueError):  # a name that no folder can have
            if folder and _slug(folder) == lines.path.parent.name:
                return folder
    return first


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        return list(entries)
    return []


def _is_line(raw: bytes) -> bool:
    if not raw.rstrip().endswith(b"}"):  # cut off where the head ends
        return False
    try:
        line = loads(raw)
    except ValueError:
        return False
    kind = line.get("type") if isinstance(line, dict) else None
    if not isinstance(kind, str) or not (kind in _RECOGNISED_TYPES or kind in known().records):
        return False
    # claude-code-tools also reads messages without any id.
    return bool(_RECOGNISED_KEYS & line.keys()) or isinstance(line.get("message"), dict)


def _prompt(record: Record) -> str | None:
    if record.kind is not RecordKind.PROMPT or record.actor is not None:
        return None
    texts = [block.text for block in record.blocks if isinstance(block, Text) and is_typed(block.text)]
    return as_typed("\n".join(texts)) or None


def _parent(line: JsonObject) -> Parent | None:
    """Return the session that this one was made from, by a trim, by a rollover or by a fork of the client."""
    forked = table(line, "forkedFrom")
    if forked:
        return Parent(session_id=text(forked, "sessionId"), transcript=None, derivation="forked")
    for key, derivation in DERIVED_BY.items():
        note = table(line, key)
        # The second name is the one that claude-code-tools uses.
        file = text(note, "parent_file") or text(note, "parent_session_file")
        if file:
            session_id = text(note, "parent_session_id") or Path(file).stem
            return Parent(
                session_id=session_id,
                transcript=file,
                derivation=derivation,
                is_untrimmed="untrimmed_from" in note,
            )
    return None


def sessions_folder(home: Path, project: Path) -> Path:
    """Return the folder for the sessions of ``project``, which need not exist yet.

    Its name is the path with everything but letters and digits replaced by dashes, as the client (JavaScript) computes it.
    """
    return home / "projects" / _slug(project)


def _slug(project: Path | str) -> str:
    real = os.path.realpath(project)
    # JavaScript sees two characters where one is beyond the basic plane.
    slug = _NOT_ALPHANUMERIC.sub(lambda char: "--" if char[0] > "\uffff" else "-", real)
    if len(slug) > _LONGEST_SLUG:
        slug = f"{slug[:_LONGEST_SLUG]}-{_to_base_36(abs(_java_hash(real)))}"
    return slug


def _java_hash(text: str) -> int:
    """Compute the hash of Java's String.hashCode: 31 times the previous value plus the next unit, in signed 32 bits."""
    value = 0
    units = text.encode("utf-16-le", "surrogatepass")
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + low + 256 * high) & 0xFFFFFFFF
    return value - 0x1_0000_0000 if value & 0x8000_0000 else value


def _to_base_36(number: int) -> str:
    digits = ""
    while number:
        number, last = divmod(number, 36)
        digits = _BASE_36[last] + digits
    return digits or "0"
