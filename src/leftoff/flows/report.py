"""The compactions of the last days: what each summary lost against our log of the same stretch, and what of that the log in
the characters a hook hands over would have kept.

Promises: transcripts are only read; logs are made from copies in a scratch folder and thrown away; the words shown come from
redacted logs. The same compaction in several files (forks, copies) counts once. A transcript that cannot be read is named
and hides no other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path

from leftoff.errors import LeftoffError, TranscriptError
from leftoff.flows.agents import agent_called, agents_here
from leftoff.flows.retention_cut import Cut, cuts_at_compactions
from leftoff.flows.retention_documents import HOOK_CHARS, log_of_cut
from leftoff.flows.sessions import Found, found_sessions, sessions_of
from leftoff.model.records import Record, RecordKind
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.restore.profiles import profile_markdown
from leftoff.restore.receipt import Kind, Receipt, receipt
from leftoff.system import clock

_NO_RECORDS = {RecordKind.BROKEN, RecordKind.UNKNOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """One compaction. ``at`` is None where the transcript does not say when."""

    agent: str
    session_id: str
    project: str | None
    transcript: str
    line: int
    at: datetime | None
    receipt: Receipt

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "agent": self.agent,
            "session_id": self.session_id,
            "project": self.project,
            "transcript": self.transcript,
            "line": self.line,
            "at": None if self.at is None else clock.rfc3339(self.at),
            "summary_readable": not self.receipt.is_opaque,
            "items": {
                line.kind: {"total": line.total, "lost": [*line.lost], "would_have_kept": [*line.put_back]}
                for line in self.receipt.lines
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Of so many items of one kind, how many were lost and how many of those we would have kept."""

    total: int = 0
    lost: int = 0
    would_have_kept: int = 0


@dataclass(slots=True)
class Report:
    """What was found so far; ``add`` reads one more session."""

    since: datetime
    sessions: int = 0
    compactions: list[Compacted] = field(default_factory=list)
    unreadable: list[tuple[Path, str]] = field(default_factory=list)
    _seen: set[tuple[object, ...]] = field(default_factory=set)

    def add(self, found: Found) -> None:
        """Read a session; what is wrong with it is noted. A file without a single record that is known is none."""
        try:
            self.compactions += self._compactions(found)
            self.sessions += 1
        except (LeftoffError, OSError) as error:
            self.unreadable.append((found.transcript, str(error)))

    def newest_first(self) -> list[Compacted]:
        """Those of unknown time come last."""
        return sorted(
            self.compactions, key=lambda each: each.at.timestamp() if each.at else 0.0, reverse=True
        )

    def totals(self) -> Mapping[Kind, Tally]:
        """Over all compactions whose summary can be read."""
        found: dict[Kind, Tally] = {}
        for each in self.compactions:
            for line in () if each.receipt.is_opaque else each.receipt.lines:
                sofar = found.get(line.kind, Tally())
                found[line.kind] = Tally(
                    total=sofar.total + line.total,
                    lost=sofar.lost + len(line.lost),
                    would_have_kept=sofar.would_have_kept + len(line.put_back),
                )
        return found

    def _compactions(self, found: Found) -> Iterator[Compacted]:
        # Most sessions were never compacted: that is seen without holding their records.
        if not self._is_compacted(found):
            return
        session_id = found.agent.open(found.transcript).session_id
        with tempfile.TemporaryDirectory(prefix="leftoff-report-") as name:
            for cut in cuts_at_compactions(found.transcript, Path(name)):
                if self._is_recent(cut.at) and self._is_new(cut):
                    yield _compacted(cut, session_id)

    def _is_compacted(self, found: Found) -> bool:
        is_session = False
        for record in found.agent.read(found.transcript):
            is_session = is_session or record.kind not in _NO_RECORDS
            if self._is_wanted(record):
                return True
        if not is_session:
            raise TranscriptError(
                f"no line in it is a record that leftoff knows. leftoff doctor {found.transcript} shows what stands there.",
                path=found.transcript,
            )
        return False

    def _is_wanted(self, record: Record) -> bool:
        return record.compaction is not None and record.actor is None and self._is_recent(record.at)

    def _is_recent(self, at: datetime | None) -> bool:
        return at is None or at >= self.since

    def _is_new(self, cut: Cut) -> bool:
        mark = (cut.at, cut.summary) if cut.at or cut.summary else (cut.source, cut.line)
        is_new = mark not in self._seen
        self._seen.add(mark)
        return is_new


def begin(now: datetime, *, days: int) -> Report:
    """An empty report of the days before ``now``."""
    return Report(since=now - timedelta(days=days))


def sessions_since(since: datetime, agent_id: str | None, project: Path | None) -> list[Found]:
    """The transcripts that were written to since then, newest first."""
    found = found_sessions(agents_here() if agent_id is None else [agent_called(agent_id)])
    recent = [each for each in found if each.modified_ns >= since.timestamp() * 1e9]
    return recent if project is None else [*_of_project(project, recent)]


def _of_project(project: Path, found: Iterable[Found]) -> Iterator[Found]:
    by_path = {str(each.transcript): each for each in found}
    return (by_path[entry.transcript] for entry in sessions_of(project, by_path.values()))


def _compacted(cut: Cut, session_id: str) -> Compacted:
    log = log_of_cut(cut)
    handed_over = profile_markdown(log, max_chars=HOOK_CHARS, profile="after_compaction")
    return Compacted(
        agent=cut.agent,
        session_id=session_id,
        project=cut.project,
        transcript=str(cut.source),
        line=cut.line,
        at=cut.at,
        receipt=receipt(log, cut.summary, handed_over),
    )
