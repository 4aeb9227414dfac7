"""What a derived session says about its parent: metadata in its transcript, the lineage block, the chain of ancestors.

Writes ``trim_metadata`` and ``continue_metadata``, and also reads them as claude-code-tools writes them (the parent of a
continued session is ``parent_session_file`` there, and the keys are on the first line). With both keys, the newer one counts.
The ``[SESSION LINEAGE]`` block goes before the first user message of a derived session; file names in it cannot end it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import orjson

from leftoff.core.session import (
    BEGIN,
    CONCLUSION,
    DERIVED_BY,
    END,
    INTRODUCTION,
    UNNAMED,
    Derivation,
    Session,
    SessionNode,
    lineage_name,
)
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.platform import clock
from leftoff.platform.files import open_regular_file

if TYPE_CHECKING:
    from leftoff.core.metrics import Occupancy
    from leftoff.core.trim_plan import TrimPlan

# Metadata are on the first line, or on the user's first line if the transcript begins in the middle of a conversation.
_FIRST_LINES, _FIRST_BYTES = 64, 1024 * 1024
_LONGEST_LINE_BYTES = 64 * 1024 * 1024  # a first prompt can hold images
_TIMES = {"trim_metadata": "trimmed_at", "continue_metadata": "continued_at"}
_MAX_LISTED = 12
_KNOWN_OF_WINDOW = ("model", "window_tokens", "compacted_at_tokens", "baseline_tokens")
_MAX_CHAIN = 1000
_HEAD_BYTES = 4096


class Origin(NamedTuple):
    """Where a session came from. None where it does not say. ``at`` is RFC 3339."""

    derivation: Derivation
    parent_file: str | None = None
    parent_session_id: str | None = None
    parent_fingerprint: str | None = None
    at: str | None = None
    exported_file: str | None = None
    tokens_per_char: float | None = None  # of the session's tool results, when it was trimmed
    strategy: str | None = None  # trim, smart-trim, untrim or as-is, for copies by leftoff


def trim_metadata(session: Session, plan: TrimPlan, at: datetime) -> JsonObject:
    """Return the metadata of a trimmed copy."""
    return {
        "trim_metadata": {
            **_parent_metadata(session),
            "trimmed_at": clock.format_rfc3339(at),
            "trim_params": {**plan.parameters, "strategy": plan.strategy},
            "stats": {
                "original_tokens": plan.live_tokens,
                "trimmed_tokens": plan.tokens_after,
                "tools_trimmed": plan.tools_trimmed,
                "chars_saved": plan.saved_chars,
                # The usage in a copy is rewritten, so that the copy itself no longer shows this ratio.
                "tokens_per_char": plan.tokens_per_char,
            },
        }
    }


def untrim_metadata(session: Session, at: datetime, *, given_back: int, tokens_per_char: float) -> JsonObject:
    """Return the metadata of a copy in which the originals were restored."""
    own: JsonObject = {
        "trimmed_at": clock.format_rfc3339(at),
        "untrimmed_from": session.session_id,
        "stats": {"given_back": given_back, "tokens_per_char": tokens_per_char},
    }
    return {"trim_metadata": _parent_metadata(session) | own}


def moved_metadata(session: Session, at: datetime) -> JsonObject:
    """Return the metadata of an exact copy for another folder."""
    own: JsonObject = {
        "trimmed_at": clock.format_rfc3339(at),
        "trim_params": {"strategy": "as-is"},
        "stats": _ratio_of_parent(session),
    }
    return {"trim_metadata": _parent_metadata(session) | own}


def continue_metadata(
    session: Session,
    at: datetime,
    *,
    summary_included: bool,
    occupancy: Occupancy | None = None,
) -> JsonObject:
    """Return the metadata of a fresh session that continues another.

    What ``occupancy`` knows tells the gauge how large and how full the window is until the session's own replies say more.
    """
    known = occupancy._asdict() if occupancy else {}
    own: JsonObject = {
        "continued_at": clock.format_rfc3339(at),
        "continuation_type": "rollover",
        "summary_included": summary_included,
        **{name: known[name] for name in _KNOWN_OF_WINDOW if known.get(name) is not None},
    }
    return {"continue_metadata": _parent_metadata(session) | own}


def _ratio_of_parent(session: Session) -> JsonObject:
    """Hand on what a trimmed parent says about its tokens, because its own usage is rewritten."""
    origin = read_origin(Path(session.transcript))
    return {"tokens_per_char": origin.tokens_per_char} if origin and origin.tokens_per_char else {}


def _parent_metadata(session: Session) -> JsonObject:
    return {
        "parent_file": session.transcript,
        "parent_session_id": session.session_id,
        "parent_fingerprint": fingerprint(Path(session.transcript)),
    }


def read_origin(transcript: Path) -> Origin | None:
    """Return the origin that the first lines of a file give; None without one, or if the file cannot be read."""
    try:
        with open_regular_file(transcript) as file:
            for number, raw in enumerate(iter(lambda: file.readline(_LONGEST_LINE_BYTES), b""), 1):
                if b"_metadata" in raw and (found := parse_origin(_parsed(raw))) is not None:
                    return found
                if number >= _FIRST_LINES and file.tell() >= _FIRST_BYTES:
                    break
    except OSError:
        return None
    return None


def parse_origin(line: JsonValue) -> Origin | None:
    """Return the origin that one line gives, at its top level or in its payload."""
    if not isinstance(line, dict):
        return None
    found = [
        each
        for holder in (line, line.get("payload"))
        if isinstance(holder, dict)
        for key, derivation in DERIVED_BY.items()
        if (each := _origin(holder.get(key), derivation, _TIMES[key])) is not None
    ]
    return max(found, key=_newer, default=None)


def _origin(note: JsonValue, derivation: Derivation, time_key: str) -> Origin | None:
    if not isinstance(note, dict):
        return None
    file = _text(note, "parent_file") or _text(note, "parent_session_file")
    session_id = _text(note, "parent_session_id") or (Path(file).stem if file else None)
    if session_id is None:
        return None
    return Origin(
        derivation=derivation,
        parent_file=file,
        parent_session_id=session_id,
        parent_fingerprint=_text(note, "parent_fingerprint"),
        at=_text(note, time_key),
        exported_file=_text(note, "exported_file") or _text(note, "exported_chat_log"),
        tokens_per_char=_ratio(note.get("stats")),
        strategy=_strategy(note),
    )


def _ratio(stats: JsonValue) -> float | None:
    ratio = stats.get("tokens_per_char") if isinstance(stats, dict) else None
    return ratio if isinstance(ratio, float) and 0 < ratio < 1 else None


def _strategy(note: Mapping[str, JsonValue]) -> str | None:
    if "untrimmed_from" in note:
        return "untrim"
    parameters = note.get("trim_params")
    return _text(parameters, "strategy") if isinstance(parameters, dict) else None


def _newer(origin: Origin) -> tuple[float, bool]:
    """Sort by time; at the same time, or without one, the continuation is the later of the two."""
    moment = clock.parse_rfc3339(origin.at) if origin.at else None
    return (moment.timestamp() if moment else 0.0, origin.derivation == "continued")


def _text(note: Mapping[str, JsonValue], key: str) -> str | None:
    value = note.get(key)
    return value if isinstance(value, str) and value else None


def _parsed(raw: bytes) -> JsonValue:
    try:
        parsed: JsonValue = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return parsed


def lineage_block(ancestors: Sequence[SessionNode], derivation: Derivation) -> str:
    """Return the block of a session that is being derived from the last of ``ancestors``, given oldest first.

    Each is listed with how the next was derived from it; the new session's name is filled in when it is written.
    """
    derivations = [*(node.derivation_type or "continued" for node in ancestors[1:]), derivation]
    lines = [
        f"{number}. {lineage_name(node.session_file.name)} ({how}{', missing' if node.missing else ''})"
        for number, (node, how) in enumerate(zip(ancestors, derivations, strict=True), 1)
    ]
    if len(lines) > _MAX_LISTED:
        lines[1 : -_MAX_LISTED + 1] = [f"… {len(lines) - _MAX_LISTED} more"]
    return "\n".join(
        [
            BEGIN,
            INTRODUCTION,
            *lines,
            f"{len(ancestors) + 1}. {UNNAMED} (current)",
            "",
            CONCLUSION,
            END,
        ]
    )


class LineageSources(NamedTuple):
    """How to look up a session's origin, the file of an origin, and the session id of a file."""

    origin: Callable[[Path], Origin | None]
    find: Callable[[Origin], Path | None]
    session_id: Callable[[Path], str | None]


def trace_ancestors(session_file: Path, sources: LineageSources) -> SessionNode:
    """Return the session with all its ancestors; a missing parent, or a cycle, ends the chain."""
    steps: list[tuple[Path, Origin | None]] = []
    seen: set[str] = set()
    oldest: SessionNode | None = None
    here: Path | None = session_file
    while here is not None and os.path.realpath(here) not in seen and len(steps) < _MAX_CHAIN:
        seen.add(os.path.realpath(here))
        origin = sources.origin(here) if here.is_file() else None
        steps.append((here, origin))
        here = sources.find(origin) if origin is not None else None
        if origin is not None and here is None:
            oldest = _missing(origin)
    for file, origin in reversed(steps):
        oldest = SessionNode(
            session_file=file,
            derivation_type=origin.derivation if origin else None,
            exported_file=Path(origin.exported_file) if origin and origin.exported_file else None,
            parent=oldest,
            session_id=sources.session_id(file),
            missing=not file.is_file(),
        )
    assert oldest is not None  # the session itself, at least
    return oldest


def newest_first(node: SessionNode) -> list[SessionNode]:
    """Return the session, its parent, and so on."""
    nodes = [node]
    while (parent := nodes[-1].parent) is not None:
        nodes.append(parent)
    return nodes


def oldest_first(node: SessionNode) -> list[SessionNode]:
    """Return the first ancestor, its child, and so on to the session."""
    return newest_first(node)[::-1]


def _missing(origin: Origin) -> SessionNode:
    file = Path(origin.parent_file or f"{origin.parent_session_id}.jsonl")
    return SessionNode(
        session_file=file, derivation_type=None, session_id=origin.parent_session_id, missing=True
    )


def fingerprint(transcript: Path) -> str | None:
    """Return the hash of the first 4 KB and the current size, ``9f3a…-18234``; None if it cannot be read."""
    try:
        with open_regular_file(transcript) as file:
            size = os.fstat(file.fileno()).st_size
            return f"{_hash(file.read(min(_HEAD_BYTES, size)))}-{size}"
    except OSError:
        return None


def still_matches(transcript: Path, known: str) -> bool:
    """Return whether the file can be the fingerprinted one: transcripts only grow, so their beginning stays."""
    digest, _, size = known.rpartition("-")
    if not size.isdecimal():
        return False
    try:
        with open_regular_file(transcript) as file:
            now = os.fstat(file.fileno()).st_size
            return now >= int(size) and _hash(file.read(min(_HEAD_BYTES, int(size)))) == digest
    except OSError:
        return False


def _hash(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()[:32]
