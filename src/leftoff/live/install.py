"""Install hooks and status line into an agent's settings, and remove them: first a plan that can be shown, then its execution.

Only what the user asked for is installed; installing twice changes nothing. The fast path is written before any setting names it. Uninstalling removes our entries and nothing else.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.registry import agent_from_argument, load_agents
from leftoff.core.hook_settings import (
    SCOPES,
    AgentCommands,
    Hook,
    HookProblem,
    Scope,
    WiredSettings,
    brief_hook_command,
    hook_command,
    mcp_command,
    statusline_command,
)
from leftoff.core.protocols import Agent, HasHooks, TakesMcpServer
from leftoff.errors import NothingToDoError, UsageError
from leftoff.live import installed
from leftoff.live.foreign_hooks import foreign_triggers
from leftoff.live.installed import Installation
from leftoff.platform import files, paths
from leftoff.workspace import Workspace


class McpChange(NamedTuple):
    """The change of the file that names the agent's MCP servers."""

    file: Path
    before: bytes | None
    after: bytes
    installation: Installation


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlan:
    """What installing would change. ``before`` is ``None`` if the settings file does not exist yet.

    ``hooks`` are our hooks in the settings afterwards, ``old_events`` those of our hooks before; ``notes`` are for the user. ``mcp`` is
    None if the recall tools are not asked for.
    """

    agent: str
    agent_name: str
    project: Path
    settings: Path
    before: bytes | None
    after: bytes
    installation: Installation
    fast_path: Path
    hooks: tuple[Hook, ...]
    old_events: tuple[str, ...]
    notes: tuple[str, ...]
    mcp: McpChange | None = None

    @property
    def event_changes(self) -> str:
        """Which events would be added and removed, in words; empty if they stay the same."""
        old, new = {*self.old_events}, {*(self.installation.events or ())}
        changes = {"added": sorted(new - old), "removed": sorted(old - new)}
        return "; ".join(f"{what}: {', '.join(events)}" for what, events in changes.items() if events)

    @property
    def changes_settings(self) -> bool:
        """Whether the settings file would change."""
        return self.before != self.after or (self.mcp is not None and self.mcp.before != self.mcp.after)

    @property
    def diff(self) -> str:
        """The changes, as `diff -u` shows them."""
        changes = [_diff(self.settings, self.before, self.after)]
        changes += [_diff(self.mcp.file, self.mcp.before, self.mcp.after)] if self.mcp else []
        return "\n".join(filter(None, changes))


def plan_install(agent_id: str, scope: Scope, workspace: Workspace, *, with_mcp: bool = False) -> InstallPlan:
    """Plan what installing would change; an error says why it cannot be done."""
    agent, wiring = _agent_with_hooks(agent_id)
    mcp = _plan_mcp(agent, wiring, scope) if with_mcp else None
    project = _project_root(scope, workspace)
    *beneath, file = map(installed.resolve_settings_file, wiring.settings_files(scope, project))
    hooks = wiring.hooks_here(project)
    notes = [*_notes_on_other_scope(hooks, file, scope, agent_id)]
    hook: str | None = hook_command(installed.interpreter(), str(installed.fast_path_file()), agent_id)
    if any(each.origin == "plugin" for each in hooks):
        hook = None
        notes.append(
            "leftoff's plugin is switched on and calls at every event, so no hooks go into the settings."
        )
    commands = AgentCommands(
        hook=hook,
        statusline=statusline_command(installed.interpreter()),
        brief_hook=brief_hook_command(
            installed.interpreter(), str(installed.fast_path_file()), str(paths.home()), agent_id
        ),
        plugin=str(installed.plugin_folder(agent_id)) if scope == "user" and hook is not None else None,
    )
    before = files.read_if_exists(file)
    text = installed.settings_text(file, before)
    base = installed.without_ours(wiring, file, before or b"", text)
    wired = wiring.wired(
        base,
        commands,
        [installed.settings_text(each, files.read_if_exists(each)) for each in beneath],
        where=file,
    )
    is_installed = before is not None and _entries(wiring, text, file) == _entries(wiring, wired.text, file)
    after = text if is_installed else wired.text
    return InstallPlan(
        agent=agent_id,
        agent_name=agent.name,
        project=project,
        settings=file,
        before=before,
        after=after.encode(),
        installation=_installation(agent_id, scope, file, wired, events=_events(wiring, wired.text, file)),
        fast_path=installed.fast_path_file(),
        hooks=wiring.ours_in(after, where=file),
        old_events=_events(wiring, text, file),
        notes=(*notes, *wired.notes, *foreign_triggers(hooks, workspace.settings.triggers_prefix)),
        mcp=mcp,
    )


def _plan_mcp(agent: Agent, wiring: HasHooks, scope: Scope) -> McpChange:
    """Plan the entry of our MCP server, which is the user's: in every project it answers for that project."""
    if not isinstance(wiring, TakesMcpServer):
        raise UsageError(f"leftoff cannot register MCP tools in {agent.name}.")
    if scope != "user":
        raise UsageError("--mcp registers the tools for all your projects. Leave out --scope project.")
    file = installed.resolve_settings_file(wiring.mcp_file)
    before = files.read_if_exists(file)
    text = installed.settings_text(file, before)
    base = installed.without_ours(wiring, file, before or b"", text)
    wired = wiring.with_mcp_server(base, mcp_command(installed.interpreter()), where=file)
    installation = _installation(agent.id, scope, file, wired, events=())
    is_same = before is not None and text != base and wired.text.split() == text.split()
    return McpChange(file, before, text.encode() if is_same else wired.text.encode(), installation)


def install(plan: InstallPlan) -> tuple[HookProblem, ...]:
    """Execute the plan and return what still prevents the agent from calling leftoff."""
    installed.write_fast_path()
    if str(installed.plugin_folder(plan.agent)).encode() in plan.after:
        installed.write_plugin(plan.agent)
    if plan.before != plan.after:
        # Remembered first: if the process is killed in between, the hash fits no file, and our entries are found by their form.
        with installed.remembered(plan.installation):
            files.replace_if_unchanged(plan.settings, plan.before, plan.after)
    if plan.mcp is not None and plan.mcp.before != plan.mcp.after:
        with installed.remembered(plan.mcp.installation):
            files.replace_if_unchanged(plan.mcp.file, plan.mcp.before, plan.mcp.after)
    _, wiring = _agent_with_hooks(plan.agent)
    return wiring.hook_troubles(plan.installation.scope, plan.project)


def agents_without_hooks(workspace: Workspace) -> list[Agent]:
    """Return the agents that are used on this machine and could call leftoff, but do not."""
    project = workspace.project.root
    return [
        agent
        for agent, wiring in _agents_with_hooks()
        if agent.home.is_dir() and not any(hook.origin for hook in wiring.hooks_here(project))
    ]


def _agent_with_hooks(agent_id: str) -> tuple[Agent, HasHooks]:
    """Return the agent, typed as both; UsageError for one without hooks."""
    agent = agent_from_argument(agent_id)
    if not isinstance(agent, HasHooks):
        able = ", ".join(each.id for each in load_agents() if isinstance(each, HasHooks))
        raise UsageError(f"{agent.name} has no hooks that leftoff could use. Those that have: {able}.")
    return agent, agent


def _project_root(scope: Scope, workspace: Workspace) -> Path:
    """Return the project's root; UsageError for scope project in a folder that is shared, such as the home."""
    project = workspace.project
    if scope == "project" and project.folder.name != paths.PROJECT_FOLDER:
        raise UsageError(
            f"{project.root} is not a project folder. Go to one, or use --scope user.",
            path=project.root,
        )
    return project.root


def _diff(file: Path, before: bytes | None, after: bytes | None) -> str:
    """Return the change of a file, where None means that it does not exist."""
    old, new = ((content or b"").decode("utf-8", "replace").splitlines() for content in (before, after))
    left, right = ("/dev/null" if content is None else str(file) for content in (before, after))
    return "\n".join(difflib.unified_diff(old, new, left, right, n=2, lineterm=""))


def _installation(
    agent_id: str, scope: Scope, file: Path, wired: WiredSettings, *, events: tuple[str, ...]
) -> Installation:
    """Return what the registry remembers; a file that an earlier installation created still counts as ours."""
    known = installed.installation_of(file)
    return Installation(
        agent=agent_id,
        scope=scope,
        settings=file,
        sha256=installed.digest(wired.text.encode()),
        trace=wired.trace,
        made_file=not file.exists() or (known is not None and known.made_file),
        made_folder=not file.parent.exists() or (known is not None and known.made_folder),
        events=events,
    )


def _notes_on_other_scope(hooks: Sequence[Hook], file: Path, scope: Scope, agent_id: str) -> Iterator[str]:
    """Refuse or warn about our hooks in the settings of the other scope: each event must be handled once."""
    others = {
        hook.source
        for hook in hooks
        if hook.origin == "settings" and files.resolve_links(Path(hook.source)) != file
    }
    for source in sorted(others):
        if scope == "project":
            raise NothingToDoError(
                f"leftoff is installed for all your projects already, in {source}. "
                f"To have it here only: leftoff uninstall {agent_id} --scope user, then try again."
            )
        yield f"This project has its own hooks, in {source}. Remove them: leftoff uninstall {agent_id} --scope project"


def _entries(wiring: HasHooks, text: str, file: Path) -> list[tuple[str, str]]:
    """Return our entries in a settings text, in an order that does not depend on their position."""
    return sorted((hook.event, str(hook.entry)) for hook in wiring.ours_in(text, where=file))


def _events(wiring: HasHooks, text: str, file: Path) -> tuple[str, ...]:
    """Return the events of our entries in a settings text."""
    return tuple(sorted({hook.event for hook in wiring.ours_in(text, where=file)}))


def adapt(agent_id: str, workspace: Workspace) -> str | None:
    """Fit our hooks to the agent that is installed now, such as after its upgrade; return what to tell the user.

    Only entries that ``install`` wrote and nothing has changed since are touched, and in a project only a file that is still
    exactly as it was left.
    """
    agent, wiring = _agent_with_hooks(agent_id)
    project = workspace.project.root
    usual = [files.resolve_links(wiring.settings_files(scope, project)[-1]) for scope in SCOPES]
    known = next(filter(None, map(installed.installation_of, usual)), None)
    if known is None or not _is_as_left(wiring, known):
        return None
    if any(hook.origin == "plugin" for hook in wiring.hooks_here(project)):
        return None  # it calls at every event; which of the two is to go is the user's choice
    plan = plan_install(agent_id, known.scope, workspace)
    if not plan.event_changes:
        return None
    install(plan)
    return (
        f"leftoff: its hooks in {plan.settings} now fit your version of {agent.name} ({plan.event_changes})."
    )


def _is_as_left(wiring: HasHooks, known: Installation) -> bool:
    content = files.read_if_exists(known.settings)
    if content is None or known.sha256 == installed.digest(content):
        return content is not None
    text = content.decode("utf-8", "replace")
    return known.scope == "user" and _events(wiring, text, known.settings) == known.events


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """The change of one settings file. ``after`` is ``None`` if the file is deleted because we created it."""

    agent: str
    settings: Path
    before: bytes
    after: bytes | None
    made_folder: bool

    @property
    def diff(self) -> str:
        """The change, as `diff -u` shows it."""
        return _diff(self.settings, self.before, self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallPlan:
    """What uninstalling would remove. ``fast_path`` is ``None`` if it stays because something still calls it.

    ``forgotten`` are the settings files that leave the registry.
    """

    removals: tuple[Removal, ...]
    forgotten: tuple[Path, ...]
    fast_path: Path | None
    notes: tuple[str, ...]


def plan_uninstall(agent_id: str | None, scope: Scope | None, workspace: Workspace) -> UninstallPlan:
    """Plan a removal: from one agent or all, in one scope or wherever leftoff is known to be installed."""
    agents = [_agent_with_hooks(agent_id)] if agent_id else [*_agents_with_hooks()]
    project = workspace.project.root
    removals, checked = [], []
    for agent, wiring in agents:
        for file in _settings_files(agent, wiring, scope, project):
            checked.append(file)
            if (removal := _plan_removal(agent, wiring, file)) is not None:
                removals.append(removal)
    removes_fast_path = installed.fast_path_file().exists() and not _is_still_called({*checked}, project)
    if not removals and not removes_fast_path:
        raise NothingToDoError(
            f"leftoff is not installed in {' or '.join(agent.name for agent, _ in agents)}. leftoff doctor shows what is installed."
        )
    return UninstallPlan(
        removals=tuple(removals),
        forgotten=tuple(checked),
        fast_path=installed.fast_path_file() if removes_fast_path else None,
        notes=tuple(_plugin_notes(agents, project)),
    )


def uninstall(plan: UninstallPlan) -> None:
    """Execute the plan: settings first, so that they never name a file that does not exist."""
    for removal in plan.removals:
        files.replace_if_unchanged(removal.settings, removal.before, removal.after)
        if removal.after is None and removal.made_folder:
            files.remove_if_empty(removal.settings.parent)
    installed.forget(plan.forgotten)
    if plan.fast_path is not None:
        plan.fast_path.unlink(missing_ok=True)
        installed.remove_plugins()


def _agents_with_hooks() -> Iterator[tuple[Agent, HasHooks]]:
    return ((agent, agent) for agent in load_agents() if isinstance(agent, HasHooks))


def _settings_files(agent: Agent, wiring: HasHooks, scope: Scope | None, project: Path) -> list[Path]:
    """Return the files to check: the usual ones, and without a scope also those in the registry, as in other projects."""
    usual = [wiring.settings_files(each, project)[-1] for each in SCOPES if scope in {None, each}]
    if isinstance(wiring, TakesMcpServer) and scope != "project":
        usual.append(wiring.mcp_file)
    registered = [each.settings for each in installed.all_installations() if each.agent == agent.id]
    return [*dict.fromkeys([*map(files.resolve_links, usual), *(registered if scope is None else [])])]


def _plan_removal(agent: Agent, wiring: HasHooks, file: Path) -> Removal | None:
    """Plan the removal from one file; None if it does not exist or has no entry of ours."""
    before = files.read_if_exists(file)
    if before is None or b"leftoff" not in before:
        return None
    text = installed.settings_text(file, before)
    after = installed.without_ours(wiring, file, before, text)
    if after == text:
        return None
    known = installed.installation_of(file)
    is_empty = after.split() in ([], ["{}"], ["{", "}"])
    return Removal(
        agent=agent.id,
        settings=file,
        before=before,
        after=None if known is not None and known.made_file and is_empty else after.encode(),
        made_folder=known is not None and known.made_folder,
    )


def _is_still_called(checked: set[Path], project: Path) -> bool:
    """Return whether anything outside the checked settings files would still call the fast path."""
    if any(each.settings not in checked for each in installed.all_installations()):
        return True
    ours = [hook for _, wiring in _agents_with_hooks() for hook in wiring.hooks_here(project) if hook.origin]
    return any(
        each.origin == "plugin" or files.resolve_links(Path(each.source)) not in checked for each in ours
    )


def _plugin_notes(agents: list[tuple[Agent, HasHooks]], project: Path) -> Iterator[str]:
    for agent, wiring in agents:
        if any(hook.origin == "plugin" for hook in wiring.hooks_here(project)):
            yield f"leftoff's plugin is still switched on in {agent.name}; switch it off there."
