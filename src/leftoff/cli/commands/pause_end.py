"""``leftoff pause finalize``, ``discard`` and ``recover``: how a pause ends; and the picker that they share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from leftoff.cli import display
from leftoff.cli.commands.pause_lists import draw_list
from leftoff.errors import AmbiguousSessionError
from leftoff.flows import pause_discard, pause_finalize, pause_list, pause_recover
from leftoff.flows.pause_finalize import Ending, Finalized
from leftoff.flows.pause_homes import Running
from leftoff.flows.pause_recover import Choice, Recovered
from leftoff.system import paths

Result = TypeVar("Result")
_LETTERS: dict[str, Choice] = {"f": "finalize", "d": "discard", "c": "continue"}
_DONE = {"finalize": "Finalised", "discard": "Discarded", "continue": "Goes on", None: "Left as it is"}


def picked(words: str | None, call: Callable[[str | None, Path], Result], *, as_json: bool) -> Result:
    """What ``call`` gives for the pause that is meant; on a terminal one is picked from a list where words name several."""
    folder = paths.working_folder()
    try:
        return call(words, folder)
    except AmbiguousSessionError:
        if as_json or not sys.stdin.isatty():
            raise
    listed = pause_list.list_pauses(folder)
    pause_list.remember(listed)
    draw_list(listed)
    return call(click.prompt("Which one (number, id or part of it)"), folder)


@click.command(epilog="Example: leftoff pause finalize --message 'stopped before the migration'")
@click.argument("pause_name", metavar="[PAUSE]", required=False)
@click.option("--message", "-m", help="A note for whoever goes on.")
@click.option("--archive-only", is_flag=True, help="Keep the recorded actions and make no snapshot.")
@click.option("--commit", is_flag=True, help="Commit the snapshot's own files to git, and nothing else.")
@display.with_json
def finalize(
    *, pause_name: str | None, message: str | None, archive_only: bool, commit: bool, as_json: bool
) -> int:
    """End the running PAUSE (number, id or part of it) and keep it as a snapshot: JSON, YAML, Markdown, archive."""
    end = pause_finalize.archive_here if archive_only else pause_finalize.finalize_here
    ending = Ending(reason="by command", message=message, commit=True if commit else None)
    ended = picked(pause_name, lambda words, folder: end(words, folder, ending), as_json=as_json)
    if as_json:
        display.as_json(_shown(ended))
        return 1 if ended.trouble else 0
    display.say(f"Kept {ended.session_id}: {ended.summary.action_count} actions.")
    for path in ended.files:
        display.say(f"  {display.visible(str(path))}")
    if ended.commit:
        display.say(f"Committed as {ended.commit[:12]}.")
    if ended.warning:
        display.error(ended.warning, as_json=False)
    if ended.trouble:
        display.error(f"The snapshot is written, but git did not commit it: {ended.trouble}", as_json=False)
    return 1 if ended.trouble else 0


@click.command(epilog="Example: leftoff pause discard")
@click.argument("pause_name", metavar="[PAUSE]", required=False)
@display.with_json
def discard(*, pause_name: str | None, as_json: bool) -> int:
    """Throw the running PAUSE (number, id or part of it) away; finished ones are not touched."""
    gone = picked(pause_name, pause_discard.discard_here, as_json=as_json).summary
    if as_json:
        display.as_json({"session_id": gone.session_id, "action_count": gone.action_count})
    else:
        display.say(f"Discarded {gone.session_id} with {gone.action_count} actions.")
    return 0


@click.command(epilog="Example: leftoff pause recover --finalize")
@click.argument("pause_name", metavar="[PAUSE]", required=False)
@click.option(
    "--finalize", "choice", flag_value="finalize", help="Keep each as a snapshot, as of its last action."
)
@click.option("--discard", "choice", flag_value="discard", help="Throw each away.")
@click.option("--continue", "choice", flag_value="continue", help="Leave each running.")
@click.option("--all", "everywhere", is_flag=True, help="In all projects, not only in this one.")
@display.with_json
def recover(*, pause_name: str | None, choice: Choice | None, everywhere: bool, as_json: bool) -> int:
    """Find pauses that were left behind by a process that died, and settle each: finalize, discard or continue.

    On a terminal you are asked; elsewhere say it with a flag. With PAUSE: that one, whether its process lives or not.
    """
    folder = paths.working_folder()
    asks = choice is None and not as_json and sys.stdin.isatty()
    decide = _asked if asks else lambda _: choice
    if pause_name:
        settled = pause_recover.recover_named(pause_name, folder, decide)
    elif everywhere:
        settled = pause_recover.recover_everywhere(folder, decide)
    else:
        settled = pause_recover.recover_here(folder, decide)
    if as_json:
        display.as_json([each.to_dict() for each in settled])
        return 0
    for each in settled:
        _say(each, asked=asks)
    if choice is None and not asks:
        display.say("Settle them: leftoff pause recover --finalize, --discard or --continue")
    return 0


def _asked(found: Running) -> Choice:
    _describe(found)
    letter = click.prompt(
        "Finalize (f), discard (d), or continue (c)?",
        type=click.Choice([*_LETTERS]),
        show_choices=False,
        prompt_suffix=" ",
    )
    return _LETTERS[letter]


def _describe(found: Running) -> None:
    display.say(f"Found incomplete pause session: {found.summary.session_id}")
    display.say(f"  - {found.summary.action_count} actions recorded")
    display.say(f"  - Started: {found.summary.pause_started_at}")
    display.say(f"  - Project: {display.visible(str(found.home.project.root))}")


def _say(each: Recovered, *, asked: bool) -> None:
    if not asked:
        _describe(each.found)
    where = f": {display.visible(str(each.finalized.main))}" if each.finalized else ""
    display.say(f"  {_DONE[each.choice]}{where}")


def _shown(ended: Finalized) -> dict[str, object]:
    return {
        "session_id": ended.session_id,
        "path": str(ended.main),
        "files": [str(path) for path in ended.files],
        "action_count": ended.summary.action_count,
        "bad_lines": ended.summary.bad_lines,
        "commit": ended.commit,
        "trouble": ended.trouble,
        "warning": ended.warning,
    }
