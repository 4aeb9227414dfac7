"""Shrink: the plan of a smart-trim with every cut to tick; then the smaller copy and the command that resumes it."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from leftoff.core.trim_plan import TRIM_LEVELS, TrimLevel
from leftoff.errors import LeftoffError, NotFoundError, UsageError
from leftoff.shrink.choose import choose_cuts, what_is_cut, why_cut
from leftoff.shrink.trim import PlannedTrim, TrimOptions, prepare_trim_of, tokens_saved_by, write_trim
from leftoff.web.library import key_of
from leftoff.web.session import session_values
from leftoff.web.site import Site, site_of
from leftoff.workspace import SessionRef

_MOST_DIGITS = 7  # of the number of a cut


class ShownCut(NamedTuple):
    """One cut to tick; ``number`` is 1-based, as for ``leftoff smart-trim --keep``. ``why`` names what the piece was about, too."""

    number: int
    line: int
    what: str
    why: str
    tokens: int
    chars: int


def show_plan(request: Request) -> Response:
    """Show what a smart-trim would cut; nothing is written."""
    site, ref, key = _find(request)
    level = _level(request.query_params.get("level"))
    values = session_values(ref, key, site) | {
        "levels": TRIM_LEVELS,
        "level": level,
        "problem": None,
        "cuts": (),
    }
    try:
        planned = _plan(site, ref, level)
    except (NotFoundError, UsageError):
        raise
    except LeftoffError as error:
        return site.page("shrink.html", values | {"problem": error.message})
    plan = planned.plan
    cuts = [
        ShownCut(
            number=number,
            line=cut.place.line_idx + 1,
            what=what_is_cut(cut),
            why=why_cut(cut).replace(f"{ref.project}/", ""),
            tokens=tokens_saved_by(cut, plan),
            chars=cut.saved_chars,
        )
        for number, cut in enumerate(plan.cuts, 1)
    ]
    sums = {
        "live_tokens": plan.live_tokens,
        "saved_tokens": plan.saved_tokens,
        "tokens_per_char": plan.tokens_per_char,
    }
    return site.page("shrink.html", values | sums | {"cuts": cuts, "digest": _digest(planned)})


async def write_copy(request: Request) -> Response:
    """Write the copy with the cuts that are ticked."""
    site, ref, key = await to_thread.run_sync(_find, request)
    form = await site.form(request)
    ticked = {int(each) for each in form.get("cut", ()) if each.isdecimal() and len(each) < _MOST_DIGITS}
    level, digest = _level(form.get("level", [""])[0]), form.get("digest", [""])[0]
    return await to_thread.run_sync(_write, site, ref, key, level, digest, frozenset(ticked))


def _write(
    site: Site, ref: SessionRef, key: str, level: TrimLevel, digest: str, ticked: frozenset[int]
) -> Response:
    planned = _plan(site, ref, level)
    if _digest(planned) != digest:
        raise UsageError("The session has grown since the plan was shown. Load the plan again.")
    if not ticked:
        raise UsageError("No cut is ticked, so there is nothing to write.")
    written = write_trim(planned._replace(plan=choose_cuts(planned.plan, cut=ticked)))
    values = session_values(ref, key, site) | {
        "copy": key_of(str(written.output_file)) if written.output_file else None,
        "command": shlex.join(written.resume_command) if written.resume_command else None,
        "saved_tokens": written.savings.tokens,
    }
    return site.page("shrunk.html", values)


def _plan(site: Site, ref: SessionRef, level: TrimLevel) -> PlannedTrim:
    return prepare_trim_of(ref, site.workspace, TrimOptions(strategy="smart-trim", level=level))


def _digest(planned: PlannedTrim) -> str:
    """Return what changes when the cuts of a plan could have other numbers."""
    plan = planned.plan
    return f"{plan.content_digest}-{len(plan.cuts)}-{plan.live_tokens}"


def _level(given: str | None) -> TrimLevel:
    return given if given in TRIM_LEVELS else "normal"


def _find(request: Request) -> tuple[Site, SessionRef, str]:
    site, key = site_of(request), request.path_params["key"]
    return site, site.library.find(key), key


routes = (
    Route("/session/{key}/shrink", show_plan, methods=["GET"]),
    Route("/session/{key}/shrink", write_copy, methods=["POST"]),
)
