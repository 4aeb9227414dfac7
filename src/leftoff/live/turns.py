"""After tool calls and at the end of a turn: check the gauge, announce thresholds, record the running pause.

Each threshold is announced once per crossing: it is remembered before it is announced, so two hooks at once announce it once.
From ``auto_pause`` on, the end of the session is recorded as a pause. The agent itself is warned once, when few tokens remain.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from leftoff.config.load import thresholds
from leftoff.core.hook_event import NO_RESPONSE, HookResponse
from leftoff.core.levels import HYSTERESIS_FRACTION, check_crossing, warning_text
from leftoff.core.metrics import ContextMetrics, Level, Thresholds
from leftoff.core.triggers import triggers_of
from leftoff.core.wire import JsonObject
from leftoff.errors import NothingToDoError, StorageError, TranscriptError
from leftoff.live import project_events, saving
from leftoff.live.events import EventContext
from leftoff.live.fast import FOLD_BYTES
from leftoff.pause.journal import Origin
from leftoff.platform import log
from leftoff.sessions.live_state import LiveState
from leftoff.sessions.status import status_of


def on_tools(context: EventContext) -> HookResponse:
    """Announce a threshold that was crossed and record the calls; a subagent's calls are only recorded."""
    reading = measure(context) if context.event.actor is None else None
    for call in context.event.tools:
        record(context, "tool_call", {"tool": call.tool, "call_id": call.call_id})
    response = _respond(context, reading)
    if not context.settings.recall.hint:
        return response
    from leftoff.live.hint import hint  # few users want it

    try:
        said = hint(context)
    except Exception as error:  # noqa: BLE001 - a hint is worth less than the warnings that it would take with it
        log.write_line(f"hint: {type(error).__name__}: {error}")
        return response
    return response._replace(to_agent="\n\n".join(filter(None, [response.to_agent, said])) or None)


def on_stop(context: EventContext) -> HookResponse:
    """Do the same at the end of a turn, and update projects that the turn has changed."""
    if context.event.actor is not None:
        return NO_RESPONSE
    if context.state.expects_log:
        saving.wait_for_catch_up(context.agent.id, context.event.session_id)
        context.update(lambda state: state._replace(expects_log=False))
    reading = measure(context)
    # Only the first prompt may ask for the log by naming its files; a few more may by "continue".
    if context.state.offer_open:
        context.update(lambda state: state._replace(offer_open=False, may_continue=True))
    record(context, "assistant_response", {}, sync=True)
    project_events.update_after_turn(context)
    state = context.state
    if state.looked_bytes - state.folded_bytes >= FOLD_BYTES:
        saving.start_task(context.agent.id, "fold", context.event.session_id)
    return _respond(context, reading)


def record(context: EventContext, kind: str, data: JsonObject, *, sync: bool = False) -> None:
    """Add a line to the running pause, if there is one, without any text: that is in the transcript."""
    state = context.state
    if state.pause_id is None:
        return
    look = context.look()
    data = data | ({"offset": look[3]} if look else {})
    data |= {"actor": context.event.actor} if context.event.actor else {}
    with suppress(StorageError):  # a line that cannot be written is lost; the rest of the answer is not
        context.pause.file.append(kind, data, state.used_fraction or 0.0, context.at, sync=sync)


def _respond(context: EventContext, reading: Reading | None) -> HookResponse:
    """Return the warning that is due, and save the log if the settings want one at this level."""
    if reading is None:
        return NO_RESPONSE
    logs = context.settings.resume_logs
    if reading.announced is not None and logs.enabled and logs.auto_generate:
        due = triggers_of(reading.metrics, thresholds(context.settings))
        if any(trigger in logs.triggers for trigger in due):
            saving.start_task(context.agent.id, "save", context.event.session_id)
    response = reading.response
    advice = project_events.advise_near_limit(context, reading.metrics.used_fraction)
    if advice is None:
        return response
    return response._replace(to_user="\n".join(filter(None, [response.to_user, advice])))


class Reading(NamedTuple):
    """What the gauge showed at an event. ``announced`` is the threshold that was crossed just now, or None."""

    metrics: ContextMetrics
    level: Level | None
    announced: Level | None
    response: HookResponse


def measure(context: EventContext) -> Reading | None:
    """Read the gauge, remember what is announced, and start a pause if one is due; None without a transcript."""
    _forget_ended_pause(context)
    if context.session_ref is None:
        context.update(lambda state: state)
        return None
    try:
        status = status_of(context.session_ref, context.workspace, is_live=True)
    except TranscriptError:
        return None
    metrics, marks = status.metrics, status.thresholds

    def step(state: LiveState) -> tuple[LiveState, Reading]:
        crossing = check_crossing(state.said, metrics, marks)
        warns_agent = _is_low(metrics, context) and not state.agent_told
        after = state._replace(
            said=crossing.announced,
            pause_declined=state.pause_declined and crossing.announced.rank >= Level.AUTO_PAUSE.rank,
            agent_told=_is_low(metrics, context, with_margin=state.agent_told),
            used_tokens=metrics.used_tokens,
            usable_tokens=metrics.total_budget,
        )
        is_recording = context.settings.pause.enabled and not after.pause_declined
        response = HookResponse(
            to_user=warning_text(crossing.announce, metrics, is_recording=is_recording)
            if crossing.announce
            else None,
            to_agent=_warning_to_agent(metrics) if warns_agent else None,
        )
        return _with_marks(after, marks, context), Reading(
            metrics=metrics, level=status.level, announced=crossing.announce, response=response
        )

    reading = context.change(step)
    _start_pause_if_due(context, reading)
    return reading


def _with_marks(state: LiveState, marks: Thresholds, context: EventContext) -> LiveState:
    """Return the state with the numbers of tokens that the fast path compares."""
    look = context.look()
    state = state._replace(
        about=(look[2] if look else None) or state.about,
        looked_bytes=look[3] if look else state.looked_bytes,
    )
    usable = state.usable_tokens
    if usable is None or state.used_tokens is None:
        # Before the first reply any number calls for the full program; after it, only news about the window.
        return state._replace(next_mark_tokens=0 if state.used_tokens is None else None, rearm_below_tokens=0)
    low = max(0, usable - context.settings.warn_agent_below_tokens)
    ahead = [mark.at_tokens(usable) for mark in marks.in_order if mark.level.rank > state.said.rank]
    ahead += [] if state.agent_told else [low]
    ahead += project_events.marks_ahead(state, context.settings.project_state, usable)
    passed = [mark.at_tokens(usable) for mark in marks.in_order if mark.level is state.said]
    passed += [low] if state.agent_told else []
    margin = HYSTERESIS_FRACTION * usable
    return state._replace(
        next_mark_tokens=min(ahead, default=None),
        rearm_below_tokens=max((max(0, int(tokens - margin)) for tokens in passed), default=0),
    )


def _is_low(metrics: ContextMetrics, context: EventContext, *, with_margin: bool = False) -> bool:
    """Return whether few tokens remain; ``with_margin`` once it was said, so that it is not said again and again."""
    if metrics.used_tokens is None or metrics.total_budget is None:
        return with_margin
    margin = HYSTERESIS_FRACTION * metrics.total_budget if with_margin else 0
    low = metrics.total_budget - context.settings.warn_agent_below_tokens
    return metrics.used_tokens >= max(0, low) - margin


def _warning_to_agent(metrics: ContextMetrics) -> str:
    return (
        f"leftoff: about {metrics.remaining_tokens or 0:,} tokens of the context window remain. What this session must not "
        "lose is saved as it goes and will be given back after a compaction or to the next session; continue as "
        "asked. Prefer small reads, and finish what is open before you begin anything large."
    )


def _forget_ended_pause(context: EventContext) -> None:
    """Forget a pause that a command has ended; after a discarded one, the next waits for another crossing."""
    ended = context.state.pause_id
    if ended is None or context.pause.file.is_active():
        return
    from leftoff.pause.lifecycle import was_discarded

    is_declined = was_discarded(ended)

    def step(state: LiveState) -> LiveState:
        if state.pause_id != ended:  # another hook was faster
            return state
        return state._replace(pause_id=None, pause_declined=is_declined)

    context.update(step)


def _start_pause_if_due(context: EventContext, reading: Reading) -> None:
    """Start a pause from auto_pause on, and remember its id for the fast path even if another process started it."""
    is_due = reading.level is not None and reading.level.rank >= Level.AUTO_PAUSE.rank
    if not is_due or not context.settings.pause.enabled:
        return
    home, state = context.pause, context.state
    if state.pause_declined or (state.pause_id is not None and home.file.is_active()):
        return
    from leftoff.pause.lifecycle import start

    process: JsonObject | None = None
    if state.client_pid is not None:
        process = {"pid": state.client_pid, "begun": state.client_begun}
    try:
        pause_id = start(
            home,
            reading.metrics.used_fraction or 0.0,
            {"context": reading.metrics.to_dict()},
            origin=Origin(
                agent=context.agent.id,
                session_id=context.event.session_id,
                transcript=context.event.transcript,
                offset=state.looked_bytes,
                project=str(context.folder),
            ),
            process=process,
            at=context.at,
        )
    except NothingToDoError:
        recorded = home.file.read()
        pause_id = recorded.session_id if recorded is not None else ""
    context.update(lambda state: state._replace(pause_id=pause_id or None))
