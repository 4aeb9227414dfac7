"""The commands of ``leftoff log``: save, list, show, edit, verify, cleanup and stats."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leftoff.cli import arguments, output
from leftoff.cli.editor import edit_text
from leftoff.cli.log_verify_command import verify
from leftoff.core.quantities import age, count
from leftoff.core.session_ids import short_id
from leftoff.errors import UsageError
from leftoff.platform import clock
from leftoff.resume_logs import cleanup as log_cleanup
from leftoff.resume_logs import list_logs
from leftoff.sessions.find import LATEST, find_session
from leftoff.workspace import Workspace

if TYPE_CHECKING:
    from leftoff.resume_logs.restore_text import Profile

_PROFILES: Mapping[str, Profile] = {"fresh": "fresh", "after-compaction": "after_compaction"}
_LEAST_CHARS = 500


@click.group(cls=arguments.OrderedGroup, epilog="Example: leftoff log list")
def log() -> None:
    """Save, read, edit and check resume logs: what the next session must know."""


@click.command(epilog="Example: leftoff log cleanup --keep 5 --dry-run")
@click.option(
    "--keep",
    type=arguments.WholeNumber(),
    help="How many logs of finished work to keep. Default: resume_logs.cleanup.keep_count.",
)
@click.option("--compress", is_flag=True, help="Compress the others instead of deleting them.")
@click.option("--dry-run", is_flag=True, help="Only list the logs that would be affected.")
@arguments.with_json
def cleanup(*, keep: int | None, compress: bool, dry_run: bool, as_json: bool) -> int:
    """Delete old resume logs of this project; the log of a session that still runs always stays.

    Logs of open work are not counted: they go when there are more than resume_logs.cleanup.keep_open_count of them, or after
    keep_open_days. leftoff forget SESSION erases one.
    """
    if keep is not None and keep < 0:
        raise UsageError(f"--keep {keep}: how many logs to keep, 0 or more. Nothing was deleted.")
    workspace = Workspace.open()
    if dry_run:
        done = log_cleanup.logs_to_clean(workspace, keep, compress=compress)
    else:
        done = (log_cleanup.compress_logs if compress else log_cleanup.cleanup_logs)(workspace, keep)
    if as_json:
        output.as_json(
            {
                "dry_run": dry_run,
                "action": "compress" if compress else "delete",
                "files": [str(path) for path in done.paths],
                "left": done.left,
                "open_work": {str(path): about for path, about in done.open_work.items()},
                "open_left": done.open_left,
                "troubles": [error.message for error in done.troubles],
            }
        )
        return 0
    did = ("would be " if dry_run else "") + ("compressed" if compress else "deleted")
    for path in done.paths:
        about = f" (open work: {output.one_line(done.open_work[path], 80)})" if path in done.open_work else ""
        output.say(f"{did}: {output.near_path(path)}{about}")
    spared = f", {done.open_left} of them with open work" if done.open_left else ""
    output.say(
        f"{len(done.paths) or 'No'} {'log' if len(done.paths) < 2 else 'logs'} {did}; {done.left} kept{spared}."
    )
    for error in done.troubles:
        output.error(error.message, as_json=False)
    return 0


@click.command(epilog="Example: leftoff log edit latest")
@click.argument("log", default=LATEST, type=arguments.SESSION)
@click.option("--yes", is_flag=True, help="Do not ask before a whole section is removed.")
@arguments.with_json
def edit(*, log: str, yes: bool, as_json: bool) -> int:
    """Edit a resume log in $EDITOR. Your changes are kept when the session is saved again.

    LOG is a session's id or the beginning of it. Default: the latest. An empty file changes nothing.
    """
    from leftoff.resume_logs.save import edit_log  # loads all of extraction, which most commands do not need

    agreed = _agree if yes else _ask
    done = edit_log(log, Workspace.open(), _run_editor, agreed)
    if as_json:
        output.as_json(
            {
                "session_id": done.session_id,
                "markdown_file": str(done.markdown_file),
                "json_file": str(done.json_file),
                "changes": done.count,
                "not_kept": [*done.not_kept],
                **done.judgement.to_dict(),
            }
        )
        return 0
    output.say(f"Kept {count(done.count, 'change')}; they stay when the session is saved again.")
    if done.not_kept:
        headings = " and ".join(output.visible(heading) for heading in done.not_kept)
        output.say(f"Not kept: {headings}, which leftoff writes at each save.")
    output.say(output.near_path(done.markdown_file))
    if mark := done.judgement.mark(done.json_file):
        output.say(output.visible(mark))
    return 0


def _agree(headings: tuple[str, ...]) -> bool:  # noqa: ARG001 - agrees to any
    return True


def _ask(headings: tuple[str, ...]) -> bool:
    """Ask on a terminal; elsewhere the user must agree with an option."""
    what = output.visible(" and ".join(headings))
    if not sys.stdin.isatty():
        raise UsageError(
            f"{what}: removed with everything in it. If you mean that: leftoff log edit --yes. "
            "The log is unchanged."
        )
    return click.confirm(f"Remove {what} and everything in it?", default=False, err=True)


def _run_editor(text: str) -> str:
    return edit_text(text, extension=".md", example="leftoff log edit", unchanged="The log is unchanged.")


@click.command("list", epilog="Example: leftoff log list")
@click.option("--remote", is_flag=True, help="List those in your storage backend, of all machines.")
@arguments.with_json
def list_(*, remote: bool, as_json: bool) -> int:
    """List the resume logs of this project, newest first."""
    if remote:
        return _list_remote(as_json=as_json)
    logs = list_logs.list_logs(Workspace.open())
    if as_json:
        output.as_json([log.to_dict() for log in logs])
        return 0 if logs else output.NOTHING_TO_DO
    if not logs:
        output.say("This project has no resume log yet. To save one: leftoff log save")
        return output.NOTHING_TO_DO
    now, room = clock.now(), max(20, output.width() - 26)
    rows = [
        (
            short_id(log.session_id),
            age(now, log.saved_at),
            output.one_line(
                log.trouble or output.without_opening(log.mission or "") or "(no mission)", room * 3 // 5
            ),
            output.one_line(output.without_opening(log.next_step or ""), room * 2 // 5),
            _notes(log),
        )
        for log in logs
    ]
    output.table(["session", "age", "mission", "next step", ""], rows, spare=["next step", "", "age"])
    return 0


def _list_remote(*, as_json: bool) -> int:
    from leftoff.storage.remote_logs import list_remote_logs

    output.hint("Asking the remote …")
    found = list_remote_logs(Workspace.open())
    if as_json:
        output.as_json([log.to_dict() for log in found.logs])
        return 0 if found.logs else output.NOTHING_TO_DO
    if found.logs:
        rows = [
            (
                short_id(log.session_id),
                output.one_line(log.written_at or "", 16),
                output.one_line(
                    log.trouble or output.without_opening(log.mission or "") or "(no mission)", 46
                ),
                output.one_line("here too" if log.is_local else log.root or "", 30),
            )
            for log in found.logs
        ]
        output.table(["session", "written", "mission", "from"], rows, spare=["from", "written"])
        output.say(f"leftoff resume --remote {found.logs[0].session_id} picks up the newest here.")
    else:
        output.say("The remote holds no log of this project yet.")
    if found.more:
        output.say(f"Older ones are not shown; these are the newest {len(found.logs)}.")
    if found.sent.waiting:
        output.say(f"{count(found.sent.waiting, 'log')} of this machine not sent yet: {found.sent.trouble}")
    return 0 if found.logs else output.NOTHING_TO_DO


def _notes(log: list_logs.ListedLog) -> str:
    notes = (
        log.origin if log.origin != list_logs.OWN else "",
        "not trusted" if log.judgement.standing == "foreign" else "",
        "edited" if log.edited else "",
        "compressed" if log.files.is_compressed else "",
        "cannot be read" if log.trouble else "",
    )
    return ", ".join(filter(None, notes))


@click.command(epilog="Example: leftoff log save --stdout --profile fresh")
@click.argument("session", default=LATEST, type=arguments.SESSION)
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the Markdown and write nothing.")
@click.option(
    "--profile",
    type=click.Choice(["fresh", "after-compaction"]),
    help="With --stdout: print exactly what an agent would be given, in a new session or after a compaction.",
)
@click.option(
    "--summary",
    type=click.Path(path_type=Path),
    help="With --profile after-compaction: a file with the agent's own summary, which is not repeated.",
)
@click.option(
    "--max-chars",
    type=arguments.WholeNumber(min=_LEAST_CHARS),
    help="With --stdout: print at most this many characters.",
)
@click.option(
    "--transcript",
    type=click.Path(path_type=Path),
    help="With --stdout: use this transcript.",
)
@arguments.with_json
def save(
    *,
    session: str,
    to_stdout: bool,
    profile: str | None,
    summary: Path | None,
    max_chars: int | None,
    transcript: Path | None,
    as_json: bool,
) -> int:
    """Save the resume log of SESSION. Default: the latest session of this project."""
    from leftoff.resume_logs.save import log_text, save_log

    if not to_stdout and any(each is not None for each in (profile, summary, max_chars, transcript)):
        raise UsageError(
            "--profile, --summary, --max-chars and --transcript go with --stdout, which prints the log and writes nothing."
        )
    if summary is not None and profile != "after-compaction":
        raise UsageError("--summary goes with --profile after-compaction.")
    workspace = Workspace.open()
    if to_stdout:
        ref = find_session(str(transcript) if transcript else session, workspace)
        text = log_text(
            ref,
            workspace,
            profile=_PROFILES[profile] if profile else None,
            max_chars=max_chars,
            summary=_read_summary(summary) if summary else None,
        )
        output.as_json({"markdown": text}) if as_json else click.echo(output.visible(text), nl=False)
        return 0
    kept = save_log(session, workspace)
    if as_json:
        output.as_json(kept.to_dict() | {"troubles": [str(trouble) for trouble in kept.troubles]})
        return 0
    for trouble in kept.troubles:
        click.echo(f"Skipped: {trouble}", err=True)
    output.say(f"Saved {output.near_path(kept.markdown_file)} ({kept.estimated_tokens:,} tokens).")
    output.say(f"To read it: leftoff log show {short_id(kept.log.session_id)}")
    return 0


def _read_summary(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.") from error


@click.command(epilog="Example: leftoff log show latest")
@click.argument("log", default=LATEST, type=arguments.SESSION)
@arguments.with_json
def show(*, log: str, as_json: bool) -> int:
    """Print the resume log of a session, by its id or the beginning of it. Default: the latest.

    --json adds the source of each item.
    """
    found = list_logs.show_log(log, Workspace.open())
    if as_json:
        output.as_json(found.log().to_dict() | {"origin": found.origin, **found.judgement.to_dict()})
    else:
        mark = found.judgement.mark(found.files.path)
        output.page(output.visible(f"{mark}\n\n{found.text()}" if mark else found.text()))
    return 0


@click.command(epilog="Example: leftoff log stats")
@arguments.with_json
def stats(*, as_json: bool) -> int:
    """Show how many resume logs this project has, how large they are, and where they are."""
    found = list_logs.log_stats(Workspace.open())
    if as_json:
        output.as_json(found.to_dict())
        return 0
    special = {
        "compressed": found.compressed_logs,
        "edited by hand": found.edited_logs,
        "that cannot be read": found.unreadable_logs,
        "left by a predecessor": found.predecessor_logs,
    }
    output.say(
        f"{count(found.total_logs, 'log')}, {count(found.total_size_bytes, 'byte')}, in {output.near_path(Path(found.storage_dir))}"
    )
    for words, number in special.items():
        if number:
            output.say(f"  {number} {words}")
    if found.newest:
        output.say(f"  saved {_describe_days(found.oldest, found.newest)}")
    output.say(
        f"  each takes at most {found.max_tokens:,} tokens; the newest {found.keep_count} are kept"
        + ("" if found.enabled else "; switched off: resume_logs.enabled is false")
    )
    return 0


def _describe_days(oldest: str | None, newest: str) -> str:
    first, last = (oldest or newest)[:10], newest[:10]
    return f"on {last}" if first == last else f"from {first} to {last}"


for _command in (save, list_, show, edit, verify, cleanup, stats):
    log.add_command(_command)
