"""Report: the compactions of the last thirty days, what each lost, and what leftoff would have kept.

Reading thirty days takes long, so what was found is kept while the server runs: of a file as long as it does not change, of a
compaction for ever, because agents only append.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from leftoff.agents.registry import agent_by_id
from leftoff.diagnose.report import Compacted, Cut, Report, Scanned, measure, scan, sessions_since
from leftoff.platform import clock
from leftoff.resume_logs.receipt import count_items
from leftoff.sessions.listing import TranscriptFile
from leftoff.web.library import key_of
from leftoff.web.site import site_of

_DAYS = 30
_KEPT = 10_000
_compared: dict[tuple[object, ...], Compacted] = {}


class ShownCompaction(NamedTuple):
    """One compaction in words; ``at`` is None where the transcript does not say."""

    key: str
    project: str
    agent: str
    at: datetime | None
    line: int
    lost: str
    kept: str


def show_report(request: Request) -> Response:
    """Show the page; what it reports follows, because every session of thirty days is read for it."""
    return site_of(request).page("report.html", {"days": _DAYS})


def show_compactions(request: Request) -> Response:
    """Read the sessions and show what was found."""
    found = Report(since=clock.now() - timedelta(days=_DAYS), scan=_scan, compare=_compare)
    for session in sessions_since(found.since, None, None):
        found.add(session)
    totals = [(count_items(each.total, kind), each) for kind, each in found.totals().items() if each.total]
    values = {
        "sessions": found.sessions,
        "compactions": [_shown(each) for each in found.newest_first()],
        "totals": totals,
        "unreadable": len(found.unreadable),
    }
    return site_of(request).page("report_found.html", values)


def _scan(found: TranscriptFile) -> Scanned:
    return _scan_file(found.agent.id, *found[1:])


@lru_cache(maxsize=_KEPT)
def _scan_file(agent_id: str, transcript: Path, modified_ns: int, size_bytes: int) -> Scanned:
    return scan(TranscriptFile(agent_by_id(agent_id), transcript, modified_ns, size_bytes))


def _compare(cut: Cut, session_id: str) -> Compacted:
    key = (cut.source, cut.line, cut.id, cut.at, cut.summary)
    if key not in _compared:
        _compared[key] = measure(cut, session_id).compacted
    return _compared[key]


def _shown(each: Compacted) -> ShownCompaction:
    lines = [line for line in each.receipt.lines if line.lost]
    lost = ", ".join(f"{len(line.lost)} of {count_items(line.total, line.kind)}" for line in lines)
    kept = ", ".join(count_items(len(line.put_back), line.kind) for line in lines if line.put_back)
    return ShownCompaction(
        key=key_of(each.transcript),
        project=Path(each.project).name if each.project else "no project",
        agent=each.agent,
        at=each.at,
        line=each.line,
        lost="its summary cannot be read" if each.receipt.is_opaque else lost or "nothing",
        kept=kept or "nothing",
    )


routes = (Route("/report", show_report), Route("/report/found", show_compactions))
