"""``leftoff project save``, and the options with which somebody says what no file does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from leftoff.cli import display
from leftoff.flows import project_save as flow
from leftoff.projects.derive import Given
from leftoff.projects.values import FLAGS, PHASES, STATUSES
from leftoff.system import paths

Command = TypeVar("Command", bound=Callable[..., Any])


def _noted(context: click.Context, parameter: click.Parameter, value: object) -> None:
    context.meta.setdefault(_SAID, {})[parameter.name] = value


def given() -> Given:
    """What was said with the options."""
    return Given(**click.get_current_context().meta[_SAID])


def with_facts(command: Command) -> Command:
    """Give a command the options that ``given`` reads."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _option(flag: str, name: str, words: str, kind: Any = None) -> Callable[[Command], Command]:
    return click.option(flag, name, help=words, type=kind, callback=_noted, expose_value=False)


def _many(flag: str, name: str, words: str, kind: Any = None) -> Callable[[Command], Command]:
    return click.option(flag, name, help=words, type=kind, multiple=True, callback=_noted, expose_value=False)


_SAID = "leftoff.project.said"
_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    _option("--phase", "phase", "The phase the project is in from now on.", click.Choice(PHASES)),
    _option("--status", "status", "The status, where the tasks do not say it.", click.Choice(STATUSES)),
    _option("--skill", "skill", "Which skill is active."),
    _option("--step", "workflow_step", "Which step of its workflow.", click.IntRange(min=1)),
    _option("--next", "next_action", "What comes next, in your words; holds until the next task is done."),
    _many("--done", "flags", "A document of the plan that is written.", click.Choice(FLAGS)),
    _many("--decision", "decisions", "A decision and why."),
    _many("--assumption", "assumptions", "What is taken for granted."),
    _many("--blocker", "blockers", "What stands in the way."),
    _many("--resolved", "resolved", "Part of a blocker that is no more."),
    _many("--model", "models", 'A mental model and what it showed: "Pre-Mortem: …".'),
    _many("--pending", "pending", 'A file and what is left to do there: "a.py - needs tests".'),
    _many("--note", "notes", "A line for the session history."),
)


@click.command(epilog='Example: leftoff project save --phase execution --decision "SQLite: nothing to start"')
@click.option("--project", metavar="ID", help="Which project: a number, a name or part of one.")
@click.option("--session", help="The session that worked on it; the latest when left out.")
@with_facts
@display.with_json
def save(*, project: str | None, session: str | None, as_json: bool) -> int:
    """Save the resume state: progress from the steps, decisions and files from the session, and what you say here."""
    kept = flow.save(project, paths.working_folder(), given=given(), session=session)
    state = kept.document.state
    if as_json:
        display.as_json(
            {
                "id": kept.home.id,
                "state_file": str(kept.home.state),
                "changed": kept.is_changed,
                "standing": kept.standing,
                "state": state.to_dict(),
            }
        )
        return 0
    task = state.execution
    display.say(f"{'Saved' if kept.is_changed else 'Nothing new'}: {display.visible(str(kept.home.state))}")
    display.say(
        f"{task.progress_tasks_completed or 0}/{task.progress_tasks_total or 0} tasks; next: {display.visible(state.next_action or '?')}"
    )
    if kept.standing == "foreign":
        display.say(
            f"It was edited by hand, or came from elsewhere: it is handed to no agent before you say: leftoff trust {display.visible(str(kept.home.state))}"
        )
    return 0
