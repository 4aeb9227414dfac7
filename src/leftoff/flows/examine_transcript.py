"""What leftoff understands of one transcript: counts by kind and type, what is broken and where, and its bare shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from leftoff.flows.choose import choose
from leftoff.model.records import RecordKind

_MOST_TROUBLES = 20
_DEEPEST = 4
_NAME = re.compile(r"[A-Za-z_]{1,32}")
_TYPE = re.compile(r"[a-z_]{1,24}([/-][a-z_]{1,24}){0,4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """How a transcript reads. ``troubles`` names the first lines (1-based) that could not be understood, and why."""

    agent: str
    session_id: str
    transcript: str
    size_bytes: int
    records: int
    kinds: dict[str, int]
    types: dict[str, int]
    troubles: list[tuple[int, str]]
    live_messages: int


def examine_transcript(words: str, working_folder: Path) -> Examination:
    """Read all of it once, and the live chain."""
    chosen = choose(words, working_folder)
    kinds: Counter[str] = Counter()
    types: Counter[str] = Counter()
    troubles: list[tuple[int, str]] = []
    for record in chosen.agent.read(chosen.transcript):
        kinds[record.kind] += 1
        types[record.type or "(none)"] += 1
        if record.kind in (RecordKind.BROKEN, RecordKind.UNKNOWN) and len(troubles) < _MOST_TROUBLES:
            troubles.append((record.place.line_idx + 1, record.note or f"unknown type {record.type}"))
    session = chosen.open()
    parent = session.parent
    if parent is not None and parent.derivation == "forked" and parent.transcript is None:
        troubles.insert(
            0, (1, f"forked from {parent.session_id}, which is not here: what it inherits is missing")
        )
    return Examination(
        agent=chosen.agent.id,
        session_id=session.session_id,
        transcript=str(chosen.transcript),
        size_bytes=chosen.transcript.stat().st_size,
        records=kinds.total(),
        kinds=dict(kinds.most_common()),
        types=dict(types.most_common()),
        troubles=troubles,
        live_messages=len(chosen.agent.live_chain(session).messages(session.records)),
    )


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
