"""``leftoff install``."""

from __future__ import annotations

import sys

import click

from leftoff.cli import display
from leftoff.flows import archive_setting
from leftoff.flows import install as flow
from leftoff.model.wiring import SCOPES, HookTrouble, Scope
from leftoff.system import paths


@click.command(epilog="Example: leftoff install AGENT --dry-run")
@click.argument("agent")
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="user",
    show_default=True,
    help="In all your projects, or only in this one.",
)
@click.option("--dry-run", is_flag=True, help="Show the change of the settings as a diff; write nothing.")
@display.with_json
def install(*, agent: str, scope: Scope, dry_run: bool, as_json: bool) -> int:
    """Let AGENT call leftoff at its events and, where it can, in its status line.

    Whatever else stands in its settings stays as it is. leftoff uninstall takes it all out again.
    """
    plan = flow.plan_install(agent, scope, paths.working_folder())
    troubles = () if dry_run else flow.install(plan)
    if as_json:
        display.as_json(_wire(plan, troubles, written=not dry_run))
        return 0
    if dry_run:
        display.say(display.visible(plan.diff) or "No setting would change.")
    else:
        _say_what_happened(plan)
    for note in plan.notes:
        display.say(display.visible(note))
    for trouble in troubles:
        display.say(display.visible(f"{trouble.words}: {trouble.mend}."))
    if not dry_run:
        _ask_about_the_archive()
    if dry_run:
        display.say(f"Nothing was written. To do it: leftoff install {agent} --scope {scope}")
    return 0


def _say_what_happened(plan: flow.InstallPlan) -> None:
    where = display.visible(str(plan.settings))
    if not plan.changes_settings:
        display.say(f"leftoff is installed in {plan.agent_name} already: {where}")
        return
    events = ", ".join(dict.fromkeys(hook.event for hook in plan.hooks))
    display.say(f"{plan.agent_name} calls leftoff from its next session on ({events}): {where}")
    display.say(f"To take it out again: leftoff uninstall {plan.agent}")


def _ask_about_the_archive() -> None:
    """Once, and only a person: agents delete old sessions, and whether copies are kept is theirs to decide."""
    if not sys.stdin.isatty() or not archive_setting.may_be_asked():
        return
    display.say(
        "Agents delete sessions after some weeks. leftoff can keep compressed copies, unredacted, for you alone."
    )
    wanted = click.confirm("Keep copies of finished sessions?", default=False, err=True)
    archive_setting.decide(enabled=wanted)
    display.say(
        "To change your mind: archive.enabled in "
        + display.visible(str(paths.config_folder() / "configuration.yaml"))
    )


def _wire(plan: flow.InstallPlan, troubles: tuple[HookTrouble, ...], *, written: bool) -> dict[str, object]:
    return {
        "agent": plan.agent,
        "scope": plan.installation.scope,
        "settings_file": str(plan.settings),
        "fast_path": str(plan.fast_path),
        "changed": plan.changes_settings,
        "written": written,
        "events": [*dict.fromkeys(hook.event for hook in plan.hooks)],
        "diff": plan.diff,
        "notes": [*plan.notes],
        "to_do": [f"{trouble.words}: {trouble.mend}" for trouble in troubles],
    }
