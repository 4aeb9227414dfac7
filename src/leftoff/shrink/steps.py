"""What smart-trim looks at: the live conversation as calls with what they did and brought, and the words between them."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from leftoff.model.actions import Action, Answer
from leftoff.model.copying import Piece
from leftoff.shrink.placeholders import parsed


class Step(NamedTuple):
    """One tool call. ``given`` and ``result`` are None where that side is no piece of the live chain."""

    call_id: str
    tool: str
    actions: tuple[Action, ...]
    answer: Answer | None  # None: there is none yet
    given: Piece | None
    result: Piece | None
    words: str  # all texts of the input

    @property
    def passed(self) -> bool:
        """Whether it is known to have gone well: of an answer that was cut, nobody knows."""
        return self.answer is not None and not self.answer.failed and parsed(self.answer.text) is None


class Said(NamedTuple):
    """Words between the calls, by whomever: replies, thoughts, prompts."""

    text: str


Told: TypeAlias = Step | Said
