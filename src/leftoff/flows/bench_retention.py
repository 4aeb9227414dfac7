"""How much of what an agent needs next stands in a document made before its compaction, ours beside others.

Promises: documents are made from a copy of what existed at the cut; every share is of counts added up over all cuts that have
the document; a cut without a readable summary counts for coverage only, one without further calls for agreement only.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path

from leftoff.errors import NothingToDoError
from leftoff.flows import retention_documents as documents
from leftoff.flows.agents import agents_here
from leftoff.flows.retention_cut import Cut, cut_at_line, cuts_along_the_way, cuts_at_compactions
from leftoff.flows.retention_documents import Document
from leftoff.flows.retention_score import Measure, Part, Score, needed, score
from leftoff.flows.retention_sources import Sourced, sourced
from leftoff.model.values import dataclass
from leftoff.samples.bundled import bundled_script

_HOOK = f"our log, {documents.HOOK_CHARS:,} characters"
_WHOLE = "our log, whole"
# The rows of the table in SPEC section 7, in its order.
DOCUMENTS: Mapping[str, Document] = {
    "the agent's own summary": documents.own_summary,
    f"the last {documents.LAST_CHARS:,} characters": documents.last_characters,
    "a bare list": documents.bare_list,
    "all of it (the ceiling)": documents.everything,
    _HOOK: documents.log_for_a_hook,
    _WHOLE: documents.whole_log,
}
_ALIKE: Mapping[Measure, float] = {"outside": 0.50, "stale": 0.01}
GOALS: Mapping[str, Mapping[Measure, float]] = {
    _HOOK: {"coverage": 0.85, "files": 0.92, "commands": 0.80, "names": 0.80, "agreement": 0.70, **_ALIKE},
    _WHOLE: {"coverage": 0.95, "files": 0.98, "commands": 0.90, "names": 0.92, "agreement": 0.85, **_ALIKE},
}
AT_MOST: frozenset[Measure] = frozenset({"stale"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be measured: at compactions, or before a line (1-based), or along the way."""

    transcripts: Sequence[Path]  # none: the bundled session
    at: int | None = None
    every: bool = False
    last_only: bool = False  # of each transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One document at one cut."""

    document: str
    source: Path
    line: int
    score: Score
    sourced: Sourced | None = None  # None: it gives no sources


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalMissed:
    """A goal that was not reached."""

    document: str
    measure: Measure
    found: Part
    goal: float


def measure(wanted: Wanted, rows: Mapping[str, Document] = DOCUMENTS) -> Iterator[Measured]:
    """Every document at every cut."""
    with tempfile.TemporaryDirectory(prefix="leftoff-bench-") as name:
        folder = Path(name)
        found = 0
        for number, transcript in enumerate(wanted.transcripts or [_bundled(folder)]):
            for cut in _cuts(transcript, folder / str(number), wanted):
                found += 1
                yield from _measured(cut, rows)
    if not found:
        raise NothingToDoError(
            "No compaction to cut at. --every cuts along the way, --at LINE before a line of the transcript."
        )


def totals(measured: Iterable[Measured]) -> dict[str, Score]:
    """The scores of each document, added up."""
    found: dict[str, list[Score]] = {}
    for each in measured:
        found.setdefault(each.document, []).append(each.score)
    return {name: reduce(add, scores) for name, scores in found.items()}


def goals_missed(scores: Mapping[str, Score]) -> Iterator[GoalMissed]:
    """Where our documents fall short; what could not be measured is not missed."""
    for document, goals in GOALS.items():
        parts = scores[document].parts() if document in scores else {}
        for name, part in parts.items():
            if name in goals and part.share is not None and not _reached(name, part.share, goals[name]):
                yield GoalMissed(document=document, measure=name, found=part, goal=goals[name])


def _reached(name: Measure, share: float, goal: float) -> bool:
    return share <= goal if name in AT_MOST else share >= goal


def _cuts(transcript: Path, folder: Path, wanted: Wanted) -> Iterable[Cut]:
    if wanted.at is not None:
        found = cut_at_line(transcript, folder, wanted.at)
    else:
        found = (cuts_along_the_way if wanted.every else cuts_at_compactions)(transcript, folder)
    measurable = (cut for cut in found if cut.is_measurable)
    return deque(measurable, maxlen=1) if wanted.last_only else measurable


def _bundled(folder: Path) -> Path:
    transcript = folder / "bundled.jsonl"
    agents_here()[0].transcribe(bundled_script(), transcript)
    return transcript


def _measured(cut: Cut, rows: Mapping[str, Document]) -> Iterator[Measured]:
    known = needed(cut)
    for name, document in rows.items():
        text = document(cut)
        if text is not None:
            yield Measured(
                document=name,
                source=cut.source,
                line=cut.line,
                score=score(text, known),
                sourced=sourced(documents.log_of_cut(cut)) if name == _WHOLE else None,
            )
