"""Whether the work that a resume log is about is still open: one rule for offers, for ``latest`` and for clean-up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from leftoff.core.markdown import is_open_step
from leftoff.core.resume_log import ResumeLog

# Keys of a log's metadata.
ENDED = "ended"  # how its session ended
LAST_ACTIVITY = "last_activity"  # when its session last did anything
REQUESTS = "requests"  # how many requests the user made, not counting "continue" and "thanks"
BEGUN = "begun"  # whether the agent said or called anything at all
MAY_HAVE_CHANGED = "may_have_changed_files"
AWAITS_ANSWER = (
    "awaits_answer"  # the agent looked at something and ended with a question, or waits for an approval
)
HEADLESS = "headless"  # nobody could answer: one prompt on a command line or in a script
CONTINUES = "continues"  # the sessions whose work it took over: the time of that by id, None where not known
CLEARED, FINISHED = "cleared", "finished"
OVER = frozenset({CLEARED, FINISHED})  # endings after which a log is not offered unasked
# A short sentence may follow: "Shall I fix it? Just say the word."
_ENDS_WITH_QUESTION = r"[?\uff1f](?:\W{0,4}\s[^.!?\n]{1,60}[.!]?)?$"
_WAITS_FOR_USER = (
    r"(?i)\b(?:need|await|wait(?:ing)?|require|pending|without|grant|give)\b[^.!?\n]{0,30}"
    r"\b(?:approv\w*|permission|confirm\w*|consent|go-ahead|decision|answer|input|sign-off)\b"
    r"|\bplease (?:confirm|approve|decide|choose|answer)\b|\bneed you to\b|\bwait(?:ing)? for you\b"
)


def is_open(log: ResumeLog) -> bool:
    """Return whether the work of a log is open. When in doubt, it is.

    A log with a next step is open: an unfinished request, something that the agent announced, an open to-do, a check that
    fails, or one of these from the session before. Without a next step the work is *finished* if the user or the agent said so (the
    user, the to-do list or the agent), if the user cleared the session, or if the run was headless and ended by itself.
    It is *trivial* if the user asked one thing at most, nothing can have been changed, the agent does not wait for an answer,
    and no other session's work was taken over. A log that says nothing that could be its title is never open.
    """
    metadata = log.metadata
    if log.is_empty or not title(log) or str(metadata.get(ENDED)) in OVER:
        return False
    if any(map(is_open_step, log.next_steps)):
        return True
    requests, may_have_changed = metadata.get(REQUESTS), metadata.get(MAY_HAVE_CHANGED)
    is_small = isinstance(requests, int) and requests <= 1 and may_have_changed is False
    is_small = is_small and metadata.get(AWAITS_ANSWER) is not True
    return not metadata.get(HEADLESS) and (not is_small or bool(continued_sessions(log)))


def is_begun(log: ResumeLog) -> bool:
    """Return whether there is more to continue than a prompt without any reply, as a session leaves it that was killed at once.

    Such a session is open, too, but hides no work that has begun: it comes after all others.
    """
    return log.metadata.get(BEGUN) is not False or bool(continued_sessions(log))


def waits_for_user(reply: str) -> bool:
    """Return whether the last words of an agent's reply are a question, or say that it needs the user's approval or the like."""
    last = reply.rstrip(" \n*_)").rpartition("\n\n")[2]
    return re.search(_ENDS_WITH_QUESTION, last) is not None or re.search(_WAITS_FOR_USER, last) is not None


def open_sessions(logs: Iterable[ResumeLog]) -> set[str]:
    """Return the sessions whose work is open and was not taken over by another session of these logs.

    One that was cleared with open steps took nothing over: the steps would be offered nowhere.
    """
    found = {log.session_id: log for log in logs}
    taken_over = {
        session_id
        for log in found.values()
        if log.metadata.get(ENDED) != CLEARED or not any(map(is_open_step, log.next_steps))
        for session_id, at in continued_sessions(log).items()
        if session_id != log.session_id and session_id in found and _stopped_before(found[session_id], at)
    }
    return {session_id for session_id, log in found.items() if session_id not in taken_over and is_open(log)}


def latest_open(newest_first: Sequence[ResumeLog]) -> ResumeLog | None:
    """Return the newest log of open work that has begun, else the newest of open work; None if no work is open."""
    still_open = open_sessions(newest_first)
    return max((log for log in newest_first if log.session_id in still_open), key=is_begun, default=None)


def continued_sessions(log: ResumeLog) -> Mapping[str, str | None]:
    """Return the sessions whose work the log's session took over, with the time of that; None where it is not known."""
    found = log.metadata.get(CONTINUES)
    return found if isinstance(found, dict) else {}


def title(log: ResumeLog) -> str:
    """Return what a log is about: its mission, else its first open step; empty where it has neither."""
    return log.mission_summary.strip() or next(filter(is_open_step, log.next_steps), "")


def _stopped_before(log: ResumeLog, at: object) -> bool:
    """Return whether the session did nothing after a time; not if either is unknown: it may have gone its own way."""
    stopped, taken = _parse_time(log.metadata.get(LAST_ACTIVITY)), _parse_time(at)
    return stopped is not None and taken is not None and stopped <= taken


def _parse_time(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment if moment is None or moment.tzinfo is not None else None
