"""How long ago something was, in few characters."""

from __future__ import annotations

from datetime import datetime


def age(now: datetime, then: datetime) -> str:
    """``5 min``, ``3 h``, ``12 d``."""
    seconds = max(0, int((now - then).total_seconds()))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return "now"


def ago(now: datetime, then: datetime) -> str:
    """``5 min ago``, ``just now``."""
    since = age(now, then)
    return "just now" if since == "now" else f"{since} ago"
