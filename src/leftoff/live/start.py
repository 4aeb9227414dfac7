"""The start and the end of a session: what the agent and the user hear first, and what is saved when it ends.

Nothing is offered to a headless run, after ``/clear`` or to a subagent. Documents from elsewhere wait for the user's trust. After a
compaction the lost content is restored, whatever the settings offer to new sessions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leftoff.core.hook_event import NO_RESPONSE, HookResponse
from leftoff.core.quantities import count
from leftoff.core.session_ids import short_id
from leftoff.errors import LeftoffError
from leftoff.live import saving
from leftoff.live.events import EventContext
from leftoff.platform import clock
from leftoff.sessions import live_state
from leftoff.sessions.live_state import LiveState

if TYPE_CHECKING:
    from leftoff.resume_logs.restore import Candidate
    from leftoff.sessions.ancestry import DerivedEntry


_WORTH_SAYING_USD = 0.25  # less is not worth a line


def on_start(context: EventContext) -> HookResponse:
    """Answer by how the session began; projects come last, so that no error in them prevents a restoration."""
    if context.event.actor is not None:
        return NO_RESPONSE
    _note_ends()
    match context.event.source:
        case "compact":
            from leftoff.live.compaction import restore_compacted  # most sessions start otherwise

            response = restore_compacted(context)
        case "resume":
            context.update(lambda state: saving.as_begun(state)._replace(may_continue=False))
            response = _greet_resumed(context)
        case "clear":
            context.update(saving.as_begun)
            _end_cleared_session(context)
            with saving.log_errors("what this session was cleared from was not kept"):
                _note_cleared(context)
            response = NO_RESPONSE
        case _:
            return _greet_new(context)  # its projects are looked at in the background
    from leftoff.live import project_events

    project_events.begin(context)
    return response


def _note_ends() -> None:
    """Note the ends of sessions that a background task has not come to yet, so that none of them counts as running."""
    for state in live_state.with_end_note():
        with saving.log_errors("the end of a session was not noted"):
            saving.note_end(state)


def _greet_resumed(context: EventContext) -> HookResponse:
    """Tell about a threshold, other sessions, and what has changed in the files since this session's log was saved."""
    from leftoff.live.compaction import restore_resumed
    from leftoff.live.turns import measure

    reading = measure(context)
    warning = reading.response if reading is not None else NO_RESPONSE
    restored, changed = restore_resumed(context), _drift(context)
    others = [] if context.event.is_headless else [_other_sessions(context), _later_work(context)]
    return HookResponse(
        to_user="\n".join(
            filter(None, [warning.to_user, restored.to_user, _cold_cache(context), *others, changed])
        )
        or None,
        to_agent="\n\n".join(filter(None, [restored.to_agent, warning.to_agent, changed])) or None,
    )


def _cold_cache(context: EventContext) -> str | None:
    """Say what continuing costs if the prompt cache is cold and it is worth a line, and what a smaller session would."""
    event, ref = context.event, context.session_ref
    tokens, usd = event.context_tokens, event.cache_write_usd
    if not event.is_cache_cold or not tokens or usd is None or usd < _WORTH_SAYING_USD or ref is None:
        return None
    from leftoff.shrink.advise import cold_cache_line

    lines: list[str] = []
    with saving.log_errors("what continuing costs was not compared"):
        lines.append(cold_cache_line(ref, context.workspace, tokens, usd))
    return "".join(lines) or None


def _drift(context: EventContext) -> str | None:
    from leftoff.live.compaction import load_log, own_log_file  # most sessions are new, not resumed
    from leftoff.resume_logs.drift import drift_since

    path = own_log_file(context)
    log = None if path is None else load_log(path)
    if log is None or log.ground is None:
        return None
    drift = drift_since(log.ground, context.project.root)
    return f"leftoff: since this session's log was saved: {drift}." if drift else None


def _later_work(context: EventContext) -> str | None:
    """Offer the log of another session that worked in this project after this one had stopped."""
    from leftoff.live import compaction

    stopped_at = compaction.own_left_at(context)
    if stopped_at is None or context.settings.restore.on_startup == "off":
        return None
    later = [each for each in compaction.offer(context).candidates if each.left_at > stopped_at]
    log = compaction.load_log(Path(later[0].path)) if later else None
    if log is None:
        return None
    context.update(lambda state: state._replace(offered=(later[0].path,)))
    return compaction.offer_to_user(later, 0, log, context)


def _greet_new(context: EventContext) -> HookResponse:
    """Tell about other sessions and an abandoned pause, and offer unfinished work; then start what runs in the background."""
    mode = context.settings.restore.on_startup
    offers = not context.event.is_headless and mode != "off"
    context.update(lambda state: saving.as_begun(state)._replace(offer_open=offers, catching_up=offers))
    try:
        if context.event.is_headless:
            return NO_RESPONSE
        lines = [_other_sessions(context), _abandoned_pause(context)]
        offered = _offer(context, in_full=mode == "full") if offers else NO_RESPONSE
        if offers and _expects_log(context):
            context.update(lambda state: state._replace(expects_log=True))
        return HookResponse(
            to_user="\n".join(filter(None, [*lines, offered.to_user])) or None, to_agent=offered.to_agent
        )
    finally:
        saving.start_task(context.agent.id, "catch-up", context.event.session_id)


def _expects_log(context: EventContext) -> bool:
    """Return whether a session was killed or left, or has just ended, and is newer than every log: its own is being saved."""
    from leftoff.storage import file_store

    logs = file_store.list_log_files(context.workspace.log_folder)
    newest_ns = max((log.saved_ns for log in logs), default=0)
    project, running = str(context.project.root), {each.session_id for each in context.running_sessions}
    left = (each for each in live_state.not_ended_in_project(project) if each.session_id not in running)
    ended = (each for each in live_state.with_end_note() if each.project == project)
    return any(
        each.session_id != context.event.session_id
        and not each.is_headless
        and _modified_ns(each.transcript) > newest_ns
        for each in (*left, *ended)
    )


def _modified_ns(transcript: str | None) -> int:
    """Return when a transcript was last written, or 0 without one."""
    try:
        return 0 if transcript is None else Path(transcript).stat().st_mtime_ns
    except OSError:
        return 0


def _offer(context: EventContext, *, in_full: bool) -> HookResponse:
    """Offer the best log; ``in_full`` hands all of it to the agent at once."""
    from leftoff.live import compaction  # a headless run never gets here
    from leftoff.resume_logs.restore import words_to_look_for

    offer = compaction.offer(context)
    if not offer.candidates:
        return _describe_waiting(offer.waiting) if offer.waiting else NO_RESPONSE
    best = offer.candidates[0]
    log = compaction.load_log(Path(best.path))
    if log is None:
        return NO_RESPONSE
    if in_full:
        context.update(lambda state: state._replace(offer_open=False))
        return compaction.hand_over(best, context)
    words = tuple(words_to_look_for(offer.candidates))
    context.update(lambda state: state._replace(offered=(best.path,), offer_words=words))
    return HookResponse(
        to_user=compaction.offer_to_user(offer.candidates, 0, log, context),
        to_agent=compaction.offer_to_agent(best, log),
    )


def _describe_waiting(waiting: Sequence[Candidate]) -> HookResponse:
    """Say that logs wait for the user's trust, and why the newest does."""
    what = "a resume log waits" if len(waiting) == 1 else f"{len(waiting)} resume logs wait"
    name = Path(waiting[0].path).name
    return HookResponse(
        to_user=f"leftoff: {what} for your trust. {name}: {waiting[0].why}. leftoff trust shows what waits."
    )


def _other_sessions(context: EventContext) -> str | None:
    """Tell the sessions running in this project about each other: this one now, the others at their next event."""
    others = context.running_sessions
    if not others:
        return None
    message = f"leftoff: another session has begun in this project ({context.agent.name} {short_id(context.event.session_id)})."
    for each in others:
        with suppress(LeftoffError):  # its state is locked just now; it will hear of the next session
            live_state.change(
                each.agent, each.session_id, lambda state: (state.with_messages(to_user=message), None)
            )
    ids = ", ".join(short_id(each.session_id) for each in others[:3])
    count = f"{len(others)} other sessions are" if len(others) > 1 else "another session is"
    return f"leftoff: {count} running in this project ({ids}); logs and pauses are kept apart."


def _abandoned_pause(context: EventContext) -> str | None:
    from leftoff.pause.folders import find_orphans

    try:
        abandoned = find_orphans(context.workspace)
    except LeftoffError:
        return None  # leftoff pause list says what is wrong
    if not abandoned:
        return None
    pause = abandoned[0].summary
    more = f" and {len(abandoned) - 1} more" if len(abandoned) > 1 else ""
    return (
        f"leftoff: a pause was interrupted ({pause.session_id}, {count(pause.action_count, 'action')}{more}). "
        "leftoff pause recover --finalize keeps it, --discard throws it away, --continue leaves it running."
    )


# /clear: no agent writes into a transcript which session was cleared for which. But hooks see both in one process: one session
# ends with the reason "clear", the other begins with that source. The link is noted only if exactly one session of that process
# was cleared and no other has followed it since.


def _end_cleared_session(context: EventContext) -> None:
    """End the session that was cleared for this one, for agents that do not report its end."""
    same_client = [
        each
        for each in live_state.loaded_in_project(str(context.project.root))
        if each.session_id != context.event.session_id
        and (each.agent, each.client_pid) == (context.agent.id, context.event.client_pid)
    ]
    if len(same_client) != 1:  # none: it has ended properly; several: it is not known which
        return
    session_id = same_client[0].session_id
    live_state.change(
        context.agent.id,
        session_id,
        lambda state: (saving.as_ended(state, live_state.CLEARED, context.at), None),
    )
    saving.start_task(context.agent.id, "end", session_id)


def _note_cleared(context: EventContext) -> None:
    """Record in the registry which session this one was cleared from, if that is certain."""
    from leftoff.sessions.ancestry import CLEARED, DerivedEntry, load_family
    from leftoff.sessions.lineage import fingerprint

    parent = _cleared_parent(context.state)
    if parent is None or context.event.transcript is None:
        return
    load_family().registry.add(
        DerivedEntry(
            session_id=context.event.session_id,
            transcript=context.event.transcript,
            agent=context.agent.id,
            parent_id=parent.session_id,
            parent_transcript=parent.transcript,
            parent_fingerprint=fingerprint(Path(parent.transcript)),
            derivation=CLEARED,
            at=clock.format_rfc3339(context.at),
        )
    )


class _Parent(NamedTuple):
    session_id: str
    transcript: str


def _cleared_parent(state: LiveState) -> _Parent | None:
    if state.client_pid is None or state.client_begun is None:  # process numbers are used again
        return None
    from leftoff.sessions.ancestry import load_family

    registered = load_family().cleared
    if state.session_id in registered:
        return None
    candidates = [
        _Parent(each.session_id, each.transcript)
        for each in live_state.cleared_by_same_client(state)
        if each.project == state.project
        and each.transcript is not None
        and not _has_successor(each, registered)
    ]
    return _with_transcript(candidates[0], registered) if len(candidates) == 1 else None


def _has_successor(cleared: LiveState, registered: Mapping[str, DerivedEntry]) -> bool:
    """Return whether a session has followed since it was last cleared: a resumed session may be cleared again."""
    followed = [each.at for each in registered.values() if each.parent_id == cleared.session_id]
    ended = clock.parse_rfc3339(cleared.ended_at) if cleared.ended_at else None
    moments = [moment for at in followed if (moment := clock.parse_rfc3339(at)) is not None]
    return bool(followed) if ended is None else any(moment >= ended for moment in moments)


def _with_transcript(parent: _Parent, registered: Mapping[str, DerivedEntry]) -> _Parent | None:
    """Return the nearest ancestor with a file: a session that was cleared before its first prompt has none."""
    unvisited = {**registered}  # each is visited once, even if the registry has a cycle
    while not Path(parent.transcript).is_file():
        entry = unvisited.pop(parent.session_id, None)
        if entry is None:
            return None
        parent = _Parent(entry.parent_id, entry.parent_transcript)
    return parent


def on_end(context: EventContext) -> HookResponse:
    """Note the end and save everything in a background process; usually the fast path does both."""
    context.update(lambda state: saving.as_ended(state, context.event.reason, context.at))
    saving.start_task(context.agent.id, "end", context.event.session_id)
    return NO_RESPONSE
