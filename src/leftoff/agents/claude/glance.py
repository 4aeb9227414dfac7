"""Finds transcripts and says what a list shows of one, from its head and its tail alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from leftoff.agents.claude.known import known
from leftoff.agents.claude.queued import record_of
from leftoff.agents.claude.tail import looked_at
from leftoff.agents.claude.typed import is_typed, shown
from leftoff.agents.ends import oldest_first
from leftoff.agents.fields import table, text
from leftoff.agents.jsonl import opened
from leftoff.model.quick_json import loads
from leftoff.model.records import Record, RecordKind, Text
from leftoff.model.session import DERIVED_BY, Parent, SessionEntry
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject

_SUBAGENT = "agent-"  # how the file of a subagent begins; some versions put it beside the sessions
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LINES = {"user", "assistant", "system", "attachment", "tool_result"}
_MARKS = {"uuid", "sessionId", "leafUuid", "snapshot"}
# How a line begins that is longer than the head.
_LONG_LINE = re.compile(
    rb'\A\{"(?:parentUuid|isSidechain)":'
    rb'|\A\{(?:"sessionId": ?"[^"]*", ?)?"type": ?"(?:user|assistant|queue-operation|file-history-snapshot)"'
)


def transcripts(home: Path) -> Iterator[Path]:
    """Every session's file under the agent's home. A folder that cannot be read hides no other."""
    for folder in _entries(home / "projects"):
        if folder.is_dir():
            here = Path(folder.path)
            with suppress(OSError):
                # Of a hundred thousand paths most of the time goes into taking each apart; this way it is known already.
                for file in here.iterdir():
                    if file.name.endswith(".jsonl") and not file.name.startswith(_SUBAGENT):
                        yield file


def subagents(transcript: Path) -> tuple[Path, ...]:
    """The transcripts of the session's subagents."""
    found = _entries(transcript.with_suffix("") / "subagents")
    return tuple(sorted(Path(file.path) for file in found if file.name.endswith(".jsonl")))


def recognises(head: bytes) -> bool:
    """Whether a file that begins so is a transcript of this agent."""
    if b"\n" not in head and _LONG_LINE.match(head):
        return True
    return any(_is_line(raw) for raw in head.split(b"\n"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What the first lines of a transcript say of the session."""

    session_id: str
    project: str | None = None
    first_prompt: str | None = None
    parent: Parent | None = None


def head(transcript: Path) -> Head:
    """What stands up to the first prompt, or in the first megabyte."""
    session_id = transcript.stem if _UUID.fullmatch(transcript.stem) else None
    project: str | None = None
    prompt: str | None = None
    parent: Parent | None = None
    for piece in oldest_first(transcript):
        if piece.value:
            record = record_of(transcript, piece)
            session_id = session_id or text(piece.value, "sessionId")
            project = project or record.cwd
            parent = parent or _parent(piece.value)
            prompt = prompt or _words(record)
            if project and prompt:
                break
    return Head(session_id=session_id or transcript.stem, project=project, first_prompt=prompt, parent=parent)


def entry(transcript: Path, agent: str) -> SessionEntry:
    """One line of the list of sessions."""
    with opened(transcript) as file:
        stat = os.fstat(file.fileno())
    first = head(transcript)
    last = looked_at(transcript, reach_bytes=0)
    return SessionEntry(
        agent=agent,
        session_id=first.session_id,
        transcript=str(transcript),
        size_bytes=stat.st_size,
        modified_at=datetime.fromtimestamp(stat.st_mtime, UTC),
        project=first.project,
        model=last.model,
        first_prompt=first.first_prompt,
        used_tokens=last.used_tokens,
        tail_chars=last.occupancy().tail_chars,
        client_version=last.client_version,
        compactions=last.compactions,
        parent=first.parent,
    )


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as found:
        return list(found)
    return []


def _is_line(raw: bytes) -> bool:
    if not raw.rstrip().endswith(b"}"):  # cut off where the head ends
        return False
    try:
        line = loads(raw)
    except ValueError:
        return False
    kind = line.get("type") if isinstance(line, dict) else None
    return (
        isinstance(kind, str) and (kind in _LINES or kind in known().records) and bool(_MARKS & line.keys())
    )


def _words(record: Record) -> str | None:
    """What the user typed, if the record is a prompt in words."""
    if record.kind is not RecordKind.PROMPT or record.actor is not None:
        return None
    typed = [block.text for block in record.blocks if isinstance(block, Text) and is_typed(block.text)]
    return shown("\n".join(typed)) or None


def _parent(line: JsonObject) -> Parent | None:
    """The session that this one was made from: by a trimmer (002), by a rollover (002), or by the client's own fork."""
    forked = table(line, "forkedFrom")
    if forked:
        return Parent(session_id=text(forked, "sessionId"), transcript=None, derivation="forked")
    for key, derivation in DERIVED_BY.items():
        note = table(line, key)
        file = text(note, "parent_file") or text(
            note, "parent_session_file"
        )  # the latter in claude-code-tools
        if file:
            session_id = text(note, "parent_session_id") or Path(file).stem
            return Parent(session_id=session_id, transcript=file, derivation=derivation)
    return None
