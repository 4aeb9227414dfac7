"""Answer a prompt: triggers such as ``>pin``, phrases such as "save progress", the log that the first prompt asks for, warnings.

A trigger must be the whole prompt; it is for leftoff alone, so the prompt is not sent to the agent. Phrases are sent too.
``>trim`` and ``>handoff`` write a smaller session beside the running one, which cannot be replaced. ``leftoff run`` starts the agent
on it as soon as the user exits; otherwise the user reads what to type.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from leftoff.core.hook_event import NO_RESPONSE, HookResponse
from leftoff.core.quantities import count
from leftoff.core.session import short_id
from leftoff.errors import LeftoffError
from leftoff.live.events import EventContext
from leftoff.platform import process

if TYPE_CHECKING:
    from leftoff.shrink.derive import DerivedSession
    from leftoff.shrink.trim import PlannedTrim

_CATCH_UP_SECONDS = 3.0
_POLL_SECONDS = 0.05
_CLIENT_TEXT_PREFIX = "<"  # of prompts that the client writes in the user's name
_WITHOUT_ARGUMENT = frozenset({"resume", "continue", "handoff", "pins"})
_YES = "yes"
_MOST_SHOWN = 5


def on_prompt(context: EventContext) -> HookResponse:
    """Run a trigger, or check the gauge and answer a phrase or the first prompt."""
    if context.event.actor is not None:
        return NO_RESPONSE
    prompt = (context.event.prompt or "").strip()
    trigger = _parse_trigger(prompt, context.settings.triggers_prefix)
    if trigger is not None:
        return HookResponse(to_user=_run_trigger(context, *trigger), blocks=True)
    from leftoff.live.turns import measure, record  # the user waits for a trigger, which does not need it

    reading = measure(context)
    record(context, "user_message", {})
    warning = reading.response if reading is not None else NO_RESPONSE
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


def _answer_phrase(context: EventContext, prompt: str, also_sent: str | None) -> HookResponse:
    """Answer "save progress", "done for today" and "continue project N"; the prompt itself goes to the agent."""
    from leftoff.live import project_events  # few prompts are one of them

    phrase = prompt.rstrip(".!").lower()
    if phrase in {"save progress", "done for today"}:
        about_project = project_events.save_progress(context, is_over=phrase == "done for today")
        return HookResponse(to_user="\n".join(filter(None, [_save_log(context), about_project])))
    if " ".join(phrase.split()).startswith(project_events.CONTINUE_PREFIX):
        return project_events.continue_project(context, prompt, also_sent)
    return NO_RESPONSE


def _restore_for_prompt(context: EventContext, prompt: str, also_sent: str | None) -> HookResponse:
    """Hand over the log that was picked up, or the one that the first prompt asks for.

    ``also_sent`` goes to the agent with it.
    """
    state = context.state
    if state.pickup is None and (not state.offer_open or prompt.startswith(_CLIENT_TEXT_PREFIX)):
        return NO_RESPONSE
    from leftoff.live import compaction  # most prompts restore nothing
    from leftoff.resume_logs.restore import asks_to_continue, is_wanted

    if asks_to_continue(prompt):
        _wait_for_catch_up(context)
    context.update(lambda state: state._replace(offer_open=False, pickup=None))
    candidates = compaction.offer(context, prompt).candidates
    if state.pickup is not None:
        wanted = next((each for each in candidates if each.path == state.pickup), None)
    else:
        wanted = next((each for each in candidates[:1] if is_wanted(each, prompt)), None)
    if wanted is None:
        return NO_RESPONSE
    return HookResponse(
        to_user=f"leftoff: this session goes on from session {short_id(wanted.session_id)}.",
        to_agent=compaction.full_text(wanted, context, also_sent),
    )


def _wait_for_catch_up(context: EventContext) -> None:
    """Wait a little for the log of a session that was killed, which is being saved in the background."""
    deadline = time.monotonic() + _CATCH_UP_SECONDS
    while context.state.catching_up and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)


def _parse_trigger(prompt: str, prefix: str) -> tuple[str, str] | None:
    """Return the trigger's name and argument if the whole prompt is one; None for any other prompt."""
    if not prompt.startswith(prefix):
        return None
    name, _, argument = prompt.removeprefix(prefix).partition(" ")
    argument = argument.strip()
    if name not in _TRIGGERS or "\n" in argument:
        return None
    if argument and name in _WITHOUT_ARGUMENT:
        return None
    if name == "trim":
        return (name, argument) if argument in {"", _YES} else None
    return (name, argument) if not argument or name == "pin" or argument.isdecimal() else None


def _run_trigger(context: EventContext, name: str, argument: str) -> str:
    """Run a trigger and return the message for the user, errors too: the user typed it and waits."""
    with suppress(LeftoffError):
        context.update(lambda state: state)
    try:
        return _TRIGGERS[name](context, argument)
    except LeftoffError as error:
        return f"leftoff: {error.message}"


def _save_log(context: EventContext) -> str:
    from leftoff.resume_logs.save import save_session_log  # loads all of extraction

    if context.session_ref is None:
        return "leftoff: there is nothing to save yet."
    saved = save_session_log(context.session_ref, context.workspace, stop_reason="manual_pause")
    return f"leftoff: the log is saved: {saved.markdown_file}"


def _save_and_explain(context: EventContext, argument: str) -> str:  # noqa: ARG001 - every trigger is called alike
    session_id = context.event.session_id
    copied = " (the id is on the clipboard)" if process.copy_to_clipboard(session_id) else ""
    how = f"Go on from it: leftoff resume {session_id} --run   starts {context.agent.name}{copied}"
    return f"{_save_log(context)}\n{how}"


def _hand_off(context: EventContext, argument: str) -> str:
    """Write a fresh session that begins with the log of this one; if that fails, save the log and say how to resume."""
    from leftoff.shrink import rollover

    if context.session_ref is None:
        return _save_log(context)
    try:
        derived = rollover.roll_over_of(context.session_ref, context.workspace, rollover.RolloverOptions())
        return f"leftoff: {_how_to_continue(context, derived, action='Go on in a fresh session')}"
    except LeftoffError as error:
        return f"{_save_and_explain(context, argument)}\nNo fresh session was written: {error.message}"


def _pick_up(context: EventContext, argument: str) -> str:
    from leftoff.live import compaction  # as above

    candidates = compaction.offer(context).candidates
    number = int(argument) if argument else 1
    if not 1 <= number <= len(candidates):
        count = f"There are {len(candidates)}" if candidates else "There is none"
        return f"leftoff: no log number {number} to go on from. {count}; leftoff log list shows all."
    picked = candidates[number - 1]
    context.update(lambda state: state._replace(pickup=picked.path, offer_open=False))
    lines = [f"leftoff: session {short_id(picked.session_id)} is handed over with your next prompt."]
    if len(candidates) > 1:
        lines += compaction.list_lines(candidates, context)
    return "\n".join(lines)


def _pin(context: EventContext, argument: str) -> str:
    if not argument:
        prefix = context.settings.triggers_prefix
        return f"leftoff: say what to pin, for example: {prefix}pin never push to main"
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
    if not argument:
        prefix = context.settings.triggers_prefix
        return f"leftoff: say which one: {prefix}unpin 2; {prefix}pins lists them."
    from leftoff.resume_logs import pins

    return f"leftoff: no longer pinned: {pins.unpin(int(argument), context.workspace).text}"


def _trim(context: EventContext, argument: str) -> str:
    """Preview the trim of this session; with ``yes``, write the trimmed copy."""
    from leftoff.shrink.derive import require_copyable
    from leftoff.shrink.trim import TrimOptions, prepare_trim_of, preview_trim, write_trim

    ref = context.session_ref
    if ref is None:
        raise LeftoffError("there is nothing to trim yet.")
    require_copyable(ref, "leftoff trim --force writes the copy all the same.")
    planned = prepare_trim_of(ref, context.workspace, TrimOptions(force=True))
    if argument != _YES:
        planned = preview_trim(planned)
    if planned.plan.nothing_to_trim:
        why = planned.plan.kept[-1] if planned.plan.kept else "no tool result is long enough"
        return f"leftoff: nothing to trim: {why}."
    if argument != _YES:
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
            _how_to_continue(context, trimmed, action="Go on in the trimmed copy"),
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
    return f"{action}: exit, then type: {command}"


_TRIGGERS: Mapping[str, Callable[[EventContext, str], str]] = {
    "resume": _save_and_explain,
    "continue": _save_and_explain,
    "handoff": _hand_off,
    "pickup": _pick_up,
    "pin": _pin,
    "pins": _list_pins,
    "unpin": _unpin,
    "trim": _trim,
}
