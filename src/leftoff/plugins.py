"""Finds and creates agents, section providers, triggers, storage backends and summarisers, built in or from plugins.

Built-ins and plugins are both a name and a dotted path. A plugin is an entry point in a versioned group (``leftoff.agents.v1`` …)
or a dotted path in the user's own configuration. Nothing is imported before it is needed; a plugin that fails to load gives a
PluginError, which callers report and skip."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from leftoff.errors import NotFoundError, PluginError

if TYPE_CHECKING:
    from importlib import metadata

Group = Literal["agents", "sections", "triggers", "storage", "summarisers"]
API_VERSION = 1
# Everything that is built in. Each dotted path names a callable without required arguments.
BUILT_IN: Mapping[Group, Mapping[str, str]] = {
    "agents": {"claude": "leftoff.agents.claude:here", "codex": "leftoff.agents.codex:here"},
    "sections": {},
    "triggers": {},
    "storage": {
        "files": "leftoff.storage.file_store:open_project_store",
        "memory": "leftoff.storage.store_base:MemoryStore",
        "sqlite": "leftoff.storage.sqlite_store:open_user_store",
        "s3": "leftoff.storage.s3_store:unconfigured_store",
        "postgres": "leftoff.storage.postgres_store:open_from_environment",
    },
    "summarisers": {"rules": "leftoff.plugins:Rules"},
}


def names(group: Group) -> list[str]:
    """Return all names in a group, built-ins first; a plugin cannot replace a built-in."""
    return [*_paths(group)]


def make(group: Group, name: str) -> Any:
    """Create the plugin of that name; NotFoundError if it does not exist, PluginError if it fails."""
    paths = BUILT_IN[group] if name in BUILT_IN[group] else _paths(group)
    if name not in paths:
        known = ", ".join(paths) or "none"
        raise NotFoundError(f"There is nothing called {name!r} among the {group}. There are: {known}.")
    return make_from(paths[name])


def make_all(group: Group, dotted_paths: Iterable[str] = ()) -> Iterator[Any | PluginError]:
    """Create everything in a group, then the user's dotted paths; a plugin that fails gives its PluginError.

    Built-ins come first; entry points are searched only if the caller takes more.
    """
    built_in = BUILT_IN[group]
    yield from map(_create_or_error, built_in.values())
    for each in _entry_points(group):
        if isinstance(each, PluginError):
            yield each
        elif each.name not in built_in:
            yield _create_or_error(each.value)
    yield from map(_create_or_error, dotted_paths)


def _create_or_error(dotted_path: str) -> Any | PluginError:
    try:
        return make_from(dotted_path)
    except PluginError as error:
        return error


def make_from(dotted_path: str) -> Any:
    """Call what ``package.module:Name`` names, without arguments."""
    module, _, attribute = dotted_path.partition(":")
    if not module or not attribute:
        raise PluginError(f"Plugin {dotted_path!r}: a plugin is named package.module:Name.")
    try:
        factory = attrgetter(attribute)(importlib.import_module(module))
        return factory()
    except (Exception, SystemExit) as error:  # a plugin can raise anything, and must not stop leftoff
        raise PluginError(f"Plugin {dotted_path!r} failed: {type(error).__name__}: {error}.") from error


def _paths(group: Group) -> dict[str, str]:
    paths = dict(BUILT_IN[group])
    for each in _entry_points(group):
        if not isinstance(each, PluginError):
            paths.setdefault(each.name, each.value)
    return paths


def _entry_points(group: Group) -> Iterator[metadata.EntryPoint | PluginError]:
    """Iterate over the entry points of a group; an unreadable distribution gives a PluginError if it has that group."""
    name = f"leftoff.{group}.v{API_VERSION}"
    if not any(_is_declared(name, Path(folder)) for folder in sys.path):
        return
    from importlib import metadata  # noqa: PLC0415 - takes longer to import than `leftoff status` to answer

    for distribution in metadata.distributions():
        try:
            yield from distribution.entry_points.select(group=name)
        except Exception as error:  # noqa: BLE001 - a foreign package can be broken in any way
            if name in (distribution.read_text("entry_points.txt") or ""):
                package = distribution.metadata["Name"]
                yield PluginError(
                    f"The entry points of {package} cannot be read: {type(error).__name__}: {error}."
                )


def _is_declared(name: str, folder: Path) -> bool:
    """Return whether a package in the folder may have entry points of that group. Most users have no plugin, and need not wait."""
    with suppress(OSError):  # importlib.metadata passes over what it cannot read, too
        if folder.is_file():
            return True  # an archive, which only importlib.metadata can look into
        for package in folder.iterdir():
            if package.name.lower().endswith("-info"):  # .dist-info, .egg-info, EGG-INFO
                with suppress(OSError):
                    if name.encode() in (package / "entry_points.txt").read_bytes():
                        return True
    return False


class Rules:
    """The default summariser, without a model: it returns the text that extraction wrote."""

    def summarise(self, prompt: str, *, timeout_seconds: float) -> str:  # noqa: ARG002 - see Summariser
        """Return the prompt unchanged."""
        return prompt
