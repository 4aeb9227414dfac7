"""A session that was forked or reverted goes on from another's rollout: the files it is made of, in order.

``history_base`` names the rollout and where in it the new one begins. The chain is followed to its beginning; a rollout that
is missing, cannot be read, or was passed already, ends it, and what is there is read. What is not there is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from leftoff.agents import ends, jsonl
from leftoff.agents.codex import finding
from leftoff.agents.codex.compressed import readable
from leftoff.agents.codex.meta import Base, Meta, meta, rollout_id
from leftoff.agents.fields import count
from leftoff.agents.jsonl import Piece
from leftoff.errors import TranscriptError
from leftoff.model.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One rollout of a session; ``end`` is where the next one takes over, None for the last."""

    path: Path
    meta: Meta
    end: Base | None


def lineage(transcript: Path, home: Path) -> tuple[Segment, ...]:
    """The rollouts that the session is made of, oldest first; the last is the transcript itself."""
    found = [_segment(transcript, end=None)]
    passed = {rollout_id(transcript)}
    while (base := found[-1].meta.base) and base.rollout_id not in passed:
        passed.add(base.rollout_id)
        path = finding.rollout(base.rollout_id, home, near=found[-1].path)
        if path is None:
            break
        try:
            found.append(_segment(path, end=base))
        except TranscriptError:  # the fork itself can be read, and that is more than nothing
            break
    return tuple(reversed(found))


def missing(segments: tuple[Segment, ...], home: Path) -> str | None:
    """What the session goes on from and cannot be had, in words; None when all of it is there."""
    base = segments[0].meta.base
    if base is None or base.rollout_id in {rollout_id(segment.path) for segment in segments}:
        return None
    found = finding.rollout(base.rollout_id, home, near=segments[0].path)
    why = "is not here" if found is None else f"cannot be read ({found})"
    return f"goes on from {base.rollout_id[:60]}, which {why}: what it inherits is missing"


def _segment(path: Path, *, end: Base | None) -> Segment:
    source = readable(path)
    return Segment(path=source, meta=meta(path, ends.oldest_first(source)), end=end)


def oldest_first(segments: tuple[Segment, ...]) -> Iterator[Piece]:
    """All pieces of the session, each with its place in the rollout it stands in."""
    for segment in segments:
        found = jsonl.pieces(segment.path)
        if segment.end is not None:
            found = takewhile(lambda piece: _is_before(piece, segment.end), found)  # noqa: B023
        yield from found


def newest_first(segments: tuple[Segment, ...]) -> Iterator[Piece]:
    """The same from the end back; lines are numbered as in ``agents.ends``."""
    for segment in reversed(segments):
        end = segment.end
        for piece in ends.newest_first(segment.path, end.end_bytes if end else None):
            if _is_before(piece, end):
                yield piece


def _is_before(piece: Piece, end: Base | None) -> bool:
    if end is None:
        return True
    if end.end_bytes is not None and piece.place.start >= end.end_bytes:
        return False
    ordinal = count(piece.value, "ordinal") if piece.value and end.end_ordinal is not None else None
    return ordinal is None or end.end_ordinal is None or ordinal < end.end_ordinal
