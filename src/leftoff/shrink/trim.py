"""Trim or smart-trim a session: plan, preview, write the copy. The session itself is never changed.

``prepare_trim`` plans and writes nothing; ``preview_trim`` shows what writing would do; ``write_trim`` writes the copy. The functions
that take a file are for the Python API: the session may be anywhere, and so may the copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from leftoff.agents.registry import agent_by_id, agent_of
from leftoff.config.settings import TrimSettings
from leftoff.core.metrics import ContextMetrics
from leftoff.core.session import Session
from leftoff.core.trim_plan import Copy, CopyOrder, Cut, NotCopied, Savings, TrimLevel, TrimPlan, digest_of
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import NothingToDoError, TranscriptError, UsageError
from leftoff.platform import clock
from leftoff.resume_logs.summariser import RULES, find_summariser
from leftoff.sessions.find import find_session
from leftoff.sessions.lineage import trim_metadata
from leftoff.sessions.status import status_of
from leftoff.shrink.cuts import MIN_TOKEN_SAVINGS, TrimParameters
from leftoff.shrink.derive import (
    DerivedSession,
    Progress,
    check_copy,
    copying_agent,
    find_copy,
    require_copyable,
    resume_command,
    workspace_of,
    write_copy,
)
from leftoff.shrink.levels import LOST_SUPPORT
from leftoff.shrink.planners import plan_from_lines, plan_levels, plan_smart_trim, plan_trim, propose_lines
from leftoff.workspace import SessionRef, Workspace

ALL_REPLIES = 1 << 31


class TrimOptions(NamedTuple):
    """How to trim; None means "as the settings say". ``by`` names a summariser that proposes what smart-trim cuts."""

    strategy: Literal["trim", "smart-trim"] = "trim"
    threshold: int | None = None
    tools: Sequence[str] | None = None
    trim_assistant: int | None = None
    min_token_savings: int | None = None
    by: str | None = None
    level: TrimLevel | None = None  # of smart-trim
    force: bool = False
    project: Path | None = None  # write the copy for this folder

    @property
    def accepts_any_saving(self) -> bool:
        """Whether the caller wants a copy even if it saves nothing: that meets a minimum of 0."""
        return self.min_token_savings is not None and self.min_token_savings <= 0


class LevelEffect(NamedTuple):
    """What a level of smart-trim would free, and the share of the next edits that lacked something in measured sessions."""

    level: TrimLevel
    savings: Savings
    lost_support: float
    is_chosen: bool

    def to_dict(self) -> JsonObject:
        """Return the JSON shape for scripts."""
        return {
            "level": self.level,
            **self.savings.to_dict(),
            "measured_edits_lost": self.lost_support,
            "chosen": self.is_chosen,
        }


class PlannedTrim(NamedTuple):
    """A plan with its session and options. ``levels`` is empty unless ``with_levels`` was asked for."""

    ref: SessionRef
    plan: TrimPlan
    options: TrimOptions
    gauge: ContextMetrics
    levels: tuple[LevelEffect, ...] = ()

    @property
    def savings(self) -> Savings:
        """What the plan changes on the gauge."""
        return Savings.expect(self.gauge, self.plan.saved_tokens)

    def to_dict(self) -> JsonObject:
        """Return the JSON shape for scripts; lines are 1-based."""
        plan = self.plan
        return {
            "dry_run": True,
            "strategy": plan.strategy,
            "session_id": plan.session_id,
            "parent_file": plan.transcript,
            "live_tokens": plan.live_tokens,
            "tools_trimmed": plan.tools_trimmed,
            **self.savings.to_dict(),
            "nothing_to_trim": plan.nothing_to_trim,
            "cuts": [{"number": at, **_cut_to_dict(cut, plan)} for at, cut in enumerate(plan.cuts, 1)],
            "kept": [*plan.kept],
            **({"levels": [each.to_dict() for each in self.levels]} if self.levels else {}),
        }


def prepare_trim(selector: str, workspace: Workspace, options: TrimOptions) -> PlannedTrim:
    """Plan the trim of the selected session; nothing is written."""
    return prepare_trim_of(find_session(selector, workspace), workspace, options)


def prepare_trim_of(ref: SessionRef, workspace: Workspace, options: TrimOptions) -> PlannedTrim:
    """Plan the trim of a session that the caller has already found."""
    session, agent = ref.session, copying_agent(ref.agent)
    if not options.force:
        require_copyable(ref)
    workspace = workspace_of(ref, workspace)
    parameters = _parameters(options, workspace.settings.trim)
    if options.strategy == "trim":
        plan = plan_trim(agent, session, parameters)
    elif options.by is None or options.by == RULES:
        plan = plan_smart_trim(agent, session, parameters)
    else:
        lines = propose_lines(find_summariser(options.by), agent, session, clean=workspace.redact)
        plan = plan_from_lines(agent, session, lines, parameters)
    return PlannedTrim(ref=ref, plan=plan, options=options, gauge=status_of(ref, workspace).metrics)


def _parameters(options: TrimOptions, settings: TrimSettings) -> TrimParameters:
    """Complete the options from the settings."""
    if options.threshold is not None and options.threshold < 1:
        raise UsageError(f"The threshold is {options.threshold} characters; it must be 1 or more.")
    return TrimParameters(
        threshold=settings.threshold if options.threshold is None else options.threshold,
        tools=tuple(settings.tools if options.tools is None else options.tools),
        trim_assistant=options.trim_assistant,
        min_token_savings=(
            MIN_TOKEN_SAVINGS if options.min_token_savings is None else options.min_token_savings
        ),
        protect_turns=settings.protect_turns,
        head=settings.head,
        tail=settings.tail,
        level=settings.level if options.level is None else options.level,
    )


def with_levels(planned: PlannedTrim, workspace: Workspace) -> PlannedTrim:
    """Add what each level of smart-trim would free; nothing for a plan that was made in another way."""
    options = planned.options
    if options.strategy != "smart-trim" or (options.by is not None and options.by != RULES):
        return planned
    ref = planned.ref
    parameters = _parameters(options, workspace_of(ref, workspace).settings.trim)
    plans = plan_levels(copying_agent(ref.agent), ref.session, parameters)
    return planned._replace(
        levels=tuple(
            LevelEffect(
                level,
                Savings.expect(planned.gauge, plan.saved_tokens),
                LOST_SUPPORT[level],
                level == parameters.level,
            )
            for level, plan in plans.items()
        )
    )


def preview_trim(planned: PlannedTrim, progress: Progress | None = None) -> PlannedTrim:
    """Return what writing would do; the plan has no cuts if the copy would not be smaller.

    The size of the copy is known only by composing it, which also raises what writing would raise.
    """
    if planned.plan.nothing_to_trim and planned.options.project is None:
        return planned
    try:
        check_copy(planned.ref, planned.plan.cuts, _order_of(planned, progress))
    except NothingToDoError:
        return planned._replace(plan=without_cuts(planned.plan))
    return planned


def write_trim(planned: PlannedTrim, progress: Progress | None = None) -> DerivedSession:
    """Write the copy, unless there is nothing to cut and the copy is not for another folder."""
    if planned.plan.nothing_to_trim and planned.options.project is None:
        return _derived(planned, None)
    written = _write(planned, _order_of(planned, progress))
    return _derived(planned._replace(plan=written.plan), written)


class _Written(NamedTuple):
    """A copy and the plan that it was made by; no copy, and a plan without cuts, if that would be no smaller."""

    plan: TrimPlan
    copy: Copy | None
    is_reused: bool = False


def _write(planned: PlannedTrim, order: CopyOrder) -> _Written:
    """Write the copy, unless the same copy is there already."""
    recipe = _recipe(planned.plan, order)
    if recipe is not None and (copy := find_copy(planned.ref, recipe)):
        return _Written(planned.plan, copy, is_reused=True)
    try:
        return _Written(planned.plan, write_copy(planned.ref, planned.plan.cuts, order, recipe))
    except NothingToDoError:
        return _Written(without_cuts(planned.plan), None)


def _recipe(plan: TrimPlan, order: CopyOrder) -> str | None:
    """Return what identifies a copy: what is live in the session, what is cut, and where the copy goes. None if not known.

    Lines that are not sent do not count: the client writes some for every blocked prompt, also for the one that trims.
    """
    if plan.content_digest is None:
        return None
    cuts: list[JsonValue] = [[cut.place.start, cut.part, cut.call_id, cut.replacement] for cut in plan.cuts]
    places: list[JsonValue] = [str(order.folder or ""), str(order.project or "")]
    return digest_of(
        [plan.content_digest, plan.strategy, {**plan.parameters}, cuts, order.used_tokens, places]
    )


def _order_of(planned: PlannedTrim, progress: Progress | None = None) -> CopyOrder:
    project, is_any_size_welcome = planned.options.project, planned.options.accepts_any_saving
    return _order(planned.ref, planned.plan)._replace(
        project=project, progress=progress, must_shrink=project is None and not is_any_size_welcome
    )


def _order(ref: SessionRef, plan: TrimPlan) -> CopyOrder:
    at = clock.now()
    return CopyOrder(
        at=at,
        metadata=trim_metadata(ref.session, plan, at),
        used_tokens=plan.usage_after,
        removed_tokens=plan.removed_tokens,
        first_prompt=plan.first_prompt,
        live_from=plan.live_from,
    )


def without_cuts(plan: TrimPlan) -> TrimPlan:
    """Return the plan of a session whose lineage block is longer than what the cuts remove."""
    why = "the copy would be no smaller than the session"
    return replace(plan, cuts=(), saved_tokens=0, kept=(*plan.kept, why))


def _derived(planned: PlannedTrim, written: _Written | None) -> DerivedSession:
    project = planned.ref.project
    copy = written.copy if written else None
    return DerivedSession(
        session_id=copy.session_id if copy else None,
        output_file=copy.transcript if copy else None,
        parent_file=planned.ref.transcript,
        tools_trimmed=planned.plan.tools_trimmed,
        savings=planned.savings,
        resume_command=resume_command(planned.ref.agent, copy.session_id) if copy else None,
        folder=planned.options.project or (Path(project) if project else None),
        left_behind=copy.left_behind if copy else (),
        is_reused=bool(written and written.is_reused),
    )


def _cut_to_dict(cut: Cut, plan: TrimPlan) -> JsonObject:
    return {
        "line": cut.place.line_idx + 1,
        "part": cut.part,
        "tool": cut.tool,
        "original_chars": cut.original_chars,
        "tokens_saved": tokens_saved_by(cut, plan),
        "rationale": cut.rationale,
        "description": cut.description,
        "key": cut.key or None,
    }


def tokens_saved_by(cut: Cut, plan: TrimPlan) -> int:
    """Return this cut's share of the tokens that the plan saves."""
    return round(plan.saved_tokens * cut.saved_chars / plan.saved_chars) if plan.saved_chars else 0


class TrimmedFile(NamedTuple):
    """The trimmed copy of a file; ``session_id`` and ``output_file`` are None if there was nothing to trim."""

    agent_id: str
    plan: TrimPlan
    session_id: str | None = None
    output_file: Path | None = None
    left_behind: tuple[NotCopied, ...] = ()
    is_reused: bool = False


def trim_file(
    source: Path, workspace: Workspace, options: TrimOptions, *, agent_id: str | None, folder: Path | None
) -> TrimmedFile:
    """Trim the session in a file; the copy goes where the agent looks for sessions, or into ``folder``."""
    planned = prepare_trim_of(_ref_of_file(source, agent_id), workspace, options)
    agent_id = planned.ref.agent.id
    if planned.plan.nothing_to_trim and not options.accepts_any_saving:
        return TrimmedFile(agent_id, planned.plan)
    plan, copy, is_reused = _write(planned, _order_of(planned)._replace(folder=folder))
    if copy is None:
        return TrimmedFile(agent_id, plan)
    return TrimmedFile(agent_id, plan, copy.session_id, copy.transcript, copy.left_behind, is_reused)


def trimmable_lines(source: Path, workspace: Workspace, *, by: str | None) -> list[tuple[int, str, str]]:
    """Return the lines that could be cut, as a summariser or the rules propose; None asks the summariser of the settings."""
    ref = _ref_of_file(source, None)
    session, agent = ref.session, copying_agent(ref.agent)
    name = workspace.settings.summariser if by is None else by
    if name == RULES:
        plan = plan_smart_trim(agent, session, TrimParameters())
        lines = [(cut.place.line_idx, cut.rationale, cut.description) for cut in plan.cuts]
    else:
        clean = workspace_of(ref, workspace).redact
        lines = propose_lines(find_summariser(name), agent, session, clean=clean)
    allowed = {cut.place.line_idx for cut in plan_from_lines(agent, session, lines).cuts}
    return [*{line[0]: line for line in lines if line[0] in allowed}.values()]


def trim_file_lines(
    source: Path, lines: list[tuple[int, str, str]], output: Path, *, parent_file: Path | None
) -> dict[str, JsonValue]:
    """Write a copy at ``output`` without the content of these lines, and return its figures.

    The copy names ``parent_file`` as its parent if that is given.
    """
    if output.exists() and output.stat().st_size:
        raise UsageError(f"{output} exists already; choose another name for the copy.", path=output)
    ref = _ref_of_file(source, None)
    session = ref.session
    plan = plan_from_lines(copying_agent(ref.agent), session, lines)
    order = _order(ref, plan)._replace(file=output)
    if parent_file is not None:
        order = order._replace(metadata=trim_metadata(_parent(parent_file, session), plan, order.at))
    copy = write_copy(ref, plan.cuts, order)
    cut_lines = {cut.place.line_idx for cut in plan.cuts}
    return {
        "session_id": copy.session_id,
        "tools_trimmed": plan.tools_trimmed,
        "chars_saved": plan.saved_chars,
        "tokens_saved": plan.saved_tokens,
        "skipped": [index for index, _, _ in lines if index not in cut_lines],
    }


def _parent(parent_file: Path, session: Session) -> Session:
    """Return the session in the parent's file; if that cannot be read, the copied session under that name."""
    try:
        return agent_of(parent_file).open(parent_file)
    except TranscriptError:
        return session._replace(transcript=str(parent_file))


def _ref_of_file(source: Path, agent_id: str | None) -> SessionRef:
    """Identify the session in a file; UsageError if it is not one of the named agent's."""
    if agent_id is None:
        return SessionRef(agent=agent_of(source), transcript=source)
    agent = agent_by_id(agent_id)
    actual = agent_of(source)
    if actual.id != agent.id:
        raise UsageError(
            f"{source} is not a transcript of {agent.name}, but of {actual.name}. Name that agent, or leave it out.",
            path=source,
        )
    return SessionRef(agent=agent, transcript=source)
