"""A made-up agent with the plainest transcript there could be: the reference adapter, and a pattern for real ones.

Its file holds one JSON object per line: ``head`` (who, where), ``said`` (a message, with usage where the API gave one) and
``compacted``. Everything an adapter must do is here in its simplest form; start a new one from this.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leftoff.agents.jsonl import Piece, opened, pieces
from leftoff.errors import StorageError
from leftoff.model.actions import Action, Answer
from leftoff.model.occupancy import AgentWindow, Occupancy
from leftoff.model.records import (
    Block,
    Compaction,
    Message,
    Place,
    Record,
    RecordKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
)
from leftoff.model.script import Asked, Call, Compacted, Delegated, Event, Replied, Script
from leftoff.model.session import LiveChain, Session, SessionEntry
from leftoff.model.values import dataclass
from leftoff.system import clock
from leftoff.testing import plain_tools

_TAIL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainAgent:
    """The adapter."""

    home: Path
    id: str = "plain"
    name: str = "Plain"

    def transcripts(self) -> Iterator[Path]:
        """Every file with our ending below the home."""
        return self.home.glob("*.plain.jsonl")

    def recognises(self, head: bytes) -> bool:
        """Our head names us."""
        return head.startswith(b'{"head": {"agent": "plain"')

    def entry(self, transcript: Path) -> SessionEntry:
        """Head and tail."""
        size = transcript.stat().st_size
        head = [record_of(piece) for piece in _some(transcript, None)]
        prompt = next((record.text for record in head if record.kind is RecordKind.PROMPT), None)
        session = self.open(transcript)
        return SessionEntry(
            agent=self.id,
            session_id=session.session_id,
            transcript=session.transcript,
            size_bytes=size,
            modified_at=datetime.fromtimestamp(transcript.stat().st_mtime, UTC),
            project=session.project,
            model=session.model,
            first_prompt=prompt,
            used_tokens=self.occupancy(transcript).used_tokens,
            window_tokens=None,
        )

    def open(self, transcript: Path) -> Session:
        """The session that the first line names."""
        first = next(iter(_some(transcript, None)), None)
        head: Any = first.value.get("head") if first and first.value else None
        known = head if isinstance(head, dict) else {}
        return Session(
            agent=self.id,
            session_id=known.get("session_id", transcript.name.partition(".")[0]),
            transcript=str(transcript),
            records=_Records(transcript),
            project=known.get("project"),
            model=known.get("model"),
        )

    def read(self, transcript: Path, after: Place | None = None) -> Iterator[Record]:
        """One record per piece of the file."""
        return map(record_of, pieces(transcript, after))

    def live_chain(self, session: Session) -> LiveChain:
        """All messages of the main conversation since the last compaction, which brings its summary."""
        places: list[Place] = []
        for record in session.records:
            if record.kind is RecordKind.COMPACTION:
                places = []
            if record.messages and record.actor is None:
                places.append(record.place)
        return LiveChain(places=tuple(places))

    def occupancy(self, transcript: Path) -> Occupancy:
        """The last usage in the tail."""
        used: int | None = None
        tail_chars = 0
        for record in map(record_of, _some(transcript, _TAIL_BYTES)):
            if record.actor is not None:
                continue
            if record.compaction is not None:
                used, tail_chars = record.compaction.after_tokens, 0
            elif record.usage is not None:
                used, tail_chars = record.usage.occupancy_tokens, 0
            else:
                tail_chars += _chars(record)
        return Occupancy(used_tokens=used, tail_chars=tail_chars if used is not None else 0)

    def usages(self, transcript: Path) -> Iterator[int]:
        """Every reply that says so."""
        main = (record for record in self.read(transcript) if record.actor is None)
        return (record.usage.occupancy_tokens for record in main if record.usage is not None)

    def window(self, occupancy: Occupancy, project: str | None) -> AgentWindow:
        """Nothing is known of a made-up agent's models."""
        return AgentWindow(window_tokens=None, window_basis="unknown", compacts_at_tokens=None)

    def typed(self, record: Record) -> str:
        """All of it: this agent puts nothing around a prompt."""
        return record.text

    def actions(self, use: ToolUse) -> tuple[Action, ...]:
        """What a tool of the scripts does."""
        return plain_tools.actions(use)

    def answer(self, use: ToolUse, result: ToolResult) -> Answer:
        """What came back of it."""
        return plain_tools.answer(use, result)

    def rewound(self, record: Record) -> int | str | None:
        """This agent never goes back."""
        return None

    def transcribe(self, script: Script, transcript: Path) -> None:
        """Line by line, as the story goes on."""
        try:
            with transcript.open("xb") as file:
                file.writelines(_lines(script))
        except FileExistsError:
            raise StorageError(f"{transcript}: is there already; nothing was written.") from None


def session_in_memory(script: Script) -> Session:
    """What reading the transcribed script would give, without a file."""
    records: list[Record] = []
    start = 0
    for number, line in enumerate(_lines(script)):
        place = Place("memory", number, start, start + len(line))
        records.append(record_of(Piece(place, line, json.loads(line), None)))
        start += len(line)
    return Session(
        agent="plain",
        session_id=script.session_id,
        transcript="memory",
        records=tuple(records),
        project=script.project,
        model=script.model,
    )


def record_of(piece: Piece) -> Record:
    """One line, normalised. Unknown is not invalid: it is kept."""
    value: Any = piece.value
    match value:
        case None:
            kind = RecordKind.BROKEN if piece.note else RecordKind.SIDE
            return Record(place=piece.place, kind=kind, type="", raw=piece.raw, note=piece.note)
        case {"head": dict()}:
            return Record(place=piece.place, kind=RecordKind.SIDE, type="head", raw=piece.raw)
        case {"said": dict(said)}:
            return _said(piece, said)
        case {"compacted": dict(compacted)}:
            return _compacted(piece, compacted)
        case _:
            names = ", ".join(value)
            return Record(
                place=piece.place, kind=RecordKind.UNKNOWN, type=names[:80], raw=piece.raw, note="unknown"
            )


def _said(piece: Piece, said: dict[str, Any]) -> Record:
    blocks = tuple(map(_block, said["blocks"]))
    return Record(
        place=piece.place,
        kind=RecordKind(said["kind"]),
        type="said",
        raw=piece.raw,
        messages=(Message(role=said["role"], blocks=blocks),),
        at=clock.from_rfc3339(said["at"]),
        actor=said["actor"],
        usage=Usage(**said["usage"]) if said["usage"] else None,
    )


def _compacted(piece: Piece, compacted: dict[str, Any]) -> Record:
    summary = compacted["summary"]
    return Record(
        place=piece.place,
        kind=RecordKind.COMPACTION,
        type="compacted",
        raw=piece.raw,
        messages=(Message(role="user", blocks=(Text(text=summary),)),),
        at=clock.from_rfc3339(compacted["at"]),
        compaction=Compaction(
            trigger="auto" if compacted["automatic"] else "manual",
            before_tokens=compacted["before"],
            after_tokens=compacted["after"],
            summary=summary,
        ),
    )


def _block(block: dict[str, Any]) -> Block:
    match block:
        case {"call": str(call_id), "tool": str(tool), "input": dict(tool_input)}:
            return ToolUse(call_id=call_id, tool=tool, input=tool_input)
        case {"answers": str(call_id), "text": str(text), "failed": bool(failed)}:
            return ToolResult(call_id=call_id, parts=(Text(text=text),), is_error=failed)
        case {"thinking": str(text)}:
            return Thinking(text=text)
        case _:
            return Text(text=str(block["text"]))


def _lines(script: Script) -> Iterator[bytes]:
    head = {
        "agent": "plain",
        "session_id": script.session_id,
        "project": script.project,
        "model": script.model,
    }
    yield _line({"head": head})
    for number, event in enumerate(script.events):
        for content in _written(event, f"call-{number}", None):
            yield _line(content)


def _written(event: Event, name: str, actor: str | None) -> Iterator[dict[str, Any]]:
    match event:
        case Asked(text=text, at=at):
            yield _message("prompt", "user", [{"text": text}], at, actor)
        case Replied():
            yield from _reply(event, name, actor)
        case Delegated(task=task, steps=steps, answer=answer, at=at, usage=usage):
            ask: list[dict[str, Any]] = [{"call": name, "tool": "delegate", "input": {"task": task}}]
            yield _message("reply", "assistant", ask, at, actor, usage)
            yield _message("prompt", "user", [{"text": task}], at, name)
            for number, step in enumerate(steps):
                yield from _reply(step, f"{name}-{number}", name)
            yield _message("result", "user", [{"answers": name, "text": answer, "failed": False}], at, actor)
        case Compacted():
            yield {
                "compacted": {
                    "summary": event.summary,
                    "before": event.before_tokens,
                    "after": event.after_tokens,
                    "automatic": event.automatic,
                    "at": clock.rfc3339(event.at),
                }
            }


def _reply(reply: Replied, name: str, actor: str | None) -> Iterator[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"thinking": reply.thinking}] if reply.thinking else []
    blocks += [{"text": reply.text}] if reply.text else []
    calls: list[tuple[str, Call]] = [(f"{name}-{number}", call) for number, call in enumerate(reply.calls)]
    blocks += [{"call": call_id, "tool": call.tool, "input": call.input} for call_id, call in calls]
    yield _message("reply", "assistant", blocks, reply.at, actor, reply.usage)
    answers = [
        {"answers": call_id, "text": call.answer, "failed": call.failed}
        for call_id, call in calls
        if call.answer is not None
    ]
    if answers:
        yield _message("result", "user", answers, reply.at, actor)


def _message(
    kind: str,
    role: str,
    blocks: list[dict[str, Any]],
    at: datetime,
    actor: str | None,
    usage: Usage | None = None,
) -> dict[str, Any]:
    numbers = {name: getattr(usage, name) for name in Usage.__slots__} if usage else None
    said = {
        "kind": kind,
        "role": role,
        "blocks": blocks,
        "at": clock.rfc3339(at),
        "actor": actor,
        "usage": numbers,
    }
    return {"said": said}


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _some(transcript: Path, last_bytes: int | None) -> Iterable[Piece]:
    """The pieces of the head, or those that begin in the last bytes, without reading what lies between."""
    if last_bytes is None:
        return (piece for _, piece in zip(range(20), pieces(transcript), strict=False))
    with opened(transcript) as file:
        size = file.seek(0, 2)
        begin = file.seek(max(0, size - last_bytes))
        begin += len(file.readline()) if begin else 0
    return pieces(transcript, Place(str(transcript), 0, 0, begin))


def _chars(record: Record) -> int:
    return sum(len(block.text) for block in record.blocks if isinstance(block, Text | ToolResult))


@dataclass(frozen=True, slots=True)
class _Records:
    """The records of a file, read anew on each pass."""

    transcript: Path

    def __iter__(self) -> Iterator[Record]:
        return map(record_of, pieces(self.transcript))
