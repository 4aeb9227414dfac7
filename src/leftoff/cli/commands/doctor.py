"""``leftoff doctor``."""

from __future__ import annotations

import dataclasses

import click

from leftoff.cli import display
from leftoff.flows import doctor as flow
from leftoff.flows import examine_transcript
from leftoff.flows.choose import LATEST
from leftoff.system import paths

_MARKS = {"ok": "ok", "note": "note", "broken": "BROKEN"}


@click.command(epilog="Example: leftoff doctor --config")
@click.argument("session", required=False)
@click.option(
    "--config", "config", is_flag=True, help="Every setting with its value and where that came from."
)
@click.option(
    "--shape", is_flag=True, help="Of SESSION: record types and keys without values, for a bug report."
)
@display.with_json
def doctor(*, session: str | None, config: bool, shape: bool, as_json: bool) -> int:
    """Tell what is installed, readable, trusted or broken here, and the command that mends it.

    With SESSION: what leftoff understands of that one transcript, and which lines it does not.
    """
    if config:
        return _settings(as_json=as_json)
    if shape:
        return _shape(session or LATEST, as_json=as_json)
    if session is not None:
        return _transcript(session, as_json=as_json)
    return _house(as_json=as_json)


def _house(*, as_json: bool) -> int:
    findings = flow.examine(paths.working_folder())
    if as_json:
        display.as_json([dataclasses.asdict(finding) for finding in findings])
    else:
        rows = [
            (
                finding.what,
                _MARKS[finding.state],
                display.visible(finding.words),
                display.visible(finding.mend),
            )
            for finding in findings
        ]
        display.table(["what", "", "found", "to mend it"], rows)
    return 1 if any(finding.state == "broken" for finding in findings) else 0


def _transcript(session: str, *, as_json: bool) -> int:
    found = examine_transcript.examine_transcript(session, paths.working_folder())
    if as_json:
        display.as_json(dataclasses.asdict(found))
        return 0
    display.say(f"{found.agent} {found.session_id}: {display.visible(found.transcript)}")
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.kinds.items())
    display.say(
        f"{found.size_bytes:,} bytes, {found.records:,} records: {kinds}; {found.live_messages:,} messages live"
    )
    if found.goes_on_from:
        display.say(_origin(found.goes_on_from))
    for line, trouble in found.troubles:
        display.say(f"line {line:,}: {display.visible(trouble)}")
    if not found.troubles:
        display.say("Every record was understood.")
    return 0


def _origin(parent: examine_transcript.Origin) -> str:
    words = (
        f"It was {parent.derivation} from {display.visible(parent.session_id or 'a session without an id')}"
    )
    if parent.transcript is None:
        return f"{words}."
    where = f"{words}: {display.visible(parent.transcript)}"
    if not parent.readable:
        return f"{where}, which cannot be read."
    return f"{where}, and goes on from {parent.records:,} records of it." if parent.records else f"{where}."


def _shape(session: str, *, as_json: bool) -> int:
    found = examine_transcript.shape(session, paths.working_folder())
    if as_json:
        display.as_json(found)
    else:
        for path, count in found.items():
            display.say(f"{count:>8}  {display.visible(path)}")
    return 0


def _settings(*, as_json: bool) -> int:
    in_force, mistakes = flow.explain_settings(paths.working_folder())
    code = (
        1 if any(mistake.origin.layer != "project file" for mistake in mistakes) else 0
    )  # a project's are not yours
    if as_json:
        display.as_json(
            {"settings": [dataclasses.asdict(each) for each in in_force], "mistakes": [*map(str, mistakes)]}
        )
        return code
    rows = [(each.key, display.visible(str(each.value)), display.visible(each.origin)) for each in in_force]
    display.table(["setting", "value", "from"], rows)
    for mistake in mistakes:
        display.say(f"not used: {display.visible(str(mistake))}")
    return code
