"""The command ``leftoff log verify``: check a resume log, or a text, against the transcript."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

import click

from leftoff.cli import arguments, output
from leftoff.cli.gauge import Style
from leftoff.core.quantities import count
from leftoff.sessions.find import LATEST
from leftoff.workspace import Workspace

if TYPE_CHECKING:
    from leftoff.resume_logs.verify import CheckedText, VerifiedLog
    from leftoff.resume_logs.verify_items import Finding, Verdict

_STYLES: Mapping[str, Style | None] = {"contradicted": {"fg": "red"}, "source gone": {"fg": "yellow"}}


@click.command(epilog="Example: leftoff log verify latest")
@click.argument("log", default=LATEST, type=arguments.SESSION)
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
@arguments.with_json
def verify(*, log: str, everything: bool, markdown: bool, text: IO[str] | None, as_json: bool) -> int:
    """Check each item of LOG against its source: supported, contradicted, or its source gone.

    LOG is a session's id, a path or the latest log of this project. Exits with 1 when anything is contradicted.
    --text checks the paths, commands, numbers, names, quotations and test results that a text mentions. It exits with 1
    when the session does not know one of them, with 3 when the text mentions none.
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
    for verdict in found.verdicts:
        if everything or verdict.outcome != "supported":
            _draw_verdict(verdict)
    counts = ", ".join(
        f"{number} {outcome}"
        for outcome in ("supported", "contradicted", "source gone")
        if (number := found.count(outcome)) or outcome == "supported"
    )
    output.say(f"{count(len(found.verdicts), 'item')}: {counts}. The log: {output.near_path(found.path)}")


def _draw_verdict(verdict: Verdict) -> None:
    """Draw the outcome and where the item is, what it says, and why it is not supported."""
    where = output.visible(verdict.item.replace("_", " ").replace("/", " "))
    output.say(f"{verdict.outcome}: {where}", _STYLES.get(verdict.outcome))
    output.say(f"  {output.one_line(verdict.text, max(40, 2 * output.width() - 8))}")
    if verdict.reason:
        at = f" (line {verdict.place.line_idx + 1:,})" if verdict.place is not None else ""
        output.say(f"  → {output.visible(verdict.reason)}{at}", {"dim": True})


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
    known = "all known" if not unknown else f"{unknown} unknown"
    return f"{things} be checked by the words: {known}. The rest is prose, which is not judged."


def _finding_to_dict(finding: Finding) -> dict[str, object]:
    return {"kind": finding.claim.kind, "value": finding.claim.value, "known": finding.known}
