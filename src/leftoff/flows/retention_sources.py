"""Which items of a resume log rest on nothing that can be shown: no source, or one whose bytes are not what the log says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from leftoff.model.resume_log import ResumeLog
from leftoff.model.sources import Source
from leftoff.model.values import dataclass

_LISTS = ("accomplishments", "key_findings", "decisions", "next_steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sourced:
    """How many items a log has, and those without a valid source."""

    items: int
    without: tuple[str, ...]


def sourced(log: ResumeLog) -> Sourced:
    """Every item of the log against the bytes it names. One bad source spoils its item."""
    by_item: dict[str, list[Source]] = {}
    for source in log.sources:
        by_item.setdefault(source.item, []).append(source)
    found = [*_items(log)]
    without = [item for item in found if not by_item.get(item) or not all(map(_holds, by_item[item]))]
    return Sourced(items=len(found), without=tuple(without))


def _items(log: ResumeLog) -> Iterator[str]:
    """The names that sources call the items by."""
    if log.mission_summary:
        yield "mission_summary"
    for name in _LISTS:
        yield from (f"{name}/{number}" for number in range(len(getattr(log, name))))
    for name, entry in log.critical_context.items():
        match entry:
            case dict():
                yield from (f"critical_context/{name}/{key}" for key in entry)
            case list():
                yield from (f"critical_context/{name}/{number}" for number in range(len(entry)))
            case _:
                yield f"critical_context/{name}"


def _holds(source: Source) -> bool:
    try:
        with Path(source.place.transcript).open("rb") as file:
            file.seek(source.place.start)
            said = file.read(source.place.end - source.place.start)
    except OSError:
        return False
    return hashlib.sha256(said).hexdigest() == source.sha256
