"""What must hold in every session, whatever agent goes on from it: one file each. Where a cut is allowed is where none forbids it.

``watch`` gives somebody who looks through a copy while it is written. A line that no change names is passed through as it was,
so what only a changed line can lose is looked at there.
"""

from __future__ import annotations

from leftoff.model.copying import Invariant
from leftoff.shrink.invariants.answers_first import AnswersFirst
from leftoff.shrink.invariants.calls_answered import CallsAnswered
from leftoff.shrink.invariants.no_empty_message import NoEmptyMessage
from leftoff.shrink.invariants.unbroken_chain import UnbrokenChain
from leftoff.shrink.invariants.unique_ids import UniqueIds

EVERYWHERE: tuple[Invariant, ...] = (
    CallsAnswered(),
    AnswersFirst(),
    UniqueIds(),
    UnbrokenChain(),
    NoEmptyMessage(),
)

__all__ = ["EVERYWHERE"]
