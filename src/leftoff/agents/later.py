"""Modules that are loaded when something of theirs is first asked for: somebody waits for ``leftoff status``."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from typing import Any


def later(package: str, names: str) -> dict[str, Any]:
    """The modules of that package by name, for a module's ``globals()``; its ``TYPE_CHECKING`` part imports them for readers."""
    return {name: _Later(f"{package}.{name}") for name in names.split()}


class _Later:
    """Stands where the module will be."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        """What is not there yet; from then on it is, because some of it is asked for with every line of a transcript."""
        found = getattr(import_module(self._module), name)
        setattr(self, name, found)
        return found
