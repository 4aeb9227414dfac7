"""What must hold in a copy for this client to go on from it, and when nobody can say."""

from __future__ import annotations

from pathlib import Path

from leftoff.agents.claude.known import known, version
from leftoff.agents.jsonl import pieces
from leftoff.agents.signed_thoughts import SignedThoughts
from leftoff.model.copying import Invariant
from leftoff.model.session import Session
from leftoff.model.wire import JsonObject

INVARIANTS: tuple[Invariant, ...] = (SignedThoughts(),)
_CHAINED = frozenset({"user", "assistant", "attachment", "system", "tool_result"})
_MOST_NAMED = 5


def refusal(session: Session) -> str | None:
    """Why a copy cannot be trusted: the client is newer than what is known of it, and its lines hang together by unknown fields.

    A file of a known client is not even read.
    """
    newest = known().newest_version
    if version(session.client_version or "") <= newest:
        return None
    unknown = _unknown(session)
    if not unknown:
        return None
    named = ", ".join(unknown[:_MOST_NAMED]) + (", …" if len(unknown) > _MOST_NAMED else "")
    return (
        f"it was written by Claude Code {session.client_version}, which is newer than what leftoff knows "
        f"({'.'.join(map(str, newest))}), and its lines have fields nobody has seen: {named}"
    )


def _unknown(session: Session) -> list[str]:
    """Fields of lines on the chain, and types of such lines, in the order they come."""
    found: dict[str, None] = {}
    for piece in pieces(Path(session.transcript)):
        if piece.value is not None and "uuid" in piece.value and "parentUuid" in piece.value:
            found.update(dict.fromkeys(_unknown_in(piece.value)))
    return [*found]


def _unknown_in(line: JsonObject) -> list[str]:
    kind = line.get("type")
    if kind in known().records:  # it stands on the chain in old files, and is the client's own business
        return []
    fields = [key for key in line if key not in known().chain_fields]
    return fields if kind in _CHAINED else [f"lines of type {kind}"]
