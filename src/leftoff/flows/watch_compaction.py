"""Around a compaction: before it everything is saved and the summariser told what to keep; after it the receipt."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from leftoff.errors import LeftoffError
from leftoff.flows import watch_projects
from leftoff.flows.watch_saving import end_pause, noted, rearmed, restoration_file, save_before_compaction
from leftoff.flows.watched import Watched
from leftoff.model import markdown
from leftoff.model.entries import is_superseded, users_words
from leftoff.model.hook_event import NOTHING, Saying
from leftoff.model.resume_log import ResumeLog
from leftoff.restore import fence
from leftoff.restore.receipt import Receipt, receipt
from leftoff.stores import log_files

_MOST_CHARS = 2000
_FIRST_WORDS = (
    "Keep in the summary, exactly as they are written: the paths of files that were read or changed and what became of "
    "them, commands that were run and their outcome, names of functions, classes, tests, branches and errors, open todo "
    "items, decisions with their reasons, and what comes next."
)
_QUOTED = "Keep these words of the user word for word; they hold until the user says otherwise:"
_MISSING = "leftoff: what the compaction lost and was not handed back yet, from the record of this session:"


def before_compaction(watched: Watched) -> Saying:
    """Save the log and the text that will be put back, end the pause, arm every mark again."""
    if watched.event.actor is not None:  # a subagent's own window, which we do not look after
        return NOTHING
    log: ResumeLog | None = None
    kept_text = restoration_file(watched.agent.id, watched.event.session_id)
    with suppress(OSError):
        kept_text.unlink(missing_ok=True)
    if watched.chosen is not None and watched.config.settings.resume_logs.enabled:
        with noted("the log was not saved before a compaction"):
            log = save_before_compaction(watched.chosen, watched.folder, watched.config)[0].log
    with noted("the pause was not finalised before a compaction"):
        end_pause(watched.state, watched.folder, log, reason="compaction")
    watch_projects.kept(watched)
    watched.update(rearmed)
    return Saying(to_summariser=words_to_keep(log)) if log is not None else NOTHING


def words_to_keep(log: ResumeLog) -> str:
    """For the summariser: our own words, then pins and rules as the user said them, as many as fit."""
    said = [*_texts(log.critical_context.get("pins"))]
    rules = _texts(log.critical_context.get("user_rules"))
    said += [users_words(rule) or "" for rule in rules if not is_superseded(rule)]
    text = _FIRST_WORDS
    for number, words in enumerate(dict.fromkeys(filter(None, said))):
        line = f"- {markdown.item(fence.neutral(words))}"
        addition = f"\n\n{_QUOTED}\n{line}" if number == 0 else f"\n{line}"
        if fence.width(text + addition) > _MOST_CHARS:
            break
        text += addition
    return text


def after_compaction(watched: Watched) -> Saying:
    """The receipt, one line to the user; what is still missing goes to the agent at the next event."""
    log = _saved(watched) if watched.event.actor is None else None
    if log is None:
        return NOTHING
    with suppress(OSError):
        handed_over = restoration_file(watched.agent.id, watched.event.session_id).read_text("utf-8")
        counted = receipt(log, watched.event.summary, handed_over)
        if missing := _missing(counted):
            watched.update(lambda state: state.told_later(to_agent=missing))
        return Saying(to_user=f"leftoff: {counted}.")
    return NOTHING


def _saved(watched: Watched) -> ResumeLog | None:
    """The log as it was saved before the compaction: what this machine wrote a moment ago."""
    from leftoff.flows.watch_restore import own_log_file  # noqa: PLC0415 - the one thing of it that is needed here

    path = own_log_file(watched)
    if path is None:
        return None
    with suppress(LeftoffError):
        return log_files.parsed(Path(path), log_files.content(Path(path)))
    return None


def _missing(counted: Receipt) -> str | None:
    """Rules, pins and the rest that neither the summary nor our own text holds, as many as fit."""
    lines: list[str] = []
    room = _MOST_CHARS - len(_MISSING) - fence.FRAME_CHARS
    for kind, items in counted.still_missing.items():
        for item in items:
            line = f"- {kind.removesuffix('s')}: {markdown.item(item)}"
            room -= fence.width(line) + 1
            if room < 0:
                break
            lines.append(line)
    return fence.fenced(_MISSING, "\n".join(lines)) if lines else None


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
