"""Tells whether the file at a path is still the one that was meant: transcripts only grow, so their beginning stays."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

_HEAD_BYTES = 4096


def fingerprint(transcript: Path) -> str | None:
    """The hash of the first 4 KB and the size now, ``9f3a…-18234``; None for what cannot be read."""
    try:
        with transcript.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            return f"{_hash(file.read(min(_HEAD_BYTES, size)))}-{size}"
    except OSError:
        return None


def is_still(transcript: Path, known: str) -> bool:
    """Whether the file begins as the fingerprinted one did and is no shorter; one that is no fingerprint fits nothing."""
    digest, _, size = known.rpartition("-")
    if not size.isdecimal():
        return False
    try:
        with transcript.open("rb") as file:
            now = os.fstat(file.fileno()).st_size
            return now >= int(size) and _hash(file.read(min(_HEAD_BYTES, int(size)))) == digest
    except OSError:
        return False


def _hash(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()[:32]
