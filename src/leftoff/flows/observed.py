"""Where the agents on this machine really compact: what their own automatic compactions have shown, by model and version.

A server can move an agent's compaction point without telling anybody; the last compactions of the same model under the same
version say more than a table. Kept in the state folder; losing it costs accuracy, nothing else.
"""

from __future__ import annotations

from leftoff.errors import StorageError
from leftoff.model.occupancy import Occupancy
from leftoff.model.quick_json import loads
from leftoff.model.wire import SCHEMAS
from leftoff.system import files, paths

Points = dict[str, list[int]]
_NAME = "compactions.json"
_KEPT = 8


def observed_compaction(
    agent_id: str, occupancy: Occupancy, *, learn: bool = True, seen: Points | None = None
) -> int | None:
    """Where such a session is compacted, as far as this machine has seen; ``learn`` remembers what this session shows.

    More in use than that, without a compaction, shows that it no longer holds. ``seen`` spares reading it for each of many.
    """
    seen = seen_compactions() if seen is None else seen
    key = f"{agent_id} {occupancy.model} {occupancy.client_version}"
    points = seen.get(key, [])
    shown = occupancy.compacted_at_tokens
    if learn and shown is not None and shown not in points:
        points = [*points, shown][-_KEPT:]
        _remember(seen | {key: points})
    point = (
        sorted(points)[(len(points) - 1) // 2] if points else None
    )  # statistics would cost more than all of this
    return None if point is None or (occupancy.used_tokens or 0) > point else point


def seen_compactions() -> Points:
    """All that this machine has seen."""
    try:
        data = loads((paths.state_folder() / _NAME).read_bytes())
    except (OSError, ValueError):
        return {}
    points = (
        data.get("points")
        if isinstance(data, dict) and data.get("schema") == SCHEMAS["compactions"]
        else None
    )
    if not isinstance(points, dict):
        return {}
    return {
        key: tokens
        for key, tokens in points.items()
        if isinstance(tokens, list) and all(isinstance(each, int) for each in tokens)
    }


def _remember(points: Points) -> None:
    import orjson  # noqa: PLC0415 - there is news once in a long session

    try:
        files.write_file(
            paths.state_folder() / _NAME, orjson.dumps({"schema": SCHEMAS["compactions"], "points": points})
        )
    except StorageError:
        return  # a gauge is shown all the same
