"""Compactions: what each summary lost, and beside it what leftoff restored; every line leads to the record it comes from.

The numbers are those of ``leftoff report``, which measures a compaction by the transcript before it. Where the transcript shows what
leftoff handed over, they are those of the receipt: what was restored is what is in that text.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from leftoff.agents.jsonl import all_texts, parse_line
from leftoff.core import markdown
from leftoff.core.quantities import count
from leftoff.core.records import Compaction, Place, Record, RecordKind
from leftoff.core.resume_log import ResumeLog
from leftoff.diagnose.report import Compacted, cut_before, first_records, measure
from leftoff.errors import NotFoundError
from leftoff.resume_logs.receipt import Kind, Line
from leftoff.web.entries import describe_compaction
from leftoff.web.library import key_of
from leftoff.web.session import session_values
from leftoff.web.site import site_of
from leftoff.workspace import SessionRef

_OURS = "<leftoff-record-"  # around everything that leftoff hands to an agent
_REACH = 60  # records after a compaction among which the agent writes what it was handed
_NOT_HANDED_OVER = frozenset({RecordKind.RESULT, RecordKind.REPEATED, RecordKind.REPLY, RecordKind.BROKEN})
# Where the log has each kind, and how the receipt words an entry.
_SECTIONS: Mapping[Kind, tuple[str, Callable[[str], str]]] = {
    "rules": ("user_rules", markdown.user_quote),
    "pins": ("pins", str),
    "commands": ("commands", markdown.command_text),
    "files": ("files", str),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that a compaction dropped. ``transcript`` and ``line`` say where it comes from; None if that is not known."""

    text: str
    is_restored: bool
    transcript: str | None
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What a compaction dropped of one kind of item."""

    counted: Line
    items: tuple[Item, ...]

    @property
    def restored(self) -> int:
        """How many of the dropped items leftoff restored."""
        return len(self.counted.put_back)

    @property
    def gone(self) -> int:
        """How many are in neither text."""
        return len(self.items) - self.restored


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A compaction in a transcript: its first record without content, and what the agent says of it."""

    number: int
    first: Record
    said: Compaction

    @property
    def line(self) -> int:
        """Its first line, 1-based."""
        return self.first.place.line_idx + 1

    @property
    def title(self) -> str:
        """How it came about and what it did to the window."""
        return describe_compaction(self.said)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStory:
    """What a compaction lost and what leftoff has of it. ``was_restored``: the transcript shows that it was handed over.

    ``summary`` is what the agent put in place of the conversation; None if it cannot be read.
    """

    compacted: Compacted
    summary: str | None
    handed_over: str
    losses: tuple[Loss, ...]
    was_restored: bool

    @property
    def sentence(self) -> str:
        """The receipt; where nothing was handed over, as what leftoff would have done."""
        words = f"{self.compacted.receipt}."
        return (
            words if self.was_restored else words.replace("leftoff restored", "leftoff would have restored")
        )


def show_compactions(request: Request) -> Response:
    """Show every compaction of a session; what each lost is measured when its row comes into view."""
    site, key = site_of(request), request.path_params["key"]
    ref = site.library.find(key)
    values = session_values(ref, key, site)
    return site.page("compactions.html", {**values, "compactions": compactions_of(ref)})


def show_compaction(request: Request) -> Response:
    """Show one compaction."""
    site, key = site_of(request), request.path_params["key"]
    ref = site.library.find(key)
    compactions = compactions_of(ref)
    found = _chosen(request, compactions)
    values = {
        "found": found,
        "story": story_of(ref, found),
        "total": len(compactions),
        "own": str(ref.transcript),
        "key_of": key_of,
    }
    return site.page("compaction.html", {**session_values(ref, key, site), **values})


def show_receipt(request: Request) -> Response:
    """Return one sentence: what a compaction lost and what leftoff has of it."""
    site = site_of(request)
    ref = site.library.find(request.path_params["key"])
    story = story_of(ref, _chosen(request, compactions_of(ref)))
    return site.page("compaction_receipt.html", {"story": story})


def compactions_of(ref: SessionRef) -> Sequence[Found]:
    """Return the compactions of a session, the first first."""
    stat = ref.transcript.stat()
    return _find_compactions(ref, stat.st_size, stat.st_mtime_ns)


def story_of(ref: SessionRef, found: Found) -> CompactionStory:
    """Measure a compaction. The answer is kept while the transcript is the same file."""
    stat = ref.transcript.stat()
    return _tell(ref, found, stat.st_size, stat.st_mtime_ns)


def _chosen(request: Request, compactions: Sequence[Found]) -> Found:
    number = request.path_params["number"]
    found = next((each for each in compactions if str(each.number) == number), None)
    if found is None:
        had = count(len(compactions), "compaction")
        raise NotFoundError(f"This session has {had}; number {number[:20]} is not among them.")
    return found


@lru_cache(maxsize=64)
def _find_compactions(ref: SessionRef, _size: int, _changed_ns: int) -> Sequence[Found]:
    firsts = (first for _, first in first_records(ref.agent.read(ref.transcript)))
    return [
        Found(number=number, first=first._replace(raw=b"", messages=()), said=first.compaction)
        for number, first in enumerate(firsts, 1)
        if first.compaction is not None
    ]


@lru_cache(maxsize=32)
def _tell(ref: SessionRef, found: Found, _size: int, _changed_ns: int) -> CompactionStory:
    with tempfile.TemporaryDirectory(prefix="leftoff-web-") as folder:
        cut = cut_before(ref.transcript, found.first, Path(folder))
        handed_over = _handed_over(ref, found)
        measured = measure(cut, ref.session_id, handed_over)
    sources = _sources(measured.log, str(cut.transcript), str(ref.transcript))
    return CompactionStory(
        compacted=measured.compacted,
        summary=cut.summary,
        handed_over=measured.handed_over,
        losses=tuple(
            Loss(counted=line, items=tuple(_items(line, sources)))
            for line in measured.compacted.receipt.lines
        ),
        was_restored=handed_over is not None,
    )


def _items(line: Line, sources: Mapping[tuple[Kind, str], Place]) -> Iterator[Item]:
    """Return what was lost, first what leftoff restored."""
    for text in sorted(line.lost, key=lambda each: each not in line.put_back):
        place = sources.get((line.kind, text))
        yield Item(
            text=text,
            is_restored=text in line.put_back,
            transcript=place.transcript if place else None,
            line=place.line_idx + 1 if place else None,
        )


def _sources(log: ResumeLog, cut: str, transcript: str) -> dict[tuple[Kind, str], Place]:
    """Return where each item of the log comes from, by its text in the receipt: the first record that says it."""
    places: dict[str, Place] = {}
    for source in log.sources:
        place = source.place
        own = place._replace(transcript=transcript) if place.transcript == cut else place
        places.setdefault(source.item, own)
    found: dict[tuple[Kind, str], Place] = {}
    for kind, (section, as_counted) in _SECTIONS.items():
        entries = log.critical_context.get(section)
        named = entries.items() if isinstance(entries, dict) else enumerate(entries or ())
        for name, entry in named:
            text = str(name) if isinstance(entries, dict) else as_counted(str(entry))
            source_place = places.get(f"critical_context/{section}/{name}")
            if source_place is not None:
                found.setdefault((kind, text), source_place)
    return found


def _handed_over(ref: SessionRef, found: Found) -> str | None:
    """Return what leftoff handed over, as the agent noted it; None if it noted nothing of it.

    A part follows the first reply: what the summary dropped is known only when it is on disk.
    """
    texts: list[str] = []
    is_over = False
    for record in islice(ref.agent.read(ref.transcript, found.first.place), _REACH):
        is_over = is_over or record.kind is RecordKind.REPLY
        if is_over and record.compaction is not None and record.compaction.trigger != "micro":
            break  # the next one
        if _OURS.encode() in record.raw and record.kind not in _NOT_HANDED_OVER:
            values = (piece.value for piece in parse_line("", 0, 0, record.raw))
            texts += (text.strip() for value in values for text in all_texts(value) if _OURS in text)
    return "\n\n".join(dict.fromkeys(texts)) or None


routes = (
    Route("/session/{key}/compactions", show_compactions),
    Route("/session/{key}/compaction/{number}", show_compaction),
    Route("/session/{key}/compaction/{number}/receipt", show_receipt),
)
