"""``leftoff uninstall``."""

from __future__ import annotations

import sys

import click

from leftoff.cli import display
from leftoff.errors import NothingToDoError
from leftoff.flows import purge as purging
from leftoff.flows import uninstall as flow
from leftoff.model.wiring import SCOPES, Scope
from leftoff.system import paths


@click.command(epilog="Example: leftoff uninstall AGENT --dry-run")
@click.argument("agent", required=False)
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    help="Only the settings of this scope; all that are known when left out.",
)
@click.option("--dry-run", is_flag=True, help="Show what would go; change nothing.")
@click.option("--purge", is_flag=True, help="List everything leftoff has kept, and remove it too.")
@click.option("--yes", is_flag=True, help="With --purge: do not ask; needed where nobody can be asked.")
@display.with_json
def uninstall(
    *, agent: str | None, scope: Scope | None, dry_run: bool, purge: bool, yes: bool, as_json: bool
) -> int:
    """Take leftoff out of the settings of AGENT, or of all agents: what it put in goes, all else stays as it is."""
    plan = _planned(agent, scope, may_be_nothing=purge)
    kept = purging.kept_data(paths.working_folder()) if purge else []
    if not as_json:
        _show(plan, kept, dry_run=dry_run)
    if plan is not None and not dry_run:
        flow.uninstall(plan)
    purged = bool(kept) and not dry_run and (yes or (not as_json and _asked()))
    if purged:
        purging.purge(kept)
    if as_json:
        display.as_json(_wire(plan, kept, purged=purged, written=not dry_run))
    else:
        _say_what_happened(kept, dry_run=dry_run, purged=purged)
    return 1 if kept and not purged and not dry_run else 0


def _planned(agent: str | None, scope: Scope | None, *, may_be_nothing: bool) -> flow.UninstallPlan | None:
    """None: nothing stands in any settings, and there is still data to be removed."""
    try:
        return flow.plan_uninstall(agent, scope, paths.working_folder())
    except NothingToDoError:
        if may_be_nothing:
            return None
        raise


def _asked() -> bool:
    return sys.stdin.isatty() and click.confirm("Remove all of this for good?", default=False, err=True)


def _show(plan: flow.UninstallPlan | None, kept: list[purging.Kept], *, dry_run: bool) -> None:
    for removal in plan.removals if plan else ():
        if dry_run:
            display.say(display.visible(removal.diff))
        else:
            gone = "removed" if removal.after is None else "taken out of"
            display.say(f"{removal.agent}: {gone} {display.visible(str(removal.settings))}")
    for note in plan.notes if plan else ():
        display.say(display.visible(note))
    for each in kept:
        files = "1 file" if each.files == 1 else f"{each.files:,} files"
        display.say(f"{display.visible(str(each.path))}  {files}, {each.size_bytes:,} bytes: {each.what}")


def _say_what_happened(kept: list[purging.Kept], *, dry_run: bool, purged: bool) -> None:
    if dry_run:
        display.say("Nothing was changed. Without --dry-run it is done.")
    elif purged:
        display.say("All of it is gone. Documents in other projects are in their .leftoff folders.")
    elif kept:
        display.say("Nothing of this was removed. Where nobody can be asked: leftoff uninstall --purge --yes")


def _wire(
    plan: flow.UninstallPlan | None, kept: list[purging.Kept], *, purged: bool, written: bool
) -> dict[str, object]:
    removals = plan.removals if plan else ()
    return {
        "removed": [
            {"agent": each.agent, "settings_file": str(each.settings), "diff": each.diff} for each in removals
        ],
        "written": written,
        "notes": [*plan.notes] if plan else [],
        "data": [
            {"path": str(each.path), "files": each.files, "size_bytes": each.size_bytes} for each in kept
        ],
        "purged": purged,
    }
