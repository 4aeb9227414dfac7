"""What a generated session is made of: which things happen in it, and how often.

The defaults are what was counted in real transcripts. A rate of 0 switches a thing off, 1 makes it happen wherever it
can.
"""

from __future__ import annotations

from dataclasses import fields

from leftoff.errors import InvalidValueError
from leftoff.model.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Switches and rates of the generator."""

    compactions: bool = True  # when the window is nearly full; otherwise usage stays just below the window
    subagents: float = 0.011  # of the replies
    images: float = 0.004  # of the reads
    parallel: float = 0.08  # of the replies with calls: more than one
    cjk: float = 0.08  # of the prompts: Japanese, Chinese, Korean
    errors: float = 0.05  # of the answers: failed
    interrupted: float = (
        0.002  # of the replies with calls: the last call has no answer, the user speaks again
    )
    thinking: float = 0.5  # of the replies

    def __post_init__(self) -> None:
        for field in fields(self):
            rate = getattr(self, field.name)
            if not 0 <= rate <= 1:
                raise InvalidValueError(f"Mix.{field.name} is a share between 0 and 1, not {rate!r}.")
