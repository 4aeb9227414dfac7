"""Which logs go when there are too many: decided here, done by the store while nobody saves."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from leftoff.errors import UsageError


def beyond(session_ids: Sequence[str], keep_count: int, active: Collection[str]) -> list[str]:
    """Of the ids, newest first, those beyond the first ``keep_count``; never one of a session that still runs."""
    if keep_count < 0:
        raise UsageError(
            f"keep_count is {keep_count}: how many logs to keep, 0 or more. Nothing was deleted."
        )
    return [session_id for session_id in session_ids[keep_count:] if session_id not in active]
