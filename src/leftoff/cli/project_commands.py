"""The commands of ``leftoff project``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click

from leftoff.cli import arguments, output
from leftoff.core.quantities import age
from leftoff.errors import UsageError
from leftoff.platform import clock
from leftoff.projects import commands, find_project, import_old, loader
from leftoff.projects.commands import ClosedSession
from leftoff.projects.find_project import ListedProject
from leftoff.projects.loader import WelcomeBack
from leftoff.projects.progress import UserInput
from leftoff.projects.project_state import FLAGS, PHASES, STATUSES
from leftoff.projects.update import short_id
from leftoff.workspace import Workspace

Command = TypeVar("Command", bound=Callable[..., Any])
_META_KEY = "leftoff.project.said"


@click.group(cls=arguments.OrderedGroup, epilog="Example: leftoff project resume 24")
def project() -> None:
    """Keep plans with steps: which are done, what comes next, and what to read to continue."""


def _draw_closed(closed: ClosedSession) -> None:
    task = closed.saved.document.state.execution
    output.say(f"Closed: {output.near_path(closed.saved.home.state)}")
    output.say(
        f"{task.progress_tasks_completed or 0}/{task.progress_tasks_total or 0} tasks; next: {output.visible(closed.saved.document.state.next_action or '?')}"
    )
    for check in closed.checks:
        output.say(f"{check.question} {'Yes.' if check.is_good else 'Not yet.'}")
        for each in check.missing:
            output.say(f"  - {output.one_line(each, 100)}")
        if check.what_to_do is not None:
            output.say(f"  {check.what_to_do}")


@click.command(epilog="Example: leftoff project complete 1-5,8")
@click.argument("tasks", required=False)
@click.option("--section", type=arguments.WholeNumber(min=0), help="All tasks of this section instead.")
@click.option("--project", metavar="ID", help="Which project: a number, a name or part of one.")
@arguments.with_json
def complete(*, tasks: str | None, section: int | None, project: str | None, as_json: bool) -> int:
    """Mark TASKS as done (3, 1-5 or 1-5,8, as numbered in the steps) and update the resume state.

    Sub-tasks are marked too, but not those that were given up ([-]).
    """
    if (tasks is None) == (section is None):
        raise UsageError("Say which tasks, or --section NUMBER. For example: leftoff project complete 1-5")
    workspace = Workspace.open()
    if section is not None:
        done = commands.complete_section(project, section, workspace)
    else:
        done = commands.complete(project, tasks or "", workspace)
    if as_json:
        output.as_json(done.to_dict())
        return 0
    task = done.state.execution
    many = f"tasks {', '.join(map(str, done.tasks))}" if len(done.tasks) > 1 else f"task {done.tasks[0]}"
    output.say(
        f"Done: {many}. {task.progress_tasks_completed}/{task.progress_tasks_total} ({task.progress_percentage}%)"
    )
    for name in done.sections:
        output.say(f"Completed {output.visible(name)}. A good place to stop, or to commit.")
    output.say(f"Next: {output.visible(done.state.next_action or '?')}")
    return 0


@click.command("import", epilog="Example: leftoff project import")
@click.argument("project", metavar="[ID]", required=False)
@arguments.with_json
def import_(*, project: str | None, as_json: bool) -> int:
    """Import older resume states (_resume.md, resume-context.md), of project ID or of all.

    Their keys and words stay; what is missing is added. A project without any state gets one from its documents.
    """
    done = import_old.import_projects(project, Workspace.open())
    if as_json:
        output.as_json(
            [
                {
                    "id": each.home.id,
                    "how": each.how,
                    "state_file": str(each.home.state),
                    "waits_for_trust": each.waits,
                    "trouble": each.trouble,
                }
                for each in done
            ]
        )
    else:
        for each in done:
            output.say(
                f"{output.visible(each.home.id)}: {each.how}{f': {output.visible(each.trouble)}' if each.trouble else ''}"
            )
            if each.waits:
                output.say(f"  Read it, then: leftoff trust {output.short_path(each.home.state)}")
    return 1 if any(each.how == "failed" for each in done) else 0


@click.command(epilog='Example: leftoff project init "Skills research"')
@click.argument("name", nargs=-1, required=True)
@click.option(
    "--plain",
    is_flag=True,
    help="One state for this repository, in .leftoff/project, without further folders.",
)
@arguments.with_json
def init(*, name: tuple[str, ...], plain: bool, as_json: bool) -> int:
    """Start the project NAME: creates its folders, empty documents, and its resume state."""
    begin = commands.init_plain if plain else commands.init
    home = begin(" ".join(name), Workspace.open())
    if as_json:
        output.as_json({"id": home.id, "folder": str(home.folder), "state_file": str(home.state)})
        return 0
    output.say(f"Started {output.visible(home.id)}: {output.near_path(home.state)}")
    if not plain:
        output.say(
            f"Next: write {output.near_path(home.part('research'))}, then the overview, the plan and the steps."
        )
    output.say(f"To continue it in any session, say: continue project {short_id(home)}")
    return 0


@click.command("list", epilog="Example: leftoff project list")
@arguments.with_json
def list_(*, as_json: bool) -> int:
    """List the projects of this repository: status, progress, what comes next."""
    listed = find_project.list_projects(Workspace.open())
    if as_json:
        output.as_json([each.to_dict() for each in listed])
        return 0 if listed else output.NOTHING_TO_DO
    if not listed:
        output.say('There is no project here yet. To start one: leftoff project init "NAME"')
        return output.NOTHING_TO_DO
    rows = [_project_row(each) for each in listed]
    output.table(["project", "status", "tasks", "updated", "next"], rows, spare=["updated", "status"])
    for each in listed:
        if each.trouble is not None:
            output.say(f"{output.visible(each.home.id)}: {output.visible(each.trouble)}")
        elif each.judgement is not None and (mark := each.judgement.mark(each.home.state)):
            output.say(f"{output.visible(each.home.id)}: {output.visible(mark)}")
    return 0


def _project_row(each: ListedProject) -> list[str]:
    if each.state is None:
        return [output.one_line(each.home.id, 40), "?", "?", "?", "no state that can be read"]
    task, at = each.state.execution, each.updated_at
    return [
        output.one_line(each.home.id, 40),
        each.state.project.project_status or "?",
        f"{task.progress_tasks_completed or 0}/{task.progress_tasks_total or 0}",
        age(clock.now(), at) if at is not None else "?",
        output.one_line(each.state.next_action or "?", 60),
    ]


@click.command(epilog="Example: leftoff project load 24 --json")
@click.argument("project", metavar="[ID]", required=False)
@arguments.with_json
def load(*, project: str | None, as_json: bool) -> int:
    """Say what to read and do to continue project ID: a number, a name or part of one.

    Without ID: the project this folder is in, or the only open one. With --json: state, action, recommended_reads,
    instructions, and whether the state is trusted.
    """
    found = loader.load_project(project, Workspace.open(), trusted_only=False)
    if as_json:
        output.as_json(found.to_dict() | found.judgement.to_dict())
        return 0
    if found.mark:
        output.say(f"{output.visible(found.mark)}\n")
    output.say(f"{output.visible(found.id)}: {found.action.replace('_', ' ')}")
    if found.state is not None:
        output.say(f"Next action: {output.visible(found.state.next_action or 'not known')}")
    output.say("\nRead, in this order:")
    for number, each in enumerate(found.recommended_reads, 1):
        output.say(f"{number:>3}  {output.visible(each)}")
    output.say("")
    for words in found.instructions:
        output.say(f"- {output.visible(words)}")
    return 0


@click.command(epilog="Example: leftoff project resume 24")
@click.argument("project", metavar="[ID]", required=False)
@arguments.with_json
def resume(*, project: str | None, as_json: bool) -> int:
    """Show project ID: its progress, what was done last, what to remember, and three ways to continue.

    Without ID: the project this folder is in, or the only open one.
    """
    back = loader.welcome_back(project, Workspace.open())
    if as_json:
        output.as_json(back.to_dict() | back.loaded.judgement.to_dict())
        return 0
    if back.loaded.mark:
        output.say(f"{output.visible(back.loaded.mark)}\n")
    _draw_welcome(back, clock.now())
    return 0


def _draw_welcome(back: WelcomeBack, now: datetime) -> None:
    """Draw the welcome-back screen, with symbols only on a terminal."""
    pretty = sys.stdout.isatty()
    pin, tick, turn = ("📍 ", "✅", "🔄") if pretty else ("", "-", "-")
    rule = ("━" if pretty else "-") * min(output.RULE_WIDTH, output.width() - 1)
    line = max(30, output.width() - 8)
    task = back.state.execution
    is_complete = back.loaded.action == "complete"
    output.say(
        f"Welcome back! {'This project is complete' if is_complete else 'Picking up where we left off'}:\n"
    )
    output.say(f"{pin}CURRENT STATE", {"bold": True})
    output.say(rule)
    output.say(f"Project: {output.one_line(back.state.project.project_name or back.loaded.id, line)}")
    output.say(f"Last Session: {_describe_moment(back.last_session, now)}")
    done, total = task.progress_tasks_completed or 0, task.progress_tasks_total or 0
    output.say(f"Progress: {done}/{total} tasks ({task.progress_percentage or 0}%)")
    output.say("\nCurrent Location:")
    for words in _describe_location(back):
        output.say(f"  {output.one_line(words, line)}")
    if back.recent:
        output.say("\nRecent Progress:")
        for is_finished, words in back.recent:
            output.say(f"  {tick if is_finished else turn} {output.one_line(words, line)}")
    if back.key_context:
        output.say("\nKey Context:")
        for words in back.key_context:
            output.say(f"  - {output.one_line(words, line)}")
    output.say(rule)
    _draw_choices(back)


def _describe_location(back: WelcomeBack) -> list[str]:
    task, phase = back.state.execution, back.state.location.current_phase or "not known"
    if phase != "execution" or task.current_section is None:
        where = [f"Phase: {phase}"]
    else:
        where = [f"Section {task.current_section}: {task.current_section_name}"]
    if task.next_task_number is not None:
        return [*where, f'Next Task: #{task.next_task_number} - "{task.next_task_description}"']
    return [*where, f"Next Action: {back.state.next_action or 'not known'}"]


def _draw_choices(back: WelcomeBack) -> None:
    task, name = back.state.execution, back.short_id
    if back.loaded.action == "complete":
        output.say("\nNothing is left to do. You can still:")
        output.say(f"1. Review completed work: leftoff project load {name}")
        output.say("2. Add tasks to its steps: that opens it again")
        output.say(f'3. Write down what you learned: leftoff project save --project {name} --decision "…"')
        return
    what = f"Task {task.next_task_number}" if task.next_task_number is not None else "the work"
    output.say(
        f'\nReady to continue {what}: say "continue project {name}" to your agent. Or would you like to:'
    )
    output.say(f"1. Review completed work first: leftoff project load {name}")
    sections = f" ({output.one_line('; '.join(back.sections), 70)})" if len(back.sections) > 1 else ""
    output.say(f"2. Jump to different section{sections}: leftoff project save --project {name} --section N")
    output.say(f'3. Update the plan based on learnings: leftoff project save --project {name} --decision "…"')


def _describe_moment(moment: datetime | None, now: datetime) -> str:
    """Describe a moment in the user's own time zone."""
    if moment is None:
        return "not known"
    try:
        then, today = moment.astimezone(), now.astimezone().date()
    except OverflowError:  # the first hours of year 1 have no local time west of Greenwich
        return f"{moment.date().isoformat()} at {moment:%H:%M} UTC"
    days = (today - then.date()).days
    day = {0: "Today", 1: "Yesterday"}.get(days, f"{then:%Y-%m-%d}")
    return f"{day} at {then:%H:%M}"


def _keep_option(context: click.Context, parameter: click.Parameter, value: object) -> None:
    context.meta.setdefault(_META_KEY, {})[parameter.name] = value


def user_input() -> UserInput:
    """Return what the user gave with the options of ``with_user_input_options``."""
    return UserInput(**click.get_current_context().meta[_META_KEY])


def with_user_input_options(command: Command) -> Command:
    """Give a command the options that ``user_input`` returns."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _option(flag: str, name: str, words: str, kind: Any = None) -> Callable[[Command], Command]:
    return click.option(flag, name, help=words, type=kind, callback=_keep_option, expose_value=False)


def _repeatable_option(flag: str, name: str, words: str, kind: Any = None) -> Callable[[Command], Command]:
    return click.option(
        flag, name, help=words, type=kind, multiple=True, callback=_keep_option, expose_value=False
    )


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    _option("--phase", "phase", "The phase the project is in from now on.", click.Choice(PHASES)),
    _option("--status", "status", "The status, if the tasks do not show it.", click.Choice(STATUSES)),
    _option("--skill", "skill", "Which skill is active."),
    _option("--step", "workflow_step", "Which step of its workflow.", arguments.WholeNumber(min=1)),
    _option("--next", "next_action", "What comes next, in your words; holds until the next task is done."),
    _option(
        "--section",
        "section",
        "Jump to this section: its first open task comes next, until the section is done.",
        arguments.WholeNumber(min=0),
    ),
    _repeatable_option("--done", "flags", "A planning document that is finished.", click.Choice(FLAGS)),
    _repeatable_option("--decision", "decisions", "A decision and why."),
    _repeatable_option("--assumption", "assumptions", "What is taken for granted."),
    _repeatable_option("--blocker", "blockers", "What blocks the work."),
    _repeatable_option("--resolved", "resolved", "Part of a blocker that is resolved."),
    _repeatable_option("--model", "models", 'A mental model and what it showed: "Pre-Mortem: …".'),
    _repeatable_option("--pending", "pending", 'A file and what is left to do there: "a.py - needs tests".'),
    _repeatable_option("--note", "notes", "A line for the session history."),
)


@click.command(epilog='Example: leftoff project close --note "the parser is half done"')
@click.option("--project", metavar="ID", help="Which project: a number, a name or part of one.")
@click.option("--session", help="The session that worked on it. Default: the latest.")
@click.option("--complete", is_flag=True, help="The whole project is complete.")
@with_user_input_options
@arguments.with_json
def close(*, project: str | None, session: str | None, complete: bool, as_json: bool) -> int:
    """Finish for today: save the resume state and check that nothing is missing.

    Are the decisions captured? Is the list of files current? On a terminal you are asked for what is missing.
    """
    workspace, said = Workspace.open(), user_input()
    if complete:
        said = said._replace(status="COMPLETE")
    closed = commands.close(project, workspace, given=said, session=session)
    if not as_json and sys.stdin.isatty() and not closed.checks[0].is_good:
        words = click.prompt(
            "A decision of this session and why (Enter: none)", default="", show_default=False, err=True
        )
        if words.strip():
            closed = commands.close(
                project, workspace, given=UserInput(decisions=(words.strip(),)), session=session
            )
    if as_json:
        output.as_json(closed.to_dict())
        return 0
    _draw_closed(closed)
    return 0


@click.command(epilog='Example: leftoff project save --phase execution --decision "SQLite: nothing to start"')
@click.option("--project", metavar="ID", help="Which project: a number, a name or part of one.")
@click.option("--session", help="The session that worked on it. Default: the latest.")
@with_user_input_options
@arguments.with_json
def save(*, project: str | None, session: str | None, as_json: bool) -> int:
    """Save the resume state: progress from the steps, decisions and files from the session, and these options."""
    kept = commands.save(project, Workspace.open(), given=user_input(), session=session)
    state = kept.document.state
    if as_json:
        output.as_json(
            {
                "id": kept.home.id,
                "state_file": str(kept.home.state),
                "changed": kept.is_changed,
                "standing": kept.judgement.standing,
                "state": state.to_dict(),
            }
        )
        return 0
    task = state.execution
    output.say(f"{'Saved' if kept.is_changed else 'Nothing new'}: {output.near_path(kept.home.state)}")
    output.say(
        f"{task.progress_tasks_completed or 0}/{task.progress_tasks_total or 0} tasks; next: {output.visible(state.next_action or '?')}"
    )
    if mark := kept.judgement.mark(kept.home.state):
        output.say(output.visible(mark))
    return 0


for _command in (init, list_, load, save, complete, close, resume, import_):
    project.add_command(_command)
