"""Take out of the settings of agents what we put in, and nothing else: first a plan that can be shown, then carried out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from leftoff.errors import NothingToDoError
from leftoff.flows import fast_path, installations
from leftoff.flows.agents import agents_here
from leftoff.flows.install import hooked_agent, settings_text, shown_diff
from leftoff.flows.installations import Installation
from leftoff.model.protocols import Agent, HasHooks
from leftoff.model.values import dataclass
from leftoff.model.wiring import SCOPES, Scope
from leftoff.system import foreign_files, paths


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """One settings file. ``after`` None: the file goes, because we made it; with it an empty folder of our making."""

    agent: str
    settings: Path
    before: bytes
    after: bytes | None
    made_folder: bool

    @property
    def diff(self) -> str:
        """The change, as `diff -u` shows it."""
        return shown_diff(self.settings, self.before, self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallPlan:
    """All that goes. ``fast_path`` None: it stays, because something still calls it. ``forgotten`` is remembered no more."""

    removals: tuple[Removal, ...]
    forgotten: tuple[Path, ...]
    fast_path: Path | None
    notes: tuple[str, ...]


def plan_uninstall(agent_id: str | None, scope: Scope | None, working_folder: Path) -> UninstallPlan:
    """What would be taken out: of one agent or all, in one scope or wherever we are known to be."""
    agents = [hooked_agent(agent_id)] if agent_id else [*_hooked_agents()]
    project = paths.project_of(working_folder).root
    removals, looked_at = [], []
    for agent, wiring in agents:
        for file in _files(agent, wiring, scope, project):
            looked_at.append(file)
            if (removal := _removal(agent, wiring, file)) is not None:
                removals.append(removal)
    stays = _still_calling({*looked_at}, project)
    leaves = not stays and fast_path.place().exists()
    if not removals and not leaves:
        raise NothingToDoError(
            "Nothing of leftoff stands in the settings looked at. leftoff doctor shows what is installed."
        )
    return UninstallPlan(
        removals=tuple(removals),
        forgotten=tuple(looked_at),
        fast_path=fast_path.place() if leaves else None,
        notes=tuple(_plugins(agents, project)),
    )


def uninstall(plan: UninstallPlan) -> None:
    """Carry out the plan: settings first, so that nothing ever names a file that is gone."""
    for removal in plan.removals:
        foreign_files.replace(removal.settings, removal.before, removal.after)
        if removal.after is None and removal.made_folder:
            foreign_files.remove_if_empty(removal.settings.parent)
    installations.forget(plan.forgotten)
    if plan.fast_path is not None:
        plan.fast_path.unlink(missing_ok=True)


def _hooked_agents() -> Iterator[tuple[Agent, HasHooks]]:
    return ((agent, agent) for agent in agents_here() if isinstance(agent, HasHooks))


def _files(agent: Agent, wiring: HasHooks, scope: Scope | None, project: Path) -> list[Path]:
    """Where to look: the usual places, and without a scope also whatever else is remembered, as in other projects."""
    usual = [wiring.settings_files(each, project)[-1] for each in SCOPES if scope in {None, each}]
    remembered = [each.settings for each in installations.all_installations() if each.agent == agent.id]
    found = [*map(foreign_files.real, usual), *(remembered if scope is None else [])]
    return [*dict.fromkeys(found)]


def _removal(agent: Agent, wiring: HasHooks, file: Path) -> Removal | None:
    """None when nothing of ours stands in the file, or there is none."""
    before = foreign_files.read(file)
    if before is None or b"leftoff" not in before:
        return None
    text = settings_text(file, before)
    after = installations.without_ours(wiring, file, before, text)
    if after == text:
        return None
    known = installations.installation_of(file)
    return Removal(
        agent=agent.id,
        settings=file,
        before=before,
        after=None if _is_all_ours(known, after) else after.encode(),
        made_folder=known is not None and known.made_folder,
    )


def _is_all_ours(known: Installation | None, left: str) -> bool:
    """Whether we made the file and nothing of anybody else's has come into it."""
    return known is not None and known.made_file and left.split() in ([], ["{}"], ["{", "}"])


def _still_calling(gone: set[Path], project: Path) -> bool:
    """Whether anything would still call the fast path."""
    if any(each.settings not in gone for each in installations.all_installations()):
        return True
    hooks = [hook for _, wiring in _hooked_agents() for hook in wiring.hooks_here(project) if hook.origin]
    return any(hook.origin == "plugin" or foreign_files.real(Path(hook.source)) not in gone for hook in hooks)


def _plugins(agents: list[tuple[Agent, HasHooks]], project: Path) -> Iterator[str]:
    for agent, wiring in agents:
        if any(hook.origin == "plugin" for hook in wiring.hooks_here(project)):
            yield f"leftoff's plugin is still switched on in {agent.name}; switch it off there."
