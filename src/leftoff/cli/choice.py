"""The options ``--keep``, ``--cut`` and ``--edit``, which choose among the cuts of a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import click

from leftoff.core.trim_plan import TrimPlan
from leftoff.errors import UsageError
from leftoff.platform import paths
from leftoff.shrink import choose
from leftoff.shrink.trim import PlannedTrim


def _parse_numbers(
    context: click.Context,  # noqa: ARG001 - click's signature
    parameter: click.Parameter,  # noqa: ARG001
    values: tuple[str, ...],
) -> frozenset[int]:
    return frozenset().union(*map(choose.parse_numbers, values))


def with_choice(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that choose among the cuts of the plan."""
    keep = click.option(
        "--keep",
        multiple=True,
        callback=_parse_numbers,
        metavar="N,N-N",
        help="Leave out these cuts; --dry-run shows their numbers.",
    )
    cut = click.option(
        "--cut", multiple=True, callback=_parse_numbers, metavar="N,N-N", help="Make only these cuts."
    )
    edit = click.option("--edit", is_flag=True, help="Open the plan in $EDITOR as a list to tick.")
    return keep(cut(edit(command)))


class Choice(NamedTuple):
    """Which cuts of the plan the user wants; no ``cut`` means all of them."""

    keep: frozenset[int]
    cut: frozenset[int]
    edit: bool

    @property
    def is_made(self) -> bool:
        """Whether the user chose anything."""
        return bool(self.keep or self.cut or self.edit)

    def apply(self, planned: PlannedTrim) -> PlannedTrim:
        """Return the plan with the chosen cuts only."""
        plan = choose.choose_cuts(planned.plan, keep=self.keep, cut=self.cut or None)
        if self.edit and plan.cuts:
            plan = choose.choose_cuts(plan, cut=choose.parse_list(_edit_list(plan)))
        return planned._replace(plan=plan)


def _edit_list(plan: TrimPlan) -> str:
    environment = paths.environment()
    editor = environment.get("VISUAL") or environment.get("EDITOR")
    if not editor:
        raise UsageError("No editor is set. Name one: EDITOR=nano leftoff smart-trim --edit")
    try:
        edited = click.edit(choose.plan_as_list(plan), editor=editor, extension=".txt", require_save=False)
    except click.ClickException as problem:
        raise UsageError(f"The editor {editor} failed: {problem.format_message()}") from problem
    except ValueError as problem:  # quotes that are not closed
        raise UsageError(f"The editor {editor} cannot be run: {problem}.") from problem
    return edited or ""
