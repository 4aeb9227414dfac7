"""A prompt: typed triggers, the log that the first prompt wants, a warning not yet said.

A trigger is the whole prompt or nothing: words that merely begin so are the agent's. Those with the prefix are for us alone,
so the prompt is not sent; phrases such as "save progress" are sent too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from leftoff.errors import LeftoffError
from leftoff.flows import pins, watch_restore
from leftoff.flows.watch_meter import meter
from leftoff.flows.watch_tools import record
from leftoff.flows.watched import Watched
from leftoff.model.hook_event import NOTHING, Saying
from leftoff.restore.choose import Candidate, is_wanted
from leftoff.restore.going_on import asks_to_go_on
from leftoff.system import clipboard

_CATCH_UP_SECONDS = 3.0
_NAP_SECONDS = 0.05
_NOT_TYPED = "<"  # what clients say in the user's name begins so


def on_prompt(watched: Watched) -> Saying:
    """Answer it."""
    if watched.event.actor is not None:
        return NOTHING
    words = (watched.event.prompt or "").strip()
    trigger = _trigger(words, watched.config.settings.triggers_prefix)
    if trigger is not None:
        name, rest = trigger
        return Saying(to_user=_TRIGGERS[name](watched, rest), blocks=True)
    metered = meter(watched)
    record(watched, "user_message", {})
    said = metered.saying if metered is not None else NOTHING
    try:  # whatever becomes of the rest: a warning is said once
        phrase = _phrase(watched, words, said.to_agent)
        taken, note = (
            (phrase.to_agent, None) if phrase.to_agent else _taken_along(watched, words, said.to_agent)
        )
    except LeftoffError as error:
        taken, note, phrase = None, None, Saying(to_user=f"leftoff: {error.message}")
    return Saying(
        to_user="\n".join(filter(None, [said.to_user, note, phrase.to_user])) or None,
        to_agent="\n\n".join(filter(None, [said.to_agent, taken])) or None,
    )


def _trigger(words: str, prefix: str) -> tuple[str, str] | None:
    """The trigger that the whole prompt is, and what follows its name; None for any other prompt."""
    if not words.startswith(prefix):
        return None
    name, _, rest = words.removeprefix(prefix).partition(" ")
    rest = rest.strip()
    if name not in _TRIGGERS or "\n" in rest:
        return None
    if rest and name in _ALONE:
        return None
    if name == "trim":
        return (name, rest) if rest in {"", "yes"} else None
    return (name, rest) if not rest or name == "pin" or rest.isdecimal() else None


def _taken_along(watched: Watched, words: str, beside: str | None) -> tuple[str | None, str | None]:
    """The log that this prompt is given, and a line about it: the one picked up, or the one that the first prompt wants.

    ``beside`` is what the agent is told with it.
    """
    state = watched.state
    if state.pickup is None and (not state.offer_open or words.startswith(_NOT_TYPED)):
        return None, None
    if asks_to_go_on(words):
        _wait_for_catch_up(watched)
    watched.update(lambda state: replace(state, offer_open=False, pickup=None))
    found = watch_restore.offer(watched, words).candidates
    if state.pickup is not None:
        chosen = next((each for each in found if each.path == state.pickup), None)
    else:
        chosen = next((each for each in found[:1] if is_wanted(each, words)), None)
    if chosen is None:
        return None, None
    return (
        watch_restore.whole_text(chosen, watched, beside),
        f"leftoff: this session goes on from session {chosen.session_id[:8]}.",
    )


def _wait_for_catch_up(watched: Watched) -> None:
    """The user wants to go on, and the log of a session that was killed may be a moment away."""
    deadline = time.monotonic() + _CATCH_UP_SECONDS
    while watched.state.catching_up and time.monotonic() < deadline:
        time.sleep(_NAP_SECONDS)


def _phrase(watched: Watched, words: str, beside: str | None) -> Saying:
    """What the three phrases of 001 do; the prompt itself goes to the agent."""
    from leftoff.flows import watch_projects  # noqa: PLC0415 - few prompts are one of them

    said = words.rstrip(".!").lower()
    if said in {"save progress", "done for today"}:
        of_project = watch_projects.saved(watched, is_over=said == "done for today")
        return Saying(to_user="\n".join(filter(None, [_saved(watched), of_project])))
    if " ".join(said.split()).startswith(watch_projects.CONTINUE_BEGINS):
        return watch_projects.continued(watched, words, beside)
    return NOTHING


def _saved(watched: Watched) -> str:
    from leftoff.flows.save_log import save_log_of  # noqa: PLC0415 - loads all of extraction

    if watched.chosen is None:
        return "leftoff: there is nothing to save yet."
    kept = save_log_of(watched.chosen, watched.folder, stop_reason="manual_pause")
    return f"leftoff: the log is saved: {kept.markdown_file}"


def _hand_off(watched: Watched, rest: str) -> str:  # noqa: ARG001 - every trigger is called alike
    session_id = watched.event.session_id
    pasted = " (the id is on the clipboard)" if clipboard.copied(session_id) else ""
    how = f"Go on from it: leftoff resume {session_id} --run   starts {watched.agent.name}{pasted}"
    return f"{_saved(watched)}\n{how}"


def _roll_over(watched: Watched, rest: str) -> str:
    """A fresh session that has the log; where none can be written, the log and how to go on with it."""
    from leftoff.flows import watch_shrink  # noqa: PLC0415

    if watched.chosen is None:
        return _saved(watched)
    try:
        return watch_shrink.hand_off(watched)
    except LeftoffError as error:
        return f"{_hand_off(watched, rest)}\nNo fresh session was written: {error.message}"


def _pick_up(watched: Watched, rest: str) -> str:
    found = watch_restore.offer(watched).candidates
    number = int(rest) if rest else 1
    if not 1 <= number <= len(found):
        many = f"There are {len(found)}" if found else "There is none"
        return f"leftoff: no log number {number} to go on from. {many}; leftoff log list shows all."
    chosen = found[number - 1]
    watched.update(lambda state: replace(state, pickup=chosen.path, offer_open=False))
    return f"leftoff: session {chosen.session_id[:8]} is handed over with your next prompt.{_listed(found, watched)}"


def _listed(found: tuple[Candidate, ...], watched: Watched) -> str:
    return "\n".join(["", *watch_restore.listed(found, watched)]) if len(found) > 1 else ""


def _pin(watched: Watched, rest: str) -> str:
    if not rest:
        return f"leftoff: say what to pin, for example: {_typed(watched, 'pin')} never push to main"
    kept = pins.pin(rest, watched.folder)
    without = f"\nTaken out of it: {', '.join(kept.redacted)}." if kept.redacted else ""
    return f"leftoff: pinned as number {kept.number}: {kept.text}{without}"


def _pins(watched: Watched, rest: str) -> str:  # noqa: ARG001
    listed = [f"  {number}  {each.text}" for number, each in enumerate(pins.pins_of(watched.folder), 1)]
    return (
        "\n".join(["leftoff: pinned in this project:", *listed])
        if listed
        else "leftoff: nothing is pinned here."
    )


def _unpin(watched: Watched, rest: str) -> str:
    if not rest:
        return f"leftoff: say which one: {_typed(watched, 'unpin')} 2; {_typed(watched, 'pins')} lists them."
    return f"leftoff: no longer pinned: {pins.unpin(int(rest), watched.folder).text}"


def _trim(watched: Watched, rest: str) -> str:
    from leftoff.flows import watch_shrink  # noqa: PLC0415 - loads all of shrinking

    return watch_shrink.trim(watched, rest)


def _typed(watched: Watched, name: str) -> str:
    return f"{watched.config.settings.triggers_prefix}{name}"


def _told(answer: Callable[[Watched, str], str]) -> Callable[[Watched, str], str]:
    """The same; what goes wrong is told to the user, who typed it and waits."""

    def answered(watched: Watched, rest: str) -> str:
        with suppress(LeftoffError):
            watched.update(lambda state: state)
        try:
            return answer(watched, rest)
        except LeftoffError as error:
            return f"leftoff: {error.message}"

    return answered


_TRIGGERS: Mapping[str, Callable[[Watched, str], str]] = {
    "resume": _told(_hand_off),
    "continue": _told(_hand_off),
    "handoff": _told(_roll_over),
    "pickup": _told(_pick_up),
    "pin": _told(_pin),
    "pins": _told(_pins),
    "unpin": _told(_unpin),
    "trim": _told(_trim),
}
_ALONE = frozenset({"resume", "continue", "handoff", "pins"})  # nothing may follow these
