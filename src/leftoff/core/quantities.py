"""Counts, ages and sizes as a person reads them."""

from __future__ import annotations

from datetime import datetime

_PERIODS = (("d", 86400), ("h", 3600), ("min", 60))


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 turn``, ``2 turns`` or ``1,200 turns``; ``plural`` is for nouns that take more than an ``s``."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def age(now: datetime, then: datetime) -> str:
    """Return ``5 min``, ``3 h`` or ``12 d``; ``now`` for less than a minute."""
    seconds = max(0, int((now - then).total_seconds()))
    for unit, length in _PERIODS:
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return "now"


def ago(now: datetime, then: datetime) -> str:
    """Return ``5 min ago`` or ``just now``."""
    since = age(now, then)
    return "just now" if since == "now" else f"{since} ago"


def size(size_bytes: int) -> str:
    """Return ``340 B``, ``12 KB``, ``3 MB`` or ``1.2 GB``."""
    amount = float(size_bytes)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
