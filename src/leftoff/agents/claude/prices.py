"""The list prices that the client shows, as of the date in ``prices.json``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from orjson import loads

from leftoff.core.prices import Price

_DATE = re.compile(r"[-@]20\d{6}.*\Z")  # of a release: claude-opus-4-5-20251101, claude-3-5-haiku@20241022
_PROVIDER = re.compile(r"\A.*[./](?=claude-)")  # us.anthropic.claude-…, vertex_ai/claude-…
_SUFFIX = re.compile(r"\[1m\]\Z")


def price(model: str) -> Price | None:
    """Return the price of a model by its full name; None for one that the table does not name."""
    return _table().get(_DATE.sub("", _SUFFIX.sub("", _PROVIDER.sub("", model))))


@cache
def _table() -> dict[str, Price]:
    data = loads(Path(__file__).with_name("prices.json").read_bytes())
    return {name: Price(**each) for name, each in data["models"].items()}
