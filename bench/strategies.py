"""How much each way of making a session smaller saves, and how much of the basis of the next edits it keeps.

Promises: a plan is made from a copy of what existed at the cut, so that it knows nothing of what followed; savings are of the live
context; every share is of counts added up over all cuts. docs/retention.md says what counts as support.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.mentions import NEXT_CALLS, strings
from leftoff.agents.registry import agent_of
from leftoff.config.settings import MAX_HOOK_CHARS
from leftoff.core.actions import Changed, Looked, Ran
from leftoff.core.protocols import Agent, CanCopy
from leftoff.core.records import Place, RecordKind, ToolResult, ToolUse
from leftoff.core.session import Session
from leftoff.core.trim_plan import CutPart, Strategy, TrimLevel, TrimPlan
from leftoff.demo import bundled_transcript
from leftoff.errors import NothingToDoError
from leftoff.resume_logs.save import log_text
from leftoff.shrink.cuts import TrimParameters
from leftoff.shrink.derive import CopyingAgent
from leftoff.shrink.planners import plan_levels, plan_smart_trim, plan_trim
from leftoff.workspace import SessionRef, Workspace

SHARES_OF_CALLS = (0.50, 0.65, 0.80, 0.95)
_LARGE_CHARS = 100_000  # a rollover is asked of large sessions only
_LOW_THRESHOLD = 500
_NUMBERED = re.compile(r"^[ ]*\d+(?:→|\t)", re.MULTILINE)  # how agents show the lines of a file

_Part = tuple[Place, CutPart, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CutResult:
    """One strategy at one cut. ``needed`` counts the next edits whose old text was visible before."""

    agent: str
    source: Path
    line: int  # 1-based, of the first record that is not in the prefix
    live_chars: int
    saved_chars: int
    needed: int
    kept: int
    lost: tuple[str, ...] = ()  # the old texts that are no longer visible
    level: TrimLevel | None = None  # of smart-trim, where all of them are compared
    thinking_chars: int = 0  # of the live characters
    saved_thinking_chars: int = 0
    own_reads: int = 0  # calls before the cut that read a file and do nothing else
    shell_reads: int = 0  # commands that show one


@dataclass(frozen=True, slots=True, kw_only=True)
class Savings:
    """All cuts of one agent, added up. Shares are None if there is nothing to take a share of."""

    agent: str
    cuts: int
    live_chars: int
    saved_chars: int
    needed: int
    kept: int
    level: TrimLevel | None = None
    thinking_chars: int = 0
    saved_thinking_chars: int = 0
    own_reads: int = 0
    shell_reads: int = 0

    @property
    def saved_share_without_thinking(self) -> float | None:
        """The share of the live characters that are not thinking."""
        live = self.live_chars - self.thinking_chars
        return (self.saved_chars - self.saved_thinking_chars) / live if live else None

    @property
    def reads_apart(self) -> bool:
        """Whether files were mostly read with a tool for that, rather than by commands."""
        return self.own_reads > self.shell_reads

    @property
    def saved_share(self) -> float | None:
        """The share of the live characters."""
        return self.saved_chars / self.live_chars if self.live_chars else None

    @property
    def support_share(self) -> float | None:
        """The share of the next edits that could still be made."""
        return self.kept / self.needed if self.needed else None


def goals(strategy: Strategy, threshold: int, *, reads_apart: bool) -> Mapping[str, float]:
    """Return the goals; lower if files are read by commands, because less of that is known to be outdated."""
    if strategy == "trim":
        return {"saved": 0.50 if threshold <= _LOW_THRESHOLD else 0.40}
    if strategy == "rollover":
        return {"saved": 0.90}
    return {"saved": 0.25 if reads_apart else 0.15, "support": 0.97}


def goals_missed(totals: Iterable[Savings], strategy: Strategy, threshold: int) -> Iterator[str]:
    """Yield where it falls short, as text; what could not be measured does not count."""
    for each in totals:
        shares = {"saved": each.saved_share, "support": each.support_share}
        for name, goal in goals(strategy, threshold, reads_apart=each.reads_apart).items():
            share = shares[name]
            if share is not None and share < goal:
                yield f"{each.agent}: {name} {share:.1%}, goal ≥ {goal:.0%}"


def measure(transcripts: Sequence[Path], strategy: Strategy, *, threshold: int = 1000) -> Iterator[CutResult]:
    """Yield the strategy at every cut of every transcript; of the bundled session if none is given."""
    with tempfile.TemporaryDirectory(prefix="leftoff-bench-") as name:
        found = 0
        parameters = TrimParameters(threshold=threshold)
        for transcript in transcripts or [bundled_transcript(Path(name))]:
            for each in _measure_transcript(transcript, Path(name) / "cut", strategy, parameters):
                found += 1
                yield each
    if not found:
        raise NothingToDoError(
            "No live tool call to cut at. Name transcripts: python -m bench strategy smart-trim FILE…"
        )


def measure_levels(transcripts: Sequence[Path]) -> Iterator[CutResult]:
    """Yield smart-trim at every level, at every cut of every transcript."""
    with tempfile.TemporaryDirectory(prefix="leftoff-bench-") as name:
        for transcript in transcripts or [bundled_transcript(Path(name))]:
            yield from _measure_transcript(transcript, Path(name) / "cut", "smart-trim", None)


def saved_at_support(curve: Sequence[Savings], support: float) -> tuple[float, float] | None:
    """Return what is saved where the curve has that support, with and without thinking; None if it stays below it.

    ``curve`` is one agent at all levels. Between two levels the curve is a straight line; beyond its ends it is not continued.
    """
    points = sorted(
        (each.support_share or 0.0, each.saved_share or 0.0, each.saved_share_without_thinking or 0.0)
        for each in curve
    )
    above = [point for point in points if point[0] >= support]
    if not above:
        return None
    best = max(above, key=lambda point: point[1])
    below = [point for point in points if point[0] < support and point[1] > best[1]]
    if not below:
        return best[1:]
    other = max(below)
    part = (best[0] - support) / (best[0] - other[0])
    return best[1] + part * (other[1] - best[1]), best[2] + part * (other[2] - best[2])


def totals(measured: Iterable[CutResult], strategy: Strategy) -> list[Savings]:
    """Return the sums for each agent and level; a rollover counts only for large sessions."""
    of_agents: dict[tuple[str, TrimLevel | None], list[CutResult]] = {}
    for each in measured:
        if strategy != "rollover" or each.live_chars >= _LARGE_CHARS:
            of_agents.setdefault((each.agent, each.level), []).append(each)
    return [
        Savings(
            agent=agent,
            cuts=len(found),
            live_chars=sum(each.live_chars for each in found),
            saved_chars=sum(each.saved_chars for each in found),
            needed=sum(each.needed for each in found),
            kept=sum(each.kept for each in found),
            level=level,
            thinking_chars=sum(each.thinking_chars for each in found),
            saved_thinking_chars=sum(each.saved_thinking_chars for each in found),
            own_reads=sum(each.own_reads for each in found),
            shell_reads=sum(each.shell_reads for each in found),
        )
        for (agent, level), found in of_agents.items()
    ]


def _measure_transcript(
    transcript: Path, folder: Path, strategy: Strategy, parameters: TrimParameters | None
) -> Iterator[CutResult]:
    """Yield the strategy at every cut; without parameters, smart-trim at every level."""
    agent = agent_of(transcript)
    if not isinstance(agent, CanCopy):
        return
    calls = _live_calls(agent, agent.open(transcript))
    for at in sorted({int(len(calls) * share) for share in SHARES_OF_CALLS if len(calls) > 1}):
        cut = calls[at][0]
        session = agent.open(_prefix(transcript, folder, cut.start))
        visible = _visible(agent, session)
        live = agent.live_pieces(session, at_least_chars=1, head=0, tail=0)
        before = join_texts(visible.values())
        needed = [old for old in edited_texts(agent, calls[at : at + NEXT_CALLS]) if old in before]
        for level, shrunk in _shrink(agent, session, strategy, parameters):
            left = (
                shrunk
                if isinstance(shrunk, str)
                else join_texts({**visible, **_replacements(shrunk)}.values())
            )
            cuts = () if isinstance(shrunk, str) else shrunk.cuts
            lost = tuple(old for old in needed if old not in left)
            yield CutResult(
                agent=agent.id,
                source=transcript,
                line=cut.line_idx + 1,
                live_chars=live.live_chars,
                saved_chars=live.live_chars - len(left)
                if isinstance(shrunk, str)
                else sum(each.saved_chars for each in cuts),
                needed=len(needed),
                kept=len(needed) - len(lost),
                lost=lost,
                level=level,
                thinking_chars=sum(piece.chars for piece in live.pieces if piece.part == "thinking"),
                saved_thinking_chars=sum(each.saved_chars for each in cuts if each.part == "thinking"),
                own_reads=sum(kinds == {Looked} for kinds in _reads(agent, calls[:at])),
                shell_reads=sum(Ran in kinds for kinds in _reads(agent, calls[:at])),
            )


def _shrink(
    agent: CopyingAgent,
    session: Session,
    strategy: Strategy,
    parameters: TrimParameters | None,
) -> Iterator[tuple[TrimLevel | None, TrimPlan | str]]:
    """Yield the plan, or what a rollover leaves; without parameters, the plans of all levels."""
    if parameters is None:
        yield from plan_levels(agent, session, TrimParameters()).items()
    elif strategy == "rollover":
        yield None, _roll_over(agent, session)
    else:
        yield None, _PLANS[strategy](agent, session, parameters)


_PLANS = {"trim": plan_trim, "smart-trim": plan_smart_trim}


def _reads(agent: Agent, calls: Sequence[tuple[Place, ToolUse]]) -> Iterator[set[type]]:
    """Yield, for each call that reads a file, the kinds of all its actions."""
    for _, use in calls:
        kinds = {type(action) for action in agent.actions(use)}
        if Looked in kinds:
            yield kinds


def _live_calls(agent: Agent, session: Session) -> list[tuple[Place, ToolUse]]:
    """Return the calls of the live chain in order, with their places."""
    live = {place: number for number, place in enumerate(agent.live_chain(session).places)}
    found = [
        (live[record.place], record.place, block)
        for record in session.records
        if record.place in live
        and record.place.transcript == session.transcript
        and record.compaction is None
        for block in record.blocks
        if isinstance(block, ToolUse)
    ]
    return [(place, use) for _, place, use in sorted(found, key=lambda each: each[0])]


def _visible(agent: Agent, session: Session) -> dict[_Part, str]:
    """Return every text of the live chain that an edit can be based on: tool results and what the agent wrote."""
    live = agent.live_chain(session)
    places = {*live.places}
    found: dict[_Part, str] = {}
    for record in session.records:
        if record.place not in places:
            continue
        for block in record.blocks:
            if isinstance(block, ToolResult) and block.call_id not in live.cleared_calls:
                found[record.place, "result", block.call_id] = block.text
            elif isinstance(block, ToolUse):
                found[record.place, "input", block.call_id] = "\0".join(strings(block.input))
        if record.kind is RecordKind.REPLY and (words := record.text):
            found[record.place, "text", None] = words
    return found


def _replacements(plan: TrimPlan) -> dict[_Part, str]:
    return {(cut.place, cut.part, cut.call_id): cut.replacement for cut in plan.cuts}


def _roll_over(agent: Agent, session: Session) -> str:
    """Return the text that is left: the log at the size a new session receives."""
    reference = SessionRef(agent=agent, transcript=Path(session.transcript))
    return log_text(reference, Workspace.open(), max_chars=MAX_HOOK_CHARS)


def join_texts(texts: Iterable[str]) -> str:
    """Return all texts as one, with and without the line numbers that agents add."""
    return "\0".join(part for text in texts for part in (text, _NUMBERED.sub("", text)))


def edited_texts(agent: Agent, calls: Sequence[tuple[Place, ToolUse]]) -> Iterator[str]:
    """Yield the old texts that these calls replace."""
    for _, use in calls:
        for action in agent.actions(use):
            if isinstance(action, Changed) and action.old.strip():
                yield action.old


def _prefix(transcript: Path, folder: Path, size_bytes: int) -> Path:
    folder.mkdir(exist_ok=True)
    target = folder / transcript.name
    with transcript.open("rb") as source:
        target.write_bytes(source.read(size_bytes))
    return target
