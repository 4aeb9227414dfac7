"""The command ``leftoff search``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import click

from leftoff.cli import arguments, output
from leftoff.cli.gauge import Style
from leftoff.cli.output import one_line, visible
from leftoff.core.quantities import age, count
from leftoff.errors import UsageError
from leftoff.platform import clock
from leftoff.search.search import HitResult, Progress, Results, SearchRequest, SessionResult
from leftoff.search.search import search as find
from leftoff.sessions.listing import remember_numbers
from leftoff.workspace import Workspace

_FEWER = "Try fewer words, or the beginning of one: begin*"
_UNREAD = "Not everything has been read yet. To read the rest: leftoff search --update\n"
_LEAVES_OUT = "What you erased with leftoff forget --text is left out, and so are sessions that have it in their path.\n"
_LEAST_SNIPPET, _LEAST_TITLE = 24, 8  # columns; a snippet that has less goes below its label
_FOUND: Style = {"bold": True, "fg": "yellow"}


@click.command(
    # -word is a word that must not be there, -hello too.
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
    epilog="Example: leftoff search 'retry \"connection reset\" -test since:7d kind:prompt'",
)
@click.argument("query", nargs=-1)
@click.option("--file", help="Sessions that read, changed or wrote this file.")
@click.option("--command", help="Where this command was run, and its exit code.")
@click.option("--error", help="Where this error occurred before, and what followed it.")
@click.option("--newest", is_flag=True, help="Newest first, not best first.")
@click.option(
    "--limit",
    type=arguments.WholeNumber(1, 1000),
    default=10,
    show_default=True,
    help="Show at most this many sessions.",
)
@click.option(
    "--hits",
    type=arguments.WholeNumber(1, 1000),
    default=3,
    show_default=True,
    help="Show at most this many matches of each session.",
)
@arguments.with_json
@click.option("--update", is_flag=True, help="Update the search index, and say what was read.")
@click.option("--rebuild", is_flag=True, help="Rebuild the search index from your transcripts.")
def search(*, query: tuple[str, ...], update: bool, rebuild: bool, as_json: bool, **fields: Any) -> int:
    """Find anything in any session of any agent: prompts, replies, commands, files, results, logs.

    Type words or a question. "quotes" find a phrase, begin* a beginning, -word excludes, OR alternates.
    Filters: agent: project: tool: file: kind: since: before: errors: (kind:prompt since:7d errors:yes project:shop).
    Put a query that has double quotes into single quotes.
    """
    if "-h" in query:
        click.echo(click.get_current_context().get_help())
        return 0
    if unknown := next((word for word in query if word.startswith("--")), None):
        raise click.NoSuchOption(unknown)
    if update or rebuild:
        if query:
            raise UsageError("--update and --rebuild take no query.")
        return _update(rebuild=rebuild, as_json=as_json)
    now = clock.now()
    with _progress(wanted=not as_json) as progress:
        results = find(Workspace.open(), SearchRequest(query=" ".join(query), **fields), now, progress)
    if numbered := [each.source.path for each in results.sessions if each.number is not None]:
        remember_numbers(numbered)
    if as_json:
        output.as_json(results.to_dict())
    else:
        _show(results, now)
    return 0 if results.sessions else 3


def _update(*, rebuild: bool, as_json: bool) -> int:
    from leftoff.search.update_index import rebuild_library, update_library_and_archive

    workspace = Workspace.open()
    with _progress(wanted=not as_json) as progress:
        done = (
            rebuild_library(workspace, progress)
            if rebuild
            else update_library_and_archive(workspace, clock.now(), progress=progress)
        )
    if as_json:
        output.as_json(done.to_dict())
    else:
        output.say(done.describe())
    return 0


@contextmanager
def _progress(*, wanted: bool) -> Iterator[Progress | None]:
    """Give a function that shows the progress of reading on standard error; None if that is not a terminal.

    The line is cleared however the reading ends: it stops early where it takes too long, fails or is interrupted.
    """
    if not wanted or not sys.stderr.isatty():
        yield None
        return

    is_shown = False

    def show(done: int, to_do: int) -> None:
        nonlocal is_shown
        is_shown = True
        share = 100 if not to_do else done * 100 // to_do
        sys.stderr.write(f"\rReading sessions: {share} % of {to_do / 1e6:,.0f} MB")
        sys.stderr.flush()

    try:
        yield show
    finally:
        if is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _show(results: Results, now: datetime) -> None:
    if not results.sessions:
        output.say(_nothing_found(results))
        return
    if not results.complete:
        output.say("Nothing has all of these words. The best partial matches:")
    width = output.width()
    for session in results.sessions:
        _show_session(session, now, width)
    numbered = [session for session in results.sessions if session.number is not None]
    if numbered:
        first = numbered[0]
        at = f" --at {first.hits[0].hit.line}" if first.hits else ""
        output.say(
            f"\nTo read more: leftoff show {first.number}{at}   To continue: leftoff resume {first.number}"
        )
    if results.unread:
        output.say(_UNREAD.rstrip("\n"))


def _nothing_found(results: Results) -> str:
    """Say that nothing was found, why it may exist all the same, and what to type next."""
    if results.unread:
        return f"Nothing was found so far.\n{_UNREAD}".rstrip("\n")
    hint = results.reason or (f"Did you mean: {results.suggestion}" if results.suggestion else _FEWER)
    return f"Nothing was found. {visible(hint)}\n{_LEAVES_OUT if results.leaves_out else ''}".rstrip("\n")


def _show_session(session: SessionResult, now: datetime, width: int) -> None:
    found = session.source
    number = f"{session.number:>3}" if session.number is not None else "  ·"
    project = one_line((found.project or "?").rstrip("/").rpartition("/")[2] or "/", 24)
    more = f" ({found.places} matches)" if found.places > len(session.hits) else ""
    more += f" (+ {count(len(session.copies), 'copy', 'copies')})" if session.copies else ""
    who = found.agent or found.type
    modified_at = datetime.fromtimestamp(found.modified_ns / 1e9, UTC)
    head = visible(f"{number}  {who}  {project}  {age(now, modified_at)}")
    head = f"{head}{more}" if output.columns_of(head + more) < width else output.cut(head, width)
    title = found.title or (found.path if session.number is None else "")
    gone = (
        "  (deleted by its agent; leftoff archive restore)"
        if session.number is None and found.archived
        else ""
    )
    title = _title(title, width - output.columns_of(head) - 3)
    output.write(f"{output.apply_style(head, {'bold': True})}{title}{gone}\n")
    column = max((len(_label(shown)) for shown in session.hits), default=0)
    room = width - column - 8
    for shown in session.hits:
        if room < _LEAST_SNIPPET:
            output.write(f"   {_label(shown)}\n     {_marked(shown, width - 6)}\n")
        else:
            output.write(f"     {_label(shown):<{column}}  {_marked(shown, room)}\n")
        for each in shown.follow_ups:
            ended = "" if each.exit_code is None else f" (exit {each.exit_code})"
            output.write(f"       then {each.kind}{ended}: {one_line(each.snippet, max(30, width - 28))}\n")


def _title(title: str, room: int) -> str:
    return f"  {one_line(title, room)}" if title and room >= _LEAST_TITLE else ""


def _label(shown: HitResult) -> str:
    hit = shown.hit
    ended = f" exit {hit.exit_code}" if hit.exit_code is not None else " failed" if hit.failed else ""
    what = f"{hit.kind} {one_line(hit.tool, 20)}" if hit.tool and hit.kind != "command" else hit.kind
    return f"line {hit.line:<6} {what}{ended}"


def _marked(shown: HitResult, width: int) -> str:
    """Return the part of the snippet around the first match that fits the width, with what was found highlighted."""
    text, marks = shown.snippet.text, shown.snippet.marks
    first = marks[0][0] if marks else 0
    at_end = len(output.cut(text[::-1], width))  # letters, of which some take two columns
    start = max(0, min(first - width // 3, len(text) - at_end))
    if start and (space := text.find(" ", start, first)) >= 0:
        start = space + 1  # not in the middle of a word
    rest = text[start:]
    fitting = output.cut(rest, width - (1 if start else 0))
    end = len(text) if fitting == rest else start + len(fitting) - 1
    if end < len(text) and (space := text.rfind(" ", marks[0][1] if marks else start, end)) >= 0:
        end = space
    parts, past = ["…" if start else ""], start
    for begins, ends in marks:
        if begins >= past and ends <= end:
            found = output.apply_style(visible(text[begins:ends]), _FOUND)
            parts += [visible(text[past:begins]), found]
            past = ends
    return "".join([*parts, visible(text[past:end]), "…" if end < len(text) else ""])
