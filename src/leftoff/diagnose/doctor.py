"""Check what is installed, readable or broken, and name the command that repairs it.

Nothing is changed, except that logs waiting to be sent are sent if the storage backend answers.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from leftoff.agents.registry import load_agents
from leftoff.config import load
from leftoff.config.load import Mistake
from leftoff.config.settings import Settings, known_keys
from leftoff.core.hook_settings import SCOPES, Hook, Scope, fast_path_of, interpreter_of
from leftoff.core.protocols import Agent, CanBeChecked, HasHooks, StorageBackend
from leftoff.core.quantities import count
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import LeftoffError, PluginError, StorageError
from leftoff.live import installed as live_installed
from leftoff.live.foreign_hooks import foreign_triggers
from leftoff.live.install import plan_install
from leftoff.platform import files, paths, zstd
from leftoff.plugins import BUILT_IN, make_all
from leftoff.storage import outbox
from leftoff.storage.outbox import Outbox, send_all
from leftoff.storage.repository import configured_backend
from leftoff.storage.store_base import call_backend
from leftoff.version import VERSION
from leftoff.workspace import Workspace

State = Literal["ok", "note", "broken"]
_STORAGE, _OUTBOX = "storage", "outbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check. ``fix`` is what to type or do, empty if there is nothing to do."""

    what: str
    state: State
    detail: str
    fix: str = ""

    def to_dict(self) -> JsonObject:
        """Return the JSON form, which scripts rely on."""
        return {"what": self.what, "state": self.state, "detail": self.detail, "fix": self.fix}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingInForce:
    """A setting, its value and where that came from."""

    key: str
    value: JsonValue
    origin: str


def examine(workspace: Workspace) -> list[Finding]:
    """Run every check."""
    return [
        *_check_program(),
        *_check_folders(),
        *_check_project(workspace),
        *_check_settings(workspace),
        *_check_agents(),
        *check_hooks(workspace),
        *check_storage(workspace),
        *_check_archive(workspace),
        *_check_plugins(),
    ]


def _check_archive(workspace: Workspace) -> Iterator[Finding]:
    if workspace.settings.archive.enabled and not zstd.is_available():
        yield Finding(
            what="archive",
            state="broken",
            detail="archive.enabled is true, but this Python lacks zstd: no copies are kept",
            fix=f"{sys.executable} -m pip install backports.zstd",
        )


def explain_settings(workspace: Workspace) -> tuple[list[SettingInForce], list[Mistake]]:
    """Return every setting with its origin, and the mistakes that were ignored."""
    config = workspace.config
    in_force = []
    for dotted, origin in config.origins.items():
        value: object = config.settings
        for name in dotted.split("."):
            value = getattr(value, name)
        if isinstance(value, tuple):
            value = [*value]
        elif isinstance(value, Mapping):
            value = {**value}
        in_force.append(SettingInForce(key=dotted, value=cast("JsonValue", value), origin=str(origin)))
    return in_force, [*config.mistakes]


def _check_program() -> Iterator[Finding]:
    system = f"Python {platform.python_version()} on {platform.system()}"
    yield Finding(what="leftoff", state="ok", detail=f"{VERSION}, {system}, {sys.executable}")
    if shutil.which("git"):
        yield Finding(what="git", state="ok", detail="found")
    else:
        yield Finding(
            what="git",
            state="note",
            detail="not found: leftoff cannot say which files changed since a session",
            fix="install git",
        )


def _check_folders() -> Iterator[Finding]:
    for what, folder in (
        ("state", paths.state_folder()),
        ("data", paths.data_folder()),
        ("config", paths.config_folder()),
    ):
        yield _check_folder(f"{what} folder", folder)


def _check_folder(what: str, folder: Path) -> Finding:
    nearest = next(above for above in (folder, *folder.parents) if above.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        fix = f"chmod u+rwx {nearest}"
        return Finding(what=what, state="broken", detail=f"{folder} cannot be written", fix=fix)
    return Finding(
        what=what, state="ok", detail=f"{folder}{'' if folder.exists() else ' (created when needed)'}"
    )


def _check_project(workspace: Workspace) -> Iterator[Finding]:
    project = workspace.project
    if project.folder.is_symlink():
        yield Finding(
            what="project",
            state="broken",
            detail=f"{project.folder} is a symbolic link; leftoff writes only into a real folder",
            fix=f"rm {project.folder}",
        )
        return
    tree = f", worktree {project.worktree}" if project.worktree else ""
    there = "" if project.folder.is_dir() else " (created when needed)"
    kind = "git" if project.in_git else "no git"
    yield Finding(
        what="project",
        state="ok",
        detail=f"{project.root} ({kind}{tree}), documents in {project.folder}{there}",
    )


def _check_settings(workspace: Workspace) -> Iterator[Finding]:
    config = workspace.config
    changed = sum(origin.layer != "default" for origin in config.origins.values())
    yield Finding(
        what="settings",
        state="ok",
        detail=f"{changed} of {len(known_keys())} changed; {paths.config_folder() / load.FILE_NAME}",
        fix="leftoff config shows them" if changed else "",
    )
    for mistake in config.mistakes:
        state: State = "note" if mistake.origin.layer == "project file" else "broken"
        yield Finding(what="settings", state=state, detail=str(mistake), fix=f"edit {mistake.origin.place}")


def _check_agents() -> Iterator[Finding]:
    for agent in load_agents():
        transcripts = [*agent.transcripts()]
        unreadable = sum(not os.access(transcript, os.R_OK) for transcript in transcripts)
        if unreadable:
            fix = f"chmod u+r the files below {agent.home}"
            detail = f"{unreadable:,} of {len(transcripts):,} transcripts in {agent.home} cannot be read"
            yield Finding(what=agent.name, state="broken", detail=detail, fix=fix)
        else:
            there = (
                count(len(transcripts), "transcript") if agent.home.is_dir() else "not used on this machine"
            )
            yield Finding(what=agent.name, state="ok", detail=f"{agent.home}: {there}")


def _check_plugins() -> Iterator[Finding]:
    for group in BUILT_IN:
        for made in make_all(group):
            if isinstance(made, PluginError):
                yield Finding(
                    what=f"plugin ({group})",
                    state="broken",
                    detail=made.message,
                    fix="update or uninstall it",
                )


def check_hooks(workspace: Workspace) -> Iterator[Finding]:
    """Check the hooks of every agent that has some, then the fast path that they share."""
    project = workspace.project.root
    calling: list[Hook] = []
    for agent in load_agents():
        if isinstance(agent, HasHooks):
            hooks = agent.hooks_here(project)
            ours = [hook for scope in SCOPES for hook in _our_hooks(agent, scope, project)]
            ours += [hook for hook in hooks if hook.origin == "plugin"]
            calling += ours
            yield from _check_agent_hooks(agent, agent, ours, workspace)
            yield from (
                Finding(what=f"hooks of {agent.name}", state="note", detail=detail)
                for detail in foreign_triggers(hooks, workspace.settings.triggers_prefix)
            )
    if calling:
        yield from _check_fast_path(calling)


def _our_hooks(wiring: HasHooks, scope: Scope, project: Path) -> tuple[Hook, ...]:
    file = wiring.settings_files(scope, project)[-1]
    text = (files.read_if_exists(file) or b"").decode("utf-8", "replace")
    return wiring.ours_in(text, where=file)


def _check_agent_hooks(
    agent: Agent, wiring: HasHooks, ours: Sequence[Hook], workspace: Workspace
) -> Iterator[Finding]:
    project = workspace.project.root
    what, fix = f"hooks of {agent.name}", f"leftoff install {agent.id}"
    if not ours:
        if agent.home.is_dir():
            yield Finding(what=what, state="note", detail="not installed", fix=fix)
        return
    sources = [*dict.fromkeys(hook.source for hook in ours)]
    events = [*dict.fromkeys(hook.event for hook in ours if hook.event != "*")]
    yield Finding(
        what=what,
        state="ok",
        detail=f"installed in {', '.join(sources)} ({', '.join(events) or 'all events'})",
    )
    twice = sorted({hook.source for hook in ours if fast_path_of(hook.command) or hook.origin == "plugin"})
    if len(twice) > 1:
        detail = f"hooks are in {' and in '.join(twice)}; each event needs one"
        yield Finding(what=what, state="note", detail=detail, fix=f"leftoff uninstall {agent.id}, then {fix}")
    for python in dict.fromkeys(filter(None, (interpreter_of(hook.command) for hook in ours))):
        if shutil.which(python) is None:
            detail = f"the interpreter that the hooks name is gone: {python}"
            yield Finding(what=what, state="broken", detail=detail, fix=fix)
    installed = [scope for scope in SCOPES if any(_our_hooks(wiring, scope, project))]
    problems = (problem for scope in installed for problem in wiring.hook_troubles(scope, project))
    for problem in dict.fromkeys(problems):
        yield Finding(what=what, state="broken", detail=problem.problem, fix=problem.fix)
    yield from _check_events(agent, installed if len(twice) == 1 else [], workspace)


def _check_events(agent: Agent, scopes: Sequence[Scope], workspace: Workspace) -> Iterator[Finding]:
    """Check that the installed events are those which fit the agent's version."""
    for scope in scopes:
        try:
            plan = plan_install(agent.id, scope, workspace)
        except LeftoffError:
            continue  # the other findings say why
        if plan.event_changes:
            detail = f"the hooks do not fit the installed version ({plan.event_changes})"
            fix = f"leftoff install {agent.id}" + (" --scope project" if scope == "project" else "")
            yield Finding(what=f"hooks of {agent.name}", state="note", detail=detail, fix=fix)


def _check_fast_path(calling: Sequence[Hook]) -> Iterator[Finding]:
    what, fix = "fast path", "run leftoff install AGENT again"
    scripts = filter(None, (fast_path_of(hook.command) for hook in calling))
    for named in dict.fromkeys(str(Path(script).expanduser()) for script in scripts):
        if not os.access(named, os.R_OK):
            yield Finding(what=what, state="broken", detail=f"{named}: gone or not readable", fix=fix)
        elif Path(named) != live_installed.fast_path_file():
            detail = f"the hooks run {named}, and this leftoff's own is {live_installed.fast_path_file()}"
            yield Finding(what=what, state="note", detail=detail, fix=fix)
    place, version = live_installed.fast_path_file(), live_installed.installed_version()
    if version is None:
        return
    if files.read_if_exists(place) == live_installed.fast_path_content():
        yield Finding(what=what, state="ok", detail=f"{place}, of this version")
    elif version != VERSION:
        detail = f"{place} is from leftoff {version}; this is {VERSION}"
        yield Finding(what=what, state="broken", detail=detail, fix=fix)
    else:
        detail = f"{place} is not from this leftoff ({shlex.quote(live_installed.interpreter())})"
        yield Finding(what=what, state="note", detail=detail, fix=fix)


def check_storage(workspace: Workspace) -> Iterator[Finding]:
    """Ask the storage backend once; if it answers, send the logs that wait."""
    box = outbox.user_outbox()
    try:
        yield from _check_backend(workspace.settings, box)
    except StorageError as error:
        fix = f"chmod u+rwx {shlex.quote(str(box.folder))}"
        yield Finding(what=_OUTBOX, state="broken", detail=str(error), fix=fix)


def _check_backend(settings: Settings, box: Outbox) -> Iterator[Finding]:
    """Check the configured backend; StorageError if the outbox cannot be read."""
    try:
        backend = configured_backend(settings)
        detail = "" if backend is None else _ask(backend)
    except LeftoffError as error:
        yield Finding(
            what=_STORAGE, state="broken", detail=f"{settings.storage}: {error}", fix="see docs/storage.md"
        )
        yield from _note_waiting(len(box.waiting()), box.trouble())
        return
    if backend is None:
        yield Finding(what=_STORAGE, state="ok", detail="files: logs stay on this machine")
        if waiting := len(box.waiting()):
            logs = "1 log waits" if waiting == 1 else f"{waiting} logs wait"
            detail = (
                f"{logs} to be sent, but storage names nowhere to send {'it' if waiting == 1 else 'them'}"
            )
            fix = "set storage as it was, or delete the outbox"
            yield Finding(what=_OUTBOX, state="note", detail=detail, fix=fix)
        return
    yield Finding(what=_STORAGE, state="ok", detail=f"{settings.storage}: {detail}")
    sent = send_all(backend)
    yield from _note_waiting(sent.waiting, sent.trouble)


def _ask(backend: StorageBackend) -> str:
    if isinstance(backend, CanBeChecked):
        return call_backend(backend, backend.check)
    return f"reached, {count(len(call_backend(backend, backend.list)), 'log')}"


def _note_waiting(waiting: int, trouble: str | None) -> Iterator[Finding]:
    if waiting:
        many = "1 log waits" if waiting == 1 else f"{waiting} logs wait"
        reason = f": {trouble}" if trouble else ""
        yield Finding(
            what=_OUTBOX, state="note", detail=f"{many} to be sent{reason}", fix="leftoff doctor tries again"
        )
