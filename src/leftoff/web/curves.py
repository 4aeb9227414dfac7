"""The curves of the sessions that are being looked at, kept in memory: a transcript that grows is read only where it is new."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from threading import Lock

from leftoff.core.records import Place, Record
from leftoff.core.wire import JsonObject
from leftoff.errors import LeftoffError
from leftoff.pause.list_pauses import ListedPause, list_pauses
from leftoff.platform import clock, files
from leftoff.sessions.curve import KINDS, CurveFold, CurveMark, CurvePoint, origin_marks, request_at
from leftoff.sessions.status import Status, status_of
from leftoff.workspace import SessionRef, Workspace

_readings = count(1)
_KEPT = 4  # curves; one of 20,000 requests takes about 5 MB


class Curves:
    """The newest curves by transcript."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._readers: OrderedDict[Path, CurveReader] = OrderedDict()

    def reader(self, ref: SessionRef) -> CurveReader:
        """Return what reads the curve of a session, with all it has read."""
        with self._lock:
            reader = self._readers.pop(ref.transcript, None) or CurveReader(ref, self._workspace)
            self._readers[ref.transcript] = reader
            while len(self._readers) > _KEPT:
                self._readers.popitem(last=False)
            return reader


@dataclass
class CurveReader:
    """The curve of one session, as far as its transcript has been read."""

    ref: SessionRef
    workspace: Workspace
    _fold: CurveFold | None = None
    _after: Place | None = None
    _file: tuple[int, int] | None = None
    reading: int = 0  # another number whenever the transcript is read from its beginning
    _lock: Lock = field(default_factory=Lock)

    def size_bytes(self) -> int:
        """Return how large the transcript is now; 0 if it is gone."""
        return self._stat()[0]

    def _stat(self) -> tuple[int, tuple[int, int] | None]:
        try:
            found = self.ref.transcript.stat()
        except OSError:
            return 0, None
        return found.st_size, (found.st_dev, found.st_ino)

    def to_json(self, first: int = 0, reading: int | None = None) -> JsonObject:
        """Read what is new and return the curve from the request with the index ``first``, as ``curve.js`` takes it.

        From the beginning if it was read anew since ``reading``: what was before is of another file.
        """
        with self._lock:
            size = self.size_bytes()
            fold = self._read()
            if reading is not None and reading != self.reading:
                first = 0
            points, marks = fold.points[first:], self._marks(fold)
        status = status_of(self.ref, self.workspace)
        return {
            "first": first,
            "reading": self.reading,
            "bytes": size,  # of the transcript, so that the page is sent only what came after
            "kinds": [*KINDS],
            "tokens": [each.tokens for each in points],
            "lines": [each.line for each in points],
            "at": [None if each.at is None else clock.format_rfc3339(each.at) for each in points],
            "parts": [[each.parts[kind] for each in points] for kind in range(len(KINDS))],
            "marks": [_mark_to_json(each) for each in marks],
            "status": _status_to_json(status),
        }

    def _read(self) -> CurveFold:
        size, file = self._stat()
        is_shorter = self._after is not None and size < self._after.end
        if self._fold is None or file != self._file or is_shorter:
            self._fold, self._after, self._file = CurveFold(self.ref.agent), None, file
            self.reading = next(_readings)
        self._fold.add_all(self._new_records())
        return self._fold

    def _new_records(self) -> Iterator[Record]:
        """Yield the records that follow those read so far; the agent may still be writing the last line."""
        size = self.size_bytes()
        is_first = self._after is None
        records = (
            self.ref.session.records if is_first else self.ref.agent.read(self.ref.transcript, self._after)
        )
        for record in records:
            if (
                record.place.end >= size
                and not record.raw.endswith(b"\n")
                and record.place.transcript == str(self.ref.transcript)
            ):
                return
            self._after = record.place
            yield record

    def _marks(self, fold: CurveFold) -> list[CurveMark]:
        marks = [
            *origin_marks(self.ref.transcript, fold.points),
            *fold.marks,
            *pause_marks(self.ref, self.workspace, fold.points),
        ]
        return sorted(marks, key=lambda each: each.request)


def pause_marks(ref: SessionRef, workspace: Workspace, points: list[CurvePoint]) -> list[CurveMark]:
    """Return a mark where each pause that was recorded in the session began."""
    if ref.project is None or not files.is_folder(ref.project):
        return []
    try:
        listed = list_pauses(workspace.at(Path(ref.project)))
    except LeftoffError:
        return []  # the curve is shown without them
    own = [each for each in listed if _agent_session(each) == ref.session_id]
    return [CurveMark("pause", request_at(points, at), 1, at) for at in map(_began_at, own)]


def _began_at(pause: ListedPause) -> datetime:
    """Return when a pause began; when it ended where that is not known."""
    if pause.running is not None:
        return clock.parse_rfc3339(pause.running.summary.pause_started_at) or pause.at
    recorded = (pause.finished.state or {}).get("incremental_pause") if pause.finished else None
    seconds = recorded.get("duration_seconds") if isinstance(recorded, dict) else None
    return pause.at - timedelta(seconds=seconds) if isinstance(seconds, int) else pause.at


def _agent_session(pause: ListedPause) -> str | None:
    """Return the agent's session that a pause was recorded in; None for one that was started by hand."""
    if pause.running is not None:
        return pause.running.origin.session_id if pause.running.origin else None
    origin = (pause.finished.state or {}).get("origin") if pause.finished else None
    found = origin.get("session_id") if isinstance(origin, dict) else None
    return found if isinstance(found, str) else None


def _mark_to_json(mark: CurveMark) -> JsonObject:
    return {
        "kind": mark.kind,
        "request": mark.request,
        "line": mark.line,
        "at": None if mark.at is None else clock.format_rfc3339(mark.at),
        "before": mark.before_tokens,
        "after": mark.after_tokens,
    }


def _status_to_json(status: Status) -> JsonObject:
    metrics = status.metrics
    budget = metrics.total_budget
    levels = (
        []
        if budget is None
        else [(each.level, each.at_tokens(budget)) for each in status.thresholds.in_order]
    )
    return {
        "used": metrics.used_tokens,
        "budget": budget,
        "window": metrics.window_tokens,
        "percentage": metrics.shown_percentage,
        "level": status.level,
        "basis": metrics.basis,
        "advice": status.advice,
        "levels": [{"name": level.replace("_", " "), "tokens": tokens} for level, tokens in levels],
    }
