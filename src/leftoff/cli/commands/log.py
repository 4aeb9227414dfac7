"""``leftoff log``: the group; each of its commands is a module of its own, imported when it runs."""

from __future__ import annotations

from collections.abc import Mapping

import click

from leftoff.cli.lazy_group import lazy_group

COMMANDS: Mapping[str, str] = {
    "save": "leftoff.cli.commands.log_save:save",
    "list": "leftoff.cli.commands.log_list:list_",
    "show": "leftoff.cli.commands.log_show:show",
    "edit": "leftoff.cli.commands.log_edit:edit",
    "verify": "leftoff.cli.commands.log_verify:verify",
    "cleanup": "leftoff.cli.commands.log_cleanup:cleanup",
    "stats": "leftoff.cli.commands.log_stats:stats",
}


@click.group(cls=lazy_group(COMMANDS), epilog="Example: leftoff log list")
def log() -> None:
    """Save, read, edit and check resume logs: what the next session must know."""
