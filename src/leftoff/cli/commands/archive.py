"""``leftoff archive``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.cli.lazy_group import lazy_group
from leftoff.flows import archive_sessions as flow

COMMANDS = {
    "list": "leftoff.cli.commands.archive:archive_list",
    "restore": "leftoff.cli.commands.archive:archive_restore",
}


@click.group(cls=lazy_group(COMMANDS), epilog="Example: leftoff archive list")
def archive() -> None:
    """Sessions that leftoff keeps compressed, for when an agent deletes its own (archive.enabled)."""


@click.command("list", epilog="Example: leftoff archive list --all")
@click.option("--all", "show_all", is_flag=True, help="Also those that their agent still has.")
@display.with_json
def archive_list(*, show_all: bool, as_json: bool) -> int:
    """Sessions that their agent has deleted or cut short, and the archive still has."""
    listed = [each for each in flow.list_archive() if show_all or each.deleted or each.copies > 1]
    if as_json:
        display.as_json([_wire(each) for each in listed])
        return 0
    if not listed:
        display.say(
            "No deleted session is in the archive. leftoff archive list --all shows those that are still there."
        )
        return 0
    rows = [
        (
            each.archived.session_id,
            each.archived.agent,
            display.one_line((each.archived.project or "?").rpartition("/")[2], 24),
            f"{each.archived.packed_bytes / 1000:,.0f} kB",
            _state(each),
            display.one_line(each.archived.first_prompt or "", 60),
        )
        for each in listed
    ]
    display.table(
        ("session", "agent", "project", "size", "", "first prompt"), rows, spare=("size", "first prompt")
    )
    display.say("To put one back: leftoff archive restore ID")
    if any(each.copies > 1 for each in listed):
        display.say(
            "Of several copies the fullest is put back; to choose another: leftoff archive restore ID --copy COPY"
        )
    return 0


@click.command("restore", epilog="Example: leftoff archive restore 0b54f7aa")
@click.argument("session")
@click.option("--copy", help="Which of several, as archive list calls it; else the fullest that is gone.")
@display.with_json
def archive_restore(*, session: str, copy: str | None, as_json: bool) -> int:
    """Put SESSION (its id, or the beginning of it) back where its agent had it. Nothing is overwritten."""
    archived, restored, others = flow.restore_session(session, copy)
    if as_json:
        display.as_json(
            {
                "session_id": archived.session_id,
                "copy": archived.copy,
                "restored": [str(path) for path in restored],
            }
        )
        return 0
    display.say(
        f"Restored {len(restored)} file(s) of {archived.session_id}: {display.visible(archived.transcript)}"
    )
    display.say(f"To go on: leftoff resume {archived.session_id}")
    for each in others:
        display.say(
            f"{display.visible(each.transcript)} has the same id; to choose that one: "
            f"leftoff archive restore {each.session_id} --copy {each.copy}"
        )
    return 0


def _state(each: flow.Listed) -> str:
    state = "deleted" if each.deleted else "there"
    return f"{state}, copy {each.archived.copy}" if each.copies > 1 else state


def _wire(each: flow.Listed) -> dict[str, object]:
    archived = each.archived
    return {
        "session_id": archived.session_id,
        "agent": archived.agent,
        "project": archived.project,
        "first_prompt": archived.first_prompt,
        "archived_at": archived.archived_at,
        "transcript": archived.transcript,
        "packed_bytes": archived.packed_bytes,
        "deleted": each.deleted,
        "copy": archived.copy,
        "copies": each.copies,
    }
