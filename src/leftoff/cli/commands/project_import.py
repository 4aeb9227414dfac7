"""``leftoff project import``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.flows import project_import as flow
from leftoff.system import paths


@click.command("import", epilog="Example: leftoff project import")
@click.argument("project", metavar="[ID]", required=False)
@display.with_json
def import_(*, project: str | None, as_json: bool) -> int:
    """Take over resume states of older forms (_resume.md, resume-context.md), of project ID or of all.

    Their keys and words stay; what is missing is added. A project without any state gets one from its documents.
    """
    done = flow.import_projects(project, paths.working_folder())
    if as_json:
        display.as_json(
            [
                {
                    "id": each.home.id,
                    "how": each.how,
                    "state_file": str(each.home.state),
                    "waits_for_trust": each.waits,
                    "trouble": each.trouble,
                }
                for each in done
            ]
        )
    else:
        for each in done:
            display.say(
                f"{display.visible(each.home.id)}: {each.how}{f': {display.visible(each.trouble)}' if each.trouble else ''}"
            )
            if each.waits:
                display.say(f"  Read it, then: leftoff trust {display.visible(str(each.home.state))}")
    return 1 if any(each.how == "failed" for each in done) else 0
