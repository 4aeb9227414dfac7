"""``leftoff project``: the group; each of its commands is a module of its own, imported when it runs."""

from __future__ import annotations

from collections.abc import Mapping

import click

from leftoff.cli.lazy_group import lazy_group

COMMANDS: Mapping[str, str] = {
    "init": "leftoff.cli.commands.project_init:init",
    "list": "leftoff.cli.commands.project_list:list_",
    "load": "leftoff.cli.commands.project_load:load",
    "save": "leftoff.cli.commands.project_save:save",
    "complete": "leftoff.cli.commands.project_complete:complete",
    "close": "leftoff.cli.commands.project_close:close",
    "resume": "leftoff.cli.commands.project_resume:resume",
    "import": "leftoff.cli.commands.project_import:import_",
}


@click.group(cls=lazy_group(COMMANDS), epilog="Example: leftoff project resume 24")
def project() -> None:
    """Keep the resume state of projects: where each stands, what comes next, what to read to go on."""
