"""What a derived session says of its parent: ``trim_metadata`` and ``continue_metadata`` of 002, written and read.

Reading is wider than writing: also the files of the trimmer that 002 was drawn from are understood, which name the parent of a
continued session ``parent_session_file`` and put the keys on whatever line comes first. Where both keys stand, the newer speaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path

import orjson

from leftoff.lineage.fingerprint import fingerprint
from leftoff.model.session import DERIVED_BY, Derivation, Session
from leftoff.model.trim_plan import TrimPlan
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject, JsonValue
from leftoff.system import clock

_FIRST_LINES = 64
_LONGEST_LINE_BYTES = 64 * 1024 * 1024  # a first prompt can hold pictures
_TIMES = {"trim_metadata": "trimmed_at", "continue_metadata": "continued_at"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a session came from. None: it does not say. ``at`` is RFC 3339, as it stands there."""

    derivation: Derivation
    parent_file: str | None = None
    parent_session_id: str | None = None
    parent_fingerprint: str | None = None
    at: str | None = None
    exported_file: str | None = None


def trim_metadata(session: Session, plan: TrimPlan, at: datetime) -> JsonObject:
    """What a trimmed copy says of the session that it was made from."""
    return {
        "trim_metadata": {
            **_of_parent(session),
            "trimmed_at": clock.rfc3339(at),
            "trim_params": {**plan.parameters, "strategy": plan.strategy},
            "stats": {
                "original_tokens": plan.live_tokens,
                "trimmed_tokens": max(0, plan.live_tokens - plan.saved_tokens),
                "tools_trimmed": plan.tools_trimmed,
                "chars_saved": plan.saved_chars,
            },
        }
    }


def untrim_metadata(session: Session, at: datetime, *, given_back: int) -> JsonObject:
    """What a copy says that has its originals again."""
    own: JsonObject = {
        "trimmed_at": clock.rfc3339(at),
        "untrimmed_from": session.session_id,
        "stats": {"given_back": given_back},
    }
    return {"trim_metadata": _of_parent(session) | own}


def moved_metadata(session: Session, at: datetime) -> JsonObject:
    """What an exact copy for another folder says: nothing was cut."""
    own: JsonObject = {"trimmed_at": clock.rfc3339(at), "trim_params": {"strategy": "as-is"}, "stats": {}}
    return {"trim_metadata": _of_parent(session) | own}


def continue_metadata(session: Session, at: datetime, *, summary_included: bool) -> JsonObject:
    """What a fresh session says of the one it continues."""
    own: JsonObject = {
        "continued_at": clock.rfc3339(at),
        "continuation_type": "rollover",
        "summary_included": summary_included,
    }
    return {"continue_metadata": _of_parent(session) | own}


def _of_parent(session: Session) -> JsonObject:
    return {
        "parent_file": session.transcript,
        "parent_session_id": session.session_id,
        "parent_fingerprint": fingerprint(Path(session.transcript)),
    }


def origin_of(transcript: Path) -> Origin | None:
    """What the first lines of a file say; None when they say nothing, or the file cannot be read."""
    try:
        with transcript.open("rb") as file:
            for raw in islice(iter(lambda: file.readline(_LONGEST_LINE_BYTES), b""), _FIRST_LINES):
                if b"_metadata" in raw and (found := origin_in(_parsed(raw))) is not None:
                    return found
    except OSError:
        return None
    return None


def origin_in(line: JsonValue) -> Origin | None:
    """What one line says, on itself or in its payload."""
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
    )


def _newer(origin: Origin) -> tuple[float, bool]:
    """Of the same moment, or where none is said, the continuation is the later act."""
    moment = clock.from_rfc3339(origin.at) if origin.at else None
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
