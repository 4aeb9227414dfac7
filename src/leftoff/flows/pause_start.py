"""Begin a pause: of several who try at once, one does."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

from leftoff.errors import NotFoundError, NothingToDoError, TranscriptError, UsageError
from leftoff.flows.capture import Capture, capture_here
from leftoff.flows.choose import LATEST
from leftoff.flows.pause_homes import PauseHome, hand_driven
from leftoff.flows.status import Status, status
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.pauses.journal import opening
from leftoff.pauses.origin import Origin
from leftoff.system import clock, ids, liveness, paths

_HIGHEST_FRACTION = 5.0  # hand-fed sums outgrow a window, but five times is a percentage taken for a fraction
_HIGHEST_TYPED_FRACTION = 2.0  # a window may be overfull; what a person types beyond that is a slip


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A pause that has just begun."""

    session_id: str
    path: Path
    context_percentage: float


def start(
    home: PauseHome,
    context_percentage: float,
    initial_state: JsonObject,
    *,
    capture: Capture,
    origin: Origin | None = None,
    process: JsonObject | None = None,
    at: datetime | None = None,
) -> str:
    """The id of the new pause; NothingToDoError when one is running already.

    ``process`` is who records (``this_process()``), so that recovery can tell when it has died; None: nobody knows.
    """
    moment = at or clock.now()
    fraction = checked_fraction(context_percentage)
    paths.make_project_folder(home.project)
    session_id = ids.timed_id("session", moment)
    extra: JsonObject = {"origin": origin.to_dict()} if origin else {}
    extra |= {"process": process} if process else {}
    first = opening(
        session_id,
        fraction,
        capture.clean_object(initial_state),
        moment,
        extra=extra,
    )
    if not home.file.start(first):
        raise NothingToDoError(
            f"{home.file.path}: a pause is running already. leftoff pause status shows it; "
            "finalize or discard it before you start another."
        )
    return session_id


def start_here(working_folder: Path, context_percentage: float | None) -> Started:
    """Begin the project's pause by hand, at the given share of the window or that of the project's latest session."""
    if context_percentage is not None:
        typed_fraction(context_percentage)
    known = _latest(working_folder)
    fraction = known.metrics.used_fraction if context_percentage is None and known else context_percentage
    if fraction is None:
        raise UsageError(
            f"{working_folder}: how full the window is is not known. Say it: leftoff pause start --context 0.9"
        )
    home = hand_driven(working_folder)
    session_id = start(
        home, fraction, known.to_dict() if known else {}, capture=capture_here(home.project.root)
    )
    return Started(session_id=session_id, path=home.file.path, context_percentage=fraction)


def _latest(working_folder: Path) -> Status | None:
    try:
        return status(LATEST, working_folder)
    except (NotFoundError, TranscriptError):
        return None


def this_process() -> JsonObject:
    """Who we are, for those who later ask whether we are still there."""
    pid, begun = liveness.own()
    return {"pid": pid, "begun": begun}


def typed_fraction(value: float) -> float:
    """``value`` when a person can have meant it as a share of the window."""
    return checked_fraction(value, highest=_HIGHEST_TYPED_FRACTION)


def checked_fraction(value: float, *, highest: float = _HIGHEST_FRACTION) -> float:
    """``value`` when it can be a share of the window."""
    if isinstance(value, bool) or not math.isfinite(value) or not 0 <= value <= highest:
        raise UsageError(f"context_percentage is {value!r}: a fraction was expected, 0.9 for 90 %.")
    return float(value)
