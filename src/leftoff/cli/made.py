"""How plans and derived sessions are shown: what, why, how many tokens, and what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from leftoff.cli import display
from leftoff.flows.derive import Made
from leftoff.flows.shrink_session import Planned, tokens_of
from leftoff.model.copying import LeftBehind
from leftoff.model.trim_plan import Cut, TrimPlan
from leftoff.system import paths

_HEADINGS = ("line", "what", "chars", "tokens", "why")
NOTHING_TO_DO = 3


def draw_plan(planned: Planned) -> None:
    """Every cut with its reason and what it frees, then what is kept and why, then the sum."""
    plan = planned.plan
    if plan.cuts:
        rows = [_row(cut, plan) for cut in plan.cuts]
        display.table(_HEADINGS, rows, title=f"{plan.strategy} of {plan.session_id}", spare=["chars", "line"])
    for reason in plan.kept:
        display.say(display.wrapped(f"kept: {display.visible(reason)}", indent="  "))
    if plan.nothing_to_trim:
        display.say(nothing(planned))
    else:
        display.say(f"{_sum(plan)} Nothing was written.")


def _row(cut: Cut, plan: TrimPlan) -> tuple[str, ...]:
    what = f"{cut.tool or ''} {cut.part}".strip()
    why = f"{cut.rationale}: {cut.description}" if cut.description else cut.rationale
    return (
        str(cut.place.line_idx + 1),
        display.one_line(what, 24),
        f"{cut.original_chars:,}",
        f"{tokens_of(cut, plan):,}",
        display.one_line(why, max(30, display.width() - 56)),
    )


def _sum(plan: TrimPlan) -> str:
    return (
        f"{len(plan.cuts)} cuts free {plan.context_saved_percent:.0f} % of the conversation: about {plan.saved_tokens:,} of "
        f"{plan.live_tokens:,} tokens."
    )


def nothing(planned: Planned) -> str:
    """Why there is nothing to do, and what else could help."""
    said = f"Nothing to trim in session {planned.session.session_id}"
    kept = planned.plan.kept if planned.plan.nothing_to_trim else ("the copy would be no smaller",)
    why = f": {kept[-1]}" if kept else ""
    return f"{display.visible(said + why)}. leftoff advise shows what else would help."


def say_made(made: Made) -> None:
    """Where the new session is, what it saved, what to type."""
    display.say(
        f"Wrote session {made.session_id}: {made.context_saved_percent:.0f} % of the conversation is free again, about "
        f"{made.tokens_saved:,} tokens."
    )
    display.say(f"  {display.visible(str(made.output_file))}")
    say_left_behind(made.left_behind)
    say_command(made.resume_command, made.folder, made.session_id)


def say_left_behind(left_behind: Sequence[LeftBehind]) -> None:
    """What could not be taken along into the copy, why, and that it is not lost."""
    for each in left_behind:
        display.say(display.wrapped(display.visible(str(each)), indent="  "))


def say_command(command: tuple[str, ...] | None, folder: Path | None, session_id: str | None) -> None:
    """What to type to go on, with the folder where that is another one; where it is gone, how to go on in this one."""
    if command is None:
        return
    if folder is not None and not folder.is_dir():
        gone = f"Its folder is gone ({folder}). Go on in this one: leftoff resume {session_id} --here"
        display.say(display.visible(gone))
        return
    there = (
        f"cd {shlex.quote(str(folder))} && "
        if folder is not None and folder != paths.working_folder()
        else ""
    )
    display.say(f"Go on in it: {display.visible(there + shlex.join(command))}")
