"""The commands ``leftoff doctor``, ``report`` and ``demo``."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click

from leftoff.cli import output
from leftoff.core.quantities import age, count
from leftoff.core.session import short_id
from leftoff.demo import demo as play_demo
from leftoff.diagnose import transcript
from leftoff.diagnose.doctor import examine, explain_settings
from leftoff.diagnose.report import Compacted, Report, sessions_since
from leftoff.errors import ConfigWarning
from leftoff.platform import clock
from leftoff.resume_logs.receipt import count_items
from leftoff.sessions.find import LATEST
from leftoff.sessions.listing import require_folder
from leftoff.workspace import Workspace

_MARKS = {"ok": "ok", "note": "note", "broken": "BROKEN"}
_NEXT = "Next: leftoff sessions lists your own sessions, leftoff status shows how full the latest one is."


@click.command(epilog="Example: leftoff doctor --config")
@click.argument("session", required=False)
@click.option(
    "--config", "config", is_flag=True, help="Every setting with its value and where that came from."
)
@click.option(
    "--shape", is_flag=True, help="Of SESSION: record types and keys without values, for a bug report."
)
@output.with_json
def doctor(*, session: str | None, config: bool, shape: bool, as_json: bool) -> int:
    """Tell what is installed, readable, trusted or broken here, and the command that mends it.

    With SESSION: what leftoff understands of that one transcript, and which lines it does not.
    """
    warnings.simplefilter("ignore", ConfigWarning)  # mistakes in the settings are among the findings
    if config:
        return _show_settings(as_json=as_json)
    if shape:
        return _show_shape(session or LATEST, as_json=as_json)
    if session is not None:
        return _examine_transcript(session, as_json=as_json)
    return _examine(as_json=as_json)


def _examine(*, as_json: bool) -> int:
    findings = examine(Workspace.open())
    if as_json:
        output.as_json([finding.to_dict() for finding in findings])
    else:
        rows = [
            (
                finding.what,
                _MARKS[finding.state],
                output.visible(finding.detail),
                output.visible(finding.fix),
            )
            for finding in findings
        ]
        output.table(["what", "", "found", "to mend it"], rows)
    return 1 if any(finding.state == "broken" for finding in findings) else 0


def _examine_transcript(session: str, *, as_json: bool) -> int:
    found = transcript.examine_transcript(session, Workspace.open())
    if as_json:
        output.as_json(dataclasses.asdict(found))
        return 0
    output.say(f"{found.agent} {found.session_id}: {output.visible(found.transcript)}")
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in found.kinds.items())
    output.say(
        f"{count(found.size_bytes, 'byte')}, {count(found.records, 'record')}: {kinds}; "
        f"{count(found.live_messages, 'message')} live"
    )
    if found.goes_on_from:
        output.say(_describe_origin(found.goes_on_from))
    for line, trouble in found.troubles:
        output.say(f"line {line:,}: {output.visible(trouble)}")
    if not found.troubles:
        output.say("Every record was understood.")
    return 0


def _describe_origin(parent: transcript.Origin) -> str:
    words = (
        f"It was {parent.derivation} from {output.visible(parent.session_id or 'a session without an id')}"
    )
    if parent.transcript is None:
        return f"{words}."
    where = f"{words}: {output.visible(parent.transcript)}"
    if not parent.readable:
        return f"{where}, which cannot be read."
    return (
        f"{where}, and continues from {count(parent.records, 'record')} of it."
        if parent.records
        else f"{where}."
    )


def _show_shape(session: str, *, as_json: bool) -> int:
    found = transcript.shape(session, Workspace.open())
    if as_json:
        output.as_json(found)
    else:
        for path, times in found.items():
            output.say(f"{times:>8}  {output.visible(path)}")
    return 0


def _show_settings(*, as_json: bool) -> int:
    in_force, mistakes = explain_settings(Workspace.open())
    # A project's are not yours.
    code = 1 if any(mistake.origin.layer != "project file" for mistake in mistakes) else 0
    if as_json:
        output.as_json(
            {"settings": [dataclasses.asdict(each) for each in in_force], "mistakes": [*map(str, mistakes)]}
        )
        return code
    rows = [(each.key, output.visible(str(each.value)), output.visible(each.origin)) for each in in_force]
    output.table(["setting", "value", "from"], rows)
    for mistake in mistakes:
        output.say(f"not used: {output.visible(str(mistake))}")
    return code


@click.command(epilog="Example: leftoff report --days 7 --verbose")
@click.option(
    "--days", type=output.WholeNumber(1, 3650), default=30, show_default=True, help="How far to look back."
)
@click.option("--agent", help="Only sessions of this agent.")
@click.option(
    "--project", type=click.Path(path_type=Path), help="Only sessions of the project in this folder."
)
@click.option("--verbose", is_flag=True, help="Name what each summary lost.")
@output.with_json
def report(*, days: int, agent: str | None, project: Path | None, verbose: bool, as_json: bool) -> int:
    """Show the compactions of the last 30 days: what each lost, and what leftoff would have kept."""
    now = clock.now()
    found = Report(since=now - timedelta(days=days))
    sessions = sessions_since(found.since, agent, project)
    if not sessions:
        require_folder(project)
    for session in output.progress(sessions, total=len(sessions), words="Reading"):
        found.add(session)
    if as_json:
        output.as_json(_report_to_dict(found, days))
    else:
        _draw_report(found, now, days, verbose=verbose)
    return 0


def _draw_report(found: Report, now: datetime, days: int, *, verbose: bool) -> None:
    listed = found.newest_first()
    for path, reason in found.unreadable:
        output.say(output.visible(f"Not read: {path}: {reason}"))
    counted = f"{_none_or_count(found.sessions, 'session')}, {_none_or_count(len(listed), 'compaction')}"
    output.say(f"The last {count(days, 'day')}: {counted}.")
    if not listed:
        return
    rows = [_compaction_row(each, now) for each in listed]
    headings = ["age", "agent", "project", "session", "the summary lost", "leftoff would have kept"]
    output.table(headings, rows, spare=["agent", "project", "age"])
    _show_totals(found)
    if verbose:
        for each in listed:
            _show_lost(each)
    else:
        output.say("leftoff report --verbose names what was lost.")


def _compaction_row(each: Compacted, now: datetime) -> tuple[str, ...]:
    lost = [line for line in each.receipt.lines if line.lost]
    if each.receipt.is_opaque:
        lost_words = "cannot be read"
    else:
        lost_words = (
            _join(f"{len(line.lost)} of {count_items(line.total, line.kind)}" for line in lost) or "nothing"
        )
    return (
        age(now, each.at) if each.at else "?",
        each.agent,
        output.one_line(Path(each.project).name if each.project else "?", 20),
        short_id(each.session_id),
        lost_words,
        _join(count_items(len(line.put_back), line.kind) for line in lost if line.put_back) or "-",
    )


def _show_totals(found: Report) -> None:
    lost = {kind: tally for kind, tally in found.totals().items() if tally.lost}
    if lost:
        words = _join(f"{tally.lost} of {count_items(tally.total, kind)}" for kind, tally in lost.items())
        kept = _join(count_items(tally.would_have_kept, kind) for kind, tally in lost.items())
        output.say(f"Together the summaries lost {words}. leftoff would have kept {kept}.")


def _show_lost(each: Compacted) -> None:
    output.say(output.visible(f"\n{each.transcript}, line {each.line}"))
    for line in each.receipt.lines:
        for item in line.lost:
            kept = "kept" if item in line.put_back else "    "
            output.say(f"  {kept}  {line.kind:9} {output.one_line(item, 160)}")


def _none_or_count(number: int, noun: str) -> str:
    return count(number, noun) if number else f"no {noun}"


def _join(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _report_to_dict(found: Report, days: int) -> dict[str, Any]:
    return {
        "days": days,
        "since": clock.format_rfc3339(found.since),
        "sessions": found.sessions,
        "compactions": [each.to_dict() for each in found.newest_first()],
        "totals": {
            kind: {"total": tally.total, "lost": tally.lost, "would_have_kept": tally.would_have_kept}
            for kind, tally in found.totals().items()
        },
        "unreadable": [{"transcript": str(path), "reason": reason} for path, reason in found.unreadable],
    }


@click.command(epilog="Example: leftoff demo")
@output.with_json
def demo(*, as_json: bool) -> int:
    """Play the story on a bundled session, in a scratch folder that is gone afterwards."""
    if as_json:
        output.as_json([{"title": scene.title, "lines": [*scene.lines]} for scene in play_demo()])
        return 0
    for scene in play_demo():
        output.say(scene.title, {"bold": True})
        for line in scene.lines:
            output.say(output.wrap(output.visible(line), indent="  "))
        output.say("")
    output.say(_NEXT)
    return 0
