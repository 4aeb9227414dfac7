"""One session as one file to attach to a pull request: its curve, its resume log and its transcript, without credentials.

The file asks no server for anything: style and script are inside, and its content security policy allows nothing else. Of a large
session the beginning and the end are in it, and the file says which lines are not.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from leftoff.core.session_ids import short_id
from leftoff.platform import clock
from leftoff.resume_logs.save import build_log
from leftoff.sessions.curve import ContextCurve, CurveMark, context_curve
from leftoff.sessions.find import find_session
from leftoff.sessions.status import status_of
from leftoff.version import VERSION
from leftoff.web.access import Access
from leftoff.web.library import read_entry, title_of
from leftoff.web.line_index import Line
from leftoff.web.site import STATIC, Site
from leftoff.web.transcript import TranscriptReader
from leftoff.workspace import Workspace

MOST_BYTES = 8 * 1024 * 1024  # of the transcript: what can be attached to a pull request is limited
_BEGINNING_SHARE = 0.25
_WIDTH, _HEIGHT, _MOST_POINTS = 1000, 240, 1500


def export_html(selector: str, workspace: Workspace, *, most_bytes: int = MOST_BYTES) -> Iterator[str]:
    """Yield the file piece by piece."""
    ref = find_session(selector, workspace)
    site = Site(workspace, Access(port=0))
    reader = TranscriptReader(ref.agent, ref.transcript, workspace.redact)
    first, last = _lines_to_show(reader, most_bytes)
    style, script = _static("app.css", "reader.css"), _static("reader.js", "picture.js")
    log = build_log(ref, workspace)
    own = [each for each in log.sources if each.place.transcript == str(ref.transcript)]
    status, entry = status_of(ref, workspace), read_entry(ref, workspace.redact)
    yield from site.stream(
        "export.html",
        {
            "policy": f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'",
            "style": style,
            "script": script,
            "entry": entry,
            "title": title_of(entry),
            "short_id": short_id(ref.session_id),
            "status": status,
            "version": VERSION,
            "today": f"{clock.now():%Y-%m-%d}",
            "picture": curve_picture(context_curve(ref), status.metrics.total_budget),
            "log": log,
            "lines": {each.item: each.place.line_idx + 1 for each in reversed(own)},
            "beginning": reader.pages(first),
            "end": reader.pages(last),
            "left_out": (first[-1].number + 1, last[0].number - 1) if first and last else None,
        },
    )


def _lines_to_show(reader: TranscriptReader, most_bytes: int) -> tuple[Sequence[Line], Sequence[Line]]:
    """Return the lines of the beginning and of the end; without an end, the beginning is everything."""
    everything = reader.lines_within(most_bytes, 1)
    total, _ = reader.index.count()
    if not everything or everything[-1].number >= total:
        return everything, ()
    beginning = reader.lines_within(int(most_bytes * _BEGINNING_SHARE), 1)
    end = reader.lines_within(int(most_bytes * (1 - _BEGINNING_SHARE)), total, backwards=True)
    return beginning, [line for line in end if line.number > beginning[-1].number]


def _static(*names: str) -> Markup:
    """Return files of ours as one text for a style or script element."""
    text = "".join(STATIC.files[name].decode() for name in names)
    assert "</" not in text  # it would end the element
    return Markup(text)


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureMark:
    """A vertical line of the picture, and what happened there."""

    x: float
    line: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePicture:
    """The curve as shapes in a box of 1000 by 240. ``budget_y`` is where the window is full; None where that is not known, or far above the curve."""

    path: str
    marks: tuple[PictureMark, ...]
    budget: int | None
    budget_y: float | None
    title: str
    tokens: tuple[int, ...]  # at every request, to hover over, with their lines
    lines: tuple[int, ...]


def curve_picture(curve: ContextCurve, budget: int | None) -> CurvePicture | None:
    """Return the picture of a curve; None for a session without requests. Of very many requests, the highest of each group is drawn."""
    tokens = [point.tokens for point in curve.points]
    if not tokens:
        return None
    highest = max(tokens)
    top = 1.05 * (budget if budget and budget < 2 * highest else 1.2 * highest) or 1
    stride = -(-len(tokens) // _MOST_POINTS)

    def x_of(request: float) -> float:
        return round(_WIDTH * request / max(1, len(tokens) - 1), 1)

    def y_of(value: int) -> float:
        return round(_HEIGHT * (1 - value / top), 1)

    drawn = [
        max(range(at, min(at + stride, len(tokens))), key=tokens.__getitem__)
        for at in range(0, len(tokens), stride)
    ]
    marks = tuple(
        PictureMark(x=x_of(max(0, mark.request - 0.5)), line=mark.line, title=_describe_mark(mark))
        for mark in curve.marks
    )
    return CurvePicture(
        path=" ".join(f"{x_of(at)},{y_of(tokens[at])}" for at in drawn),
        marks=marks,
        budget=budget,
        budget_y=y_of(budget) if budget and budget < top else None,
        title=f"{len(tokens):,} requests, at most {highest:,} tokens in the window"
        + (f" of {budget:,}" if budget else ""),
        tokens=tuple(tokens),
        lines=tuple(point.line for point in curve.points),
    )


def _describe_mark(mark: CurveMark) -> str:
    numbers = [f"{tokens:,}" for tokens in (mark.before_tokens, mark.after_tokens) if tokens is not None]
    return f"{mark.kind}, {' → '.join(numbers)} tokens" if numbers else mark.kind
