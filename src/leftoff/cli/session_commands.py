"""The commands that read sessions: status, sessions, show, export; and the list of sessions as lines that fit the terminal."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from leftoff.cli import arguments, gauge, output
from leftoff.cli.gauge import Style
from leftoff.core.metrics import Level
from leftoff.core.quantities import age, count
from leftoff.core.session import SessionEntry
from leftoff.core.session_ids import short_id
from leftoff.errors import LeftoffError, UsageError
from leftoff.platform import clock
from leftoff.sessions import status as session_status
from leftoff.sessions.find import LATEST, no_sessions
from leftoff.sessions.grouping import group_copies
from leftoff.sessions.listing import remember_numbers, require_folder
from leftoff.sessions.status import ListedSession, Status, count_sessions, list_sessions
from leftoff.workspace import Workspace

if TYPE_CHECKING:
    from leftoff.sessions.show import ShownRecord

_WATCH_SECONDS = 2.0
_COPIES = {"trimmed": "trimmed copy", "continued": "continued in a fresh session", "forked": "fork"}
_GAP = "  "
_LEAST_PROMPT = 10
_SHARE = 5  # columns of "101 %"
_NAMES = {"side": "bookkeeping", "repeated": "copied again"}  # kinds that need a plainer word
_KINDS: Mapping[str, Style] = {
    "prompt": {"bold": True, "fg": "cyan"},
    "reply": {"bold": True},
    "compaction": {"bold": True, "fg": "yellow"},
}


@click.command(epilog="Example: leftoff status --watch")
@click.argument("session", default=LATEST, type=arguments.SESSION)
@click.option("--watch", is_flag=True, help="Redraw every two seconds, until Ctrl-C.")
@arguments.with_json
def status(*, session: str, watch: bool, as_json: bool) -> int:
    """Show how full the context window of SESSION is, and how many turns are left. Default: the latest session here."""
    found = session_status.status(session, Workspace.open())
    if as_json:
        output.as_json(found.to_dict())
    elif watch:
        _watch(session, found)
    else:
        draw_status(found)
    return 0


def _watch(session: str, found: Status) -> None:
    """Draw the status again and again; Ctrl-C is how this ends."""
    with suppress(KeyboardInterrupt):
        while True:
            click.clear()
            draw_status(found)
            output.say(f"\n  {clock.now().astimezone():%H:%M:%S}  Ctrl-C to quit", {"dim": True})
            time.sleep(_WATCH_SECONDS)
            found = session_status.status(session, Workspace.open())


def draw_status(found: Status) -> None:
    """Draw the gauge and say what it means."""
    for line, style in status_lines(found):
        output.say(line, style)


def status_lines(found: Status) -> list[output.Line]:
    """Return the gauge and what it means, line by line."""
    title = " · ".join(filter(None, (f"{found.agent} {short_id(found.session_id)}", found.model)))
    lines: list[output.Line] = [(output.one_line(title, output.width() - 1), None)]
    texts = [found.advice]
    if found.metrics.used_tokens is not None:
        level = "" if found.level in {None, Level.OK} else f" · {gauge.level_name(found.level)}"
        texts = [f"{gauge.describe(found.metrics)}{level}", *_describe_window(found), *texts]
    if found.level is not None:
        width = max(20, min(60, output.width() - 6))  # the scale ends with " %" behind its last mark
        lines.append((f"  {gauge.bar(found.metrics, found.thresholds, width)}", gauge.style(found.level)))
        lines.append((f"  {gauge.scale(found.metrics, found.thresholds, width)}", {"dim": True}))
        if ahead := _next_threshold(found):
            texts.insert(-1, ahead)
    for text in texts:
        lines += [(part, None) for part in output.wrap(output.visible(text), indent="  ").split("\n")]
    return lines


def _next_threshold(found: Status) -> str | None:
    """Say how many turns are left to the next threshold; None if that is not known, or all are crossed."""
    for level, turns in found.turns_left.items():
        if turns:
            return f"About {count(turns, 'turn')} to {gauge.level_name(level)} at this pace."
    return None


def _describe_window(found: Status) -> Iterator[str]:
    """Say what the numbers are of where that is not plain."""
    metrics = found.metrics
    if metrics.window_tokens is not None and metrics.total_budget not in {None, metrics.window_tokens}:
        yield f"The window has {metrics.window_tokens:,}; the agent compacts at {metrics.total_budget:,}."
    if metrics.basis == "estimated":
        yield "Estimated from the length of the conversation."


@click.command(epilog="Example: leftoff sessions --limit 5")
@click.option("--agent", type=arguments.AGENT, metavar="AGENT", help="Only sessions of this agent.")
@click.option(
    "--project", type=click.Path(path_type=Path), help="Only sessions of the project in this folder."
)
@click.option("--all", "everything", is_flag=True, help="List every session.")
@click.option(
    "--limit",
    type=arguments.WholeNumber(min=1),
    default=20,
    show_default=True,
    help="List at most this many.",
)
@arguments.with_json
def sessions(*, agent: str | None, project: Path | None, everything: bool, limit: int, as_json: bool) -> int:
    """List the sessions of all agents, newest first, with copies under their originals.

    The numbers can be typed wherever a command takes a SESSION.
    """
    listed = [*islice(list_sessions(Workspace.open(), agent, project), None if everything else limit)]
    grouped = [(each, False) for each in listed] if as_json else group_sessions(listed)
    remember_numbers([each.entry.transcript for each, _ in grouped])
    if not listed:
        require_folder(project)
    if as_json:
        output.as_json([each.to_dict() for each in listed])
    elif listed:
        _draw_sessions(grouped)
        if len(listed) == limit and not everything:
            _say_that_there_are_more(limit, None if project else count_sessions(agent))
    else:
        output.say(output.wrap(no_sessions(), indent=""))
    return 0 if listed else output.NOTHING_TO_DO


def _draw_sessions(grouped: list[tuple[ListedSession, bool]]) -> None:
    now, width = clock.now(), output.width()
    rows = session_rows(grouped, now, width)
    output.say(headings(grouped, now, width), {"bold": True})
    for row in rows:
        shown = output.apply_style(row.gauge, gauge.style(row.level)) if row.gauge else ""
        output.say(f"{row.text}  {shown}")


def _say_that_there_are_more(shown: int, total: int | None) -> None:
    """Say of how many these are the newest; ``total`` is ``None`` for a project, whose sessions were not all looked at."""
    if total != shown:
        all_of_them = "The newest" if total is None else f"{shown:,} of {total:,} sessions"
        output.say(
            f"\n{all_of_them}; --all lists every one. To read the first: leftoff show 1", {"dim": True}
        )


@click.command(epilog="Example: leftoff show latest --at 120")
@click.argument("session", default=LATEST, type=arguments.SESSION)
@click.option(
    "--at",
    "at_line",
    type=arguments.WholeNumber(min=1),
    help="Show this line of the transcript and those around it.",
)
@click.option("--full", is_flag=True, help="Show long results whole.")
@arguments.with_json
def show(*, session: str, at_line: int | None, full: bool, as_json: bool) -> int:
    """Read SESSION: prompts, replies, tool calls and results. On a terminal it opens in your pager.

    A forked session begins with the part that it shares with its parent.
    """
    from leftoff.sessions import show as session_show  # `status` does not need it

    shown: Iterable[ShownRecord]
    if at_line is None:
        shown = session_show.show(session, Workspace.open(), full=full)
    else:
        shown = session_show.show_around(session, Workspace.open(), at_line, full=full)
    if as_json:
        output.as_json_list(map(dataclasses.asdict, shown))
    else:
        click.echo_via_pager(_record_lines(shown))
    return 0


def _record_lines(shown: Iterable[ShownRecord]) -> Iterator[str]:
    transcript = None
    for each in shown:
        if each.transcript != transcript:
            transcript = each.transcript
            yield f"{output.end_of_path(transcript)}\n\n"
        who = f" ({output.visible(each.actor)})" if each.actor else ""
        at = (each.at or "")[:16].replace("T", " ")
        yield (
            output.apply_style(
                f"{each.line:>6}  {_NAMES.get(each.kind, each.kind)}{who}  {at}".rstrip(),
                _KINDS.get(each.kind, {"dim": True}),
            )
            + "\n"
        )
        for line in output.visible(each.text).splitlines():
            yield from (f"{part}\n" for part in _wrapped(line))
        yield "\n"


def _wrapped(line: str) -> list[str]:
    """Return a line in parts that fit the terminal; its own indentation is kept."""
    own = line[: len(line) - len(line.lstrip())].expandtabs(4)[:24]
    return (
        output.wrap(line.strip(), indent=f"        {own}").split("\n")
        if sys.stdout.isatty()
        else [f"        {line}"]
    )


@click.command(epilog="Example: leftoff export latest --html --out session.html")
@click.argument("session", default=LATEST, type=arguments.SESSION)
@click.option("--chain", is_flag=True, help="Include the sessions it continues, oldest first.")
@click.option("--html", is_flag=True, help="As one page with the curve, the resume log and the transcript.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this new file, not to the terminal.",
)
@arguments.with_json
def export(*, session: str, chain: bool, html: bool, out: Path | None, as_json: bool) -> int:
    """Write SESSION as Markdown, without credentials: prompts, replies, tool calls and results.

    With --html, as one file to attach to a pull request: it asks no server for anything. Of a session of more than 8 MB it has the
    beginning and the end.
    """
    from leftoff.sessions import show as session_show

    if html:
        if chain:
            raise UsageError(
                "--chain is for Markdown: a page shows one session. Leave out --chain or --html."
            )
        pieces = _export_html(session)
    else:
        pieces = session_show.export(session, Workspace.open(), chain=chain)
    if out is not None:
        size = session_show.write_export(pieces, out)
        output.as_json({"file": str(out), "size_bytes": size}) if as_json else output.say(
            f"Wrote {output.visible(str(out))} ({size:,} bytes)."
        )
    elif as_json:
        output.as_json({"html" if html else "markdown": "".join(pieces)})
    else:
        for piece in pieces:
            click.echo(output.visible(piece), nl=False)
    return 0


def _export_html(session: str) -> Iterator[str]:
    try:
        from leftoff.web.export import export_html
    except ImportError as missing:
        raise LeftoffError(
            f"A page needs packages that are not installed ({missing.name}): pip install 'leftoff[web]'"
        ) from missing
    return export_html(session, Workspace.open())


class SessionRow(NamedTuple):
    """One line of the list: its text without the gauge, the gauge, and the level that colours it."""

    text: str
    gauge: str
    level: Level | None


class _Columns(NamedTuple):
    number: int
    age: int
    agent: int
    project: int
    prompt: int
    bar: int


def group_sessions(listed: Sequence[ListedSession]) -> list[tuple[ListedSession, bool]]:
    """Return the sessions with copies after their originals, and whether each is such a copy."""
    return group_copies(listed, lambda each: each.entry.session_id, _parent_id)


def _parent_id(each: ListedSession) -> str | None:
    parent = each.entry.parent
    return parent.session_id if parent is not None and parent.derivation in _COPIES else None


def session_rows(
    grouped: Sequence[tuple[ListedSession, bool]], now: datetime, width: int, first: int = 1
) -> list[SessionRow]:
    """Return the lines for a terminal of that width, numbered from ``first``."""
    cells = _cells(grouped, now, first)
    columns = _columns(cells, width)
    return [
        SessionRow(_line(row, columns), _gauge(each, columns.bar), each.status.level)
        for row, (each, _) in zip(cells, grouped, strict=True)
    ]


def headings(grouped: Sequence[tuple[ListedSession, bool]], now: datetime, width: int, first: int = 1) -> str:
    """Return the line above the list."""
    line = _line(
        ("#", "age", "agent", "project", "first prompt"), _columns(_cells(grouped, now, first), width)
    )
    return f"{line}{_GAP} used"


def _cells(
    grouped: Sequence[tuple[ListedSession, bool]], now: datetime, first: int
) -> list[tuple[str, str, str, str, str]]:
    return [
        (
            str(number),
            age(now, each.entry.modified_at),
            each.entry.agent,
            _project(each),
            _prompt(each, is_copy=is_copy),
        )
        for number, (each, is_copy) in enumerate(grouped, start=first)
    ]


def first_words(entry: SessionEntry) -> str:
    """Return the first prompt; of a fresh session without one, which session it continues."""
    if entry.first_prompt is None and entry.parent is not None and entry.parent.session_id is not None:
        return f"(continues {short_id(entry.parent.session_id)})"
    return entry.first_prompt or "(no prompt yet)"


def _project(each: ListedSession) -> str:
    return Path(each.entry.project).name if each.entry.project else "-"


def _prompt(each: ListedSession, *, is_copy: bool) -> str:
    parent = each.entry.parent
    if parent is None or not is_copy:
        return first_words(each.entry)
    return f"└ {'untrimmed copy' if parent.is_untrimmed else _COPIES[parent.derivation]}"


def _columns(cells: Sequence[tuple[str, str, str, str, str]], width: int) -> _Columns:
    """Return the widths: the prompt gets what the others leave; on a narrow terminal some are smaller or left out (0)."""
    number, since, agent, project = (
        max([len(heading), *(output.columns_of(row[at]) for row in cells)])
        for at, heading in enumerate(("#", "age", "agent", "project"))
    )
    bar = 10 if width >= 100 else 5 if width >= 70 else 0
    project = min(project, 20 if width >= 110 else 14) if width >= 60 else 0
    agent = agent if width >= 50 else 0
    shown = [each for each in (number, since, agent, project) if each]
    share = _SHARE + (bar + 1 if bar else 0)
    rest = width - 1 - sum(shown) - share - len(_GAP) * (len(shown) + 1)
    return _Columns(number, since, agent, project, max(_LEAST_PROMPT, rest), bar)


def _line(cells: tuple[str, str, str, str, str], columns: _Columns) -> str:
    number, since, *others = cells
    wide = zip(others, (columns.agent, columns.project, columns.prompt), strict=True)
    padded = (output.pad(output.one_line(cell, room), room) for cell, room in wide if room)
    return _GAP.join([number.rjust(columns.number), since.rjust(columns.age), *padded])


def _gauge(each: ListedSession, bar: int) -> str:
    metrics = each.status.metrics
    if metrics.shown_percentage is None:
        return "    -"
    share = f"{int(metrics.shown_percentage):3} %"
    return f"{share} {gauge.bar(metrics, each.status.thresholds, bar)}" if bar else share
