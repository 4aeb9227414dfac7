"""The commands ``leftoff install``, ``uninstall`` and ``trust``, and what agents call once they are connected.

Agents run `agent_hook` and `agent_statusline` directly; ``hook``, ``in-place`` and ``statusline`` are for people who look.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from leftoff.archive import archive
from leftoff.cli import arguments, output
from leftoff.cli.history_commands import require_sdk
from leftoff.core.hook_settings import SCOPES, HookProblem, Scope
from leftoff.core.quantities import count
from leftoff.errors import NothingToDoError
from leftoff.forget.purge import KeptData, kept_data
from leftoff.forget.purge import purge as purge_data
from leftoff.live import install as live_install
from leftoff.live import trust as live_trust
from leftoff.platform import paths
from leftoff.workspace import Workspace

_WAITING = "These are not used until you trust them. Read them, then: leftoff trust DOCUMENT"
_NOT_TRUSTED = "Nothing was trusted. To trust without being asked: leftoff trust --yes DOCUMENT"
_FROM_NOW_ON = (
    "You are warned at 70, 85, 90 and 95 % of the window.",
    "Before a compaction leftoff saves a resume log. If the agent then writes a summary, leftoff puts back what that lost.",
    'A new session offers what you left off: say "continue" to pick it up.',
)


@click.command(epilog="Example: leftoff install claude --dry-run")
@click.argument("agent", type=arguments.AGENT)
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="user",
    show_default=True,
    help="For all your projects, or only for this one.",
)
@click.option("--mcp", is_flag=True, help="Also give AGENT the tools recall, expand and timeline.")
@click.option(
    "--dry-run", is_flag=True, help="Show the exact change of the settings file, and write nothing."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@arguments.with_json
def install(*, agent: str, scope: Scope, mcp: bool, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Connect leftoff to AGENT: adds hooks to its settings and, where the agent has one, a status line.

    Everything else in the settings stays as it is, and leftoff uninstall restores them.
    """
    plan = live_install.plan_install(agent, scope, Workspace.open(), with_mcp=mcp and require_sdk())
    if not (dry_run or yes or as_json) and plan.changes_settings and sys.stdin.isatty():
        _say_plan(plan)
        if not click.confirm("Install?", default=True, err=True):
            output.say("Nothing was changed.")
            return 1
    troubles = () if dry_run else live_install.install(plan)
    if as_json:
        output.as_json(_install_to_dict(plan, troubles, written=not dry_run))
        return 0
    if dry_run:
        output.say(output.visible(plan.diff) or "No setting would change.")
    else:
        _say_installed(plan)
    for note in plan.notes:
        output.say(output.hanging("Note: ", output.short_path(note)))
    for trouble in troubles:
        output.say(output.hanging("To do: ", output.visible(f"{trouble.problem}: {trouble.fix}.")))
    if dry_run:
        output.say(
            f"Nothing was written. To do it: leftoff install {agent} --scope {scope}{' --mcp' if mcp else ''}"
        )
    else:
        _ask_about_archive()
    return 0


def _say_plan(plan: live_install.InstallPlan) -> None:
    """Say what installing would change."""
    where = "in all your projects" if plan.installation.scope == "user" else "in this project"
    output.say(f"{plan.agent_name} will call leftoff {where}:", {"bold": True})
    output.say(output.hanging("  settings  ", output.short_path(plan.settings)))
    output.say(output.hanging("  adds      ", _events(plan)))
    if plan.mcp is not None:
        output.say(output.hanging("  tools     ", output.short_path(plan.mcp.file)))
    output.say(output.hanging("  program   ", output.short_path(plan.fast_path)))
    output.say(f"  undo      leftoff uninstall {plan.agent}, which restores the settings byte for byte")


def _events(plan: live_install.InstallPlan) -> str:
    return ", ".join(dict.fromkeys(hook.event for hook in plan.hooks))


def _say_installed(plan: live_install.InstallPlan) -> None:
    """Say what to expect from now on."""
    if not plan.changes_settings:
        output.say(f"leftoff is installed in {plan.agent_name} already: {output.short_path(plan.settings)}")
        return
    output.say(f"Installed in {output.short_path(plan.settings)}:")
    output.say(output.wrap(_events(plan), indent="  "))
    output.say(output.wrap(f"They call {output.short_path(plan.fast_path)}", indent="  "))
    if plan.mcp is not None:
        output.say(f"The tools recall, expand and timeline are in {output.short_path(plan.mcp.file)}")
    output.say(f"From your next session of {plan.agent_name} on:", {"bold": True})
    if "statusLine" in _events(plan):
        output.say("  - The status line shows how full the context window is.")
    if "mod" in _events(plan):
        output.say(
            output.hanging(
                "  - ",
                "leftoff answers compactions: the session continues in place, without a summary by a model. "
                "To leave them to the agent: leftoff config trim.in_place false",
            )
        )
    for line in _FROM_NOW_ON:
        output.say(output.hanging("  - ", line))
    output.say("What compactions lost in your last sessions: leftoff report")
    output.say(f"To undo: leftoff uninstall {plan.agent}")


def _ask_about_archive() -> None:
    """Ask a person once whether to keep copies of sessions, which agents delete after a while."""
    if not sys.stdin.isatty() or not archive.is_archive_undecided(Workspace.open()):
        return
    output.say(
        "Agents delete old sessions after some weeks. leftoff can keep compressed, unredacted copies on this machine."
    )
    wanted = click.confirm("Keep copies of finished sessions?", default=False, err=True)
    archive.save_decision(enabled=wanted)
    output.say("To change that later: leftoff config archive.enabled true")


def _install_to_dict(
    plan: live_install.InstallPlan, troubles: tuple[HookProblem, ...], *, written: bool
) -> dict[str, object]:
    return {
        "agent": plan.agent,
        "scope": plan.installation.scope,
        "settings_file": str(plan.settings),
        "fast_path": str(plan.fast_path),
        "mcp_file": None if plan.mcp is None else str(plan.mcp.file),
        "changed": plan.changes_settings,
        "written": written,
        "events": [*dict.fromkeys(hook.event for hook in plan.hooks)],
        "diff": plan.diff,
        "notes": [*plan.notes],
        "to_do": [f"{trouble.problem}: {trouble.fix}" for trouble in troubles],
    }


@click.command(epilog="Example: leftoff uninstall claude --dry-run")
@click.argument("agent", required=False, type=arguments.AGENT)
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    help="Only the settings of this scope. Default: all that leftoff knows of.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@click.option("--purge", is_flag=True, help="Also list and delete everything that leftoff has stored.")
@click.option("--yes", is_flag=True, help="With --purge: do not ask. Needed without a terminal.")
@arguments.with_json
def uninstall(
    *, agent: str | None, scope: Scope | None, dry_run: bool, purge: bool, yes: bool, as_json: bool
) -> int:
    """Remove leftoff from the settings of AGENT, or of all agents. Everything else in them stays as it is."""
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
        _say_uninstalled(kept, dry_run=dry_run, purge=purge, purged=purged)
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
    return sys.stdin.isatty() and click.confirm("Delete all of this?", default=False, err=True)


def _show_removals(plan: live_install.UninstallPlan | None, kept: list[KeptData], *, dry_run: bool) -> None:
    for removal in plan.removals if plan else ():
        if dry_run:
            output.say(output.visible(removal.diff))
        else:
            gone = "removed" if removal.after is None else "removed from"
            output.say(f"{removal.agent}: {gone} {output.full_path(removal.settings)}")
    for note in plan.notes if plan else ():
        output.say(output.visible(note))
    for each in kept:
        files = count(each.files, "file")
        output.say(f"{output.full_path(each.path)}  {files}, {each.size_bytes:,} bytes: {each.what}")


def _say_uninstalled(kept: list[KeptData], *, dry_run: bool, purge: bool, purged: bool) -> None:
    if dry_run:
        output.say("Nothing was changed. To do it, leave out --dry-run.")
    elif not purge:
        output.say("What leftoff has stored is still there. To delete it: leftoff uninstall --purge")
    elif purged:
        output.say("All of it is deleted. Other projects still have their .leftoff folders.")
    elif kept:
        output.say(
            "None of this data was deleted. To delete it without being asked: leftoff uninstall --purge --yes"
        )


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
@click.option("--yes", is_flag=True, help="Do not ask. Needed without a terminal.")
@arguments.with_json
def trust(*, documents: tuple[Path, ...], yes: bool, as_json: bool) -> int:
    """Allow leftoff to use DOCUMENTS that it did not write, such as those of a cloned repository.

    Shows the first lines of each and asks. Your own later edits and commits keep a document trusted; a change that comes with
    a pull, a checkout or an archive does not.
    Without DOCUMENTS: lists what is not trusted yet, and the settings that this project makes.
    """
    if documents:
        return _trust(live_trust.documents(documents, Workspace.open()), yes=yes, as_json=as_json)
    waiting = live_trust.waiting(Workspace.open())
    if as_json:
        output.as_json(_waiting_to_dict(waiting))
    else:
        _draw_settings(waiting)
        _draw_documents([*waiting.documents])
        output.say(_WAITING if waiting.documents else "Every document of this project is trusted.")
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
                **({"error": _NOT_TRUSTED} if foreign and not trusted else {}),
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
        output.say(f"{output.full_path(each.path)}  {each.size_bytes:,} bytes  {each.standing}")
        output.say(f"    {output.visible(each.what)}")
        if each.why:
            output.say(f"    not trusted because: {output.visible(each.why)}")
        for line in each.first_lines:
            output.say(f"    | {output.one_line(line, 100)}")


def _draw_settings(waiting: live_trust.Waiting) -> None:
    if waiting.settings:
        output.say("Settings that this project makes. They cannot run or send anything:")
    for each in waiting.settings:
        place = f"{waiting.settings_file}:{each.line}" if each.line else str(waiting.settings_file)
        output.say(f"    {each.key}: {output.one_line(str(each.value), 60)}  {output.visible(place)}")
    if waiting.passed_over:
        output.say("Ignored:")
    for words in waiting.passed_over:
        output.say(output.wrap(output.visible(words), indent="    "))


def _say_trusted(foreign: list[live_trust.Document], trusted: list[live_trust.Document]) -> None:
    if trusted:
        output.say(f"Trusted: {len(trusted)}. A change that comes from elsewhere has to be trusted again.")
    elif not foreign:
        output.say("Nothing to trust: this machine wrote these, or you have trusted them already.")
    else:
        output.say(_NOT_TRUSTED)


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


@click.command(epilog="Example: leftoff hook --help")
@click.argument("agent", type=arguments.AGENT)
@click.argument("task", nargs=-1, metavar="")
@arguments.with_json
def hook(*, agent: str, task: tuple[str, ...], as_json: bool) -> int:  # noqa: ARG001 - the answer is JSON anyway
    """Answer an event of AGENT. Agents call this after leftoff install.

    The event comes as JSON on standard input, the answer is what the agent expects. The exit code is always 0: an error
    is written to leftoff.log in your state folder.
    """
    from leftoff.cli.agent_hook import run_hook

    return run_hook([agent, *task])


@click.command("in-place", epilog="Example: leftoff in-place --help")
@click.argument("agent", type=arguments.AGENT)
@arguments.with_json
def in_place(*, agent: str, as_json: bool) -> int:  # noqa: ARG001 - the answer is JSON anyway
    """Rebuild the messages of a running session of AGENT. leftoff's mod inside the agent calls this at a compaction.

    The messages come as JSON on standard input. The answer has the messages that replace them and one line for the user, or the reason
    why the agent should compact by itself. The exit code is always 0.
    """
    from leftoff.cli.agent_hook import run_in_place

    return run_in_place(agent)


@click.command(epilog="Example: leftoff statusline --json < what-the-agent-says.json")
@arguments.with_json
def statusline(*, as_json: bool) -> int:
    """Print one line for an agent's status line: gauge, level, turns left, last save.

    Reads what the agent says about its session, as JSON on standard input.
    """
    from leftoff.cli.agent_statusline import run_statusline
    from leftoff.live import status_line

    if not as_json:
        return run_statusline()
    try:
        found = status_line.status_line(sys.stdin.buffer.read())
    except Exception as trouble:  # as without --json: an agent may be reading
        output.as_json({"error": f"{type(trouble).__name__}: {trouble}"})
        return 0
    output.as_json(found.to_dict() if found else {})
    return 0
