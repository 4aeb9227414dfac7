"""Wire an agent to call us: first a plan that can be shown, then the plan carried out.

Nothing is installed that was not asked for (L39). Installing twice changes nothing the second time. The fast path is put in
its place before any setting names it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

from leftoff.errors import ConfigError, NothingToDoError, StorageError, UsageError
from leftoff.flows import fast_path, installations
from leftoff.flows.agents import agent_typed, agents_here
from leftoff.flows.foreign_triggers import foreign_triggers
from leftoff.flows.installations import Installation
from leftoff.flows.settings import settings_here
from leftoff.model.protocols import Agent, HasHooks
from leftoff.model.values import dataclass
from leftoff.model.wiring import Commands, Hook, HookTrouble, Scope, Wired, hook_command, statusline_command
from leftoff.system import foreign_files, paths


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlan:
    """What installing would change. ``before`` None: there is no such file yet.

    ``hooks`` are those of ours that stand in the settings afterwards; ``notes`` are for the user to read.
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
    notes: tuple[str, ...]

    @property
    def changes_settings(self) -> bool:
        """Whether the settings file would change."""
        return self.before != self.after

    @property
    def diff(self) -> str:
        """The change of the settings file, as `diff -u` shows it."""
        return shown_diff(self.settings, self.before, self.after)


def plan_install(agent_id: str, scope: Scope, working_folder: Path) -> InstallPlan:
    """What installing would change; errors say why it cannot be done."""
    agent, wiring = hooked_agent(agent_id)
    project = project_for(scope, working_folder)
    *beneath, file = map(_behind, wiring.settings_files(scope, project))
    here = wiring.hooks_here(project)
    notes = [*_elsewhere(here, file, scope, agent_id)]
    hook: str | None = hook_command(fast_path.interpreter(), str(fast_path.place()), agent_id)
    if any(each.origin == "plugin" for each in here):
        hook = None
        notes.append(
            "leftoff's plugin is switched on and calls at every event, so no hooks go into the settings."
        )
    commands = Commands(hook=hook, statusline=statusline_command(fast_path.interpreter()))
    before = foreign_files.read(file)
    text = settings_text(file, before)
    base = installations.without_ours(wiring, file, before or b"", text)
    wired = wiring.wired(
        base, commands, [settings_text(each, foreign_files.read(each)) for each in beneath], where=file
    )
    is_done = before is not None and _entries(wiring, text, file) == _entries(wiring, wired.text, file)
    after = text if is_done else wired.text
    return InstallPlan(
        agent=agent_id,
        agent_name=agent.name,
        project=project,
        settings=file,
        before=before,
        after=after.encode(),
        installation=_installation(agent_id, scope, file, wired),
        fast_path=fast_path.place(),
        hooks=wiring.ours_in(after, where=file),
        notes=(
            *notes,
            *wired.notes,
            *foreign_triggers(here, settings_here(working_folder).settings.triggers_prefix),
        ),
    )


def install(plan: InstallPlan) -> tuple[HookTrouble, ...]:
    """Carry out the plan; what still keeps the agent from calling us."""
    fast_path.put()
    if plan.changes_settings:
        # Remembered first: were we killed in between, the hash would fit nothing, and ours is found by its shape.
        installations.remember(plan.installation)
        foreign_files.replace(plan.settings, plan.before, plan.after)
    _, wiring = hooked_agent(plan.agent)
    return wiring.hook_troubles(plan.installation.scope, plan.project)


def hooked_agent(agent_id: str) -> tuple[Agent, HasHooks]:
    """The agent and how it is wired; UsageError for one that calls nobody."""
    agent = agent_typed(agent_id)
    if not isinstance(agent, HasHooks):
        able = ", ".join(each.id for each in agents_here() if isinstance(each, HasHooks))
        raise UsageError(f"{agent.name} has no hooks that leftoff could use. Those that have: {able}.")
    return agent, agent


def project_for(scope: Scope, working_folder: Path) -> Path:
    """The root of the project we are in; for scope project it must be one."""
    project = paths.project_of(working_folder)
    if scope == "project" and project.folder.name != paths.PROJECT_FOLDER:
        raise UsageError(
            f"{project.root} is no project: it is everybody's. Go to one, or use --scope user.",
            path=project.root,
        )
    return project.root


def _behind(named: Path) -> Path:
    """The file behind a link; a link into a folder that is not there is refused: what it meant is not ours to make."""
    file = foreign_files.real(named)
    if named.is_symlink() and not file.parent.is_dir():
        raise StorageError(
            f"{named}: a link to {file}, whose folder does not exist. Make the folder or remove the link, then try again.",
            path=named,
        )
    return file


def settings_text(file: Path, content: bytes | None) -> str:
    """A settings file as text; ConfigError for what is no UTF-8."""
    try:
        return (content or b"").decode()
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{file}: not UTF-8 text. Nothing was changed; mend the file first.", path=file
        ) from error


def shown_diff(file: Path, before: bytes | None, after: bytes | None) -> str:
    """The change of a file; None stands for no file."""
    old, new = ((content or b"").decode("utf-8", "replace").splitlines() for content in (before, after))
    left, right = ("/dev/null" if content is None else str(file) for content in (before, after))
    return "\n".join(difflib.unified_diff(old, new, left, right, n=2, lineterm=""))


def _installation(agent_id: str, scope: Scope, file: Path, wired: Wired) -> Installation:
    """What is to be remembered; a file of our making stays one, however often we install."""
    known = installations.installation_of(file)
    return Installation(
        agent=agent_id,
        scope=scope,
        settings=file,
        sha256=installations.digest(wired.text.encode()),
        trace=wired.trace,
        made_file=not file.exists() or (known is not None and known.made_file),
        made_folder=not file.parent.exists() or (known is not None and known.made_folder),
    )


def _elsewhere(here: Sequence[Hook], file: Path, scope: Scope, agent_id: str) -> Iterator[str]:
    """What is said of ours in the settings of the other scope: each event must be handled once."""
    others = {
        hook.source
        for hook in here
        if hook.origin == "settings" and foreign_files.real(Path(hook.source)) != file
    }
    for source in sorted(others):
        if scope == "project":
            raise NothingToDoError(
                f"leftoff is installed for all your projects already, in {source}. "
                f"To have it here only: leftoff uninstall {agent_id} --scope user, then try again."
            )
        yield f"This project has its own hooks, in {source}. Remove them: leftoff uninstall {agent_id} --scope project"


def _entries(wiring: HasHooks, text: str, file: Path) -> list[tuple[str, str]]:
    """What of a settings text is ours, wherever it stands in it."""
    return sorted((hook.event, str(hook.entry)) for hook in wiring.ours_in(text, where=file))
