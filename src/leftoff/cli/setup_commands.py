"""The commands ``leftoff install``, ``uninstall`` and ``trust``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from leftoff.cli import output
from leftoff.core.hook_event import SCOPES, HookProblem, Scope
from leftoff.core.quantities import count
from leftoff.errors import NothingToDoError
from leftoff.forget.purge import KeptData, kept_data
from leftoff.forget.purge import purge as purge_data
from leftoff.live import install as live_install
from leftoff.live import trust as live_trust
from leftoff.platform import paths
from leftoff.search import archive
from leftoff.workspace import Workspace

_WAITING = "These wait for your word. Read them, then: leftoff trust DOCUMENT"


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
@output.with_json
def install(*, agent: str, scope: Scope, dry_run: bool, as_json: bool) -> int:
    """Let AGENT call leftoff at its events and, where it can, in its status line.

    Whatever else stands in its settings stays as it is. leftoff uninstall takes it all out again.
    """
    plan = live_install.plan_install(agent, scope, Workspace.open())
    troubles = () if dry_run else live_install.install(plan)
    if as_json:
        output.as_json(_install_to_dict(plan, troubles, written=not dry_run))
        return 0
    if dry_run:
        output.say(output.visible(plan.diff) or "No setting would change.")
    else:
        _say_installed(plan)
    for note in plan.notes:
        output.say(output.visible(note))
    for trouble in troubles:
        output.say(output.visible(f"{trouble.problem}: {trouble.fix}."))
    if not dry_run:
        _ask_about_archive()
    if dry_run:
        output.say(f"Nothing was written. To do it: leftoff install {agent} --scope {scope}")
    return 0


def _say_installed(plan: live_install.InstallPlan) -> None:
    where = output.visible(str(plan.settings))
    if not plan.changes_settings:
        output.say(f"leftoff is installed in {plan.agent_name} already: {where}")
        return
    events = ", ".join(dict.fromkeys(hook.event for hook in plan.hooks))
    output.say(f"{plan.agent_name} calls leftoff from its next session on ({events}): {where}")
    output.say(f"To take it out again: leftoff uninstall {plan.agent}")


def _ask_about_archive() -> None:
    """Ask a person once whether to keep copies of sessions, which agents delete after a while."""
    if not sys.stdin.isatty() or not archive.is_archive_undecided(Workspace.open()):
        return
    output.say(
        "Agents delete sessions after some weeks. leftoff can keep compressed copies, unredacted, for you alone."
    )
    wanted = click.confirm("Keep copies of finished sessions?", default=False, err=True)
    archive.save_decision(enabled=wanted)
    output.say(
        "To change your mind: archive.enabled in "
        + output.visible(str(paths.config_folder() / "configuration.yaml"))
    )


def _install_to_dict(
    plan: live_install.InstallPlan, troubles: tuple[HookProblem, ...], *, written: bool
) -> dict[str, object]:
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
        "to_do": [f"{trouble.problem}: {trouble.fix}" for trouble in troubles],
    }


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
@output.with_json
def uninstall(
    *, agent: str | None, scope: Scope | None, dry_run: bool, purge: bool, yes: bool, as_json: bool
) -> int:
    """Take leftoff out of the settings of AGENT, or of all agents: what it put in goes, all else stays as it is."""
    plan = _plan_uninstall(agent, scope, may_be_nothing=purge)
    kept = kept_data(paths.working_folder()) if purge else []
    if not as_json:
        _show_removals(plan, kept, dry_run=dry_run)
    if plan is not None and not dry_run:
        live_install.uninstall(plan)
    purged = bool(kept) and not dry_run and (yes or (not as_json and _confirm_purge()))
    if purged:
        purge_data(kept)
    if as_json:
        output.as_json(_uninstall_to_dict(plan, kept, purged=purged, written=not dry_run))
    else:
        _say_uninstalled(kept, dry_run=dry_run, purged=purged)
    return 1 if kept and not purged and not dry_run else 0


def _plan_uninstall(
    agent: str | None, scope: Scope | None, *, may_be_nothing: bool
) -> live_install.UninstallPlan | None:
    """Plan the removal; None if nothing is installed but there may be data to purge."""
    try:
        return live_install.plan_uninstall(agent, scope, Workspace.open())
    except NothingToDoError:
        if may_be_nothing:
            return None
        raise


def _confirm_purge() -> bool:
    return sys.stdin.isatty() and click.confirm("Remove all of this for good?", default=False, err=True)


def _show_removals(plan: live_install.UninstallPlan | None, kept: list[KeptData], *, dry_run: bool) -> None:
    for removal in plan.removals if plan else ():
        if dry_run:
            output.say(output.visible(removal.diff))
        else:
            gone = "removed" if removal.after is None else "taken out of"
            output.say(f"{removal.agent}: {gone} {output.visible(str(removal.settings))}")
    for note in plan.notes if plan else ():
        output.say(output.visible(note))
    for each in kept:
        files = count(each.files, "file")
        output.say(f"{output.visible(str(each.path))}  {files}, {each.size_bytes:,} bytes: {each.what}")


def _say_uninstalled(kept: list[KeptData], *, dry_run: bool, purged: bool) -> None:
    if dry_run:
        output.say("Nothing was changed. Without --dry-run it is done.")
    elif purged:
        output.say("All of it is gone. Documents in other projects are in their .leftoff folders.")
    elif kept:
        output.say("Nothing of this was removed. Where nobody can be asked: leftoff uninstall --purge --yes")


def _uninstall_to_dict(
    plan: live_install.UninstallPlan | None, kept: list[KeptData], *, purged: bool, written: bool
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


@click.command(epilog="Example: leftoff trust .leftoff/resume-logs")
@click.argument("documents", nargs=-1, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask; needed where nobody can be asked.")
@output.with_json
def trust(*, documents: tuple[Path, ...], yes: bool, as_json: bool) -> int:
    """Let DOCUMENTS be used that came from elsewhere, such as those of a cloned repository.

    Shows each with its first lines and why it waits, and asks; its very content is remembered. Your own later edits and commits keep
    it usable; what a pull, a checkout or an archive changes in it waits again.
    Without DOCUMENTS: lists all that the files of this project would make leftoff do: which documents wait and what each is
    for, and which settings its own file makes.
    """
    if documents:
        return _trust(live_trust.documents(documents, Workspace.open()), yes=yes, as_json=as_json)
    waiting = live_trust.waiting(Workspace.open())
    if as_json:
        output.as_json(_waiting_to_dict(waiting))
    else:
        _draw_settings(waiting)
        _draw_documents([*waiting.documents])
        output.say(_WAITING if waiting.documents else "No document of this project waits for your word.")
    return 0


def _trust(shown: list[live_trust.Document], *, yes: bool, as_json: bool) -> int:
    foreign = [each for each in shown if each.standing == "foreign"]
    if not as_json:
        _draw_documents(shown)
    agreed = bool(foreign) and (yes or (not as_json and _confirm_trust(len(foreign))))
    trusted = live_trust.trust(foreign) if agreed else []
    if as_json:
        output.as_json(
            {
                "documents": [_document_to_dict(each) for each in shown],
                "trusted": [str(each.path) for each in trusted],
            }
        )
    else:
        _say_trusted(foreign, trusted)
    return 0 if trusted or not foreign else 1


def _confirm_trust(count: int) -> bool:
    if not sys.stdin.isatty():
        return False
    what = "this document" if count == 1 else f"these {count} documents"
    return click.confirm(f"Use {what} from now on?", default=False, err=True)


def _draw_documents(shown: list[live_trust.Document]) -> None:
    for each in shown:
        output.say(f"{output.visible(str(each.path))}  {each.size_bytes:,} bytes  {each.standing}")
        output.say(f"    {output.visible(each.what)}")
        if each.why:
            output.say(f"    waits because: {output.visible(each.why)}")
        for line in each.first_lines:
            output.say(f"    | {output.one_line(line, 100)}")


def _draw_settings(waiting: live_trust.Waiting) -> None:
    if waiting.settings:
        output.say("Settings of this project, in force without your word: they run nothing and send nothing.")
    for each in waiting.settings:
        place = f"{waiting.settings_file}:{each.line}" if each.line else str(waiting.settings_file)
        output.say(f"    {each.key}: {output.one_line(str(each.value), 60)}  {output.visible(place)}")
    if waiting.passed_over:
        output.say("Passed over:")
    for words in waiting.passed_over:
        output.say(output.wrap(output.visible(words), indent="    "))


def _say_trusted(foreign: list[live_trust.Document], trusted: list[live_trust.Document]) -> None:
    if trusted:
        output.say(f"Trusted: {len(trusted)}. They are used until content from elsewhere replaces them.")
    elif not foreign:
        output.say("Nothing to trust: this machine wrote these, or you have trusted them already.")
    else:
        output.say("Nothing was trusted. Where nobody can be asked: leftoff trust --yes DOCUMENT")


def _waiting_to_dict(waiting: live_trust.Waiting) -> dict[str, object]:
    return {
        "documents": [_document_to_dict(each) for each in waiting.documents],
        "trusted": [],
        "settings": [{"key": each.key, "value": each.value, "line": each.line} for each in waiting.settings],
        "passed_over": [*waiting.passed_over],
    }


def _document_to_dict(each: live_trust.Document) -> dict[str, object]:
    return {
        "path": str(each.path),
        "size_bytes": each.size_bytes,
        "sha256": each.sha256,
        "standing": each.standing,
        "why": each.why or None,
        "what": each.what,
        "first_lines": [*each.first_lines],
    }
