"""``leftoff project resume``: the welcome-back screen of 001."""

from __future__ import annotations

import sys
from datetime import datetime

import click

from leftoff.cli import display
from leftoff.flows import project_resume as flow
from leftoff.flows.project_resume import WelcomeBack
from leftoff.system import clock, paths

_WIDTH = 51


@click.command(epilog="Example: leftoff project resume 24")
@click.argument("project", metavar="[ID]", required=False)
@display.with_json
def resume(*, project: str | None, as_json: bool) -> int:
    """Welcome back to project ID: where it stands, what was done last, what to remember, and three ways to go on.

    Without ID: the project this folder is in, or the only open one.
    """
    back = flow.welcome_back(project, paths.working_folder())
    if as_json:
        display.as_json(back.to_dict())
        return 0
    _draw(back, clock.now())
    return 0


def _draw(back: WelcomeBack, now: datetime) -> None:
    """Its signs only on a terminal."""
    pretty = sys.stdout.isatty()
    pin, tick, turn = ("📍 ", "✅", "🔄") if pretty else ("", "-", "-")
    rule = ("━" if pretty else "-") * min(_WIDTH, display.width() - 1)
    line = max(30, display.width() - 8)
    task = back.state.execution
    display.say("Welcome back! Picking up where we left off:\n")
    display.say(f"{pin}CURRENT STATE", {"bold": True})
    display.say(rule)
    display.say(f"Project: {display.one_line(back.state.project.project_name or back.loaded.id, line)}")
    display.say(f"Last Session: {_when(back.last_session, now)}")
    done, total = task.progress_tasks_completed or 0, task.progress_tasks_total or 0
    display.say(f"Progress: {done}/{total} tasks ({task.progress_percentage or 0}%)")
    display.say("\nCurrent Location:")
    for words in _location(back):
        display.say(f"  {display.one_line(words, line)}")
    if back.recent:
        display.say("\nRecent Progress:")
        for is_finished, words in back.recent:
            display.say(f"  {tick if is_finished else turn} {display.one_line(words, line)}")
    if back.key_context:
        display.say("\nKey Context:")
        for words in back.key_context:
            display.say(f"  - {display.one_line(words, line)}")
    display.say(rule)
    _offers(back)


def _location(back: WelcomeBack) -> list[str]:
    task, phase = back.state.execution, back.state.location.current_phase or "not known"
    if phase != "execution" or task.current_section is None:
        where = [f"Phase: {phase}"]
    else:
        where = [f"Section {task.current_section}: {task.current_section_name}"]
    if task.next_task_number is not None:
        return [*where, f'Next Task: #{task.next_task_number} - "{task.next_task_description}"']
    return [*where, f"Next Action: {back.state.next_action or 'not known'}"]


def _offers(back: WelcomeBack) -> None:
    task, name = back.state.execution, back.words_for_it
    what = f"Task {task.next_task_number}" if task.next_task_number is not None else "the work"
    display.say(
        f'\nReady to continue {what}: say "continue project {name}" to your agent. Or would you like to:'
    )
    display.say(f"1. Review completed work first: leftoff project load {name}")
    sections = f" ({display.one_line('; '.join(back.sections), 70)})" if len(back.sections) > 1 else ""
    display.say(f'2. Jump to different section{sections}: leftoff project save --project {name} --next "…"')
    display.say(
        f'3. Update the plan based on learnings: leftoff project save --project {name} --decision "…"'
    )


def _when(moment: datetime | None, now: datetime) -> str:
    """As people say it, in their own time zone."""
    if moment is None:
        return "not known"
    try:
        then, today = moment.astimezone(), now.astimezone().date()
    except OverflowError:  # the first hours of the calendar lie outside it west of Greenwich
        return f"{moment.date().isoformat()} at {moment:%H:%M} UTC"
    days = (today - then.date()).days
    day = {0: "Today", 1: "Yesterday"}.get(days, f"{then:%Y-%m-%d}")
    return f"{day} at {then:%H:%M}"
