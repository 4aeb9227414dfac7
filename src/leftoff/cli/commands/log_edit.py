"""``leftoff log edit``."""

from __future__ import annotations

import sys

import click

from leftoff.cli import display
from leftoff.errors import ProcessError, UsageError
from leftoff.flows import edit_log as flow
from leftoff.flows.choose import LATEST
from leftoff.system import paths


@click.command(epilog="Example: leftoff log edit latest")
@click.argument("log", default=LATEST)
@click.option("--yes", is_flag=True, help="Do not ask before a whole section is removed.")
@display.with_json
def edit(*, log: str, yes: bool, as_json: bool) -> int:
    """Open the resume log LOG in $EDITOR and keep what you change, now and whenever the session is saved again.

    LOG is a session's id or the beginning of one; the latest when left out. An emptied file changes nothing.
    """
    agreed = _yes if yes else _asked
    done = flow.edit_log(log, paths.working_folder(), _edited, agreed)
    if as_json:
        display.as_json(
            {
                "session_id": done.session_id,
                "markdown_file": str(done.markdown_file),
                "json_file": str(done.json_file),
                "changes": done.count,
                "not_kept": [*done.not_kept],
            }
        )
        return 0
    changes = "1 change stands" if done.count == 1 else f"{done.count} changes stand"
    display.say(f"{changes} in the log of {done.session_id}, also when it is saved again.")
    if done.not_kept:
        headings = " and ".join(display.visible(heading) for heading in done.not_kept)
        display.say(f"Not kept: {headings}. What stands there is made anew at each save.")
    display.say(display.visible(str(done.markdown_file)))
    return 0


def _yes(headings: tuple[str, ...]) -> bool:  # noqa: ARG001 - whichever they are
    return True


def _asked(headings: tuple[str, ...]) -> bool:
    """On a terminal; where nobody can be asked it has to be said beforehand."""
    what = display.visible(" and ".join(headings))
    if not sys.stdin.isatty():
        raise UsageError(
            f"{what}: removed with all that stood there. If that is meant: leftoff log edit --yes. "
            "The log is unchanged."
        )
    return click.confirm(f"Remove {what} with all that stands there?", default=False, err=True)


def _edited(text: str) -> str:
    """What the user's editor makes of the text; the text itself when it was left without saving."""
    environment = paths.environment()
    editor = environment.get("VISUAL") or environment.get("EDITOR")
    if not editor:
        raise UsageError("No editor is named. Say which one to use: EDITOR=nano leftoff log edit")
    try:
        edited = click.edit(text, editor=editor, extension=".md")
    except click.ClickException as error:
        raise ProcessError(
            f"{editor}: {error.message.removeprefix(f'{editor}: ')}. The log is unchanged."
        ) from error
    except UnicodeDecodeError as error:
        raise ProcessError(f"{editor}: what it saved is not UTF-8 text. The log is unchanged.") from error
    return text if edited is None else edited
