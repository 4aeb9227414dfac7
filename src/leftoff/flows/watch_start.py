"""A session begins, is resumed, was compacted or cleared: what it and its user are told first.

Promises: a headless run, ``/clear`` and a subagent are offered nothing; documents of others wait for trust; what was compacted
away is put back whatever the settings offer to new sessions.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import leftoff
from leftoff.errors import LeftoffError, StorageError
from leftoff.flows import watch_projects, watch_states, watch_tasks
from leftoff.flows.watch_meter import meter
from leftoff.flows.watched import Watched
from leftoff.model.hook_event import NOTHING, Saying
from leftoff.system import own_log


def on_start(watched: Watched) -> Saying:
    """By how it began; projects come last, so that nothing of theirs can keep back what is put back."""
    if watched.event.actor is not None:
        return NOTHING
    said = _by_source(watched)
    watch_projects.begin(watched)
    return said


def _by_source(watched: Watched) -> Saying:
    match watched.event.source:
        case "compact":
            return Saying(to_agent=_put_back(watched))
        case "resume":
            watched.update(lambda state: replace(state, ended=None))
            return _resumed(watched)
        case "clear":
            from leftoff.flows.watch_cleared import note_cleared  # noqa: PLC0415
            from leftoff.flows.watch_end import end_cleared  # noqa: PLC0415
            from leftoff.flows.watch_saving import noted  # noqa: PLC0415

            watched.update(lambda state: replace(state, ended=None))
            end_cleared(watched)
            with noted("what this session was cleared from was not kept"):
                note_cleared(watched)
            return NOTHING
        case _:
            return _begun(watched)


def _put_back(watched: Watched) -> str | None:
    """The text that was made before the compaction; made now where nobody could make it then."""
    from leftoff.flows.watch_saving import restoration_file, save_before_compaction  # noqa: PLC0415

    watched.update(lambda state: state)
    with suppress(OSError):
        return restoration_file(watched.agent.id, watched.event.session_id).read_text("utf-8")
    if watched.chosen is None or not watched.config.settings.resume_logs.enabled:
        return None
    return save_before_compaction(watched.chosen, watched.folder, watched.config)[1]


def _resumed(watched: Watched) -> Saying:
    """A warning not yet said, and one line about what has changed on the ground since this session's log was saved."""
    metered = meter(watched)
    said = metered.saying if metered is not None else NOTHING
    changed = _drift(watched)
    return Saying(
        to_user="\n".join(filter(None, [said.to_user, *_beside(watched), changed])) or None,
        to_agent="\n\n".join(filter(None, [said.to_agent, changed])) or None,
    )


def _drift(watched: Watched) -> str | None:
    from leftoff.flows.drift import drift_since  # noqa: PLC0415
    from leftoff.flows.watch_restore import own_log_file  # noqa: PLC0415
    from leftoff.stores import log_files  # noqa: PLC0415

    path = own_log_file(watched)
    if path is None:
        return None
    log = log_files.parsed(path, log_files.content(path))
    drift = drift_since(log.ground, watched.project.root) if log.ground is not None else None
    return f"leftoff: since this session's log was saved: {drift}." if drift else None


def _beside(watched: Watched) -> list[str | None]:
    """What a person is told of other sessions."""
    return [] if watched.event.is_headless else [_neighbours(watched), _later_work(watched)]


def _later_work(watched: Watched) -> str | None:
    """One line where another session went on in this project after this one had stopped."""
    from leftoff.flows import watch_restore  # noqa: PLC0415

    stopped = watch_restore.own_left_at(watched)
    if stopped is None or watched.config.settings.restore.on_startup == "off":
        return None
    found = watch_restore.offer(watched).candidates
    later = [number for number, each in enumerate(found) if each.left_at > stopped]
    log = watch_restore.log_behind(found[later[0]]) if later else None
    return watch_restore.line_to_user(found, later[0], log, watched) if log is not None else None


def _begun(watched: Watched) -> Saying:
    """A new session: neighbours, a pause that was left behind, what was left off; catching up goes on by itself."""
    watch_states.sweep(watched.at)
    _refresh_fast_path()
    mode = watched.config.settings.restore.on_startup
    offers = not watched.event.is_headless and mode != "off"
    watched.update(lambda state: replace(state, ended=None, offer_open=offers, catching_up=offers))
    _send_waiting(watched)
    watch_tasks.spawn(watched.agent.id, "catch-up", watched.event.session_id)
    if watched.event.is_headless:
        return NOTHING
    lines = [_neighbours(watched), _orphans(watched)]
    if not offers:
        return Saying(to_user="\n".join(filter(None, lines)) or None)
    offered = _offered(watched, whole=mode == "full")
    return Saying(
        to_user="\n".join(filter(None, [*lines, offered.to_user])) or None, to_agent=offered.to_agent
    )


def _send_waiting(watched: Watched) -> None:
    """Logs that could not be sent when they were saved are tried again, by a process of its own."""
    if watched.config.settings.storage == "files":
        return
    from leftoff.flows.outbox import start_sending  # noqa: PLC0415

    with suppress(LeftoffError):
        start_sending(watched.config.settings)


def _offered(watched: Watched, *, whole: bool) -> Saying:
    from leftoff.flows import watch_restore  # noqa: PLC0415 - a headless run never gets here

    found = watch_restore.offer(watched)
    waiting = "leftoff: a log that this machine did not write waits here; leftoff trust shows it."
    if not found.candidates:
        return Saying(to_user=waiting) if found.waiting else NOTHING
    best = found.candidates[0]
    log = watch_restore.log_behind(best)
    if log is None:
        return NOTHING
    if whole:
        watched.update(lambda state: replace(state, offer_open=False))
        return Saying(
            to_user=f"leftoff: this session goes on from session {best.session_id[:8]}.",
            to_agent=watch_restore.whole_text(best, watched),
        )
    return Saying(
        to_user=watch_restore.line_to_user(found.candidates, 0, log, watched),
        to_agent=watch_restore.words_to_agent(best, log),
    )


def _refresh_fast_path() -> None:
    """After an upgrade of the package, the installed copy is the old one until somebody puts the new one there."""
    from leftoff.flows import fast_path  # noqa: PLC0415

    if fast_path.installed_version() not in {None, leftoff.__version__}:
        try:
            fast_path.put()
        except StorageError as error:
            own_log.note(f"the fast path of an older leftoff stays in use: {error}")


def _neighbours(watched: Watched) -> str | None:
    """Two live sessions in one project are told about each other: this one now, the others at their next event."""
    others = watch_states.others_alive(str(watched.project.root), watched.event.session_id)
    if not others:
        return None
    news = f"leftoff: another session has begun in this project ({watched.agent.name} {watched.event.session_id[:8]})."
    for each in others:
        with suppress(LeftoffError):  # somebody is writing there just now; it will be told of the next one
            watch_states.change(
                each.agent, each.session_id, lambda state: (state.told_later(to_user=news), None)
            )
    named = ", ".join(each.session_id[:8] for each in others[:3])
    many = f"{len(others)} other sessions are" if len(others) > 1 else "another session is"
    return f"leftoff: {many} running in this project ({named}); logs and pauses are kept apart."


def _orphans(watched: Watched) -> str | None:
    from leftoff.flows.pause_recover import orphaned_here  # noqa: PLC0415

    try:
        found = orphaned_here(watched.folder)
    except LeftoffError:
        return None  # leftoff pause list says what is wrong
    if not found:
        return None
    pause = found[0].summary
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (
        f"leftoff: a pause was left behind ({pause.session_id}, {pause.action_count} actions{more}). "
        "leftoff pause recover --finalize keeps it, --discard throws it away, --continue leaves it running."
    )
