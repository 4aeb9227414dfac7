"""How much of what an agent needs next is in a document made before its compaction, ours beside others.

Promises: documents are made from a copy of what existed at the cut; every share is of counts added up over all cuts that have the
document; a cut without a readable summary counts for coverage only, one without further calls for agreement only. A document is
a function of a cut that may return None. An item of our log is without a source if it names none, or one whose bytes differ.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

from bench.mentions import Kind, mentions_in_record
from bench.scoring import Measure, Part, Score, find_expectations, score
from bench.session_cuts import MeasuredCut, cut_along_the_way, cut_at_compactions, cut_at_line
from leftoff.agents.registry import agent_of
from leftoff.config.settings import MAX_HOOK_CHARS
from leftoff.core.provenance import Source
from leftoff.core.resume_log import ResumeLog
from leftoff.demo import bundled_transcript
from leftoff.diagnose.report import log_of_cut
from leftoff.errors import NothingToDoError
from leftoff.resume_logs.save import log_text
from leftoff.workspace import SessionRef, Workspace

Document = Callable[[MeasuredCut], str | None]

LAST_CHARS = 40_000
LIST_CHARS = 8_800
# How the characters of the bare list are shared; what files and commands leave unused goes to the names.
_LIST_SHARES: Mapping[Kind, float] = {"files": 0.25, "commands": 0.45, "names": 1.0}


def own_summary(cut: MeasuredCut) -> str | None:
    """Return the summary that the agent's model wrote."""
    return cut.summary


def last_characters(cut: MeasuredCut) -> str:
    """Return the end of the conversation."""
    return cut.context[-LAST_CHARS:]


def bare_list(cut: MeasuredCut) -> str:
    """Return the files, commands and names mentioned last, and nothing else."""
    text, room = "", LIST_CHARS
    for kind, share in _LIST_SHARES.items():
        part = _take_lines(_recent_mentions(cut, kind), min(room, int(LIST_CHARS * share)))
        text, room = text + part, room - len(part)
    return text


def everything(cut: MeasuredCut) -> str:
    """Return the whole conversation before the cut: the upper limit."""
    return cut.context


def hook_log(cut: MeasuredCut) -> str:
    """Return our log in the characters that a hook can hand over."""
    return _log(cut, MAX_HOOK_CHARS)


def whole_log(cut: MeasuredCut) -> str:
    """Return our complete log."""
    return _log(cut, None)


def _log(cut: MeasuredCut, max_chars: int | None) -> str:
    session = SessionRef(agent=agent_of(cut.transcript), transcript=cut.transcript)
    return log_text(session, Workspace.open(), max_chars=max_chars)


def _recent_mentions(cut: MeasuredCut, kind: Kind) -> Iterable[str]:
    """Return the mentions of a kind, newest first, each once."""
    return dict.fromkeys(
        each.text
        for record in reversed(cut.records)
        for each in reversed([*mentions_in_record(record, cut.project)])
        if each.kind == kind
    )


def _take_lines(items: Iterable[str], room_chars: int) -> str:
    """Return as many whole lines as fit."""
    lines: list[str] = []
    for item in items:
        room_chars -= len(item) + 1
        if room_chars < 0:
            break
        lines.append(f"{item}\n")
    return "".join(lines)


_LISTS = ("accomplishments", "key_findings", "decisions", "next_steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCheck:
    """The number of items in a log, and those without a valid source."""

    items: int
    without: tuple[str, ...]


def check_sources(log: ResumeLog) -> SourceCheck:
    """Check every item of the log against the bytes it names. One bad source invalidates its item."""
    by_item: dict[str, list[Source]] = {}
    for source in log.sources:
        by_item.setdefault(source.item, []).append(source)
    found = [*_items(log)]
    without = [
        item for item in found if not by_item.get(item) or not all(map(_is_valid_source, by_item[item]))
    ]
    return SourceCheck(items=len(found), without=tuple(without))


def _items(log: ResumeLog) -> Iterator[str]:
    """Yield the names by which sources refer to items."""
    if log.mission_summary:
        yield "mission_summary"
    for name in _LISTS:
        yield from (f"{name}/{number}" for number in range(len(getattr(log, name))))
    for name, entry in log.critical_context.items():
        match entry:
            case dict():
                yield from (f"critical_context/{name}/{key}" for key in entry)
            case list():
                yield from (f"critical_context/{name}/{number}" for number in range(len(entry)))
            case _:
                yield f"critical_context/{name}"


def _is_valid_source(source: Source) -> bool:
    try:
        with Path(source.place.transcript).open("rb") as file:
            file.seek(source.place.start)
            content = file.read(source.place.end - source.place.start)
    except OSError:
        return False
    return hashlib.sha256(content).hexdigest() == source.sha256


_HOOK = f"our log, {MAX_HOOK_CHARS:,} characters"
_WHOLE = "our log, whole"
# The rows of the printed table, in its order.
DOCUMENTS: Mapping[str, Document] = {
    "the agent's own summary": own_summary,
    f"the last {LAST_CHARS:,} characters": last_characters,
    "a bare list": bare_list,
    "all of it (the ceiling)": everything,
    _HOOK: hook_log,
    _WHOLE: whole_log,
}
_COMMON_GOALS: Mapping[Measure, float] = {"outside": 0.50, "stale": 0.01}
GOALS: Mapping[str, Mapping[Measure, float]] = {
    _HOOK: {
        "coverage": 0.85,
        "files": 0.92,
        "commands": 0.80,
        "names": 0.80,
        "agreement": 0.70,
        **_COMMON_GOALS,
    },
    _WHOLE: {
        "coverage": 0.95,
        "files": 0.98,
        "commands": 0.90,
        "names": 0.92,
        "agreement": 0.85,
        **_COMMON_GOALS,
    },
}
AT_MOST: frozenset[Measure] = frozenset({"stale"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to measure: cuts at compactions, before a line (1-based), or along the way."""

    transcripts: Sequence[Path]  # none: the bundled session
    at: int | None = None
    every: bool = False
    last_only: bool = False  # of each transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentScore:
    """One document at one cut."""

    document: str
    source: Path
    line: int
    score: Score
    sources: SourceCheck | None = None  # None: it gives no sources


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalMissed:
    """A goal that was not reached."""

    document: str
    measure: Measure
    found: Part
    goal: float


def measure(selection: Selection, rows: Mapping[str, Document] = DOCUMENTS) -> Iterator[DocumentScore]:
    """Yield every document at every cut."""
    with tempfile.TemporaryDirectory(prefix="leftoff-bench-") as name:
        folder = Path(name)
        found = 0
        for number, transcript in enumerate(selection.transcripts or [bundled_transcript(folder)]):
            for cut in _cuts(transcript, folder / str(number), selection):
                found += 1
                yield from _score_documents(cut, rows)
    if not found:
        raise NothingToDoError(
            "No compaction to cut at. --every cuts along the way, --at LINE before a line of the transcript."
        )


def totals(measured: Iterable[DocumentScore]) -> dict[str, Score]:
    """Return the added scores of each document."""
    found: dict[str, list[Score]] = {}
    for each in measured:
        found.setdefault(each.document, []).append(each.score)
    return {name: reduce(add, scores) for name, scores in found.items()}


def goals_missed(scores: Mapping[str, Score]) -> Iterator[GoalMissed]:
    """Yield where our documents fall short; what could not be measured does not count."""
    for document, goals in GOALS.items():
        parts = scores[document].parts() if document in scores else {}
        for name, part in parts.items():
            if name in goals and part.share is not None and not _is_reached(name, part.share, goals[name]):
                yield GoalMissed(document=document, measure=name, found=part, goal=goals[name])


def _is_reached(name: Measure, share: float, goal: float) -> bool:
    return share <= goal if name in AT_MOST else share >= goal


def _cuts(transcript: Path, folder: Path, selection: Selection) -> Iterable[MeasuredCut]:
    if selection.at is not None:
        found = cut_at_line(transcript, folder, selection.at)
    else:
        found = (cut_along_the_way if selection.every else cut_at_compactions)(transcript, folder)
    measurable = (cut for cut in found if cut.is_measurable)
    return deque(measurable, maxlen=1) if selection.last_only else measurable


def _score_documents(cut: MeasuredCut, rows: Mapping[str, Document]) -> Iterator[DocumentScore]:
    known = find_expectations(cut)
    for name, document in rows.items():
        text = document(cut)
        if text is not None:
            yield DocumentScore(
                document=name,
                source=cut.source,
                line=cut.line,
                score=score(text, known),
                sources=check_sources(log_of_cut(cut)) if name == _WHOLE else None,
            )
