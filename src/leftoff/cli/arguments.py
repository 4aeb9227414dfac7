"""What the commands take: ``--json``, numbers, sessions, agents and cuts of a plan, with completion in the shell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from leftoff.shrink.trim import PlannedTrim

Command = TypeVar("Command", bound=Callable[..., Any])
_MAX_COMPLETIONS = 50  # of sessions, the newest first


class OrderedGroup(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in that order."""
        return [*self.commands]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse a call without a command in one line, like every other mistake; click would print the whole help."""
        if not args and not ctx.resilient_parsing:
            ctx.fail(f"{ctx.command_path} needs a command: {', '.join(self.list_commands(ctx))}.")
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for a mistyped one suggest the nearest."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            refuse_command(ctx, args[0], self.commands)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands with whole summaries; click would cut them at the width of the terminal."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_sentence(each)) for name, each in self.commands.items()])


def first_sentence(command: click.Command) -> str:
    """Return the beginning of a help text, up to its first stop, in the style of the summaries of ``leftoff --help``."""
    line = (command.help or "").strip().splitlines()[0]
    for stop in (". ", ": ", "; "):
        line = line.partition(stop)[0]
    return line[:1].lower() + line[1:].rstrip(".")


def refuse_command(
    context: click.Context, typed: str, commands: Iterable[str], meant: Mapping[str, str] | None = None
) -> NoReturn:
    """Fail because there is no such command, and suggest the nearest; ``meant`` has the names that other tools use."""
    import difflib

    near = (meant or {}).get(typed) or next(iter(difflib.get_close_matches(typed, [*commands], n=1)), None)
    hint = f" Did you mean: {context.command_path} {near}?" if near else ""
    context.fail(f"There is no command {typed!r}.{hint}")


class WholeNumber(click.IntRange):
    """A whole number within limits; what is wrong with another value is said in plain words."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        return _convert(super().convert, value, f"a whole number{self._describe_limits()}", param, ctx)

    def _describe_range(self) -> str:
        """Return the limits as the help shows them: only where there are two, and not as a formula."""
        return "" if self.min is None or self.max is None else self._describe_limits().strip()

    def _describe_limits(self) -> str:
        if self.min is None or self.max is None:
            return "" if self.min is None else f", {self.min:,} or more"
        return f" from {self.min:,} to {self.max:,}"


class Fraction(click.FloatRange):
    """A share of the window."""

    name = "fraction"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        return _convert(super().convert, value, "a fraction, 0.9 for 90 %", param, ctx)

    def _describe_range(self) -> str:
        """Return nothing: the help says what a fraction is."""
        return ""


def _convert(
    convert: Callable[..., Any],
    value: Any,
    expected: str,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> Any:
    """Convert a value as click does, and refuse another one with words of our own."""
    try:
        return convert(value, param, ctx)
    except click.BadParameter as error:
        raise click.BadParameter(f"{value!r} is not {expected}.", ctx=ctx, param=param) from error


def with_json(command: Command) -> Command:
    """Give a command the option ``--json``; it arrives as ``as_json``."""
    option = click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Print JSON instead of text.",
        callback=_json_here_or_on_root,
    )
    return option(command)


def _json_here_or_on_root(context: click.Context, parameter: click.Parameter, value: bool) -> bool:  # noqa: ARG001, FBT001 - click's
    """``leftoff --json status`` means the same as ``leftoff status --json``."""
    return value or bool(context.find_root().params.get("as_json"))


class Completed(click.types.StringParamType):
    """A text that the shell completes."""

    def completions(self, incomplete: str) -> list[CompletionItem]:
        """Return what begins so."""
        raise NotImplementedError

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the completions."""
        return self.completions(incomplete)


class SessionArgument(Completed):
    """A SESSION as people name it: the ids of the newest sessions are completed, with their first prompts."""

    name = "session"

    def completions(self, incomplete: str) -> list[CompletionItem]:
        """Return ``latest`` and the sessions whose id begins so."""
        from itertools import islice

        from leftoff.core.session_ids import unique_prefixes
        from leftoff.sessions.listing import entries_from_index, list_transcripts

        newest = [
            *islice(entries_from_index(list_transcripts()), _MAX_COMPLETIONS * (20 if incomplete else 1))
        ]
        prefixes = unique_prefixes([each.session_id for each in newest])
        found = [CompletionItem("latest", help="the latest session of this project")] * "latest".startswith(
            incomplete
        )
        for each in newest:
            if each.session_id.startswith(incomplete):
                prompt = " ".join((each.first_prompt or "").split())
                shown = max(prefixes[each.session_id], incomplete, key=len)
                found.append(CompletionItem(shown, help=f"{each.agent}: {prompt[:60]}"))
        return found[: _MAX_COMPLETIONS + 1]


class AgentArgument(Completed):
    """An agent by its id."""

    name = "agent"

    def completions(self, incomplete: str) -> list[CompletionItem]:
        """Return the agents whose id begins so."""
        from leftoff.agents.registry import load_agents

        return [
            CompletionItem(agent.id, help=agent.name)
            for agent in load_agents()
            if agent.id.startswith(incomplete)
        ]


SESSION = SessionArgument()
AGENT = AgentArgument()


class Choice(NamedTuple):
    """Which cuts of a plan the user wants; no ``cut`` means all of them."""

    keep: frozenset[int]
    cut: frozenset[int]
    edit: bool

    @property
    def is_made(self) -> bool:
        """Whether the user chose anything."""
        return bool(self.keep or self.cut or self.edit)

    def apply(self, planned: PlannedTrim) -> PlannedTrim:
        """Return the plan with the chosen cuts only; with ``edit`` the user ticks them in an editor."""
        from leftoff.cli.editor import edit_text
        from leftoff.shrink import choose

        plan = choose.choose_cuts(planned.plan, keep=self.keep, cut=self.cut or None)
        if self.edit and plan.cuts:
            typed = click.get_current_context().command_path
            ticked = edit_text(choose.plan_as_list(plan), extension=".txt", example=f"{typed} --edit")
            plan = choose.choose_cuts(plan, cut=choose.parse_list(ticked))
        return planned._replace(plan=plan)


def with_choice(command: Command) -> Command:
    """Give a command the options ``--keep``, ``--cut`` and ``--edit``, which make a ``Choice``."""
    keep = click.option(
        "--keep",
        multiple=True,
        callback=_parse_cuts,
        metavar="N,N-N",
        help="Leave out these cuts; --dry-run shows their numbers.",
    )
    cut = click.option(
        "--cut", multiple=True, callback=_parse_cuts, metavar="N,N-N", help="Make only these cuts."
    )
    edit = click.option("--edit", is_flag=True, help="Open the plan in $EDITOR as a list to tick.")
    return keep(cut(edit(command)))


def _parse_cuts(
    context: click.Context,  # noqa: ARG001 - click's signature
    parameter: click.Parameter,  # noqa: ARG001
    values: tuple[str, ...],
) -> frozenset[int]:
    from leftoff.shrink import choose

    return frozenset().union(*map(choose.parse_numbers, values))
