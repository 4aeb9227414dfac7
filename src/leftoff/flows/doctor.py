"""What is installed, readable, trusted, slow or broken, and the command that mends it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import leftoff
from leftoff import plugins
from leftoff.config import layers
from leftoff.config.keys import known_keys
from leftoff.config.layers import Mistake
from leftoff.errors import PluginError
from leftoff.flows.agents import agents_here
from leftoff.flows.examine_hooks import examine_hooks
from leftoff.flows.examine_storage import examine_storage
from leftoff.flows.findings import Finding, State
from leftoff.flows.settings import settings_here
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonValue
from leftoff.system import paths


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingInForce:
    """One setting, its value and where that came from."""

    key: str
    value: JsonValue
    origin: str


def examine(working_folder: Path) -> list[Finding]:
    """Everything that can be checked without changing anything."""
    return [
        *_program(),
        *_folders(),
        *_project(working_folder),
        *_configuration(working_folder),
        *_agents(),
        *examine_hooks(working_folder),
        *examine_storage(working_folder),
        *_plugins(),
    ]


def explain_settings(working_folder: Path) -> tuple[list[SettingInForce], list[Mistake]]:
    """Every setting with its origin, and the mistakes that were passed over."""
    config = settings_here(working_folder)
    in_force = []
    for dotted, origin in config.origins.items():
        value: object = config.settings
        for name in dotted.split("."):
            value = getattr(value, name)
        shown: JsonValue = list(value) if isinstance(value, tuple) else value  # type: ignore[assignment]
        in_force.append(SettingInForce(key=dotted, value=shown, origin=str(origin)))
    return in_force, [*config.mistakes]


def _program() -> Iterator[Finding]:
    system = f"Python {platform.python_version()} on {platform.system()}"
    yield Finding(what="leftoff", state="ok", words=f"{leftoff.__version__}, {system}, {sys.executable}")
    if shutil.which("git"):
        yield Finding(what="git", state="ok", words="found")
    else:
        yield Finding(
            what="git", state="note", words="not found: drift of files cannot be told", mend="install git"
        )


def _folders() -> Iterator[Finding]:
    for what, folder in (
        ("state", paths.state_folder()),
        ("data", paths.data_folder()),
        ("config", paths.config_folder()),
    ):
        yield _folder(f"{what} folder", folder)


def _folder(what: str, folder: Path) -> Finding:
    nearest = next(above for above in (folder, *folder.parents) if above.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        mend = f"chmod u+rwx {nearest}"
        return Finding(what=what, state="broken", words=f"{folder} cannot be written", mend=mend)
    return Finding(what=what, state="ok", words=f"{folder}{'' if folder.exists() else ' (made when needed)'}")


def _project(working_folder: Path) -> Iterator[Finding]:
    project = paths.project_of(working_folder)
    if project.folder.is_symlink():
        yield Finding(
            what="project",
            state="broken",
            words=f"{project.folder} is a symbolic link; leftoff writes only into a real folder",
            mend=f"rm {project.folder}",
        )
        return
    tree = f", worktree {project.worktree}" if project.worktree else ""
    there = "" if project.folder.is_dir() else " (made when needed)"
    kind = "git" if project.in_git else "no git"
    yield Finding(
        what="project",
        state="ok",
        words=f"{project.root} ({kind}{tree}), documents in {project.folder}{there}",
    )


def _configuration(working_folder: Path) -> Iterator[Finding]:
    config = settings_here(working_folder)
    changed = sum(origin.layer != "default" for origin in config.origins.values())
    yield Finding(
        what="settings",
        state="ok",
        words=f"{changed} of {len(known_keys())} changed; {paths.config_folder() / layers.FILE_NAME}",
        mend="leftoff doctor --config shows each with its origin" if changed else "",
    )
    for mistake in config.mistakes:
        state: State = "note" if mistake.origin.layer == "project file" else "broken"
        yield Finding(what="settings", state=state, words=str(mistake), mend=f"edit {mistake.origin.place}")


def _agents() -> Iterator[Finding]:
    for agent in agents_here():
        found, unreadable = 0, 0
        for transcript in agent.transcripts():
            found += 1
            unreadable += not os.access(transcript, os.R_OK)
        if unreadable:
            mend = f"chmod u+r the files below {agent.home}"
            words = f"{unreadable:,} of {found:,} transcripts in {agent.home} cannot be read"
            yield Finding(what=agent.name, state="broken", words=words, mend=mend)
        else:
            there = f"{found:,} transcripts" if agent.home.is_dir() else "not there"
            yield Finding(what=agent.name, state="ok", words=f"{agent.home}: {there}")


def _plugins() -> Iterator[Finding]:
    for group in plugins.BUILT_IN:
        for made in plugins.make_all(group):
            if isinstance(made, PluginError):
                yield Finding(
                    what=f"plugin ({group})", state="broken", words=made.message, mend="uninstall or mend it"
                )
