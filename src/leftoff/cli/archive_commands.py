"""The commands ``leftoff archive list`` and ``leftoff archive restore``."""

from __future__ import annotations

import sys

import click

from leftoff.archive.archive import ArchiveEntry, list_archive, restore_session
from leftoff.cli import arguments, output
from leftoff.core.quantities import count
from leftoff.core.session_ids import short_id


@click.group(cls=arguments.OrderedGroup, epilog="Example: leftoff archive list")
def archive() -> None:
    """Compressed copies of sessions, kept for when an agent deletes its own (see archive.enabled)."""


@click.command("list", epilog="Example: leftoff archive list --all")
@click.option("--all", "show_all", is_flag=True, help="Include sessions that their agent still has.")
@arguments.with_json
def archive_list(*, show_all: bool, as_json: bool) -> int:
    """List the archived sessions that their agent has deleted or shortened."""
    listed = [each for each in list_archive() if show_all or each.deleted or each.copies > 1]
    if as_json:
        output.as_json([_to_dict(each) for each in listed])
        return 0 if listed else output.NOTHING_TO_DO
    if not listed:
        output.say(
            "The archive is empty."
            if show_all
            else "No archived session was deleted by its agent. To list every archived session: leftoff archive list --all"
        )
        return output.NOTHING_TO_DO
    rows = [
        (
            short_id(each.archived.session_id) if sys.stdout.isatty() else each.archived.session_id,
            each.archived.agent,
            output.one_line((each.archived.project or "?").rpartition("/")[2], 24),
            f"{each.archived.packed_bytes / 1000:,.0f} kB",
            _describe_state(each),
            output.one_line(each.archived.first_prompt or "", 60),
        )
        for each in listed
    ]
    output.table(
        ("session", "agent", "project", "size", "", "first prompt"), rows, spare=("size", "first prompt")
    )
    output.say("To put one back: leftoff archive restore ID")
    if any(each.copies > 1 for each in listed):
        output.say(
            "Of several copies the fullest is put back; to choose another: leftoff archive restore ID --copy COPY"
        )
    return 0


@click.command("restore", epilog="Example: leftoff archive restore 0b54f7aa")
@click.argument("session")
@click.option(
    "--copy", help="Which copy, as archive list names it. Default: the fullest one that was deleted."
)
@arguments.with_json
def archive_restore(*, session: str, copy: str | None, as_json: bool) -> int:
    """Put SESSION back where its agent had it. Nothing is overwritten."""
    archived, restored, others = restore_session(session, copy)
    if as_json:
        output.as_json(
            {
                "session_id": archived.session_id,
                "copy": archived.copy,
                "restored": [str(path) for path in restored],
            }
        )
        return 0
    output.say(
        f"Restored {count(len(restored), 'file')} of {archived.session_id}: {output.full_path(archived.transcript)}"
    )
    output.say(f"To continue: leftoff resume {archived.session_id}")
    for each in others:
        output.say(
            f"{output.full_path(each.transcript)} has the same id; to choose that one: "
            f"leftoff archive restore {each.session_id} --copy {each.copy}"
        )
    return 0


def _describe_state(each: ArchiveEntry) -> str:
    state = "deleted" if each.deleted else "there"
    return f"{state}, copy {each.archived.copy}" if each.copies > 1 else state


def _to_dict(each: ArchiveEntry) -> dict[str, object]:
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


for _command in (archive_list, archive_restore):
    archive.add_command(_command)
