"""``leftoff log``: the group; each of its commands is a module of its own, imported when it runs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click

COMMANDS: Mapping[str, str] = {
    "save": "leftoff.cli.commands.log_save:save",
    "list": "leftoff.cli.commands.log_list:list_",
    "show": "leftoff.cli.commands.log_show:show",
    "edit": "leftoff.cli.commands.log_edit:edit",
    "verify": "leftoff.cli.commands.log_verify:verify",
    "cleanup": "leftoff.cli.commands.log_cleanup:cleanup",
    "stats": "leftoff.cli.commands.log_stats:stats",
}


class LogCommands(click.Group):
    """Finds the commands in the table above."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All names, in the order of the table."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LogCommands, epilog="Example: leftoff log list")
def log() -> None:
    """Save, read, edit and check resume logs: what the next session must know."""
