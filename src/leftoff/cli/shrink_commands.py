"""The commands ``leftoff trim``, ``smart-trim``, ``untrim``, ``expand``, ``advise`` and ``lineage``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from leftoff.cli import arguments, output
from leftoff.core.prices import dollars
from leftoff.core.quantities import ago, count
from leftoff.core.session_ids import short_id
from leftoff.core.trim_plan import TRIM_LEVELS, Cut, NotCopied, Savings, TrimLevel, TrimPlan
from leftoff.platform import clock, paths
from leftoff.sessions.ancestry import CLEARED
from leftoff.sessions.find import LATEST
from leftoff.shrink import advise as shrink_advise
from leftoff.shrink import expand as shrink_expand
from leftoff.shrink import family
from leftoff.shrink import trim as shrink_trim
from leftoff.shrink import untrim as shrink_untrim
from leftoff.shrink.choose import what_is_cut, why_cut
from leftoff.shrink.derive import DerivedSession
from leftoff.shrink.trim import PlannedTrim, tokens_saved_by
from leftoff.workspace import Workspace

_HEADINGS = ("no.", "line", "what", "tokens", "why")
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Show what would be cut and why; write nothing.")
_FORCE = click.option(
    "--force", is_flag=True, help="Write it even if leftoff does not know this version of the agent yet."
)
_SHORTEST_PROMPT, _LONGEST_PROMPT = 12, 40
_STRATEGIES = {"smart-trim": "smart-trimmed", "untrim": "untrimmed", "as-is": "copied"}
_OWN_PROMPT = {None, CLEARED}  # the others begin with their parent's


def draw_plan(planned: PlannedTrim) -> None:
    """Draw every cut with its reason and what it frees, then what is kept and why, then the sum."""
    plan = planned.plan
    if plan.cuts:
        rows = [(str(number), *_cut_row(cut, plan)) for number, cut in enumerate(plan.cuts, 1)]
        output.table(
            _HEADINGS, rows, title=f"{plan.strategy} of session {short_id(plan.session_id)}", spare=["line"]
        )
    for reason in (
        plan.kept[:-1] if plan.nothing_to_trim else plan.kept
    ):  # the last one is in the sentence below
        output.say(output.wrap(f"kept: {output.visible(reason)}", indent="  "))
    if plan.nothing_to_trim:
        output.say(output.wrap(nothing_to_trim(planned), indent=""))
    else:
        cuts = "1 cut frees" if len(plan.cuts) == 1 else f"{len(plan.cuts)} cuts free"
        freed = f"{cuts} about {planned.savings.tokens:,} tokens{_gauge(planned.savings)}."
        output.say(output.wrap(f"{freed} Nothing was written.", indent=""))
    if any(each.savings.tokens for each in planned.levels):
        _draw_levels(planned.levels)


def _draw_levels(levels: Sequence[shrink_trim.LevelEffect]) -> None:
    """Draw what each level frees here, and what it cost in measured sessions."""
    output.say("")
    for each in levels:
        gauge = f", {each.savings.gauge}" if each.savings.gauge else ""
        mark = "  <- this plan" if each.is_chosen else ""
        freed = f"frees {each.savings.tokens:,} tokens{gauge}"
        output.say(f"  --level {each.level:<7}  {freed}; risk {each.lost_support * 100:.1f} %{mark}")
    output.say(
        output.wrap(
            "Risk: in the sessions measured, the share of the next edits whose old text was no longer in the copy, for the "
            "agent that did worse. It must read such a file again.",
            indent="",
        )
    )


def _cut_row(cut: Cut, plan: TrimPlan) -> tuple[str, ...]:
    return (
        str(cut.place.line_idx + 1),
        output.one_line(what_is_cut(cut), 24),
        f"{tokens_saved_by(cut, plan):,}",
        output.short_path(why_cut(cut).replace(f"{paths.working_folder()}/", "")),
    )


def _gauge(savings: Savings) -> str:
    return f", {savings.gauge} of the window" if savings.gauge else ""


def nothing_to_trim(planned: PlannedTrim) -> str:
    """Say why there is nothing to trim, and what else could help."""
    said = f"Nothing to trim in session {short_id(planned.ref.session_id)}"
    kept = planned.plan.kept if planned.plan.nothing_to_trim else ("the copy would be no smaller",)
    why = f": {kept[-1]}" if kept else ""
    return f"{output.visible(said + why)}. leftoff advise shows what else would help."


def show_derived(made: DerivedSession) -> None:
    """Say where the new session is, what it saved, and what to type."""
    wrote = "The same copy exists already: session" if made.is_reused else "Wrote session"
    output.say(
        f"{wrote} {short_id(made.session_id or '')}, about {made.savings.tokens:,} tokens fewer{_gauge(made.savings)}."
    )
    output.say(f"  {output.end_of_path(made.output_file)}")
    show_not_copied(made.left_behind)
    show_resume_command(made.resume_command, made.folder, made.session_id)


def show_not_copied(left_behind: Sequence[NotCopied]) -> None:
    """Say what could not be copied, why, and that it is not lost."""
    for each in left_behind:
        output.say(output.wrap(output.short_path(each), indent="  "))


def show_resume_command(command: tuple[str, ...] | None, folder: Path | None, session_id: str | None) -> None:
    """Say what to type to resume, with the folder if it is another one; if that no longer exists, how to resume here."""
    if command is None:
        return
    if folder is not None and not folder.is_dir():
        gone = f"Its folder is gone ({folder}). Continue in this one: leftoff resume {session_id} --here"
        output.say(output.visible(gone))
        return
    there = (
        f"cd {shlex.quote(str(folder))} && "
        if folder is not None and folder != paths.working_folder()
        else ""
    )
    output.say(f"Continue in it:\n  {output.visible(there + shlex.join(command))}")


def _parse_tools(
    context: click.Context,  # noqa: ARG001 - click's signature
    parameter: click.Parameter,  # noqa: ARG001
    value: str | None,
) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise click.BadParameter("names no tool; leave the option out for all of them.")
    return names


@click.command(epilog="Example: leftoff trim latest --threshold 500 --tools Read,Bash --dry-run")
@click.argument("session", default=LATEST, type=arguments.SESSION)
@click.option(
    "--threshold",
    type=arguments.WholeNumber(min=1),
    help="Cut what is longer than this many characters.  [default: 1000]",
)
@click.option(
    "--tools",
    callback=_parse_tools,
    metavar="NAME,NAME",
    help="Only inputs and results of these tools.",
)
@click.option(
    "--trim-assistant",
    type=arguments.WholeNumber(),
    metavar="±N",
    help="Shorten long replies too: the first N, or with -N all but the last N.",
)
@arguments.with_choice
@_DRY_RUN
@_FORCE
@arguments.with_json
def trim(
    *,
    session: str,
    threshold: int | None,
    tools: tuple[str, ...] | None,
    trim_assistant: int | None,
    keep: frozenset[int],
    cut: frozenset[int],
    edit: bool,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Write a smaller copy of SESSION: of long tool results and inputs only the beginning and the end are kept.

    The session itself is not changed. leftoff expand prints one original, leftoff untrim restores all of them.
    """
    wanted = shrink_trim.TrimOptions(
        strategy="trim", threshold=threshold, tools=tools, trim_assistant=trim_assistant, force=force
    )
    return _shrink(session, wanted, arguments.Choice(keep, cut, edit), dry_run=dry_run, as_json=as_json)


@click.command("smart-trim", epilog="Example: leftoff smart-trim --level strong --dry-run")
@click.argument("session", default=LATEST, type=arguments.SESSION)
@click.option(
    "--level",
    type=click.Choice(TRIM_LEVELS),
    help="How much to cut: the stronger, the more may have to be read again.  [default: normal]",
)
@click.option(
    "--by",
    metavar="NAME",
    help="Let an agent (by its id) or a command propose the cuts. Default: rules, without a model.",
)
@arguments.with_choice
@_DRY_RUN
@_FORCE
@arguments.with_json
def smart_trim(
    *,
    session: str,
    level: TrimLevel | None,
    by: str | None,
    keep: frozenset[int],
    cut: frozenset[int],
    edit: bool,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Write a smaller copy of SESSION without outdated content: files read again later, repeated runs, dead ends.

    Each cut leaves a line that says what was there and why it was removed. The session itself is not changed.
    """
    wanted = shrink_trim.TrimOptions(strategy="smart-trim", level=level, by=by, force=force)
    return _shrink(session, wanted, arguments.Choice(keep, cut, edit), dry_run=dry_run, as_json=as_json)


def _shrink(
    session: str, wanted: shrink_trim.TrimOptions, choice: arguments.Choice, *, dry_run: bool, as_json: bool
) -> int:
    workspace = Workspace.open()
    planned = choice.apply(shrink_trim.prepare_trim(session, workspace, wanted))
    if dry_run:
        with output.byte_progress("Looking") as progress:
            seen = shrink_trim.preview_trim(planned, progress)
        if not choice.is_made:  # whole levels say nothing about chosen cuts
            seen = shrink_trim.with_levels(seen, workspace)
        output.as_json(seen.to_dict()) if as_json else draw_plan(seen)
        return output.NOTHING_TO_DO if seen.plan.nothing_to_trim else 0
    with output.byte_progress("Writing") as progress:
        written = shrink_trim.write_trim(planned, progress)
    if as_json:
        output.as_json(written.to_dict())
    elif written.nothing_to_trim:
        output.say(nothing_to_trim(planned))
    else:
        show_derived(written)
    return output.NOTHING_TO_DO if written.nothing_to_trim else 0


@click.command(epilog="Example: leftoff untrim latest")
@click.argument("session", default=LATEST, type=arguments.SESSION)
@click.option("--dry-run", is_flag=True, help="Show what would be restored; write nothing.")
@click.option(
    "--force", is_flag=True, help="Write it even if leftoff does not know this version of the agent yet."
)
@arguments.with_json
def untrim(*, session: str, dry_run: bool, force: bool, as_json: bool) -> int:
    """Write a copy of SESSION with every placeholder replaced by its original, and with the work done since the trim.

    Each original is checked against its digest. One whose session was deleted stays a placeholder, and is named.
    """
    with output.byte_progress("Writing") as progress:
        found = shrink_untrim.untrim(
            session, Workspace.open(), dry_run=dry_run, force=force, progress=progress
        )
    if as_json:
        output.as_json(found.to_dict())
        return 0
    for reason in found.left:
        output.say(output.wrap(f"left: {output.visible(reason)}", indent="  "))
    is_one = found.given_back == 1 and not found.thoughts_given_back
    verb = "would be" if dry_run else "is" if is_one else "are"
    thoughts = f" and {count(found.thoughts_given_back, 'thought')}" if found.thoughts_given_back else ""
    output.say(
        f"{count(found.given_back, 'original')}{thoughts} {verb} back, about {count(found.tokens_given_back, 'token')}"
        f"{_gauge(found.change)}."
        + (" Nothing was written." if dry_run else f" Wrote session {found.session_id}.")
    )
    show_not_copied(found.left_behind)
    show_resume_command(found.resume_command, found.folder, found.session_id)
    return 0


@click.command(epilog="Example: leftoff expand 0b54f7aa-41-9f3a51c8 | head -50")
@click.argument("key")
@arguments.with_json
def expand(*, key: str, as_json: bool) -> int:
    """Print what a placeholder replaced. KEY is at the end of the placeholder; the original is checked against its digest."""
    found = shrink_expand.expand(key)
    if as_json:
        output.as_json(
            {
                "key": found.key,
                "session_file": found.transcript,
                "line": found.line,
                "part": found.part,
                "value": found.value,
            }
        )
    elif sys.stdout.isatty():
        click.echo(output.visible(found.text))
    else:
        output.write(found.text)  # a file or another program gets exactly the original
    return 0


@click.command(epilog="Example: leftoff advise latest")
@click.argument("session", default=LATEST, type=arguments.SESSION)
@arguments.with_json
def advise(*, session: str, as_json: bool) -> int:
    """Compare the ways to continue SESSION, measured on it: what each frees, loses and costs, and which one fits now."""
    found = shrink_advise.advise(session, Workspace.open())
    if as_json:
        output.as_json(found.to_dict())
        return 0
    rows = [
        {
            "": f"{'> ' if each.how == found.how else '  '}{each.how}",
            "window": each.savings.gauge or None,
            "tokens freed": f"{each.savings.tokens:,}",
            "first prompt costs": None if each.first_prompt_usd is None else dollars(each.first_prompt_usd),
            "what is lost": each.loses,
        }
        for each in found.options
    ]
    known = [heading for heading in rows[0] if any(row[heading] is not None for row in rows)]
    output.table(known, [[row[heading] or "?" for heading in known] for row in rows])
    session = short_id(found.session_id)
    command = f"leftoff resume {session} --run" if found.how == "as-is" else f"leftoff {found.how} {session}"
    output.say(output.wrap(f"Advice: {found.how}, because {found.why}.", indent=""))
    output.say(f"To do that: {command}")
    return 0


@click.command(epilog="Example: leftoff lineage latest")
@click.argument("session", default=LATEST, type=arguments.SESSION)
@arguments.with_json
def lineage(*, session: str, as_json: bool) -> int:
    """Show what SESSION came from, and what was trimmed, continued or forked from it."""
    found = family.family_tree(session, Workspace.open())
    if as_json:
        output.as_json(found.to_dict())
        return 0
    for line, is_asked_for in _tree_lines(found.root, "", ""):
        output.say(line, {"bold": True} if is_asked_for else None)
    return 0


def _tree_lines(member: family.Member, first: str, rest: str) -> Iterator[tuple[str, bool]]:
    yield f"{first}{_describe_member(member, output.width() - len(first))}", member.is_selected
    for number, child in enumerate(member.children, 1):
        is_last = number == len(member.children)
        yield from _tree_lines(
            child, f"{rest}{'└─ ' if is_last else '├─ '}", f"{rest}{'   ' if is_last else '│  '}"
        )


def _describe_member(member: family.Member, columns: int) -> str:
    """Return a member in one line; its prompt gets the room that the rest leaves."""
    facts = [
        short_id(member.session_id) if member.session_id else member.session_file.name,
        _STRATEGIES.get(member.strategy or "") or member.derivation or "original",
        member.agent,
        ago(clock.now(), modified) if (modified := clock.parse_rfc3339(member.modified_at or "")) else None,
        count(member.compactions, "compaction") if member.compactions else None,
        "ended by /clear" if member.was_cleared else None,
        "MISSING" if member.missing else None,
    ]
    mark = ["<- this one"] if member.is_selected else []
    shown = [fact for fact in facts if fact]
    if member.first_prompt and member.derivation in _OWN_PROMPT:
        room = columns - output.columns_of("  ".join([*shown, "", *mark]))
        shown.append(output.one_line(member.first_prompt, max(_SHORTEST_PROMPT, min(_LONGEST_PROMPT, room))))
    return output.visible("  ".join([*shown, *mark]))
