"""The commands ``leftoff doctor``, ``report`` and ``demo``."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click

from leftoff.agents.registry import load_agents
from leftoff.cli import arguments, gauge, output
from leftoff.cli.gauge import Style
from leftoff.config.load import thresholds
from leftoff.config.settings import Settings
from leftoff.core.metrics import ContextMetrics
from leftoff.core.quantities import ago, count
from leftoff.core.session_ids import short_id
from leftoff.demo import Scene
from leftoff.demo import demo as play_demo
from leftoff.diagnose import transcript
from leftoff.diagnose.doctor import Finding, examine
from leftoff.diagnose.report import Compacted, Report, sessions_since
from leftoff.errors import ConfigWarning
from leftoff.platform import clock
from leftoff.resume_logs.receipt import count_items
from leftoff.sessions.find import LATEST
from leftoff.sessions.listing import require_folder
from leftoff.workspace import Workspace

# In the order in which they are shown, each with its title and style.
_STATES: tuple[tuple[str, str, Style], ...] = (
    ("broken", "{} to fix:", {"fg": "red"}),
    ("note", "Worth knowing:", {"fg": "yellow"}),
    ("ok", "In order:", {}),
)
_GAUGE_COLUMNS = 40
_GAUGE_SECONDS, _LINE_SECONDS = 0.06, 0.7  # the demo takes about half a minute on a terminal
_NEXT = (
    ("leftoff install {agent}", "connect it to your agent"),
    ("leftoff sessions", "your own sessions"),
    ("leftoff report", "what compactions lost in them"),
)


@click.command(epilog="Example: leftoff doctor")
@click.argument("session", required=False, type=arguments.SESSION)
@click.option(
    "--shape", is_flag=True, help="Of SESSION: record types and keys without values, for a bug report."
)
@arguments.with_json
def doctor(*, session: str | None, shape: bool, as_json: bool) -> int:
    """Check what is installed, readable and trusted here; each problem comes with the command that fixes it.

    With SESSION: what leftoff understands of that one transcript, and which lines it does not.
    """
    warnings.simplefilter("ignore", ConfigWarning)  # mistakes in the settings are among the findings
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
        _draw_findings(findings)
    return 1 if any(finding.state == "broken" for finding in findings) else 0


def _draw_findings(findings: list[Finding]) -> None:
    """Draw the problems with what repairs each, then the notes, then what is in order."""
    for state, title, style in _STATES:
        of_state = [finding for finding in findings if finding.state == state]
        if not of_state:
            continue
        output.say(title.format(count(len(of_state), "problem")), {"bold": True, **style})
        column = max(len(finding.what) for finding in of_state) + 2
        for finding in of_state:
            output.say(output.hanging(f"  {finding.what:<{column}}", output.short_path(finding.detail)))
            if finding.fix:
                output.say(
                    output.hanging(f"  {'':<{column}}→ ", output.short_path(finding.fix)), style or None
                )


def _examine_transcript(session: str, *, as_json: bool) -> int:
    found = transcript.examine_transcript(session, Workspace.open())
    if as_json:
        output.as_json(dataclasses.asdict(found))
        return 0
    output.say(f"{found.agent} {found.session_id}: {output.short_path(found.transcript)}")
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


@click.command(epilog="Example: leftoff report --days 7 --verbose")
@click.option(
    "--days", type=arguments.WholeNumber(1, 3650), default=30, show_default=True, help="How far to look back."
)
@click.option("--agent", type=arguments.AGENT, help="Only sessions of this agent.")
@click.option(
    "--project", type=click.Path(path_type=Path), help="Only sessions of the project in this folder."
)
@click.option("--verbose", is_flag=True, help="Name what each summary lost.")
@arguments.with_json
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
    for each in listed:
        _draw_compaction(each, now)
    _show_totals(found)
    if verbose:
        for each in listed:
            _show_lost(each)
    else:
        output.say("To see what was lost: leftoff report --verbose")


def _draw_compaction(each: Compacted, now: datetime) -> None:
    lost = [line for line in each.receipt.lines if line.lost]
    words = _join(f"{len(line.lost)} of {count_items(line.total, line.kind)}" for line in lost) or "nothing"
    kept = _join(count_items(len(line.put_back), line.kind) for line in lost if line.put_back) or "nothing"
    when = ago(now, each.at) if each.at else "at an unknown time"
    project = Path(each.project).name if each.project else "no project"
    output.say(
        f"{each.agent} {short_id(each.session_id)} · {output.one_line(project, 30)} · {when}", {"bold": True}
    )
    output.say(
        output.hanging(
            "  lost          ", "not known: the summary is encrypted" if each.receipt.is_opaque else words
        )
    )
    output.say(output.hanging("  would be kept ", kept))


def _show_totals(found: Report) -> None:
    lost = {kind: tally for kind, tally in found.totals().items() if tally.lost}
    if lost:
        words = _join(f"{tally.lost} of {count_items(tally.total, kind)}" for kind, tally in lost.items())
        kept = _join(count_items(tally.would_have_kept, kind) for kind, tally in lost.items())
        output.say(
            output.wrap(f"Together the summaries lost {words}. leftoff would have kept {kept}.", indent="")
        )


def _show_lost(each: Compacted) -> None:
    output.say(f"\nTo read it: leftoff show {short_id(each.session_id)} --at {each.line}")
    for line in each.receipt.lines:
        kept = [item for item in line.lost if item in line.put_back]
        missing = [item for item in line.lost if item not in line.put_back]
        for title, items in (("would be kept", kept), ("lost", missing)):
            if items:
                output.say(f"  {line.kind} {title}:", {"bold": True})
            for item in items:
                output.say(f"  - {output.one_line(item, 160)}")


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
@arguments.with_json
def demo(*, as_json: bool) -> int:
    """See leftoff work on a bundled session, in a temporary folder."""
    if as_json:
        output.as_json(
            [
                {"title": scene.title, "lines": [line for line in scene.lines if isinstance(line, str)]}
                for scene in play_demo()
            ]
        )
        return 0
    is_live = output.is_interactive()
    for scene in play_demo():
        output.say(scene.title, {"bold": True})
        _play(scene, is_live=is_live)
        output.say("")
    output.say("Now with your own sessions:", {"bold": True})
    for command, words in _NEXT:
        output.say(f"  {command.format(agent=load_agents()[0].id):<26}{words}")
    return 0


def _play(scene: Scene, *, is_live: bool) -> None:
    """Show a scene: on a terminal the gauge moves, at a pace to read by; elsewhere it is drawn once before each text about it."""
    drawn = ""
    for line in scene.lines:
        if isinstance(line, ContextMetrics):
            drawn = _draw_gauge(line)
            if is_live:
                output.write(f"\r{drawn}")
                time.sleep(_GAUGE_SECONDS)
            continue
        if drawn:
            output.write("\n" if is_live else f"{drawn}\n")
            drawn = ""
        mark = line[:2] if line.startswith(("> ", "- ")) else ""
        output.say(output.hanging(f"  {mark}", output.visible(line.removeprefix(mark))))
        if is_live:
            time.sleep(_LINE_SECONDS)


def _draw_gauge(metrics: ContextMetrics) -> str:
    levels = thresholds(Settings())
    drawn = gauge.bar(metrics, levels, _GAUGE_COLUMNS)
    return "  " + output.apply_style(
        f"{drawn} {int(metrics.shown_percentage or 0):3} %", gauge.style(levels.level(metrics))
    )
