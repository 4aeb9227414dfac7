"""Answer a prompt: triggers such as ``>pin``, phrases such as "save progress", the log that the first prompt asks for, warnings.

A trigger is one short line for leftoff alone: it is run, or answered with what can be typed, and not sent to the agent. Phrases are
sent too.
``>trim`` and ``>handoff`` write a smaller session beside the running one, which cannot be replaced. ``leftoff run`` starts the agent
on it as soon as the user exits; otherwise the user reads what to type.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leftoff.core.actions import Changed, Moved, Removed, Wrote
from leftoff.core.hook_event import NO_RESPONSE, HookResponse
from leftoff.core.own_phrases import CONTINUE_PREFIX, DONE_FOR_TODAY, SAVE_PROGRESS
from leftoff.core.quantities import count
from leftoff.core.records import ToolUse
from leftoff.core.session_ids import short_id
from leftoff.errors import LeftoffError
from leftoff.live import saving
from leftoff.live.events import EventContext
from leftoff.live.fast import parse_trigger
from leftoff.platform import process

if TYPE_CHECKING:
    from leftoff.resume_logs.restore import Candidate
    from leftoff.sessions.live_state import LiveState
    from leftoff.shrink.derive import DerivedSession
    from leftoff.shrink.trim import PlannedTrim
    from leftoff.workspace import SessionRef

_CLIENT_TEXT_PREFIX = "<"  # of prompts that the client writes in the user's name
_YES = "yes"
_MOST_SHOWN = 5
_FIRST_PROMPTS = 5
_CHANGES = (Changed, Wrote, Removed, Moved)


def on_prompt(context: EventContext) -> HookResponse:
    """Run a trigger, or check the gauge and answer a phrase or the first prompt."""
    if context.event.actor is not None:
        return NO_RESPONSE
    prompt = (context.event.prompt or "").strip()
    trigger = parse_trigger(prompt, context.settings.triggers_prefix)
    if trigger is not None:
        return HookResponse(to_user=_run_trigger(context, *trigger), blocks=True)
    warning = _measure_and_record(context) if _has_reply(context) else NO_RESPONSE
    try:
        response = _answer_phrase(context, prompt, warning.to_agent)
        if not response.to_agent:
            restored = _restore_for_prompt(context, prompt, warning.to_agent)
            lines = filter(None, [restored.to_user, response.to_user])
            response = HookResponse(to_user="\n".join(lines) or None, to_agent=restored.to_agent)
    except LeftoffError as error:  # the warning is remembered as announced, so it must be sent in any case
        response = HookResponse(to_user=f"leftoff: {error.message}")
    return HookResponse(
        to_user="\n".join(filter(None, [warning.to_user, response.to_user])) or None,
        to_agent="\n\n".join(filter(None, [warning.to_agent, response.to_agent])) or None,
    )


def _has_reply(context: EventContext) -> bool:
    """Return whether there is something to measure: the user waits for the first prompt of a session."""
    seen = context.look()
    return not context.state.offer_open or (seen is not None and seen[0] is not None)


def _measure_and_record(context: EventContext) -> HookResponse:
    from leftoff.live.turns import measure, record  # triggers and the first prompt do not need it

    reading = measure(context)
    record(context, "user_message", {})
    return reading.response if reading is not None else NO_RESPONSE


def _answer_phrase(context: EventContext, prompt: str, also_sent: str | None) -> HookResponse:
    """Answer "save progress", "done for today" and "continue project N"; the prompt itself goes to the agent."""
    from leftoff.live import project_events  # few prompts are one of them

    phrase = prompt.rstrip(".!").lower()
    if phrase in {SAVE_PROGRESS, DONE_FOR_TODAY}:
        about_project = project_events.save_progress(context, is_over=phrase == DONE_FOR_TODAY)
        return HookResponse(to_user="\n".join(filter(None, [_save_log(context), about_project])))
    if " ".join(phrase.split()).startswith(CONTINUE_PREFIX):
        return project_events.continue_project(context, prompt, also_sent)
    return NO_RESPONSE


def _restore_for_prompt(context: EventContext, prompt: str, also_sent: str | None) -> HookResponse:
    """Hand over the log that was picked up, or the one that the first prompt, or one of the next, asks for.

    ``also_sent`` goes to the agent with it.
    """
    state = context.state
    if state.pickup is None:
        if not (state.offer_open or state.may_continue) or prompt.startswith(_CLIENT_TEXT_PREFIX):
            return NO_RESPONSE
        if not state.offer_open and not _takes_up_offer(context, prompt):
            return NO_RESPONSE
    from leftoff.live import compaction  # most prompts restore nothing
    from leftoff.resume_logs.continuing import asks_to_continue

    if asks_to_continue(prompt):
        saving.wait_for_catch_up(context.agent.id, context.event.session_id)
    context.update(lambda now: now._replace(offer_open=False, pickup=None, may_continue=state.pickup is None))
    offer = compaction.offer(context, prompt)
    wanted = _wanted_log(offer.candidates, prompt, state)
    if wanted is not None:
        return compaction.hand_over(wanted, context, also_sent)
    promised = state.pickup or next(iter(state.offered if asks_to_continue(prompt) else ()), None)
    if promised is None:
        return NO_RESPONSE
    why = next((each.why for each in offer.waiting if each.path == promised), "it is no longer offered")
    return HookResponse(
        to_user=f"leftoff: {Path(promised).name} was not added: {why}. leftoff log list shows all logs."
    )


def _wanted_log(candidates: Sequence[Candidate], prompt: str, state: LiveState) -> Candidate | None:
    """Return the log that was picked up, or the best that the prompt names something of, or the offered one to continue."""
    from leftoff.resume_logs.continuing import asks_to_continue
    from leftoff.resume_logs.restore import shared_words

    if state.pickup is not None:
        return next((each for each in candidates if each.path == state.pickup), None)
    if not candidates or shared_words(candidates[0], prompt):
        return candidates[0] if candidates else None
    return _offered_first(candidates, state)[0] if asks_to_continue(prompt) else None


def _offered_first(candidates: Sequence[Candidate], state: LiveState) -> list[Candidate]:
    """Put the logs that were named to the user first, in that order: newer ones may have been saved since."""
    places = {path: place for place, path in enumerate(state.offered)}
    return sorted(candidates, key=lambda each: places.get(each.path, len(places)))


def _takes_up_offer(context: EventContext, prompt: str) -> bool:
    """Return whether a prompt after the first asks to continue and can only mean the work that was offered.

    That is so for the first few prompts, until the session has changed a file: then it has work of its own.
    """
    from leftoff.resume_logs.continuing import asks_to_continue

    is_young = context.session_ref is None or _has_no_work_yet(context.session_ref)
    if not is_young:  # from now on the fast path answers its prompts
        context.update(lambda state: state._replace(may_continue=False))
    return is_young and asks_to_continue(prompt)


def _has_no_work_yet(ref: SessionRef) -> bool:
    for turn in ref.session.turns():
        if turn.number >= _FIRST_PROMPTS:  # the prompt that is being answered comes on top of them
            return False
        uses = (block for record in turn.records for block in record.blocks if isinstance(block, ToolUse))
        if any(isinstance(each, _CHANGES) for use in uses for each in ref.agent.actions(use)):
            return False
    return True


def _run_trigger(context: EventContext, name: str, argument: str) -> str:
    """Run a trigger and return the message for the user, errors too: the user typed it and waits."""
    with suppress(LeftoffError):
        context.update(lambda state: state)
    trigger = _TRIGGERS[name]
    if re.fullmatch(trigger.takes, argument, re.IGNORECASE) is None:
        return _usage(trigger, context.settings.triggers_prefix)
    try:
        return trigger.run(context, argument)
    except LeftoffError as error:
        return f"leftoff: {error.message}"


def _usage(trigger: _Trigger, prefix: str) -> str:
    width = max(map(len, trigger.usage))
    lines = [f"  {prefix}{typed:<{width}}   {does}" for typed, does in trigger.usage.items()]
    return "\n".join(["leftoff: nothing was done. What you can type:", *lines])


def _save_log(context: EventContext) -> str:
    from leftoff.resume_logs.save import save_session_log  # loads all of extraction

    if context.session_ref is None:
        return "leftoff: there is nothing to save yet."
    saved = save_session_log(context.session_ref, context.workspace, stop_reason="manual_pause")
    return f"leftoff: the log is saved: {saved.markdown_file}"


def _save_and_explain(context: EventContext, argument: str) -> str:  # noqa: ARG001 - every trigger is called alike
    session_id = context.event.session_id
    copied = " The id is on the clipboard." if process.copy_to_clipboard(session_id) else ""
    # A command is on a line of its own, so that it survives 80 columns.
    how = f"To start {context.agent.name} on it:{copied}\n  leftoff resume {session_id} --run"
    return f"{_save_log(context)}\n{how}"


def _hand_off(context: EventContext, argument: str) -> str:
    """Write a fresh session that begins with the log of this one; if that fails, save the log and say how to resume."""
    from leftoff.shrink import rollover

    if context.session_ref is None:
        return _save_log(context)
    try:
        derived = rollover.roll_over_of(context.session_ref, context.workspace, rollover.RolloverOptions())
        return f"leftoff: {_how_to_continue(context, derived, action='Continue in a fresh session')}"
    except LeftoffError as error:
        return f"{_save_and_explain(context, argument)}\nNo fresh session was written: {error.message}"


def _pick_up(context: EventContext, argument: str) -> str:
    from leftoff.live import compaction  # as above

    candidates = _offered_first(compaction.offer(context).candidates, context.state)
    number = int(argument) if argument else 1
    if not 1 <= number <= len(candidates):
        count = f"There are {len(candidates)}" if candidates else "There are no logs"
        return f"leftoff: no log number {number} to continue from. {count}; leftoff log list shows all."
    picked = candidates[number - 1]
    context.update(lambda state: state._replace(pickup=picked.path, offer_open=False, may_continue=False))
    lines = [f"leftoff: session {short_id(picked.session_id)} is added to your next prompt."]
    if len(candidates) > 1:
        lines += compaction.list_lines(candidates, context)
    return "\n".join(lines)


def _pin(context: EventContext, argument: str) -> str:
    from leftoff.resume_logs import pins

    pinned = pins.pin(argument, context.workspace)
    redacted = f"\nTaken out of it: {', '.join(pinned.redacted)}." if pinned.redacted else ""
    return f"leftoff: pinned as number {pinned.number}: {pinned.text}{redacted}"


def _list_pins(context: EventContext, argument: str) -> str:  # noqa: ARG001
    from leftoff.resume_logs import pins

    lines = [f"  {number}  {each.text}" for number, each in enumerate(pins.list_pins(context.workspace), 1)]
    return (
        "\n".join(["leftoff: pinned in this project:", *lines])
        if lines
        else "leftoff: nothing is pinned here."
    )


def _unpin(context: EventContext, argument: str) -> str:
    from leftoff.resume_logs import pins

    return f"leftoff: no longer pinned: {pins.unpin(int(argument), context.workspace).text}"


def _trim(context: EventContext, argument: str) -> str:
    """Preview the trim of this session; with ``yes``, write the trimmed copy."""
    from leftoff.shrink.derive import require_copyable
    from leftoff.shrink.trim import TrimOptions, prepare_trim_of, preview_trim, write_trim

    ref = context.session_ref
    if ref is None:
        raise LeftoffError("there is nothing to trim yet.")
    require_copyable(ref, "leftoff trim --force writes the copy anyway.")
    planned = prepare_trim_of(ref, context.workspace, TrimOptions(force=True))
    is_confirmed = argument.lower() == _YES
    if not is_confirmed:
        planned = preview_trim(planned)
    if planned.plan.nothing_to_trim:
        why = planned.plan.kept[-1] if planned.plan.kept else "no tool result is long enough"
        return f"leftoff: nothing to trim: {why}."
    if not is_confirmed:
        trigger = f"{context.settings.triggers_prefix}trim {_YES}"
        return "\n".join([*_preview(planned), f"Write the copy: {trigger}   (this session stays as it is)"])
    trimmed = write_trim(planned)
    if trimmed.nothing_to_trim:
        return "leftoff: nothing to trim: the copy would be no smaller than this session."
    return "\n".join(
        [
            f"leftoff: {_describe_savings(planned)}.",
            *(["The same copy exists already; nothing new was written."] if trimmed.is_reused else []),
            *map(str, trimmed.left_behind),
            _how_to_continue(context, trimmed, action="Continue in the trimmed copy"),
        ]
    )


def _preview(planned: PlannedTrim) -> list[str]:
    plan = planned.plan
    largest = sorted(plan.cuts, key=lambda cut: -cut.saved_chars)[:_MOST_SHOWN]
    lines = [
        f"  {cut.original_chars:>8,} characters  {cut.tool or cut.part}  {cut.description or cut.rationale}"[
            :110
        ]
        for cut in largest
    ]
    more = len(plan.cuts) - len(largest)
    return [
        f"leftoff: {_describe_savings(planned)}. The largest:",
        *lines,
        *([f"  … and {more} more; leftoff trim --dry-run lists them all"] if more else []),
    ]


def _describe_savings(planned: PlannedTrim) -> str:
    savings, cuts = planned.savings, len(planned.plan.cuts)
    gauge = f", {savings.gauge} of the window" if savings.gauge else ""
    return f"trimming {count(cuts, 'piece')} frees about {savings.tokens:,} tokens{gauge}"


def _how_to_continue(context: EventContext, derived: DerivedSession, *, action: str) -> str:
    from leftoff.resume.next_session import write_next_session

    assert derived.session_id is not None
    if write_next_session(context.agent.id, derived.session_id):
        return f"{action}: exit now, and leftoff run starts it by itself ({short_id(derived.session_id)})."
    command = (
        shlex.join(derived.resume_command) if derived.resume_command else f"session {derived.session_id}"
    )
    return f"{action}: exit, then type:\n  {command}"


class _Trigger(NamedTuple):
    """What a trigger does, the pattern of what may follow its name, and what to type for what."""

    run: Callable[[EventContext, str], str]
    takes: str
    usage: Mapping[str, str]


_NOTHING, _NUMBER = "", r"\d{1,4}"
_TRIGGERS: Mapping[str, _Trigger] = {
    "resume": _Trigger(
        _save_and_explain, _NOTHING, {"resume": "saves the log of this session and says how to resume it"}
    ),
    "continue": _Trigger(
        _save_and_explain, _NOTHING, {"continue": "saves the log of this session and says how to resume it"}
    ),
    "handoff": _Trigger(
        _hand_off, _NOTHING, {"handoff": "writes a fresh session that begins with the log of this one"}
    ),
    "pickup": _Trigger(
        _pick_up,
        f"({_NUMBER})?",
        {
            "pickup": "adds the last session's log to your next prompt",
            "pickup 2": "adds the second log of the list",
        },
    ),
    "pin": _Trigger(
        _pin, ".+", {"pin never push to main": "keeps these words in every log, exactly as you typed them"}
    ),
    "pins": _Trigger(_list_pins, _NOTHING, {"pins": "lists what is pinned in this project"}),
    "unpin": _Trigger(
        _unpin, _NUMBER, {"unpin 2": "removes the second pin", "pins": "lists them with their numbers"}
    ),
    "trim": _Trigger(
        _trim,
        f"({_YES})?",
        {
            "trim": "shows what a trimmed copy of this session would leave out",
            f"trim {_YES}": "writes the copy; this session stays as it is",
        },
    ),
}
