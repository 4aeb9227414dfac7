"""A transcript in batches of pieces, each with the place where it ends; and whether what was read before still stands."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

from leftoff.agents.jsonl import opened
from leftoff.flows.library_pieces import Cutter
from leftoff.flows.sessions import Found
from leftoff.library.forgotten import Forgotten
from leftoff.library.pieces import Piece, Reached
from leftoff.model.records import Place, Record, RecordKind

_BATCH_SECONDS = 0.25
_BATCH_CHARS = 1_000_000
_SAMPLES = 16
_SAMPLE_BYTES = 512


def batches(
    found: Found, cutter: Cutter, after: Place | None, forgotten: Forgotten
) -> Iterator[tuple[list[Piece], Reached | None, bool]]:
    """Pieces of whole records, where each batch ends, and whether it is the last. A half-written last line waits."""
    batch: list[Piece] = []
    chars, begun = 0, time.monotonic()
    done: Record | None = None
    last: Record | None = None
    for record in found.agent.read(found.transcript, after):
        if last is not None:
            new = forgotten.masked(cutter.pieces(last))
            batch += new
            chars, done = chars + sum(len(piece.text) for piece in new), last
            if chars >= _BATCH_CHARS or time.monotonic() - begun > _BATCH_SECONDS:
                yield batch, _reached(found.transcript, done), False
                batch, chars, begun = [], 0, time.monotonic()
        last = record
    if last is not None and not _is_torn(last):
        batch += forgotten.masked(cutter.pieces(last))
        done = last
    yield batch, None if done is None else _reached(found.transcript, done), True


def _is_torn(record: Record) -> bool:
    """Whether it is a line that somebody is still writing."""
    return record.kind is RecordKind.BROKEN and not record.raw.endswith(b"\n")


def _reached(transcript: Path, record: Record) -> Reached:
    place = record.place
    return Reached(place.line_idx, place.start, place.end, _fingerprint(transcript, place.start, place.end))


def still_stands(transcript: Path, reached: Reached) -> bool:
    """Whether what was read is as it was, as far as a few looks tell."""
    return _fingerprint(transcript, reached.start, reached.end) == reached.digest


def _fingerprint(transcript: Path, start: int, end: int) -> bytes:
    """Of the last record, and of samples of all that stands before it."""
    digest = hashlib.blake2b(digest_size=16)
    with opened(transcript) as file:
        for number in range(_SAMPLES):
            file.seek(start * number // _SAMPLES)
            digest.update(file.read(min(_SAMPLE_BYTES, start)))
        file.seek(start)
        digest.update(file.read(end - start))
    return digest.digest()
