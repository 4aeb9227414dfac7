"""``>trim`` and ``>handoff``: the session that is running cannot be replaced, so a smaller one is written beside it.

Under ``leftoff run`` the agent is started on it as soon as the user leaves; otherwise the user is told what to type.
"""

from __future__ import annotations

import shlex

from leftoff.errors import LeftoffError
from leftoff.flows import rollover, shrink_session
from leftoff.flows.baton import passed_on
from leftoff.flows.choose import Chosen
from leftoff.flows.derive import Made, require_known
from leftoff.flows.watched import Watched
from leftoff.model.trim_plan import TrimPlan

YES = "yes"
_MOST_SHOWN = 5


def trim(watched: Watched, rest: str) -> str:
    """A preview; with ``yes``, the copy."""
    chosen = _session(watched)
    require_known(chosen.agent, chosen.open(), "leftoff trim --force writes the copy all the same.")
    planned = shrink_session.planned_of(chosen, shrink_session.Wanted(force=True))
    if rest != YES:
        planned = shrink_session.looked_at(planned)
    if planned.plan.nothing_to_trim:
        why = planned.plan.kept[-1] if planned.plan.kept else "no tool result is long enough"
        return f"leftoff: nothing to trim: {why}."
    if rest != YES:
        typed = f"{watched.config.settings.triggers_prefix}trim {YES}"
        return "\n".join(
            [*_preview(planned.plan), f"Write the copy: {typed}   (this session stays as it is)"]
        )
    made = shrink_session.carried_out(planned)
    if made.nothing_to_trim:
        return "leftoff: nothing to trim: the copy would be no smaller than this session."
    return "\n".join(
        [
            f"leftoff: {_numbers(planned.plan)}.",
            *map(str, made.left_behind),
            _how_to_go_on(watched, made),
        ]
    )


def hand_off(watched: Watched) -> str:
    """A fresh session that begins with the log of this one."""
    made = rollover.rolled_over_of(_session(watched), watched.folder, rollover.Wanted())
    return f"leftoff: {_how_to_go_on(watched, made, words='Go on in a fresh session')}"


def _session(watched: Watched) -> Chosen:
    if watched.chosen is None:
        raise LeftoffError("there is nothing to trim yet.")
    return watched.chosen


def _preview(plan: TrimPlan) -> list[str]:
    largest = sorted(plan.cuts, key=lambda cut: -cut.saved_chars)[:_MOST_SHOWN]
    lines = [
        f"  {cut.original_chars:>8,} characters  {cut.tool or cut.part}  {cut.description or cut.rationale}"[
            :110
        ]
        for cut in largest
    ]
    more = len(plan.cuts) - len(largest)
    return [
        f"leftoff: {_numbers(plan)}. The largest:",
        *lines,
        *([f"  … and {more} more; leftoff trim --dry-run lists them all"] if more else []),
    ]


def _numbers(plan: TrimPlan) -> str:
    return (
        f"trimming frees {plan.context_saved_percent:.0f} % of the conversation (about {plan.saved_tokens:,} tokens), "
        f"{len(plan.cuts)} pieces"
    )


def _how_to_go_on(watched: Watched, made: Made, words: str = "Go on in the trimmed copy") -> str:
    assert made.session_id is not None
    if passed_on(watched.agent.id, made.session_id):
        return f"{words}: exit now, and leftoff run starts it by itself ({made.session_id[:8]})."
    command = shlex.join(made.resume_command) if made.resume_command else f"session {made.session_id}"
    return f"{words}: exit, then type: {command}"
