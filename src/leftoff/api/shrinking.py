"""Sessions as values: what happened in one, what shrinking it would change, and the copy written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leftoff.flows import shrink_session
from leftoff.flows.agents import agent_called
from leftoff.flows.choose import Chosen
from leftoff.flows.save_log import session_state_of
from leftoff.flows.shrink_session import Planned, Wanted
from leftoff.model.session import Session
from leftoff.model.trim_plan import TrimPlan


def extract(session: Session) -> dict[str, Any]:
    """The session state of an opened session: what a resume log is made from."""
    return session_state_of(Path(session.transcript))


def plan_trim(
    session: Session,
    *,
    threshold: int | None = None,
    tools: Sequence[str] | None = None,
    trim_assistant: int | None = None,
) -> TrimPlan:
    """What trimming would cut; None: as the settings say. Nothing is written."""
    wanted = Wanted(threshold=threshold, tools=tools, trim_assistant=trim_assistant)
    return shrink_session.planned_of(_chosen(session), wanted).plan


def plan_smart_trim(session: Session, *, by: str | None = None) -> TrimPlan:
    """What smart-trim would cut, by its rules or by an agent's or a command's word. Nothing is written."""
    return shrink_session.planned_of(_chosen(session), Wanted(strategy="smart-trim", by=by)).plan


def write_copy(session: Session, plan: TrimPlan) -> Path | None:
    """Carry a plan out into a new session; its file, or None where there is nothing to cut."""
    planned = Planned(chosen=_chosen(session), session=session, plan=plan, wanted=Wanted())
    return shrink_session.carried_out(planned).output_file


def _chosen(session: Session) -> Chosen:
    return Chosen(agent=agent_called(session.agent), transcript=Path(session.transcript))
