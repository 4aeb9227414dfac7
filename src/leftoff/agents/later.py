"""Modules that are loaded when something of theirs is first asked for: somebody waits for ``leftoff status``."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def later(package: str, names: str) -> dict[str, Any]:
    """The modules of that package by name, for a module's ``globals()``; its ``TYPE_CHECKING`` part imports them for readers."""
    return {name: _Later(f"{package}.{name}") for name in names.split()}


class _Later:
    """Stands where the module will be."""

    __slots__ = ("_module",)

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)
