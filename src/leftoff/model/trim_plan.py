"""What shrinking a session would change, decided before a byte is written: shown, argued about, then carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from leftoff.model.records import Place
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonValue

Strategy = Literal["trim", "smart-trim", "rollover"]
CutPart = Literal["result", "input", "text", "thinking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One piece of content that is taken out, and what stands there instead.

    ``part`` says what of the record is cut; ``call_id`` which call's result or input, None for the record's own words
    or thoughts. An empty ``replacement`` takes the block out whole, which is allowed for thoughts alone. ``key`` is what
    ``leftoff expand`` takes to print the original, and stands in the replacement; thoughts have none.
    """

    place: Place
    part: CutPart
    call_id: str | None
    tool: str | None
    original_chars: int
    replacement: str
    rationale: str
    description: str = ""
    key: str = ""

    @property
    def saved_chars(self) -> int:
        """Characters of context that it frees."""
        return self.original_chars - len(self.replacement)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimPlan:
    """All cuts of one strategy on one session. Numbers are of the live chain alone (L27).

    ``kept`` tells what the strategy would have cut and why it did not: for the reader of the plan, not for the writer.
    """

    strategy: Strategy
    session_id: str
    transcript: str
    cuts: tuple[Cut, ...]
    live_chars: int
    live_tokens: int
    saved_tokens: int
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    first_prompt: Place | None = None  # where a copy gets its lineage block; None: whoever writes it looks
    live_from: Place | None = None  # the first line of the file that is live; None: not known

    @property
    def saved_chars(self) -> int:
        """Characters of context that all cuts free."""
        return sum(cut.saved_chars for cut in self.cuts)

    @property
    def tools_trimmed(self) -> int:
        """How many tool calls lose content."""
        return len({cut.call_id for cut in self.cuts if cut.call_id is not None})

    @property
    def context_saved_percent(self) -> float:
        """0-100 of the live characters."""
        return 100 * self.saved_chars / self.live_chars if self.live_chars else 0.0

    @property
    def nothing_to_trim(self) -> bool:
        """Whether there is no cut at all."""
        return not self.cuts
