"""Session ids as people see and type them: the shortest beginning that names one session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MIN_PREFIX_CHARS = 4  # of a session id, to select the session
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-(?P<version>[0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def short_id(session_id: str) -> str:
    """Return the beginning of an id that names one session: eight characters of a random UUID.

    Some agents use UUIDs that begin with the time (versions 1, 6 and 7): those of one minute share their first eight characters,
    those of one millisecond their first thirteen. An id that is not a UUID stays whole.
    """
    uuid = _UUID.fullmatch(session_id)
    if uuid is None:
        return session_id
    return session_id[: 8 if uuid["version"] == "4" else 13]


def unique_prefixes(session_ids: Sequence[str]) -> dict[str, str]:
    """Return for each id the shortest beginning that no other of these ids has, but at least ``short_id``."""
    ids = {*session_ids}
    return {each: _unique_prefix(each, ids - {each}) for each in ids}


def _unique_prefix(session_id: str, others: Iterable[str]) -> str:
    longest = len(short_id(session_id))
    for other in others:
        while other.startswith(session_id[:longest]) and longest < len(session_id):
            longest += 1
    return session_id[:longest]
