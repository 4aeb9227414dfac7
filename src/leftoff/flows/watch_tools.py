"""After tools and at the end of a turn: the gauge, and a line in the pause for each thing that happened."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from leftoff.config.layers import thresholds
from leftoff.errors import StorageError
from leftoff.flows import watch_projects, watch_tasks
from leftoff.flows.watch_meter import Metered, meter
from leftoff.flows.watched import Watched
from leftoff.hook.fast import FOLD_BYTES
from leftoff.model.hook_event import NOTHING, Saying
from leftoff.model.wire import JsonObject
from leftoff.resume_logs import due


def on_tools(watched: Watched) -> Saying:
    """Warn where a threshold is crossed; a subagent's calls are only recorded."""
    if watched.event.actor is not None:
        record_tools(watched)
        return NOTHING
    metered = meter(watched)
    record_tools(watched)
    return _said(watched, metered)


def on_stop(watched: Watched) -> Saying:
    """The same at the end of a turn, where only the user hears: words to the agent would make it go on."""
    if watched.event.actor is not None:
        return NOTHING
    metered = meter(watched)
    record(watched, "assistant_response", {}, sync=True)
    watch_projects.after_turn(watched)
    state = watched.state
    if state.looked_bytes - state.folded_bytes >= FOLD_BYTES:
        watch_tasks.spawn(watched.agent.id, "fold", watched.event.session_id)
    return _said(watched, metered)


def record_tools(watched: Watched) -> None:
    """One line for each call."""
    for each in watched.event.tools:
        record(watched, "tool_call", {"tool": each.tool, "call_id": each.call_id})


def record(watched: Watched, kind: str, data: JsonObject, *, sync: bool = False) -> None:
    """A line in the running pause, if there is one: no words, those stand in the transcript."""
    state = watched.state
    if state.pause_id is None:
        return
    look = watched.look()
    told = data | ({"offset": look[3]} if look else {})
    told |= {"actor": watched.event.actor} if watched.event.actor else {}
    with suppress(StorageError):  # a line that cannot be written is lost; the rest of the answer is not
        watched.pause.file.append(kind, told, state.used_fraction or 0.0, watched.at, sync=sync)


def _said(watched: Watched, metered: Metered | None) -> Saying:
    if metered is None:
        return NOTHING
    settings = watched.config.settings
    wanted = settings.resume_logs
    if metered.announced is not None and wanted.enabled and wanted.auto_generate:
        shown = due.shown_by(metered.metrics, thresholds(settings))
        if any(trigger in wanted.triggers for trigger in shown):
            watch_tasks.spawn(watched.agent.id, "save", watched.event.session_id)
    words = watch_projects.at_mark(watched, metered.metrics.used_fraction)
    told = metered.saying
    return replace(told, to_user="\n".join(filter(None, [told.to_user, words]))) if words else told
