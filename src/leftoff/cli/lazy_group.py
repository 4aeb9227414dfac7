"""Groups whose commands are imported when they are called, so that no command pays for another."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click


def lazy_group(commands: Mapping[str, str]) -> type[click.Group]:
    """The class of a group with these commands: a name, and where to find it."""

    class LazyGroup(click.Group):
        """Finds its commands in the table."""

        def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
            """All names, in the order of the table."""
            return [*commands]

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
            """The command, imported now."""
            if cmd_name not in commands:
                return None
            module, _, attribute = commands[cmd_name].partition(":")
            command = getattr(importlib.import_module(module), attribute)
            assert isinstance(command, click.Command)
            return command

    return LazyGroup
