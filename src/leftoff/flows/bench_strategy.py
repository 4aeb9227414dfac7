"""How much each strategy of making a session smaller saves, and how much of what the next edits stand on it keeps.

Promises: a plan is made from a copy of what existed at the cut, so it can know nothing of what followed; savings are of the live
context (L27); every share is of counts added up over all cuts. docs/retention.md says what counts as support.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from leftoff.errors import NothingToDoError
from leftoff.flows.agents import agent_of, agents_here
from leftoff.flows.plan_shrink import plan_smart_trim, plan_trim
from leftoff.flows.retention_cut import NEXT_CALLS, SHARES_OF_CALLS, strings
from leftoff.flows.retention_documents import HOOK_CHARS
from leftoff.flows.save_log import log_text
from leftoff.model.actions import Changed, Looked, Ran
from leftoff.model.protocols import Agent, CanCopy
from leftoff.model.records import Place, RecordKind, ToolResult, ToolUse
from leftoff.model.session import Session
from leftoff.model.trim_plan import CutPart, Strategy, TrimPlan
from leftoff.model.values import dataclass
from leftoff.samples.bundled import bundled_script
from leftoff.shrink.trim import TrimParameters

_LARGE_CHARS = 100_000  # a rollover is asked of large sessions only
_LOW_THRESHOLD = 500
_NUMBERED = re.compile(r"^[ ]*\d+(?:→|\t)", re.MULTILINE)  # how agents show the lines of a file

_Part = tuple[Place, CutPart, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """One strategy at one cut. ``needed`` counts the edits to come whose old text was visible before it."""

    agent: str
    source: Path
    line: int  # 1-based, of the first record that is not in the prefix
    live_chars: int
    saved_chars: int
    needed: int
    kept: int
    lost: tuple[str, ...] = ()  # the old texts that are no longer visible
    own_reads: int = 0  # calls before the cut that read a file and do nothing else
    shell_reads: int = 0  # commands that show one


@dataclass(frozen=True, slots=True, kw_only=True)
class Savings:
    """All cuts of one agent, added up. Shares are None where there is nothing to take a share of."""

    agent: str
    cuts: int
    live_chars: int
    saved_chars: int
    needed: int
    kept: int
    own_reads: int = 0
    shell_reads: int = 0

    @property
    def reads_apart(self) -> bool:
        """Whether files were read with a tool for that, which says what was read, rather than by commands, which do not always."""
        return self.own_reads > self.shell_reads

    @property
    def saved_share(self) -> float | None:
        """Of the live characters."""
        return self.saved_chars / self.live_chars if self.live_chars else None

    @property
    def support_share(self) -> float | None:
        """Of the edits to come that could be made from what was visible."""
        return self.kept / self.needed if self.needed else None


def goals(strategy: Strategy, threshold: int, *, reads_apart: bool) -> Mapping[str, float]:
    """What is asked of it; where reads are commands like all others, less of them is known to be outdated."""
    if strategy == "trim":
        return {"saved": 0.50 if threshold <= _LOW_THRESHOLD else 0.40}
    if strategy == "rollover":
        return {"saved": 0.90}
    return {"saved": 0.25 if reads_apart else 0.15, "support": 0.97}


def goals_missed(totals: Iterable[Savings], strategy: Strategy, threshold: int) -> Iterator[str]:
    """Where it falls short, in words; what could not be measured is not missed."""
    for each in totals:
        shares = {"saved": each.saved_share, "support": each.support_share}
        for name, goal in goals(strategy, threshold, reads_apart=each.reads_apart).items():
            share = shares[name]
            if share is not None and share < goal:
                yield f"{each.agent}: {name} {share:.1%}, goal ≥ {goal:.0%}"


def measure(transcripts: Sequence[Path], strategy: Strategy, *, threshold: int = 1000) -> Iterator[Shrunk]:
    """The strategy at every cut of every transcript; of the bundled session where none is given."""
    with tempfile.TemporaryDirectory(prefix="leftoff-bench-") as name:
        found = 0
        parameters = TrimParameters(threshold=threshold)
        for transcript in transcripts or [_bundled(Path(name))]:
            for each in _measured(transcript, Path(name) / "cut", strategy, parameters):
                found += 1
                yield each
    if not found:
        raise NothingToDoError(
            "No live tool call to cut at. Name transcripts: leftoff bench retention --strategy smart-trim FILE…"
        )


def totals(measured: Iterable[Shrunk], strategy: Strategy) -> list[Savings]:
    """Added up for each agent; a rollover counts where there was enough to leave behind."""
    of_agents: dict[str, list[Shrunk]] = {}
    for each in measured:
        if strategy != "rollover" or each.live_chars >= _LARGE_CHARS:
            of_agents.setdefault(each.agent, []).append(each)
    return [
        Savings(
            agent=agent,
            cuts=len(found),
            live_chars=sum(each.live_chars for each in found),
            saved_chars=sum(each.saved_chars for each in found),
            needed=sum(each.needed for each in found),
            kept=sum(each.kept for each in found),
            own_reads=sum(each.own_reads for each in found),
            shell_reads=sum(each.shell_reads for each in found),
        )
        for agent, found in of_agents.items()
    ]


def _measured(
    transcript: Path, folder: Path, strategy: Strategy, parameters: TrimParameters
) -> Iterator[Shrunk]:
    agent = agent_of(transcript)
    if not isinstance(agent, CanCopy):
        return
    calls = _live_calls(agent, agent.open(transcript))
    for at in sorted({int(len(calls) * share) for share in SHARES_OF_CALLS if len(calls) > 1}):
        cut = calls[at][0]
        session = agent.open(_prefix(transcript, folder, cut.start))
        visible = _visible(agent, session)
        live_chars = agent.live_pieces(session, at_least_chars=1, head=0, tail=0).live_chars
        if strategy == "rollover":
            saved, left = _rolled_over(session, live_chars)
        else:
            plan = _PLANS[strategy](agent, session, parameters)
            saved, left = plan.saved_chars, _searchable({**visible, **_replaced(plan)}.values())
        before = _searchable(visible.values())
        needed = [old for old in _edits(agent, calls[at : at + NEXT_CALLS]) if old in before]
        lost = tuple(old for old in needed if old not in left)
        yield Shrunk(
            agent=agent.id,
            source=transcript,
            line=cut.line_idx + 1,
            live_chars=live_chars,
            saved_chars=saved,
            needed=len(needed),
            kept=len(needed) - len(lost),
            lost=lost,
            own_reads=sum(kinds == {Looked} for kinds in _reads(agent, calls[:at])),
            shell_reads=sum(Ran in kinds for kinds in _reads(agent, calls[:at])),
        )


_PLANS = {"trim": plan_trim, "smart-trim": plan_smart_trim}


def _reads(agent: Agent, calls: Sequence[tuple[Place, ToolUse]]) -> Iterator[set[type]]:
    """Of each call that reads a file, the kinds of all it does."""
    for _, use in calls:
        kinds = {type(action) for action in agent.actions(use)}
        if Looked in kinds:
            yield kinds


def _live_calls(agent: Agent, session: Session) -> list[tuple[Place, ToolUse]]:
    """The calls of the live chain, in its order, with the places they stand at."""
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
    """Every text of the live chain that an edit can be made from: what tools answered and what the agent wrote."""
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


def _replaced(plan: TrimPlan) -> dict[_Part, str]:
    return {(cut.place, cut.part, cut.call_id): cut.replacement for cut in plan.cuts}


def _rolled_over(session: Session, live_chars: int) -> tuple[int, str]:
    """What is freed, and the text that is left: the log, as large as a fresh session is given it."""
    text = log_text(Path(session.transcript), max_chars=HOOK_CHARS)
    return live_chars - len(text), text


def _searchable(texts: Iterable[str]) -> str:
    """All texts as one, with and without the numbers that agents put before the lines of a file."""
    return "\0".join(part for text in texts for part in (text, _NUMBERED.sub("", text)))


def _edits(agent: Agent, calls: Sequence[tuple[Place, ToolUse]]) -> Iterator[str]:
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


def _bundled(folder: Path) -> Path:
    transcript = folder / "bundled.jsonl"
    agents_here()[0].transcribe(bundled_script(), transcript)
    return transcript
