"""Plan what a smaller copy of a session would leave out, without writing anything: by size, by rules, or by a model's word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from leftoff.flows.cleaning import cleaner
from leftoff.model.copying import Invariant, LivePieces
from leftoff.model.protocols import Agent, CanCopy, Summariser
from leftoff.model.records import Place, Record, RecordKind, ToolResult, ToolUse
from leftoff.model.session import Session
from leftoff.model.trim_plan import TrimPlan
from leftoff.model.wire import JsonValue
from leftoff.shrink import proposal, smart_trim, trim
from leftoff.shrink.invariants import EVERYWHERE
from leftoff.shrink.steps import Said, Step, Told
from leftoff.shrink.trim import END_CHARS, TrimParameters

PROPOSAL_TIMEOUT_SECONDS = 300.0
_SEEN_CHARS = 1000  # of a piece, so that no credential is cut in two before it is known for one

__all__ = ["TrimParameters", "plan_from_lines", "plan_smart_trim", "plan_trim", "proposed_by"]


class CopyingAgent(Agent, CanCopy, Protocol):
    """An agent that reads its sessions and goes on from copies of them."""


def plan_trim(agent: CopyingAgent, session: Session, parameters: TrimParameters) -> TrimPlan:
    """The cuts of a trim."""
    live = _live(agent, session, parameters)
    return trim.plan(live, parameters, session, _invariants(agent))


def plan_smart_trim(agent: CopyingAgent, session: Session, parameters: TrimParameters) -> TrimPlan:
    """The cuts of a smart-trim by rules; of the parameters, threshold and ends are not looked at."""
    live = _live(agent, session, parameters)
    return smart_trim.plan(live, [*_told(agent, live)], parameters, session, _invariants(agent))


def plan_from_lines(
    agent: CopyingAgent,
    session: Session,
    lines: Sequence[tuple[int, str, str]],
    parameters: TrimParameters = TrimParameters(),  # noqa: B008 - it is frozen
) -> TrimPlan:
    """The cuts that somebody proposed as ``(line_idx, rationale, description)``, checked as all others are."""
    live = _live(agent, session, parameters)
    return proposal.plan(live, lines, session, _invariants(agent), protect_turns=parameters.protect_turns)


def proposed_by(
    summariser: Summariser,
    agent: CopyingAgent,
    session: Session,
    *,
    timeout_seconds: float = PROPOSAL_TIMEOUT_SECONDS,
) -> list[tuple[int, str, str]]:
    """What a model would leave out: ``(line_idx, rationale, description)``. Failure is an error (L36)."""
    live = _live(agent, session, TrimParameters(head=_SEEN_CHARS))
    clean = cleaner(Path(session.project) if session.project else None)
    prompt = proposal.prompt(live, [*_told(agent, live)], clean=clean)
    return proposal.understood(summariser.summarise(prompt, timeout_seconds=timeout_seconds), live)


def _live(agent: CanCopy, session: Session, parameters: TrimParameters) -> LivePieces:
    return agent.live_pieces(
        session,
        at_least_chars=1,
        head=max(END_CHARS, parameters.head),
        tail=max(END_CHARS, parameters.tail),
    )


def _invariants(agent: CanCopy) -> tuple[Invariant, ...]:
    return (*EVERYWHERE, *agent.invariants)


def _told(agent: Agent, live: LivePieces) -> Iterator[Told]:
    """The live conversation in the order of its requests: calls with what they did and brought, and the words between."""
    parts = {(piece.place, piece.part, piece.call_id): piece for piece in live.pieces}
    cuttable = [*dict.fromkeys(piece.place for piece in live.pieces)]
    records = _records(agent, cuttable)
    places = _with_prompts(cuttable, records)
    results = {
        block.call_id: (place, block)
        for place in places
        for block in records[place].blocks
        if isinstance(block, ToolResult)
    }
    for place in places:
        for block in records[place].blocks:
            if isinstance(block, ToolUse):
                answered, result = results.get(block.call_id, (None, None))
                yield Step(
                    call_id=block.call_id,
                    tool=block.tool,
                    actions=agent.actions(block),
                    answer=agent.answer(block, result) if result else None,
                    given=parts.get((place, "input", block.call_id)),
                    result=parts.get((answered, "result", block.call_id)) if answered else None,
                    words="\n".join(_strings(block.input)),
                )
        if records[place].kind is RecordKind.PROMPT:
            yield Said(agent.typed(records[place]))
        if (place, "text", None) in parts:
            yield Said(records[place].text)


def _with_prompts(places: Sequence[Place], records: Mapping[Place, Record]) -> list[Place]:
    """The places with those of the prompts between them, each prompt before the first that follows it in the file."""
    prompts = iter(sorted((place for place in records if place not in {*places}), key=_start))
    waiting = next(prompts, None)
    found: list[Place] = []
    for place in places:
        while waiting is not None and waiting.start < place.start:
            found.append(waiting)
            waiting = next(prompts, None)
        found.append(place)
    return found


def _records(agent: Agent, places: Sequence[Place]) -> dict[Place, Record]:
    """The records at those places, and the prompts between them; only what lies between the first and the last is read."""
    found: dict[Place, Record] = {}
    for transcript in {place.transcript for place in places}:
        wanted = {place for place in places if place.transcript == transcript}
        first, last = min(wanted, key=_start), max(wanted, key=_start)
        before = Place(transcript, first.line_idx - 1, 0, first.start) if first.start else None
        for record in agent.read(Path(transcript), before):
            if record.place in wanted or (record.kind is RecordKind.PROMPT and record.actor is None):
                found[record.place] = record
            if record.place.start >= last.start:
                break
    return found


def _start(place: Place) -> int:
    return place.start


def _strings(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
