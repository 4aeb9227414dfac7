"""What must hold in a copy for Codex to go on from it, and when nobody can say."""

from __future__ import annotations

from collections.abc import Iterable

from leftoff.agents.codex.known import known, version
from leftoff.agents.signed_thoughts import SignedThoughts
from leftoff.model.copying import Invariant
from leftoff.model.records import Record, RecordKind
from leftoff.model.session import Session

INVARIANTS: tuple[Invariant, ...] = (SignedThoughts(),)
_MOST_NAMED = 5


def refusal(session: Session) -> str | None:
    """Why a copy cannot be trusted: what it goes on from is missing, or a newer Codex wrote lines that nobody knows.

    A rollout of a known Codex is read no further than its beginning.
    """
    missing = _missing(session.records)
    if missing:
        return f"it {missing}"
    newest = known().newest_version
    if version(session.client_version or "") <= newest:
        return None
    unknown = dict.fromkeys(record.type for record in session.records if _is_unknown(record))
    if not unknown:
        return None
    named = ", ".join([*unknown][:_MOST_NAMED]) + (", …" if len(unknown) > _MOST_NAMED else "")
    return (
        f"it was written by Codex {session.client_version}, which is newer than what leftoff knows "
        f"({'.'.join(map(str, newest))}), and has lines nobody has seen: {named}"
    )


def _missing(records: Iterable[Record]) -> str | None:
    first = next(iter(records), None)
    return first.note if first is not None and first.type == "missing" else None


def _is_unknown(record: Record) -> bool:
    """Lines that could be sent; events are for the screen, and new ones come with every version."""
    return record.kind is RecordKind.UNKNOWN and not record.type.startswith("event_msg/")
