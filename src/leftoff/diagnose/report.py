"""Report the compactions of the last days: what each summary lost, and what our log at the size of a hook would have kept.

To measure a compaction, its transcript is cut there: the bytes before its first record, exactly, become a file of their own, and a
log is made from that alone. Clearing old tool results is not a compaction, and what subagents did belongs to neither side.

Transcripts are only read; logs are made in a scratch folder, redacted and thrown away. A copy (a trim, a fork, a file in another folder)
repeats what happened in the session that it was made from: neither its compactions nor the session itself count again. Originals are
read first, because a copy may lack what was there before a compaction. A pin counts for the compactions while it was in force. A
transcript that cannot be read is named and does not hide the others.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from leftoff.agents.registry import agent_from_argument, agent_of, load_agents
from leftoff.config.settings import MAX_HOOK_CHARS
from leftoff.core.protocols import Agent
from leftoff.core.records import Place, Record, RecordKind
from leftoff.core.resume_log import ResumeLog
from leftoff.core.wire import JsonObject
from leftoff.errors import LeftoffError, TranscriptError
from leftoff.platform import clock
from leftoff.resume_logs.receipt import Kind, Receipt, build_receipt, find_replacement
from leftoff.resume_logs.restore_text import restoration_body
from leftoff.resume_logs.save import build_log
from leftoff.sessions.listing import TranscriptFile, entries_from_index, entries_of_project, list_transcripts
from leftoff.workspace import SessionRef, Workspace

_NO_RECORDS = {RecordKind.BROKEN, RecordKind.UNKNOWN}
_UNKNOWN = datetime.min.replace(tzinfo=UTC)  # before every pin: none is known to have been in force


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """One compaction. ``at`` is ``None`` if the transcript does not say when it was."""

    agent: str
    session_id: str
    project: str | None
    transcript: str
    line: int
    at: datetime | None
    receipt: Receipt

    def to_dict(self) -> JsonObject:
        """Return the JSON form, which scripts rely on."""
        return {
            "agent": self.agent,
            "session_id": self.session_id,
            "project": self.project,
            "transcript": self.transcript,
            "line": self.line,
            "at": None if self.at is None else clock.format_rfc3339(self.at),
            "summary_readable": not self.receipt.is_opaque,
            "items": {
                line.kind: {"total": line.total, "lost": [*line.lost], "would_have_kept": [*line.put_back]}
                for line in self.receipt.lines
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many items of one kind there were, how many were lost, and how many of those we would have kept."""

    total: int = 0
    lost: int = 0
    would_have_kept: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What one pass through a session shows: the first record of each compaction, without content, and what its first reply is known by."""

    firsts: tuple[Record, ...]
    first_reply: str | datetime | None  # None if it has none


def scan(found: TranscriptFile) -> Scanned:
    """Read a session once; TranscriptError if no line of it is a record. Most were never compacted, and no record is kept in memory."""
    is_session = False
    first_reply: str | datetime | None = None

    def records() -> Iterator[Record]:
        nonlocal is_session, first_reply
        for record in found.agent.read(found.transcript):
            is_session = is_session or record.kind not in _NO_RECORDS
            if first_reply is None and record.actor is None and record.kind is RecordKind.REPLY:
                first_reply = record.reply_id or record.id or record.at
            yield record

    firsts = tuple(first._replace(raw=b"", messages=()) for _, first in first_records(records()))
    if not is_session:
        raise TranscriptError(
            f"no line in it is a record that leftoff knows. leftoff doctor {found.transcript} shows what is in it.",
            path=found.transcript,
        )
    return Scanned(firsts=firsts, first_reply=first_reply)


@dataclass(slots=True)
class Report:
    """The compactions since a moment, and how many sessions there were; ``add`` reads one more file.

    A server that reports again and again passes a ``scan`` and a ``compare`` that remember their answers.
    """

    since: datetime
    scan: Callable[[TranscriptFile], Scanned] = scan
    compare: Callable[[Cut, str], Compacted] = lambda cut, session_id: measure(cut, session_id).compacted
    sessions: int = 0
    compactions: list[Compacted] = field(default_factory=list)
    unreadable: list[tuple[Path, str]] = field(default_factory=list)
    _seen: set[tuple[object, ...]] = field(default_factory=set)

    def add(self, found: TranscriptFile) -> None:
        """Read a session; one that cannot be read, or has no record that we know, is listed as unreadable."""
        try:
            scanned = self.scan(found)
            firsts = [first for first in scanned.firsts if self._is_recent(first.at)]
            if firsts:
                self.compactions += self._compactions(found, firsts)
            first_reply = scanned.first_reply
            if first_reply is not None and self._is_new([(found.agent.id, "reply", first_reply)]):
                self.sessions += 1
        except (LeftoffError, OSError) as error:
            self.unreadable.append((found.transcript, str(error)))

    def newest_first(self) -> list[Compacted]:
        """Return the compactions, newest first; those of unknown time come last."""
        return sorted(
            self.compactions, key=lambda each: each.at.timestamp() if each.at else 0.0, reverse=True
        )

    def totals(self) -> Mapping[Kind, Tally]:
        """Return the sums by kind over all compactions whose summary can be read."""
        totals: dict[Kind, Tally] = {}
        for each in self.compactions:
            for line in () if each.receipt.is_opaque else each.receipt.lines:
                before = totals.get(line.kind, Tally())
                totals[line.kind] = Tally(
                    total=before.total + line.total,
                    lost=before.lost + len(line.lost),
                    would_have_kept=before.would_have_kept + len(line.put_back),
                )
        return totals

    def _compactions(self, found: TranscriptFile, firsts: Iterable[Record]) -> Iterator[Compacted]:
        session_id = found.agent.open(found.transcript).session_id
        with tempfile.TemporaryDirectory(prefix="leftoff-report-") as name:
            for number, first in enumerate(firsts):
                cut = cut_before(found.transcript, first, Path(name) / str(number))
                if self._is_new(_marks(cut)):
                    yield self.compare(cut, session_id)

    def _is_recent(self, at: datetime | None) -> bool:
        return at is None or at >= self.since

    def _is_new(self, marks: Sequence[tuple[object, ...]]) -> bool:
        is_new = self._seen.isdisjoint(marks)
        self._seen.update(marks)
        return is_new


def _marks(cut: Cut) -> list[tuple[object, ...]]:
    """Return what a compaction is known by in every copy: its id; without one its time or its summary, which forks may change."""
    marks = [("id", cut.id)] if cut.id else [("at", cut.at), ("summary", cut.summary)]
    return [(cut.agent, *mark) for mark in marks if mark[1]] or [(cut.agent, cut.source, cut.line)]


def sessions_since(since: datetime, agent_id: str | None, project: Path | None) -> list[TranscriptFile]:
    """Return the transcripts that were written to since then; each after those that it was derived from, as far as it says so."""
    all_files = list_transcripts(load_agents() if agent_id is None else [agent_from_argument(agent_id)])
    recent = [each for each in all_files if each.modified_ns >= since.timestamp() * 1e9]
    if project is not None:
        by_path = {str(each.transcript): each for each in recent}
        recent = [by_path[entry.transcript] for entry in entries_of_project(project, recent)]
    return _originals_first(recent)


def _originals_first(files: Sequence[TranscriptFile]) -> list[TranscriptFile]:
    """Sort by the number of ancestors, then the oldest first: a file that was copied was usually written to before its copy."""
    listed = [*entries_from_index(files)]
    parents = {entry.session_id: entry.parent.session_id for entry in listed if entry.parent is not None}
    ids = {entry.transcript: entry.session_id for entry in listed}

    def generation(file: TranscriptFile) -> int:
        ancestors: list[str | None] = [ids.get(str(file.transcript))]
        while (parent := parents.get(ancestors[-1] or "")) is not None and parent not in ancestors:
            ancestors.append(parent)
        return len(ancestors)

    return sorted(files, key=lambda file: (generation(file), file.modified_ns, str(file.transcript)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A compaction with what was compared: our log of what was before it, and what that would have handed over."""

    compacted: Compacted
    log: ResumeLog
    handed_over: str


def measure(cut: Cut, session_id: str, handed_over: str | None = None) -> Measured:
    """Compare what the agent put in place of the conversation with our log of it.

    ``handed_over`` is what the transcript shows that the agent got; by default it is what we would have handed over.
    """
    log = log_of_cut(cut)
    if handed_over is None:
        handed_over = restoration_body(log, MAX_HOOK_CHARS, "after_compaction", summary=cut.summary)
    compacted = Compacted(
        agent=cut.agent,
        session_id=session_id,
        project=cut.project,
        transcript=str(cut.source),
        line=cut.line,
        at=cut.at,
        receipt=build_receipt(log, cut.summary, handed_over, has_summary=cut.has_summary),
    )
    return Measured(compacted=compacted, log=log, handed_over=handed_over)


def log_of_cut(cut: Cut) -> ResumeLog:
    """Return our log of what was before the cut, with its sources."""
    ref = SessionRef(agent=agent_of(cut.transcript), transcript=cut.transcript)
    return build_log(ref, Workspace.open(), at=cut.at or _UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A session as it was at one moment, and how its agent summarised it then."""

    agent: str
    source: Path  # the whole transcript
    line: int  # 1-based, of the first record that is not in the prefix
    id: str | None  # of that record; copies keep it. None if the agent gives none
    at: datetime | None  # None if the record does not say
    transcript: Path  # the prefix, a file of the same name
    project: str | None
    summary: (
        str | None
    )  # what the agent put in place of what was before; None if there is nothing, or it is not readable
    has_summary: bool = True  # False: messages that were chosen or rewritten


def cut_before(transcript: Path, first: Record, folder: Path) -> Cut:
    """Cut a session before the first record of a compaction."""
    agent = agent_of(transcript)
    before = Place(str(transcript), max(0, first.place.line_idx - 1), 0, first.place.start)
    return _cut(agent, transcript, first, agent.read(transcript, before), folder)


def cut_session(
    transcript: Path, folder: Path, where: Callable[[Sequence[Record]], Iterable[int]]
) -> Iterator[tuple[Cut, Sequence[Record], Sequence[Record]]]:
    """Cut before the records whose indexes ``where`` returns; yield each cut with the records before and after it."""
    agent = agent_of(transcript)
    records = [*agent.read(transcript)]
    for number, at in enumerate(where(records)):
        cut = _cut(agent, transcript, records[at], records[at:], folder / str(number))
        yield cut, records[:at], records[at:]


def _cut(agent: Agent, transcript: Path, first: Record, rest: Iterable[Record], folder: Path) -> Cut:
    left = find_replacement(rest)
    return Cut(
        agent=agent.id,
        source=transcript,
        line=first.place.line_idx + 1,
        id=first.id,
        at=first.at,
        transcript=_write_prefix(transcript, folder, first.place.start),
        project=agent.open(transcript).project,
        summary=left.text if left else None,
        has_summary=left is None or left.has_summary,
    )


def compaction_starts(records: Iterable[Record]) -> Iterator[int]:
    """Return the index of each compaction's first record: a boundary and the summary after it are one compaction."""
    return (at for at, _ in first_records(records))


def first_records(records: Iterable[Record]) -> Iterator[tuple[int, Record]]:
    """Return the first record of each compaction, with its index."""
    inside = False
    for at, record in enumerate(records):
        if record.actor is not None or record.compaction is None or record.compaction.trigger == "micro":
            inside = inside and record.kind is not RecordKind.REPLY
            continue
        if not inside or record.compaction.summary is None:
            yield at, record
        inside = record.compaction.summary is None and not record.messages  # its summary is still to come


def _write_prefix(transcript: Path, folder: Path, size_bytes: int) -> Path:
    """Write the first bytes of a transcript to a file of the same name in ``folder``; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / transcript.name
    with transcript.open("rb") as source, target.open("wb") as copy:
        left = size_bytes
        while left and (chunk := source.read(min(left, 1 << 20))):
            copy.write(chunk)
            left -= len(chunk)
    return target
