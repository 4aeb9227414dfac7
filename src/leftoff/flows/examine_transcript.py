"""What leftoff understands of one transcript: counts by kind and type, what is broken and where, and its bare shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson

from leftoff.agents.jsonl import opened
from leftoff.errors import TranscriptError
from leftoff.flows.choose import choose
from leftoff.model.records import RecordKind
from leftoff.model.session import Session
from leftoff.model.values import dataclass

_MOST_TROUBLES = 20
_DEEPEST = 4
_TROUBLES = {RecordKind.BROKEN, RecordKind.UNKNOWN}
_NAME = re.compile(r"[A-Za-z_]{1,32}")
_TYPE = re.compile(r"[a-z_]{1,24}([/-][a-z_]{1,24}){0,4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What the session was made from: how, and whether that can be read. ``records`` counts those it goes on from."""

    session_id: str | None
    derivation: str
    transcript: str | None
    readable: bool
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """How a transcript reads. ``troubles`` names the first lines (1-based) that could not be understood, and why.

    Counts are of this file alone; ``live_messages`` is what the model is sent, of this file and what it goes on from.
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


def examine_transcript(words: str, working_folder: Path) -> Examination:
    """Read all of it once, and the live chain."""
    chosen = choose(words, working_folder)
    session = chosen.open()
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
        agent=chosen.agent.id,
        session_id=session.session_id,
        transcript=session.transcript,
        size_bytes=chosen.transcript.stat().st_size,
        records=kinds.total(),
        kinds=dict(kinds.most_common()),
        types=dict(types.most_common()),
        troubles=troubles,
        live_messages=len(chosen.agent.live_chain(session).messages(session.records)),
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
        opened(transcript).close()
    except TranscriptError:
        return False
    return True


def shape(words: str, working_folder: Path) -> dict[str, int]:
    """Every path of keys and the type of what stands there, with how often: no value of the user's in it."""
    chosen = choose(words, working_folder)
    seen: Counter[str] = Counter()
    for record in chosen.agent.read(chosen.transcript):
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
    """A type that does not read like one may be anything that somebody wrote."""
    return name if _TYPE.fullmatch(name) else "<type>"


def _key(key: str) -> str:
    """Keys that are no names (paths, ids, free text) are values in disguise."""
    return key if _NAME.fullmatch(key) else "<key>"
