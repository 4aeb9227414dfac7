"""Trim or smart-trim a session: plan, show, then write the copy. The session itself is never touched.

``planned`` decides and writes nothing; ``carried_out`` writes what was planned; ``looked_at`` is for who will not write: its plan
says the same as writing would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from leftoff.errors import NothingToDoError, UsageError
from leftoff.flows import plan_shrink
from leftoff.flows.choose import Chosen, choose
from leftoff.flows.derive import (
    Made,
    Progress,
    copier,
    rehearsed_copy,
    require_known,
    resume_command,
    written_copy,
)
from leftoff.flows.polish import RULES, summariser_called
from leftoff.flows.settings import settings_here
from leftoff.lineage.metadata import trim_metadata
from leftoff.model.copying import Copy, CopyOrder
from leftoff.model.session import Session
from leftoff.model.trim_plan import Cut, TrimPlan
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.shrink.trim import TrimParameters
from leftoff.system import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How to shrink; None: as the settings say. ``by`` lets a summariser propose what smart-trim cuts."""

    strategy: Literal["trim", "smart-trim"] = "trim"
    threshold: int | None = None
    tools: Sequence[str] | None = None
    trim_assistant: int | None = None
    min_token_savings: int | None = None
    by: str | None = None
    force: bool = False
    project: Path | None = None  # re-home the copy into this folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan, and the session that it is of."""

    chosen: Chosen
    session: Session
    plan: TrimPlan
    wanted: Wanted

    def to_dict(self) -> JsonObject:
        """The plan as scripts see it; lines are 1-based."""
        plan = self.plan
        return {
            "dry_run": True,
            "strategy": plan.strategy,
            "session_id": plan.session_id,
            "parent_file": plan.transcript,
            "live_tokens": plan.live_tokens,
            "tokens_saved": plan.saved_tokens,
            "tools_trimmed": plan.tools_trimmed,
            "context_saved_percent": round(plan.context_saved_percent, 1),
            "nothing_to_trim": plan.nothing_to_trim,
            "cuts": [_cut(each, plan) for each in plan.cuts],
            "kept": [*plan.kept],
        }


def planned(words: str, working_folder: Path, wanted: Wanted) -> Planned:
    """What shrinking the session that ``words`` name would change; nothing is written."""
    return planned_of(choose(words, working_folder), wanted)


def planned_of(chosen: Chosen, wanted: Wanted) -> Planned:
    """The same for a session that is known already."""
    session = chosen.open()
    agent = copier(chosen.agent)
    if not wanted.force:
        require_known(chosen.agent, session)
    parameters = parameters_of(wanted, Path(session.project) if session.project else None)
    if wanted.strategy == "trim":
        plan = plan_shrink.plan_trim(agent, session, parameters)
    elif wanted.by in {None, RULES}:
        plan = plan_shrink.plan_smart_trim(agent, session, parameters)
    else:
        proposed = plan_shrink.proposed_by(summariser_called(wanted.by or RULES), agent, session)
        plan = plan_shrink.plan_from_lines(agent, session, proposed, parameters)
    return Planned(chosen=chosen, session=session, plan=plan, wanted=wanted)


def parameters_of(wanted: Wanted, project: Path | None) -> TrimParameters:
    """What was asked for, else what the settings of the session's project say."""
    settings = settings_here(project if project is not None and project.is_dir() else None).settings.trim
    usual = TrimParameters()
    if wanted.threshold is not None and wanted.threshold < 1:
        raise UsageError(f"A threshold of {wanted.threshold} characters is none: it must be 1 or more.")
    return TrimParameters(
        threshold=settings.threshold if wanted.threshold is None else wanted.threshold,
        tools=tuple(settings.tools if wanted.tools is None else wanted.tools),
        trim_assistant=wanted.trim_assistant,
        min_token_savings=(
            usual.min_token_savings if wanted.min_token_savings is None else wanted.min_token_savings
        ),
        protect_turns=settings.protect_turns,
        head=settings.head,
        tail=settings.tail,
    )


def carried_out(planned: Planned, progress: Progress | None = None) -> Made:
    """Write the copy. Where there is nothing to cut nothing is written, unless the copy is for another folder."""
    plan, session = planned.plan, planned.session
    if plan.nothing_to_trim and planned.wanted.project is None:
        return _made(planned, None)
    try:
        copy = written_copy(planned.chosen, session, plan.cuts, _order(planned, progress))
    except NothingToDoError:
        return _made(replace(planned, plan=without_cuts(plan)), None)
    return _made(planned, copy)


def looked_at(planned: Planned, progress: Progress | None = None) -> Planned:
    """The plan for somebody to look at: without cuts where the copy would not be written for being no smaller.

    Only the copy itself tells its size, and whether it would be refused.
    """
    plan = planned.plan
    if plan.nothing_to_trim and planned.wanted.project is None:
        return planned
    try:
        rehearsed_copy(planned.chosen, planned.session, plan.cuts, _order(planned, progress))
    except NothingToDoError:
        return replace(planned, plan=without_cuts(plan))
    return planned


def _order(planned: Planned, progress: Progress | None) -> CopyOrder:
    plan, at = planned.plan, clock.now()
    return CopyOrder(
        at=at,
        metadata=trim_metadata(planned.session, plan, at),
        used_tokens=max(0, plan.live_tokens - plan.saved_tokens),
        project=planned.wanted.project,
        progress=progress,
        first_prompt=plan.first_prompt,
        live_from=plan.live_from,
        must_shrink=planned.wanted.project is None,
    )


def without_cuts(plan: TrimPlan) -> TrimPlan:
    """The plan when what a copy says of itself takes more than its cuts free."""
    why = "the copy would be no smaller than the session"
    return replace(plan, cuts=(), saved_tokens=0, kept=(*plan.kept, why))


def _made(planned: Planned, copy: Copy | None) -> Made:
    plan, session = planned.plan, planned.session
    folder = planned.wanted.project or (Path(session.project) if session.project else None)
    return Made(
        session_id=copy.session_id if copy else None,
        output_file=copy.transcript if copy else None,
        parent_file=planned.chosen.transcript,
        tools_trimmed=plan.tools_trimmed,
        tokens_saved=plan.saved_tokens,
        context_saved_percent=plan.context_saved_percent,
        resume_command=resume_command(planned.chosen.agent, copy.session_id) if copy else None,
        folder=folder,
        left_behind=copy.left_behind if copy else (),
    )


def _cut(cut: Cut, plan: TrimPlan) -> JsonObject:
    return {
        "line": cut.place.line_idx + 1,
        "part": cut.part,
        "tool": cut.tool,
        "original_chars": cut.original_chars,
        "tokens_saved": tokens_of(cut, plan),
        "rationale": cut.rationale,
        "description": cut.description,
        "key": cut.key or None,
    }


def tokens_of(cut: Cut, plan: TrimPlan) -> int:
    """Its share of what the plan saves."""
    return round(plan.saved_tokens * cut.saved_chars / plan.saved_chars) if plan.saved_chars else 0
