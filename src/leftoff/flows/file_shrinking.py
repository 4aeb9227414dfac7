"""Shrink a session that is given as a file, wherever it lies, into a file wherever the caller wants it."""

from __future__ import annotations

from pathlib import Path

from leftoff.errors import NothingToDoError, UsageError
from leftoff.flows import plan_shrink, rollover
from leftoff.flows.agents import agent_called, agent_of
from leftoff.flows.choose import Chosen
from leftoff.flows.derive import Made, copier, written_copy
from leftoff.flows.polish import RULES, summariser_called
from leftoff.flows.settings import settings_here
from leftoff.flows.shrink_session import Planned, Wanted, planned_of, without_cuts
from leftoff.lineage.metadata import trim_metadata
from leftoff.model.copying import Copy, CopyOrder, LeftBehind
from leftoff.model.session import Session
from leftoff.model.trim_plan import TrimPlan
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonValue
from leftoff.shrink.trim import TrimParameters
from leftoff.system import clock

ALL_REPLIES = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a caller of the library asks of a trim."""

    agent_id: str | None
    tools: tuple[str, ...] | None
    threshold: int
    trim_assistant: int | None
    min_token_savings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimmed:
    """A trimmed file; id and file are None where there was nothing to trim."""

    agent_id: str
    plan: TrimPlan
    session_id: str | None = None
    output_file: Path | None = None
    left_behind: tuple[LeftBehind, ...] = ()


def trimmed(source: Path, asked: Asked, *, folder: Path | None) -> Trimmed:
    """Trim the session in a file; the copy stands where the agent looks for it, or in ``folder``."""
    chosen = _chosen(source, asked.agent_id)
    planned = planned_of(
        chosen,
        Wanted(
            strategy="trim",
            threshold=asked.threshold,
            tools=asked.tools,
            trim_assistant=asked.trim_assistant,
            min_token_savings=asked.min_token_savings,
        ),
    )
    if planned.plan.nothing_to_trim:
        return Trimmed(agent_id=chosen.agent.id, plan=planned.plan)
    try:
        copy = _written(planned, folder=folder, must_shrink=True)
    except NothingToDoError:
        return Trimmed(agent_id=chosen.agent.id, plan=without_cuts(planned.plan))
    return Trimmed(
        agent_id=chosen.agent.id,
        plan=planned.plan,
        session_id=copy.session_id,
        output_file=copy.transcript,
        left_behind=copy.left_behind,
    )


def trimmable_lines(source: Path, *, by: str | None) -> list[tuple[int, str, str]]:
    """What could be cut, by a summariser's word, or by the rules'."""
    chosen = _chosen(source, None)
    session, agent = chosen.open(), copier(chosen.agent)
    name = settings_here().settings.summariser if by is None else by
    if name == RULES:
        plan = plan_shrink.plan_smart_trim(agent, session, TrimParameters())
        found = [(cut.place.line_idx, cut.rationale, cut.description) for cut in plan.cuts]
    else:
        found = plan_shrink.proposed_by(summariser_called(name), agent, session)
    can_go = {cut.place.line_idx for cut in plan_shrink.plan_from_lines(agent, session, found).cuts}
    return [*{row[0]: row for row in found if row[0] in can_go}.values()]


def lines_trimmed(
    source: Path, lines: list[tuple[int, str, str]], output: Path, *, parent_file: Path | None
) -> dict[str, JsonValue]:
    """A copy at ``output`` in which the content of these lines gave way; the numbers of it."""
    if output.exists() and output.stat().st_size:
        raise UsageError(f"{output} exists already; the copy needs a name of its own.", path=output)
    chosen = _chosen(source, None)
    session = chosen.open()
    plan = plan_shrink.plan_from_lines(copier(chosen.agent), session, lines)
    planned = Planned(chosen=chosen, session=session, plan=plan, wanted=Wanted())
    copy = _written(planned, file=output, parent_file=parent_file)
    cut = {each.place.line_idx for each in plan.cuts}
    return {
        "session_id": copy.session_id,
        "tools_trimmed": plan.tools_trimmed,
        "chars_saved": plan.saved_chars,
        "tokens_saved": plan.saved_tokens,
        "skipped": [index for index, _, _ in lines if index not in cut],
    }


def continued(source: Path, summary: str | None) -> Made:
    """A fresh session that continues the one in a file."""
    chosen = _chosen(source, None)
    # Whoever asks for it by file wants it written, room or not.
    wanted = rollover.Wanted(summary=summary, with_summary=summary is not None, even_if_larger=True)
    return rollover.rolled_over_of(chosen, source.parent, wanted)


def _chosen(source: Path, agent_id: str | None) -> Chosen:
    if agent_id is None:
        return Chosen(agent=agent_of(source), transcript=source)
    agent = agent_called(agent_id)
    found = agent_of(source)
    if found.id != agent.id:
        raise UsageError(
            f"{source} is no transcript of {agent.name}, but of {found.name}. Name that agent, or none: then it is found out.",
            path=source,
        )
    return Chosen(agent=agent, transcript=source)


def _written(
    planned: Planned,
    *,
    folder: Path | None = None,
    file: Path | None = None,
    parent_file: Path | None = None,
    must_shrink: bool = False,
) -> Copy:
    """Write the copy into that folder, as that file, or where the agent looks for it."""
    session, plan, at = planned.session, planned.plan, clock.now()
    metadata = trim_metadata(_named(session, parent_file), plan, at)
    return written_copy(
        planned.chosen,
        session,
        plan.cuts,
        CopyOrder(
            at=at,
            metadata=metadata,
            used_tokens=max(0, plan.live_tokens - plan.saved_tokens),
            first_prompt=plan.first_prompt,
            live_from=plan.live_from,
            folder=folder,
            file=file,
            must_shrink=must_shrink,
        ),
    )


def _named(session: Session, parent_file: Path | None) -> Session:
    """The session that the copy names as its parent; another file of the same where the caller says so."""
    if parent_file is None:
        return session
    return Session(
        agent=session.agent,
        session_id=session.session_id,
        transcript=str(parent_file),
        records=session.records,
    )
