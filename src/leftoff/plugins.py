"""Who is there: agents, section providers, triggers, storage backends and summarisers, built in or brought along.

Built-ins and plugins enter by the same door: a name and where to find it. A plugin is an entry point in a group with a
version (``leftoff.agents.v1`` …), or a dotted path in the user's own configuration. Nothing is imported before it is asked
for by name; a plugin that cannot be loaded is named in a PluginError, which callers report and pass over.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from operator import attrgetter

from leftoff.errors import NotFoundError, PluginError

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from importlib import metadata
    from typing import Any, Literal

    Group = Literal["agents", "sections", "triggers", "storage", "summarisers"]
else:
    Group = str

API_VERSION = 1

# The whole of what is built in, on one screen. Each dotted path is a callable without required arguments.
BUILT_IN: Mapping[Group, Mapping[str, str]] = {
    "agents": {"claude": "leftoff.agents.claude:here", "codex": "leftoff.agents.codex:here"},
    "sections": {},
    "triggers": {},
    "storage": {
        "files": "leftoff.stores.files:here",
        "memory": "leftoff.stores.memory:MemoryStore",
        "sqlite": "leftoff.stores.sqlite:here",
        "s3": "leftoff.stores.s3:here",
        "postgres": "leftoff.stores.postgres:here",
    },
    "summarisers": {"rules": "leftoff.summarisers.rules:Rules"},
}


def names(group: Group) -> list[str]:
    """All names in a group, built-ins first; a plugin cannot take a built-in's name."""
    return [*_paths(group)]


def make(group: Group, name: str) -> Any:
    """The plugin of that name, made; NotFoundError when there is none, PluginError when it fails."""
    paths = _paths(group)
    if name not in paths:
        known = ", ".join(paths) or "none"
        raise NotFoundError(f"There is nothing called {name!r} among the {group}. There are: {known}.")
    return make_from(paths[name])


def make_all(group: Group, dotted_paths: Iterable[str] = ()) -> Iterator[Any | PluginError]:
    """Everything in a group, then the user's dotted paths; what fails comes back as the error that says so.

    Built-ins come first, and guests are looked for only by those who ask for more.
    """
    built_in = BUILT_IN[group]
    yield from map(_made, built_in.values())
    for each in _guests(group):
        if isinstance(each, PluginError):
            yield each
        elif each.name not in built_in:
            yield _made(each.value)
    yield from map(_made, dotted_paths)


def _made(dotted_path: str) -> Any | PluginError:
    try:
        return make_from(dotted_path)
    except PluginError as error:
        return error


def make_from(dotted_path: str) -> Any:
    """What ``package.module:Name`` names, called without arguments."""
    module, _, attribute = dotted_path.partition(":")
    if not module or not attribute:
        raise PluginError(f"Plugin {dotted_path!r}: a plugin is named package.module:Name.")
    try:
        factory = attrgetter(attribute)(importlib.import_module(module))
        return factory()
    except (Exception, SystemExit) as error:  # foreign code may raise anything; it must not take us along
        raise PluginError(f"Plugin {dotted_path!r} failed: {type(error).__name__}: {error}.") from error


def _paths(group: Group) -> dict[str, str]:
    paths = dict(BUILT_IN[group])
    for each in _guests(group):
        if not isinstance(each, PluginError):
            paths.setdefault(each.name, each.value)
    return paths


def _guests(group: Group) -> Iterator[metadata.EntryPoint | PluginError]:
    """The entry points of a group; a distribution whose own cannot be read hides no other, and is told if it concerns us."""
    name = f"leftoff.{group}.v{API_VERSION}"
    if not any(map(_brings_guests, sys.path)):
        return
    from importlib import metadata  # noqa: PLC0415 - slow, and seldom needed

    for distribution in metadata.distributions():
        try:
            yield from distribution.entry_points.select(group=name)
        except Exception as error:  # noqa: BLE001 - somebody else's packaging, of any kind
            if name in (distribution.read_text("entry_points.txt") or ""):
                who = distribution.metadata["Name"]
                yield PluginError(
                    f"The entry points of {who} cannot be read: {type(error).__name__}: {error}."
                )


def _brings_guests(place: str) -> bool:
    """Whether a distribution in that place of ``sys.path`` says a word about us: a look at small files, without a parser."""
    try:
        found = [
            entry.path
            for entry in os.scandir(place or ".")
            if entry.name.endswith((".dist-info", ".egg-info"))
        ]
    except NotADirectoryError:
        return True  # an archive, which only the parser can open
    except OSError:
        return False
    for path in found:
        with suppress(OSError), open(f"{path}/entry_points.txt", "rb") as file:  # noqa: PTH123 - pathlib is half the cost
            if b"[leftoff." in file.read():
                return True
    return False
