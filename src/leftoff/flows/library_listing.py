"""All transcripts there are, with the folders in which others would stand, as those were before anybody looked into them.

So whatever comes while they are listed or read is new to the next update. A folder of which nothing was known before is a reason to
list once more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from leftoff.flows.agents import agents_here
from leftoff.flows.library_stale import at, folders_of
from leftoff.flows.sessions import Found

Find = Callable[[], list[Found]]

_MOST_LISTINGS = 3  # where new folders come at every moment, the next search looks again
_NOT_LOOKED_AT = -1  # by this no folder is known


def listed(find: Find, remembered: Iterable[str]) -> tuple[list[Found], dict[str, int]]:
    """What ``find`` gives, and by what a change of each folder is known; ``remembered`` are those of the last update."""
    before = {folder: at(folder) for folder in remembered}
    found, wanted = _looked(find)
    for _ in range(_MOST_LISTINGS - 1):
        if wanted.keys() <= before.keys():
            break
        before |= wanted
        found, wanted = _looked(find)
    return found, {folder: before.get(folder, _NOT_LOOKED_AT) for folder in wanted}


def _looked(find: Find) -> tuple[list[Found], dict[str, int]]:
    found = find()
    return found, _homes(found)


def _homes(found: Iterable[Found]) -> dict[str, int]:
    """Where new sessions of any agent would stand, also of one that has none yet."""
    by_home: dict[str, list[str]] = {str(agent.home): [] for agent in agents_here()}
    for each in found:
        by_home.setdefault(str(each.agent.home), []).append(os.fsdecode(each.transcript))
    return {
        path: then
        for home, transcripts in by_home.items()
        for path, then in folders_of(home, transcripts).items()
    }
