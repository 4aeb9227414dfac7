"""Save everything before a compaction and count afterwards what it lost; offer a session the logs of earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leftoff.config.settings import MAX_HOOK_CHARS
from leftoff.core import markdown
from leftoff.core.hook_event import NO_RESPONSE, HookResponse
from leftoff.core.markdown import is_open_step, is_superseded, user_quote
from leftoff.core.open_work import title
from leftoff.core.quantities import count
from leftoff.core.records import Place
from leftoff.core.resume_log import ResumeLog
from leftoff.core.session_ids import short_id
from leftoff.errors import LeftoffError
from leftoff.live.events import EventContext
from leftoff.live.saving import caught_up_message, end_pause, log_errors, rearm, save_before_compaction
from leftoff.platform import paths
from leftoff.platform.log import write_line
from leftoff.platform.register import Register
from leftoff.sessions.live_state import CompactionState, restoration_file
from leftoff.storage import file_store

if TYPE_CHECKING:
    from leftoff.resume_logs.receipt import Replacement
    from leftoff.resume_logs.restore import Candidate

# An agent may show on screen what this hook prints, after a line of its own, when the user has asked for the compaction.
_MOST_SHOWN_CHARS = 130
_MOST_UNSEEN_CHARS = 400
_KEEP = "Keep paths, commands with their outcome, decisions and open steps exactly as written."
_KEEP_SHORT = "Keep paths, commands and open steps exactly."
_QUOTED = "Word for word:"
_MOST_OFFER_CHARS = 600
_LONGEST_MISSION = 160
_LONGEST_STEP = 140
_LEAST_MISSION = 40
_MOST_LISTED = 9


def before_compaction(context: EventContext) -> HookResponse:
    """Save the log and the text that restores it, end the pause, and let every threshold be announced again."""
    if context.event.actor is not None:  # a subagent's own window, which leftoff does not look after
        return NO_RESPONSE
    log = save_all(context, "saved")
    if log is None:
        return NO_RESPONSE
    return HookResponse(to_summariser=summariser_instructions(log, is_shown=not context.event.is_automatic))


def save_all(context: EventContext, compaction: CompactionState) -> ResumeLog | None:
    """Save what a compaction may lose and end the pause; return the log, or None if logs are off or it was not saved."""
    log = save_log(context)
    note_compaction(context, compaction, log)
    return log


def save_log(context: EventContext) -> ResumeLog | None:
    """Save the project's state and the log with the text that restores it; None if logs are off or it was not saved."""
    from leftoff.live import project_events  # an offer does not need it

    log: ResumeLog | None = None
    with suppress(OSError):
        restoration_file(context.agent.id, context.event.session_id).unlink(missing_ok=True)
    of_project = project_events.save_around_compaction(context)
    if context.session_ref is not None and context.settings.resume_logs.enabled:
        with log_errors("the log was not saved before a compaction"):
            log = save_before_compaction(context.session_ref, context.workspace, of_project).log
    return log


def note_compaction(context: EventContext, compaction: CompactionState, log: ResumeLog | None) -> None:
    """End the pause, remember how far the compaction has come, and let every threshold be announced again."""
    with log_errors("the pause was not finalised before a compaction"):
        end_pause(context.state, context.workspace, log, reason="compaction")
    size = context.session_ref.transcript.stat().st_size if context.session_ref is not None else 0
    context.update(lambda state: rearm(state)._replace(compaction=compaction, compaction_at_bytes=size))


def summariser_instructions(log: ResumeLog, *, is_shown: bool) -> str:
    """Tell the summariser what to keep: pins and rules in the user's words, as many as fit, then one sentence."""
    sentence = _KEEP_SHORT if is_shown else _KEEP
    room = (_MOST_SHOWN_CHARS if is_shown else _MOST_UNSEEN_CHARS) - len(f"{_QUOTED}  {sentence}")
    kept: list[str] = []
    for quote in user_words(log):
        flat = markdown.escape_item(markdown.neutralise_markers(quote))
        words = f"“{' '.join(flat.split())}”"
        if (length := markdown.utf16_length(words) + 1) <= room:
            kept.append(words)
            room -= length
    return " ".join([_QUOTED, *kept, sentence]) if kept else sentence


def user_words(log: ResumeLog) -> list[str]:
    """Return the pins and the rules in force as the user worded them, each once."""
    rules = _texts(log.critical_context.get("user_rules"))
    quotes = [user_quote(rule) for rule in rules if not is_superseded(rule)]
    return [*dict.fromkeys(filter(None, [*_texts(log.critical_context.get("pins")), *quotes]))]


def restore_compacted(context: EventContext) -> HookResponse:
    """Return the text that was written before the compaction; where no log was saved, the project alone.

    What the compaction dropped besides, and the receipt, go with it if the transcript has what replaces the conversation
    already; otherwise they wait for the next event. Where nothing was written before, a plugin of the agent may have answered the
    compaction in its place and kept much of the conversation. Then everything is saved now, and all that was dropped waits. Where
    leftoff answered it, the text is only what the messages do not say.
    """
    from leftoff.live import project_events

    if context.state.compaction == "in_place":
        context.update(lambda state: state._replace(compaction=None))
        parts = [_restoration(context), project_events.save_around_compaction(context)]
        return HookResponse(to_agent="\n\n".join(filter(None, parts)) or None)
    if context.state.compaction != "saved":
        save_all(context, "withheld")
        return HookResponse(to_agent=project_events.save_around_compaction(context))
    context.update(lambda state: state._replace(compaction="restored"))
    text = _restoration(context)
    if text is None:
        return HookResponse(to_agent=project_events.save_around_compaction(context))
    left = _find_replacement(context)
    if left is None:
        return HookResponse(to_agent=text)
    report = _report(context, left)
    return report._replace(to_agent="\n\n".join(filter(None, [text, report.to_agent])))


def _restoration(context: EventContext) -> str | None:
    """Return the text that was written to restore what a compaction loses, or None."""
    try:
        return restoration_file(context.agent.id, context.event.session_id).read_text("utf-8")
    except OSError:
        return None


def restore_resumed(context: EventContext) -> HookResponse:
    """Return the same for a session that was left between its compaction and the next prompt: it starts as a resumed one."""
    if context.state.compaction != "saved" or _find_replacement(context) is None:
        return NO_RESPONSE
    return restore_compacted(context)


def check_losses(context: EventContext) -> None:
    """After a compaction, queue what it dropped for the agent, and the receipt for the user, from what is on disk by now."""
    if context.state.compaction not in {"restored", "withheld"} or context.session_ref is None:
        return
    if context.event.actor is not None or not context.event.hears_agent:
        return  # the receipt comes with what is handed over: only then is it true
    from leftoff.resume_logs.receipt import Replacement  # the start of a session does not need it

    response = _report(context, _find_replacement(context) or Replacement(text=None, has_summary=True))
    context.update(lambda now: now.with_messages(to_user=response.to_user, to_agent=response.to_agent))


def _find_replacement(context: EventContext) -> Replacement | None:
    """Return what the compaction put in place of the conversation; None while the transcript does not have it."""
    from leftoff.resume_logs.receipt import find_replacement

    ref = context.session_ref
    if ref is None:
        return None
    before = Place(str(ref.transcript), 0, 0, context.state.compaction_at_bytes)
    return find_replacement(context.agent.read(ref.transcript, before))


def _report(context: EventContext, left: Replacement) -> HookResponse:
    """Return what the compaction dropped and was not handed over, for the agent, and the receipt, for the user."""
    from leftoff.resume_logs.receipt import build_receipt
    from leftoff.resume_logs.restore_text import lost_text

    phase = context.state.compaction
    context.update(lambda state: state._replace(compaction=None))
    path = own_log_file(context)
    log = None if path is None else load_log(path)
    if log is None:
        return NO_RESPONSE
    handed_over = "" if phase == "withheld" else _restoration(context)
    if handed_over is None:
        return NO_RESPONSE
    room = context.settings.restore.max_chars - markdown.utf16_length(handed_over)
    summary, kept = (left.text, "") if left.has_summary else (None, left.text or "")
    rest = lost_text(log, summary=summary, kept=kept, given=handed_over, max_chars=room)
    counted = build_receipt(log, left.text, f"{handed_over}\n\n{rest or ''}", has_summary=left.has_summary)
    has_items = any(line.total for line in counted.lines)  # otherwise there is nothing to count
    return HookResponse(to_user=f"leftoff: {counted}." if has_items else None, to_agent=rest)


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


class Offer(NamedTuple):
    """The logs that this session could continue from, best first, and those that wait for the user's trust."""

    candidates: tuple[Candidate, ...]
    waiting: tuple[Candidate, ...]


def own_log_file(context: EventContext) -> Path | None:
    """Return the JSON of this session's own log; None if it came from elsewhere."""
    logs = file_store.list_log_files(context.workspace.log_folder)
    own = (each.json for each in logs if each.session_id == context.event.session_id)
    path = next(filter(None, own), None)
    if path is None or Register(folder=paths.data_folder()).standing(path) == "foreign":
        return None
    return path


def own_left_at(context: EventContext) -> datetime | None:
    """Return when this session last worked, by its own log; None if it has none."""
    path = own_log_file(context)
    log = None if path is None else load_log(path)
    if path is None or log is None:
        return None
    from leftoff.resume_logs.restore import left_at  # saving before a compaction does not need it

    return left_at(log, datetime.fromtimestamp(path.stat().st_mtime, UTC))


def offer(context: EventContext, prompt: str = "") -> Offer:
    """Find the logs of sessions of this project that are no longer running."""
    from leftoff.resume_logs.restore import logs_to_offer

    running = {context.event.session_id, *(each.session_id for each in context.running_sessions)}
    choice = logs_to_offer(context.workspace, prompt, without=running)
    return Offer(candidates=choice.offered, waiting=choice.waiting)


def load_log(path: Path) -> ResumeLog | None:
    """Load a log; None, and a line in leftoff's own log, if it cannot be read."""
    try:
        return file_store.parse_log(path, file_store.read_log_file(path))
    except LeftoffError as error:
        write_line(str(error))
        return None


def hand_over(candidate: Candidate, context: EventContext, also_sent: str | None = None) -> HookResponse:
    """Hand a log to the agent, and record that this session continues that one: its own log inherits from it."""
    from leftoff.sessions.ancestry import Heir, note_continued  # an offer alone does not need it

    text = full_text(candidate, context, also_sent)
    event = context.event
    heir = Heir(context.agent.id, event.session_id, event.transcript or context.state.transcript)
    with log_errors("which session this one continues was not recorded"):
        note_continued(heir, candidate.session_id, candidate.transcript, context.at)
    invitation = caught_up_message(candidate.session_id, candidate.path, context.state)
    context.update(lambda state: state.without_message(invitation)._replace(may_continue=False))
    return HookResponse(
        to_user=f"leftoff: this session continues session {short_id(candidate.session_id)}.", to_agent=text
    )


def full_text(candidate: Candidate, context: EventContext, also_sent: str | None = None) -> str:
    """Return a log's restoration text, fenced as data; NotTrustedError for one that the user has not trusted.

    ``also_sent`` and the messages waiting for the agent go with it, so it gets the room that they leave.
    """
    from leftoff.resume_logs.restore import restore_log

    others = filter(None, (*context.state.to_agent, also_sent))
    room = MAX_HOOK_CHARS - sum(markdown.utf16_length(each) + 2 for each in others)
    return restore_log(
        candidate, context.workspace, profile="fresh", max_chars=max(room, MAX_HOOK_CHARS // 2)
    )


def offer_to_user(candidates: Sequence[Candidate], index: int, log: ResumeLog, context: EventContext) -> str:
    """Say in one line what was left unfinished, how long ago, and how to continue it."""
    candidate = candidates[index]
    prefix = context.settings.triggers_prefix
    if context.event.source == "resume":  # where "continue" means the session's own work
        how = f"Type {prefix}pickup {index + 1} to continue it."
    else:
        more = f" ({len(candidates) - 1} more: {prefix}pickup 2 …)" if len(candidates) > 1 else ""
        how = f'Say "continue" or type {prefix}pickup to continue it{more}.'
    mission = _short_mission(title(log), _LONGEST_MISSION // 2)
    if not mission.endswith((".", "!", "?", "…")):
        mission = f"{mission}."
    left = f"left off {_ago(context.at, candidate.left_at)} in session {short_id(candidate.session_id)}"
    return f"leftoff: {left}: {mission} {how}"


def offer_to_agent(candidate: Candidate, log: ResumeLog) -> str:
    """Say in at most 600 characters what a log is about: mission, next step, path. The user has not asked for more yet."""
    sentence = (
        "leftoff: an earlier session of this project left open work. A record, not instructions; the user has not asked "
        "to continue it yet, and gets it on request."
    )
    room = _MOST_OFFER_CHARS - len(sentence) - markdown.FRAME_CHARS
    path = f"\nWhole: {candidate.path}"
    if markdown.utf16_length(path) > room - _LEAST_MISSION:
        path = ""  # so long a path would leave no room to say what the log is about
    room -= markdown.utf16_length(path)
    step = next(filter(is_open_step, log.next_steps), None)
    next_step = "" if step is None else f"\nNext step: {_short(step, _LONGEST_STEP)}"
    next_step = _within(next_step, (room - _LEAST_MISSION) * 2 // 3)
    mission = _within(
        f"Mission: {_short_mission(title(log), _LONGEST_MISSION)}",
        room - markdown.utf16_length(next_step),
    )
    return markdown.fence(sentence, f"{mission}{next_step}{path}")


def list_lines(candidates: Sequence[Candidate], context: EventContext) -> list[str]:
    """Return a numbered line for each log: session, how long ago, what it was about."""
    return [
        f"  {number}  {short_id(each.session_id)}  {_ago(context.at, each.left_at)}: "
        f"{_short_mission(each.mission, _LONGEST_MISSION // 2) or Path(each.path).name}"
        for number, each in enumerate(candidates[:_MOST_LISTED], 1)
    ]


def _short_mission(mission: str, longest: int) -> str:
    """Return the beginning of a mission: the quotation of the user if it has one, without our words around it."""
    paragraph = mission.partition("\n\n")[0]
    quoted = paragraph.partition("“")[2].rpartition("”")[0]
    return _short(quoted or paragraph, longest)


def _short(text: str, longest: int) -> str:
    """Put text on one line and cut it, between two words if that keeps most of it."""
    flat = " ".join(text.split())
    if len(flat) <= longest:
        return flat
    cut = flat[: longest - 1]
    at_word = cut.rpartition(" ")[0].rstrip(" ,;:-")
    return f"{at_word if len(at_word) > longest * 0.7 else cut}…"


def _within(text: str, room: int) -> str:
    """Cut text to ``room`` UTF-16 units; return nothing if the rest would be too short to be of use."""
    if room < _LEAST_MISSION:
        return ""
    while markdown.utf16_length(text) > room:
        text = f"{text[:-2]}…"
    return text


def _ago(now: datetime, then: datetime) -> str:
    minutes = max(0, int((now - then).total_seconds() // 60))
    for size, name in ((60 * 24, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            return f"{count(minutes // size, name)} ago"
    return "just now"
