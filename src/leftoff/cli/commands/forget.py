"""``leftoff forget``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from leftoff.cli import display
from leftoff.errors import UsageError
from leftoff.flows import forget as flow
from leftoff.system import paths

_MOST_SHOWN = 20


@click.command(epilog="Example: leftoff forget 0b54f7aa")
@click.argument("session", required=False)
@click.option("--project", is_flag=True, help="Every session of the project you are in, and its documents.")
@click.option("--text", help="A text, wherever it stands.")
@click.option("--dry-run", is_flag=True, help="Show what would be erased; erase nothing.")
@click.option("--yes", is_flag=True, help="Do not ask; needed where nobody can be asked.")
@display.with_json
def forget(
    *, session: str | None, project: bool, text: str | None, dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Erase SESSION, this project or a text from every place where leftoff keeps anything, and prove it.

    Logs, pauses, states, library, archive and lists are gone through byte by byte afterwards. Files of the agents themselves are
    named and never touched.
    """
    plan = _planned(session, text, of_project=project)
    if not as_json:
        _show(plan)
    if dry_run or plan.is_empty or not (yes or (not as_json and _asked(plan))):
        return _not_done(plan, dry_run=dry_run, as_json=as_json)
    if plan.remote is not None:
        display.hint("Asking the remote …")
    done = flow.forget(plan)
    if as_json:
        display.as_json(_wire(plan, done))
    else:
        _say(plan, done)
    return 1 if done.left or done.remote.trouble else 0


def _planned(session: str | None, text: str | None, *, of_project: bool) -> flow.ForgetPlan:
    if [session is not None, of_project, text is not None].count(True) != 1:
        raise UsageError("Name one thing to forget: a session, --project, or --text TEXT.")
    if session is not None:
        return flow.plan_session(session, paths.working_folder())
    return flow.plan_text(text) if text is not None else flow.plan_project(paths.working_folder())


def _asked(plan: flow.ForgetPlan) -> bool:
    return sys.stdin.isatty() and click.confirm(f"Erase {plan.words} for good?", default=False, err=True)


def _show(plan: flow.ForgetPlan) -> None:
    what = f"{len(plan.sessions)} sessions of {plan.words}" if plan.target == "project" else plan.words
    display.say(f"To be forgotten: {display.visible(what)}")
    _name("deleted whole:", plan.documents)
    _name("cleaned:", plan.holders)
    if plan.in_library:
        display.say("  in the library")
    if plan.called:
        display.say(
            f"  in the path or project of {plan.called:,} sessions and documents: these leave the library whole, and no search"
            " finds them again"
        )
    if plan.archived or plan.orphans:
        display.say(f"  in the archive: {len(plan.archived) + len(plan.orphans)}")
    if plan.remote is not None:
        display.say(
            f"  perhaps in the remote ({display.visible(plan.remote)}), which is asked when it is done"
        )
    _name("in the agents' own files, which stay as they are:", plan.agents_own)


def _name(words: str, files: list[Path] | tuple[Path, ...]) -> None:
    if not files:
        return
    display.say(f"  {words}")
    for each in files[:_MOST_SHOWN]:
        display.say(f"    {display.visible(str(each))}")
    if len(files) > _MOST_SHOWN:
        display.say(f"    and {len(files) - _MOST_SHOWN} more")


def _not_done(plan: flow.ForgetPlan, *, dry_run: bool, as_json: bool) -> int:
    if as_json:
        display.as_json(_wire(plan, None))
    elif plan.is_empty:
        display.say("leftoff keeps nothing of it.")
    elif dry_run:
        display.say("Nothing was erased. Without --dry-run it is done.")
    else:
        display.say("Nothing was erased. Where nobody can be asked: leftoff forget … --yes")
    return 3 if plan.is_empty else 0 if dry_run else 1


def _say(plan: flow.ForgetPlan, done: flow.Forgot) -> None:
    display.say(
        f"Forgotten: {len(done.deleted)} files deleted, {len(done.edited)} cleaned, {done.archived} archived copies and "
        f"{done.library} entries of the library gone."
    )
    if done.remote.erased:
        display.say(f"{done.remote.erased} logs in the remote were deleted or masked.")
    if done.remote.trouble:
        display.say(f"The remote may still hold it: {done.remote.trouble} Then: leftoff forget again.")
    if done.left:
        _name("These files of leftoff still hold it:", done.left)
        display.say(
            "Of a library that somebody reads just now the bytes go when that ends: leftoff forget again. Remove others by hand."
        )
    else:
        display.say("Every file of leftoff was read again: none holds it.")
    if plan.agents_own:
        display.say(
            "The agents' own files above still hold it. A log that is saved from them again would hold it too."
        )


def _wire(plan: flow.ForgetPlan, done: flow.Forgot | None) -> dict[str, object]:
    return {
        "target": plan.target,
        "sessions": [each.session_id for each in plan.sessions],
        "kept_in": [str(each) for each in (*plan.documents, *plan.holders)],
        "in_library": plan.in_library,
        "leave_library": plan.called,
        "archived": len(plan.archived),
        "agents_own": [str(each) for each in plan.agents_own],
        "erased": done is not None,
        "deleted": [] if done is None else [str(each) for each in done.deleted],
        "edited": [] if done is None else [str(each) for each in done.edited],
        "left": [] if done is None else [str(each) for each in done.left],
        "remote": plan.remote,
        "remote_erased": 0 if done is None else done.remote.erased,
        "remote_trouble": None if done is None else done.remote.trouble,
    }
