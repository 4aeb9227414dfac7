"""The part of the demo that makes the session smaller: a copy is really written and read back, beside the bundled session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from leftoff.flows.plan_shrink import CopyingAgent, plan_smart_trim, plan_trim
from leftoff.lineage.block import lineage_block
from leftoff.lineage.metadata import trim_metadata
from leftoff.model.copying import CopyOrder
from leftoff.model.resume_log import ResumeLog
from leftoff.model.session import Derivation, Session
from leftoff.model.session_node import SessionNode
from leftoff.restore.profiles import restoration_text
from leftoff.shrink.invariants import EVERYWHERE
from leftoff.shrink.rollover import first_message
from leftoff.shrink.trim import TrimParameters
from leftoff.system import clock

_MOST_CHARS = 9_900
_NO_PIECE = 1 << 62
_LINES = 8


def trimmed(agent: CopyingAgent, session: Session) -> Iterator[str]:
    """Two strategies side by side, then the copy of the first, and one placeholder of it."""
    parameters = TrimParameters()
    plan = plan_trim(agent, session, parameters)
    smart = plan_smart_trim(agent, session, parameters)
    for each in (plan, smart):
        yield (
            f"{each.strategy}: {len(each.cuts)} cuts free {each.context_saved_percent:.0f} % of the live context, about "
            f"{each.saved_tokens:,} tokens."
        )
    at = clock.now()
    order = CopyOrder(
        at=at,
        metadata=trim_metadata(session, plan, at),
        block=_block(session, "trimmed"),
        used_tokens=max(0, plan.live_tokens - plan.saved_tokens),
        invariants=EVERYWHERE,
    )
    copy = agent.write_copy(session, plan.cuts, order)
    before = Path(session.transcript).stat().st_size
    yield (
        f"The copy is a session of its own, {copy.size_bytes / before:.0%} of the size; the original was not touched. "
        "One of its placeholders begins:"
    )
    yield from plan.cuts[0].replacement.splitlines()[:1]
    yield f"leftoff expand {plan.cuts[0].key} prints what stood there; leftoff untrim gives all of it back."


def rolled_over(agent: CopyingAgent, session: Session, log: ResumeLog) -> Iterator[str]:
    """What a fresh session would begin with, in numbers and in its first lines."""
    live = agent.live_pieces(session, at_least_chars=_NO_PIECE, head=0, tail=0)
    block = _block(session, "continued")
    message = first_message(block, None, _restoration(log, _MOST_CHARS - len(block) - 2))
    yield (
        f"rollover: a fresh session that begins with some {round(len(message), -2):,} characters instead of {live.live_chars:,}: "
        f"{100 * (1 - len(message) / live.live_chars):.0f} % of the live context is free. It begins:"
    )
    yield from message.splitlines()[:_LINES]


def restored(log: ResumeLog) -> Iterator[str]:
    """The text itself, as far as a screen holds it."""
    body = _restoration(log, _MOST_CHARS).splitlines()
    yield "Fenced as data, the mission first:"
    begins = next(number for number, line in enumerate(body) if line.startswith("## "))
    yield from body[begins : begins + _LINES]


def _block(session: Session, derivation: Derivation) -> str:
    return lineage_block([SessionNode(Path(session.transcript), None)], derivation)


def _restoration(log: ResumeLog, max_chars: int) -> str:
    return restoration_text(
        log, profile="fresh", max_chars=max_chars, drift=None, path_of_whole="resume-logs/"
    )
