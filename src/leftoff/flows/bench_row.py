"""One measure of speed, against what it is measured and how far it may go."""

from __future__ import annotations

from leftoff.model.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measure: ``ratio`` against ``limit``, at most or at least. One that ``is_judged`` not was taken on too little to tell."""

    what: str
    against: str
    ratio: float
    limit: float
    at_most: bool = True
    note: str = ""
    is_judged: bool = True

    @property
    def reached(self) -> bool | None:
        """Whether the goal is met in this run; None where it cannot tell."""
        if not self.is_judged:
            return None
        return self.ratio <= self.limit if self.at_most else self.ratio >= self.limit
