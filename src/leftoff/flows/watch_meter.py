"""The live gauge: each threshold is said once per crossing, and from auto_pause on the wind-down is recorded.

Promises: who says a level has remembered it before, so that two hooks at once say it once. The agent itself is told only when
few tokens remain, and once.
"""

from __future__ import annotations

from dataclasses import replace

from leftoff.config.layers import thresholds
from leftoff.errors import NothingToDoError, TranscriptError
from leftoff.flows import watch_projects
from leftoff.flows.capture import capture_of
from leftoff.flows.pause_discard import was_discarded
from leftoff.flows.pause_start import start
from leftoff.flows.status import status_of
from leftoff.flows.watched import Watched
from leftoff.meter.crossings import HYSTERESIS_FRACTION, crossing
from leftoff.meter.warnings import warning
from leftoff.model.context_metrics import ContextMetrics, Level, Thresholds
from leftoff.model.hook_event import NOTHING, Saying
from leftoff.model.values import dataclass
from leftoff.model.watch_state import WatchState
from leftoff.model.wire import JsonObject
from leftoff.pauses.origin import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Metered:
    """What the gauge showed at an event. ``announced`` is the level that was crossed just now; None: none was."""

    metrics: ContextMetrics
    level: Level | None
    announced: Level | None
    saying: Saying


def meter(watched: Watched) -> Metered | None:
    """Look at the gauge, remember what is said about it, and begin a pause where one is due; None without a transcript."""
    _forget_ended_pause(watched)
    if watched.chosen is None:
        watched.update(lambda state: state)
        return None
    try:
        shown = status_of(watched.chosen, watched.config, watched.at)
    except TranscriptError:
        return None
    metrics, marks = shown.metrics, shown.thresholds

    def step(state: WatchState) -> tuple[WatchState, Metered]:
        crossed = crossing(state.said, metrics, marks)
        tells_agent = _is_low(metrics, watched) and not state.agent_told
        after = with_marks(
            replace(
                state,
                said=crossed.said,
                pause_declined=state.pause_declined and crossed.said.rank >= Level.AUTO_PAUSE.rank,
                agent_told=_is_low(metrics, watched, slack=state.agent_told),
                used_tokens=metrics.used_tokens,
                usable_tokens=metrics.total_budget,
            ),
            marks,
            watched,
        )
        saying = Saying(
            to_user=warning(crossed.announce, metrics) if crossed.announce else None,
            to_agent=_words_for_agent(metrics) if tells_agent else None,
        )
        return after, Metered(
            metrics=metrics, level=shown.level, announced=crossed.announce, saying=saying or NOTHING
        )

    found = watched.change(step)
    _pause(watched, found)
    return found


def with_marks(state: WatchState, marks: Thresholds, watched: Watched) -> WatchState:
    """With the numbers that the fast path compares."""
    look = watched.look()
    state = replace(
        state,
        about=(look[2] if look else None) or state.about,
        looked_bytes=look[3] if look else state.looked_bytes,
    )
    usable = state.usable_tokens
    if (
        usable is None or state.used_tokens is None
    ):  # before the first reply every number is news, after it only a window
        first = 0 if state.used_tokens is None else None
        return replace(state, next_mark_tokens=first, rearm_below_tokens=0)
    low = max(0, usable - watched.config.settings.warn_agent_below_tokens)
    ahead = [each.at_tokens(usable) for each in marks.in_order if each.level.rank > state.said.rank]
    said = [each.at_tokens(usable) for each in marks.in_order if each.level is state.said]
    ahead += [] if state.agent_told else [low]
    ahead += watch_projects.marks(state, watched.config.settings.project_state, usable)
    said += [low] if state.agent_told else []
    margin = HYSTERESIS_FRACTION * usable
    return replace(
        state,
        next_mark_tokens=min(ahead, default=None),
        rearm_below_tokens=max((max(0, int(each - margin)) for each in said), default=0),
    )


def marks_of(watched: Watched) -> Thresholds:
    """The four marks in force."""
    return thresholds(watched.config.settings)


def _is_low(metrics: ContextMetrics, watched: Watched, *, slack: bool = False) -> bool:
    if metrics.used_tokens is None or metrics.total_budget is None:
        return slack
    margin = HYSTERESIS_FRACTION * metrics.total_budget if slack else 0
    low = metrics.total_budget - watched.config.settings.warn_agent_below_tokens
    return metrics.used_tokens >= max(0, low) - margin


def _words_for_agent(metrics: ContextMetrics) -> str:
    return (
        f"leftoff: about {metrics.remaining_tokens or 0:,} tokens of the context window remain. What this session must not "
        "lose is saved as it goes and will be handed back after a compaction or to the next session; work goes on as "
        "asked. Prefer small reads, and finish what is open before you begin anything large."
    )


def _forget_ended_pause(watched: Watched) -> None:
    """A pause that a command has ended: finalised, the next is begun at once; thrown away, at the next crossing."""
    ended = watched.state.pause_id
    if ended is None or watched.pause.file.is_active():
        return
    is_declined = was_discarded(ended)

    def step(state: WatchState) -> WatchState:
        if state.pause_id != ended:  # another hook was quicker
            return state
        return replace(state, pause_id=None, pause_declined=is_declined)

    watched.update(step)


def _pause(watched: Watched, found: Metered) -> None:
    """Begin a pause from auto_pause on; whoever began it first, its id is remembered for the fast path."""
    is_due = found.level is not None and found.level.rank >= Level.AUTO_PAUSE.rank
    if not is_due or not watched.config.settings.pause.enabled:
        return
    home, state = watched.pause, watched.state
    if state.pause_declined or (state.pause_id is not None and home.file.is_active()):
        return
    initial: JsonObject = {"context": found.metrics.to_dict()}
    origin = Origin(
        agent=watched.agent.id,
        session_id=watched.event.session_id,
        transcript=watched.event.transcript,
        offset=watched.state.looked_bytes,
        project=str(watched.folder),
    )
    process: JsonObject | None = None
    if state.client_pid is not None:
        process = {"pid": state.client_pid, "begun": state.client_begun}
    try:
        pause_id = start(
            home,
            found.metrics.used_fraction or 0.0,
            initial,
            capture=capture_of(watched.config.settings),
            origin=origin,
            process=process,
            at=watched.at,
        )
    except NothingToDoError:
        recorded = home.file.read()
        pause_id = recorded.session_id if recorded is not None else ""
    watched.update(lambda state: replace(state, pause_id=pause_id or None))
