"""``leftoff forget``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from leftoff.cli import arguments, output
from leftoff.core.quantities import count
from leftoff.errors import UsageError
from leftoff.forget import forget as forget_module
from leftoff.forget.session_copies import Unread
from leftoff.workspace import Workspace

_MOST_SHOWN = 20


@click.command(epilog="Example: leftoff forget 0b54f7aa")
@click.argument("session", required=False, type=arguments.SESSION)
@click.option("--project", is_flag=True, help="Every session of this project, and its documents.")
@click.option("--text", help="A text, wherever it occurs.")
@click.option("--dry-run", is_flag=True, help="Show what would be erased, and erase nothing.")
@click.option("--yes", is_flag=True, help="Do not ask. Needed without a terminal.")
@arguments.with_json
def forget(
    *, session: str | None, project: bool, text: str | None, dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Erase SESSION, this project or a text from everything that leftoff stored, and check that it is gone.

    Logs, pauses, pins, states, lists, library, archive and remote are read again afterwards. Files of the agents themselves are
    named and never touched.
    """
    plan = _plan(session, text, of_project=project)
    if not as_json:
        _show_plan(plan)
    if dry_run or plan.is_empty or not (yes or (not as_json and _confirm(plan))):
        return _not_done(plan, dry_run=dry_run, as_json=as_json)
    if plan.remote is not None:
        output.hint("Asking the remote …")
    done = forget_module.forget(plan)
    if as_json:
        output.as_json(_to_dict(plan, done))
    else:
        _show_result(plan, done)
    return 1 if done.left or done.remote.trouble else 0


def _plan(session: str | None, text: str | None, *, of_project: bool) -> forget_module.ForgetPlan:
    if [session is not None, of_project, text is not None].count(True) != 1:
        raise UsageError("Name one thing to forget: a session, --project, or --text TEXT.")
    workspace = Workspace.open()
    if session is not None:
        return forget_module.plan_session(session, workspace)
    return (
        forget_module.plan_text(text, workspace)
        if text is not None
        else forget_module.plan_project(workspace)
    )


def _confirm(plan: forget_module.ForgetPlan) -> bool:
    return sys.stdin.isatty() and click.confirm(
        f"Erase {plan.description} for good?", default=False, err=True
    )


def _show_plan(plan: forget_module.ForgetPlan) -> None:
    what = (
        f"{count(len(plan.sessions), 'session')} of {plan.description}"
        if plan.target == "project"
        else plan.description
    )
    output.say(f"To erase: {output.visible(what)}")
    if plan.shared is not None:
        output.say(
            f"  {output.full_path(plan.shared)} is shared with other worktrees: only the logs and pauses of these sessions are"
            " deleted there; pins, chats, manual pauses and documents of other worktrees stay"
        )
    _list_files("to be deleted:", plan.documents)
    _list_files("to be removed from these files:", plan.holders)
    if plan.in_library:
        output.say("  to be removed from the search index")
    if plan.named_sources:
        output.say(
            f"  in the path or project of {plan.named_sources:,} sessions and documents, which no search will find any more"
            ""
        )
    if plan.copies.archived or plan.copies.orphans:
        output.say(f"  in the archive: {len(plan.copies.archived) + len(plan.copies.orphans)}")
    if plan.remote is not None:
        output.say(
            f"  perhaps in the remote ({output.visible(plan.remote)}), which is checked when you erase it"
        )
    _list_files("not to be changed, although it is there: the agents' own files", plan.agents_own)
    _list_files("in your settings and installations, which are yours to change:", plan.settings)
    _list_files("your own documents, which stay (only ids of sessions are masked in them):", plan.stays)
    _list_unread(
        "perhaps in these files, which could not be read:",
        (*plan.unread, *plan.copies.unread, *plan.agents_unread),
    )


def _list_files(words: str, files: list[Path] | tuple[Path, ...]) -> None:
    if not files:
        return
    output.say(f"  {words}")
    folder, is_grouped = None, sys.stdout.isatty()  # another program gets whole paths
    for each in files[:_MOST_SHOWN]:
        if is_grouped and each.parent != folder:
            folder = each.parent
            output.say(f"    {output.short_path(folder)}{os.sep}")
        output.say(f"      {output.visible(each.name)}" if is_grouped else f"    {output.visible(str(each))}")
    if len(files) > _MOST_SHOWN:
        output.say(f"    and {len(files) - _MOST_SHOWN} more")


def _list_unread(words: str, unread: tuple[Unread, ...]) -> None:
    if unread:
        output.say(f"  {words}")
    for each in unread[:_MOST_SHOWN]:
        output.say(f"    {output.visible(each.reason)}")
    if len(unread) > _MOST_SHOWN:
        output.say(f"    and {len(unread) - _MOST_SHOWN} more")


def _not_done(plan: forget_module.ForgetPlan, *, dry_run: bool, as_json: bool) -> int:
    if plan.is_empty:
        why, code = f"leftoff keeps nothing of it{', but for your settings' if plan.settings else ''}.", 3
    elif dry_run:
        why, code = "Nothing was erased. To erase it, leave out --dry-run.", 0
    else:
        why, code = "Nothing was erased. To erase it without being asked: leftoff forget … --yes", 1
    if as_json:
        output.as_json({**_to_dict(plan, None), "error" if code == 1 else "why": why})
    else:
        output.say(why)
    return code


def _show_result(plan: forget_module.ForgetPlan, done: forget_module.ForgetResult) -> None:
    if plan.is_local:
        output.say(
            f"Forgotten: {count(len(done.deleted), 'file')} deleted, {len(done.edited)} cleaned, "
            f"{count(done.archived, 'archived copy', 'archived copies')} and "
            f"{count(done.library, 'entry', 'entries')} of the library gone."
        )
    elif plan.agents_own:
        output.say("leftoff has stored nothing of it so far, and will not: search and archive leave it out.")
    if done.remote.erased:
        output.say(f"Deleted or masked {count(done.remote.erased, 'log')} in the remote.")
    if done.remote.trouble:
        output.say(f"The remote may still hold it: {done.remote.trouble} Then run leftoff forget again.")
    if done.remote.others:
        output.say(
            f"{done.remote.others} logs of this project that were written elsewhere stay in the remote. leftoff log list --remote"
            " lists them, leftoff forget SESSION erases one."
        )
    _show_remaining(plan, done)
    if plan.stays:
        output.say("Your own documents above stay. To have leftoff use one again: leftoff trust FILE")
    if plan.agents_own:
        output.say(
            "The agents' own files above still hold it. A log that is made from them later would hold it too."
        )


def _show_remaining(plan: forget_module.ForgetPlan, done: forget_module.ForgetResult) -> None:
    unread = {each.path for each in done.unread}
    if holding := tuple(each for each in done.left if each not in unread):
        _list_files("These files of leftoff still hold it:", holding)
        output.say(
            "If another program is reading the library, run leftoff forget again when it has ended. Remove other files by hand."
        )
    if unread:
        _list_unread("These files could not be read, so they may hold it:", done.unread)
        output.say(
            "Make them readable, or delete them if you do not need them. Then run leftoff forget again."
        )
    if not done.left:
        but = ", but for your settings" if plan.settings else ""
        remote = " and every log in the remote" if plan.remote and not done.remote.trouble else ""
        output.say(f"Every file of leftoff{remote} was read again{but}: none holds it.")


def _to_dict(plan: forget_module.ForgetPlan, done: forget_module.ForgetResult | None) -> dict[str, object]:
    return {
        "target": plan.target,
        "sessions": [each.session_id for each in plan.sessions],
        "kept_in": [str(each) for each in (*plan.documents, *plan.holders)],
        "shared_folder": None if plan.shared is None else str(plan.shared),
        "in_library": plan.in_library,
        "leave_library": plan.named_sources,
        "archived": len(plan.copies.archived),
        "agents_own": [str(each) for each in plan.agents_own],
        "settings": [str(each) for each in plan.settings],
        "stays": [str(each) for each in plan.stays],
        "erased": done is not None,
        "deleted": [] if done is None else [str(each) for each in done.deleted],
        "edited": [] if done is None else [str(each) for each in done.edited],
        "left": [] if done is None else [str(each) for each in done.left],
        "unread": [
            {"path": str(each.path), "reason": each.reason}
            for each in (
                *((*plan.unread, *plan.copies.unread) if done is None else done.unread),
                *plan.agents_unread,
            )
        ],
        "remote": plan.remote,
        "remote_erased": 0 if done is None else done.remote.erased,
        "remote_trouble": None if done is None else done.remote.trouble,
        "remote_others": 0 if done is None else done.remote.others,
    }
