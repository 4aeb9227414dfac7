"""Forks that say nothing of themselves: some clients copy a conversation with the ids of its records and name no parent.

Two files that begin with the same record are one conversation twice. Where they part, the fork goes on at once; the session it
was made from goes on later, or not at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice, zip_longest
from pathlib import Path

from leftoff.flows.sessions import Found
from leftoff.lineage.metadata import Origin
from leftoff.model.protocols import Agent
from leftoff.model.records import Record

_FIRST_RECORDS = 50
_NEVER = datetime.max.replace(tzinfo=UTC)


def silent_forks(originals: Iterable[Found]) -> Mapping[Path, Origin]:
    """Of sessions that name no parent: those that are forks of another one among them, and of which."""
    alike: dict[tuple[str, Path, str], list[Found]] = defaultdict(list)
    for each in originals:
        begins = _first_id(each)
        if begins is not None:
            alike[each.agent.id, each.transcript.parent, begins].append(each)
    forks = {}
    for group in alike.values():
        for fork in group:
            parent = _parent(fork, [other for other in group if other is not fork])
            if parent is not None:
                forks[fork.transcript] = parent
    return forks


def _first_id(found: Found) -> str | None:
    first = islice(found.agent.read(found.transcript), _FIRST_RECORDS)
    return next((record.id for record in first if record.id is not None), None)


def _parent(fork: Found, others: Iterable[Found]) -> Origin | None:
    """The one it shares most with, of those that go on later: a fork may have been forked again."""
    shared: list[tuple[int, Found]] = []
    for other in others:
        count, goes_on, parts = _parting(fork.agent, other.transcript, fork.transcript)
        if goes_on > parts:
            shared.append((count, other))
    if not shared:
        return None
    parent = max(shared, key=lambda pair: pair[0])[1]
    session_id = parent.agent.open(parent.transcript).session_id
    return Origin(derivation="forked", parent_file=str(parent.transcript), parent_session_id=session_id)


def _parting(agent: Agent, first: Path, second: Path) -> tuple[int, datetime, datetime]:
    """How many records they share, and when each goes on by itself; one that does not, never."""
    shared = 0
    for one, other in zip_longest(_chain(agent, first), _chain(agent, second)):
        if one is None or other is None or one.id != other.id:
            return shared, _moment(one), _moment(other)
        shared += 1
    return shared, _NEVER, _NEVER


def _chain(agent: Agent, transcript: Path) -> Iterator[Record]:
    return (record for record in agent.read(transcript) if record.id is not None)


def _moment(record: Record | None) -> datetime:
    return _NEVER if record is None else record.at or _NEVER
