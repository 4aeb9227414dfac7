"""Say what leftoff understands of one transcript: counts by kind and type, what is broken and where, and its bare shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from leftoff.agents.jsonl import open_transcript
from leftoff.core.records import RecordKind
from leftoff.core.session import Session
from leftoff.errors import TranscriptError
from leftoff.sessions.find import find_session
from leftoff.workspace import Workspace

_MOST_TROUBLES = 20
_DEEPEST = 4
_TROUBLES = {RecordKind.BROKEN, RecordKind.UNKNOWN}
_NAME = re.compile(r"[A-Za-z_]{1,32}")
_TYPE = re.compile(r"[a-z_]{1,24}([/-][a-z_]{1,24}){0,4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a session was derived from, and whether that can be read. ``records`` counts those that it inherits."""

    session_id: str | None
    derivation: str
    transcript: str | None
    readable: bool
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """How a transcript reads. ``troubles`` names the first lines (1-based) that could not be understood, and why.

    Counts are of this file alone; ``live_messages`` is what the model is sent, from this file and those it continues.
    """

    agent: str
    session_id: str
    transcript: str
    size_bytes: int
    records: int
    kinds: dict[str, int]
    types: dict[str, int]
    troubles: list[tuple[int, str]]
    live_messages: int
    goes_on_from: Origin | None


def examine_transcript(selector: str, workspace: Workspace) -> Examination:
    """Read the whole transcript once, and the live chain."""
    ref = find_session(selector, workspace)
    session = ref.session
    kinds: Counter[str] = Counter()
    types: Counter[str] = Counter()
    troubles: list[tuple[int, str]] = []
    inherited = 0
    for record in session.records:
        if record.kind in _TROUBLES and len(troubles) < _MOST_TROUBLES:
            troubles.append((record.place.line_idx + 1, record.note or f"unknown type {record.type}"))
        if record.place.transcript != session.transcript:
            inherited += 1
        elif record.raw:
            kinds[record.kind] += 1
            types[record.type or "(none)"] += 1
    return Examination(
        agent=ref.agent.id,
        session_id=session.session_id,
        transcript=session.transcript,
        size_bytes=ref.transcript.stat().st_size,
        records=kinds.total(),
        kinds=dict(kinds.most_common()),
        types=dict(types.most_common()),
        troubles=troubles,
        live_messages=len(ref.agent.live_chain(session).messages(session.records)),
        goes_on_from=_origin(session, inherited),
    )


def _origin(session: Session, inherited: int) -> Origin | None:
    parent = session.parent
    if parent is None:
        return None
    return Origin(
        session_id=parent.session_id,
        derivation=parent.derivation,
        transcript=parent.transcript,
        readable=parent.transcript is not None and _opens(Path(parent.transcript)),
        records=inherited,
    )


def _opens(transcript: Path) -> bool:
    try:
        open_transcript(transcript).close()
    except TranscriptError:
        return False
    return True


def shape(selector: str, workspace: Workspace) -> dict[str, int]:
    """Count every path of keys with the type of its value; the result contains no value of the user's."""
    ref = find_session(selector, workspace)
    seen: Counter[str] = Counter()
    for record in ref.agent.read(ref.transcript):
        try:
            value = orjson.loads(record.raw)
        except orjson.JSONDecodeError:
            seen["(broken)"] += 1
            continue
        seen.update(set(_paths(value, _type(record.type), 0)))
    return dict(sorted(seen.items()))


def _paths(value: object, path: str, depth: int) -> Iterator[str]:
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in value.items():
            yield from _paths(inner, f"{path}.{_key(key)}", depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for inner in value:
            yield from _paths(inner, f"{path}[]", depth + 1)
    else:
        yield f"{path}: {type(value).__name__}"


def _type(name: str) -> str:
    """Hide a type that does not look like one: it may be any text."""
    return name if _TYPE.fullmatch(name) else "<type>"


def _key(key: str) -> str:
    """Hide a key that is not a name: paths, ids and free text are values in disguise."""
    return key if _NAME.fullmatch(key) else "<key>"
