"""One measure of speed, against what it is measured and how far it may go."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measure: ``ratio`` against ``limit``, at most or at least."""

    what: str
    against: str
    ratio: float
    limit: float
    at_most: bool = True
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the goal is met in this run."""
        return self.ratio <= self.limit if self.at_most else self.ratio >= self.limit
