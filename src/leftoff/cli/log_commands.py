"""The commands of ``leftoff log``: save, list, show, edit, verify, cleanup and stats."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from leftoff.cli import output
from leftoff.core.quantities import age, count
from leftoff.errors import ProcessError, UsageError
from leftoff.platform import clock, paths
from leftoff.resume_logs import cleanup as log_cleanup
from leftoff.resume_logs import list_logs
from leftoff.sessions.find import LATEST, find_session
from leftoff.workspace import Workspace

if TYPE_CHECKING:
    from leftoff.resume_logs.verify import CheckedText, VerifiedLog
    from leftoff.resume_logs.verify_items import Finding, Verdict

_LEAST_CHARS = 500
_MARKS = {"supported": "supported", "contradicted": "CONTRADICTED", "source gone": "source gone"}


@click.group(cls=output.OrderedGroup, epilog="Example: leftoff log list")
def log() -> None:
    """Save, read, edit and check resume logs: what the next session must know."""


@click.command(epilog="Example: leftoff log cleanup --keep 5 --dry-run")
@click.option(
    "--keep",
    type=output.WholeNumber(),
    help="How many of the newest without open work stay; resume_logs.cleanup.keep_count when left out.",
)
@click.option("--compress", is_flag=True, help="Compress the others instead of deleting them.")
@click.option("--dry-run", is_flag=True, help="Only say which logs it would be.")
@output.with_json
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
        output.say(f"{did}: {output.visible(str(path))}{about}")
    spared = f" {done.open_left} of them with open work." if done.open_left else ""
    output.say(f"{len(done.paths)} {did}, {done.left} there{' now' if not dry_run else ''}.{spared}")
    for error in done.troubles:
        output.error(error.message, as_json=False)
    return 0


@click.command(epilog="Example: leftoff log edit latest")
@click.argument("log", default=LATEST)
@click.option("--yes", is_flag=True, help="Do not ask before a whole section is removed.")
@output.with_json
def edit(*, log: str, yes: bool, as_json: bool) -> int:
    """Open the resume log LOG in $EDITOR and keep what you change, now and whenever the session is saved again.

    LOG is a session's id or the beginning of one; the latest when left out. An emptied file changes nothing.
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
    output.say(
        f"Kept {count(done.count, 'change')} in the log of {done.session_id}, also when it is saved again."
    )
    if done.not_kept:
        headings = " and ".join(output.visible(heading) for heading in done.not_kept)
        output.say(f"Not kept: {headings}. What stands there is made anew at each save.")
    output.say(output.visible(str(done.markdown_file)))
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
            f"{what}: removed with all that stood there. If that is meant: leftoff log edit --yes. "
            "The log is unchanged."
        )
    return click.confirm(f"Remove {what} with all that stands there?", default=False, err=True)


def _run_editor(text: str) -> str:
    """Let the user edit the text; return it unchanged if the editor was left without saving."""
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


@click.command("list", epilog="Example: leftoff log list")
@click.option("--remote", is_flag=True, help="Those that the storage backend holds, of all machines.")
@output.with_json
def list_(*, remote: bool, as_json: bool) -> int:
    """List the resume logs of this project, newest first, each with where it came from."""
    if remote:
        return _list_remote(as_json=as_json)
    logs = list_logs.list_logs(Workspace.open())
    if as_json:
        output.as_json([log.to_dict() for log in logs])
        return 0 if logs else output.NOTHING_TO_DO
    if not logs:
        output.say("This project has no resume log yet. leftoff log save makes one.")
        return output.NOTHING_TO_DO
    now = clock.now()
    rows = [
        (
            output.one_line(log.session_id, 36),
            age(now, log.saved_at),
            output.one_line(log.trouble or log.mission or "(no mission)", 46),
            output.one_line(log.next_step or "", 30),
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
                output.one_line(log.session_id, 36),
                output.one_line(log.written_at or "", 16),
                output.one_line(log.trouble or log.mission or "(no mission)", 46),
                output.one_line("here too" if log.is_local else log.root or "", 30),
            )
            for log in found.logs
        ]
        output.table(["session", "written", "mission", "from"], rows, spare=["from", "written"])
        output.say(f"leftoff resume --remote {found.logs[0].session_id} takes up the newest here.")
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


@click.command(epilog="Example: leftoff log save --stdout --max-chars 9900")
@click.argument("session", default=LATEST)
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the Markdown and write nothing.")
@click.option(
    "--max-chars",
    type=output.WholeNumber(min=_LEAST_CHARS),
    help="With --stdout: at most so many characters.",
)
@click.option(
    "--transcript",
    type=click.Path(path_type=Path),
    help="With --stdout: of this file, wherever it is.",
)
@output.with_json
def save(
    *, session: str, to_stdout: bool, max_chars: int | None, transcript: Path | None, as_json: bool
) -> int:
    """Save the resume log of SESSION: a number of the list last shown, an id or prefix, a path; the latest when left out."""
    from leftoff.resume_logs.save import log_text, save_log

    if not to_stdout and (max_chars is not None or transcript is not None):
        raise UsageError(
            "--max-chars and --transcript go with --stdout, which prints the log and writes nothing."
        )
    workspace = Workspace.open()
    if to_stdout:
        ref = find_session(str(transcript) if transcript else session, workspace)
        text = log_text(ref, workspace, max_chars=max_chars)
        output.as_json({"markdown": text}) if as_json else click.echo(output.visible(text), nl=False)
        return 0
    kept = save_log(session, workspace)
    if as_json:
        output.as_json(kept.to_dict() | {"troubles": [str(trouble) for trouble in kept.troubles]})
        return 0
    for trouble in kept.troubles:
        click.echo(f"Passed over: {trouble}", err=True)
    click.echo(
        f"Saved {kept.markdown_file} ({kept.estimated_tokens:,} tokens). To read it: leftoff log show {kept.log.session_id}"
    )
    return 0


@click.command(epilog="Example: leftoff log show latest")
@click.argument("log", default=LATEST)
@output.with_json
def show(*, log: str, as_json: bool) -> int:
    """Print the resume log LOG: a session's id or the beginning of one; the latest when left out.

    With --json everything that is known, with the source of each item.
    """
    found = list_logs.show_log(log, Workspace.open())
    if as_json:
        output.as_json(found.log().to_dict() | {"origin": found.origin, **found.judgement.to_dict()})
    else:
        mark = found.judgement.mark(found.files.path)
        click.echo_via_pager(output.visible(f"{mark}\n\n{found.text()}" if mark else found.text()))
    return 0


@click.command(epilog="Example: leftoff log stats")
@output.with_json
def stats(*, as_json: bool) -> int:
    """Show how many resume logs this project has, how large they are, and where they stand."""
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
        f"{count(found.total_logs, 'log')}, {count(found.total_size_bytes, 'byte')}, in {output.visible(found.storage_dir)}"
    )
    for words, number in special.items():
        if number:
            output.say(f"  {number} {words}")
    if found.newest:
        output.say(f"  saved from {found.oldest} to {found.newest}")
    output.say(
        f"  each takes at most {found.max_tokens:,} tokens; the newest {found.keep_count} are kept"
        + ("" if found.enabled else "; switched off: resume_logs.enabled is false")
    )
    return 0


@click.command(epilog="Example: leftoff log verify latest")
@click.argument("log", default="latest")
@click.option("--all", "everything", is_flag=True, help="List the supported items too.")
@click.option(
    "--markdown",
    is_flag=True,
    help="Print the log with contradicted items struck, those without source marked.",
)
@click.option(
    "--text",
    type=click.File("r", encoding="utf-8"),
    help="Check this text against LOG instead; - reads it from stdin.",
)
@output.with_json
def verify(*, log: str, everything: bool, markdown: bool, text: IO[str] | None, as_json: bool) -> int:
    """Check each item of LOG against its source: supported, contradicted, or its source gone.

    LOG is a session's id, a path or the latest log of this project. Exits with 1 when anything is contradicted.
    A text is checked by its paths, commands, numbers, names and quotations, and by what it says about tests; exits with 1
    when nobody knows one of them, with 3 when there is none.
    """
    from leftoff.resume_logs.verify import check_text, verify_log

    if text is not None:
        return _show_checked_text(check_text(text.read(), log, Workspace.open()), as_json=as_json)
    found = verify_log(log, Workspace.open())
    if as_json:
        output.as_json(
            {"log": str(found.path), "verdicts": [_verdict_to_dict(verdict) for verdict in found.verdicts]}
        )
    elif markdown:
        output.say(found.marked().to_markdown())
    else:
        _draw_verdicts(found, everything=everything)
    return 1 if found.count("contradicted") else 0


def _draw_verdicts(found: VerifiedLog, *, everything: bool) -> None:
    rows = [
        (verdict.item, _MARKS[verdict.outcome], output.one_line(verdict.text, 60), _why(verdict))
        for verdict in found.verdicts
        if everything or verdict.outcome != "supported"
    ]
    if rows:
        output.table(["item", "", "says", "why"], rows)
    counts = ", ".join(
        f"{found.count(outcome)} {outcome}" for outcome in ("supported", "contradicted", "source gone")
    )
    output.say(f"{output.visible(str(found.path))}: {counts}.")


def _why(verdict: Verdict) -> str:
    at = f" (line {verdict.place.line_idx + 1:,})" if verdict.place is not None and verdict.reason else ""
    return output.visible(f"{verdict.reason}{at}")


def _verdict_to_dict(verdict: Verdict) -> dict[str, object]:
    place = verdict.place
    where = None if place is None else {"transcript": place.transcript, "line": place.line_idx + 1}
    return dataclasses.asdict(verdict) | {"place": where}


def _show_checked_text(checked: CheckedText, *, as_json: bool) -> int:
    from leftoff.resume_logs.verify_items import strike_unknown

    unknown = [finding for finding in checked.findings if not finding.known]
    if as_json:
        output.as_json({"findings": [_finding_to_dict(finding) for finding in checked.findings]})
    else:
        output.say(output.visible(strike_unknown(checked.text, checked.findings)))
        output.say(_describe_findings(len(checked.findings), len(unknown)))
    return 1 if unknown else 0 if checked.findings else 3


def _describe_findings(found: int, unknown: int) -> str:
    if not found:
        return "Nothing in it can be checked by its words: no path, command, number, name, quotation or test result."
    things = f"{count(found, 'thing')} in it can"
    known = "all known" if not unknown else f"{unknown} of them nobody knows"
    return f"{things} be checked by the words: {known}. The rest is prose, which is not judged."


def _finding_to_dict(finding: Finding) -> dict[str, object]:
    return {"kind": finding.claim.kind, "value": finding.claim.value, "known": finding.known}


for _command in (save, list_, show, edit, verify, cleanup, stats):
    log.add_command(_command)
