"""``leftoff log verify``."""

from __future__ import annotations

import dataclasses
from typing import IO

import click

from leftoff.cli import display
from leftoff.flows import verify_log as flow
from leftoff.resume_logs.verify import Finding, Verdict, struck
from leftoff.system import paths

_MARKS = {"supported": "supported", "contradicted": "CONTRADICTED", "source gone": "source gone"}


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
@display.with_json
def verify(*, log: str, everything: bool, markdown: bool, text: IO[str] | None, as_json: bool) -> int:
    """Check each item of LOG against its source: supported, contradicted, or its source gone.

    LOG is a session's id, a path or the latest log of this project. Exits with 1 when anything is contradicted.
    A text is checked by its paths, commands, numbers, names and quotations, and by what it says about tests; exits with 1
    when nobody knows one of them, with 3 when there is none.
    """
    if text is not None:
        return _text(flow.check_text(text.read(), log, paths.working_folder()), as_json=as_json)
    found = flow.verify_log(log, paths.working_folder())
    if as_json:
        display.as_json({"log": str(found.path), "verdicts": [_wire(verdict) for verdict in found.verdicts]})
    elif markdown:
        display.say(found.marked().to_markdown())
    else:
        _draw(found, everything=everything)
    return 1 if found.count("contradicted") else 0


def _draw(found: flow.Verified, *, everything: bool) -> None:
    rows = [
        (verdict.item, _MARKS[verdict.outcome], display.one_line(verdict.text, 60), _why(verdict))
        for verdict in found.verdicts
        if everything or verdict.outcome != "supported"
    ]
    if rows:
        display.table(["item", "", "says", "why"], rows)
    counts = ", ".join(
        f"{found.count(outcome)} {outcome}" for outcome in ("supported", "contradicted", "source gone")
    )
    display.say(f"{display.visible(str(found.path))}: {counts}.")


def _why(verdict: Verdict) -> str:
    at = f" (line {verdict.place.line_idx + 1:,})" if verdict.place is not None and verdict.reason else ""
    return display.visible(f"{verdict.reason}{at}")


def _wire(verdict: Verdict) -> dict[str, object]:
    place = verdict.place
    where = None if place is None else {"transcript": place.transcript, "line": place.line_idx + 1}
    return dataclasses.asdict(verdict) | {"place": where}


def _text(checked: flow.CheckedText, *, as_json: bool) -> int:
    unknown = [finding for finding in checked.findings if not finding.known]
    if as_json:
        display.as_json({"findings": [_claim(finding) for finding in checked.findings]})
    else:
        display.say(display.visible(struck(checked.text, checked.findings)))
        display.say(_counted(len(checked.findings), len(unknown)))
    return 1 if unknown else 0 if checked.findings else 3


def _counted(found: int, unknown: int) -> str:
    if not found:
        return "Nothing in it can be checked by its words: no path, command, number, name, quotation or test result."
    things = "1 thing in it can" if found == 1 else f"{found} things in it can"
    known = "all known" if not unknown else f"{unknown} of them nobody knows"
    return f"{things} be checked by the words: {known}. The rest is prose, which is not judged."


def _claim(finding: Finding) -> dict[str, object]:
    return {"kind": finding.claim.kind, "value": finding.claim.value, "known": finding.known}
