"""Write a derived session: the one way for all of them, so that none forgets metadata, lineage or the registry (L30)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from leftoff.errors import LeftoffError, StorageError
from leftoff.flows.ancestry import Family, family_here
from leftoff.flows.choose import Chosen
from leftoff.flows.plan_shrink import CopyingAgent
from leftoff.lineage.block import lineage_block
from leftoff.lineage.chain import oldest_first
from leftoff.lineage.fingerprint import fingerprint
from leftoff.lineage.registry import Derived
from leftoff.model.copying import Change, Copy, CopyOrder, FreshOrder, LeftBehind
from leftoff.model.protocols import Agent, CanCopy, CanRehearse, CanResume
from leftoff.model.session import Derivation, Session
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject, JsonValue
from leftoff.shrink.invariants import EVERYWHERE
from leftoff.system import clock

Progress = Callable[[int, int], None]  # bytes done, bytes in all
_COPIED: Derivation = "trimmed"  # 002 has no other word for what is copied: also given back, or moved


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A derived session, and what making it freed. ``session_id`` and ``output_file`` are None when nothing was made."""

    session_id: str | None
    output_file: Path | None
    parent_file: Path
    tools_trimmed: int
    tokens_saved: int
    context_saved_percent: float
    resume_command: tuple[str, ...] | None
    folder: Path | None = None  # where to type it
    left_behind: tuple[LeftBehind, ...] = ()

    @property
    def nothing_to_trim(self) -> bool:
        """Whether there was nothing to do."""
        return self.session_id is None

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on; ``left_behind`` stands in it only where something was."""
        return {
            "session_id": self.session_id,
            "output_file": None if self.output_file is None else str(self.output_file),
            "parent_file": str(self.parent_file),
            "tools_trimmed": self.tools_trimmed,
            "tokens_saved": self.tokens_saved,
            "context_saved_percent": round(self.context_saved_percent, 1),
            "resume_command": None if self.resume_command is None else shlex.join(self.resume_command),
            "nothing_to_trim": self.nothing_to_trim,
            **told_behind(self.left_behind),
        }


def told_behind(left_behind: Sequence[LeftBehind]) -> JsonObject:
    """What was left behind as scripts see it; nothing where nothing was."""
    told: list[JsonValue] = [
        {"what": each.what, "path": str(each.path), "why": each.why} for each in left_behind
    ]
    return {"left_behind": told} if told else {}


def copier(agent: Agent) -> CopyingAgent:
    """The agent as one whose sessions can be copied."""
    if not isinstance(agent, CanCopy):
        raise LeftoffError(
            f"Sessions of {agent.name} cannot be copied: leftoff does not know how it resumes them."
        )
    return agent


def require_known(
    agent: Agent, session: Session, otherwise: str = "--force writes the copy all the same."
) -> None:
    """Refuse where a copy might not be resumed: reading is lenient, writing is strict. ``otherwise`` says what can be done."""
    refusal = copier(agent).refusal(session)
    if refusal is not None:
        raise LeftoffError(f"{session.transcript}: not copied: {refusal} {otherwise}")


def written_copy(chosen: Chosen, session: Session, changes: Sequence[Change], order: CopyOrder) -> Copy:
    """Write the copy, with its lineage, and note it. The order's block and invariants are filled in here."""
    family = family_here()
    copy = copier(chosen.agent).write_copy(session, changes, _filled_in(family, chosen, order))
    _note(family, copy, chosen.agent, session, _COPIED, order.at)
    return copy


def rehearsed_copy(chosen: Chosen, session: Session, changes: Sequence[Change], order: CopyOrder) -> None:
    """Refuse here what writing the copy would refuse; nothing is written. Of an agent that cannot tell, nothing is refused."""
    if isinstance(chosen.agent, CanRehearse):
        chosen.agent.copy_size(session, changes, _filled_in(family_here(), chosen, order))


def _filled_in(family: Family, chosen: Chosen, order: CopyOrder) -> CopyOrder:
    block = lineage_block(oldest_first(family.node(chosen.transcript)), _COPIED)
    return replace(order, block=block, invariants=EVERYWHERE)


def written_fresh(to: Agent, session: Session, order: FreshOrder) -> Copy:
    """Write a fresh session that continues another, and note it."""
    copy = copier(to).write_fresh(order)
    _note(family_here(), copy, to, session, "continued", order.at)
    return copy


def resume_command(agent: Agent, session_id: str) -> tuple[str, ...] | None:
    """What starts the agent on the session; None where nobody knows."""
    return agent.resume_command(session_id) if isinstance(agent, CanResume) else None


def _note(
    family: Family, copy: Copy, agent: Agent, session: Session, derivation: Derivation, at: datetime
) -> None:
    try:
        family.registry.add(
            Derived(
                session_id=copy.session_id,
                transcript=str(copy.transcript),
                agent=agent.id,
                parent_id=session.session_id,
                parent_transcript=session.transcript,
                parent_fingerprint=fingerprint(Path(session.transcript)),
                derivation=derivation,
                at=clock.rfc3339(at),
            )
        )
    except StorageError:
        return  # the session says the same of itself
