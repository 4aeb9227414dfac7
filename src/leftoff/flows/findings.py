"""What ``leftoff doctor`` finds: one thing looked at, how it is, and what to type if something is wrong."""

from __future__ import annotations

from typing import Literal

from leftoff.model.values import dataclass

State = Literal["ok", "note", "broken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at. ``mend`` is what to type, empty when there is nothing to do."""

    what: str
    state: State
    words: str
    mend: str = ""
