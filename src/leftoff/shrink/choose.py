"""The user's choice among the cuts of a plan: by their numbers, or by ticking a list in an editor.

Cuts are numbered from 1 in the order of the plan, which is the order of the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from leftoff.core.quantities import count
from leftoff.core.session_ids import short_id
from leftoff.core.trim_plan import Cut, TrimPlan
from leftoff.errors import UsageError

_TICKED = re.compile(r"\s*\[(?P<mark>[ xX]?)\]\s*(?P<number>\d+)\b")
_NUMBERS = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?\Z")
_HEAD = """\
# {strategy} of session {session}: what is ticked [x] is cut, what is not [ ] stays.
# Save and close to continue. A line that you delete stays too; with nothing ticked, no copy is written.
"""


def parse_numbers(text: str) -> frozenset[int]:
    """Parse ``3,5-8`` into the numbers that it names; UsageError for anything else."""
    numbers: set[int] = set()
    for part in text.split(","):
        found = _NUMBERS.match(part.strip())
        if found is None:
            raise UsageError(f"{text!r} does not name cuts of the plan; write numbers, such as 3 or 2,5-8.")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise UsageError(f"{part.strip()!r} counts down; write {last}-{first}.")
        numbers.update(range(first, last + 1))
    return frozenset(numbers)


def choose_cuts(
    plan: TrimPlan, *, keep: Collection[int] = (), cut: Collection[int] | None = None
) -> TrimPlan:
    """Return the plan without the cuts in ``keep``, and with none but those in ``cut`` unless that is ``None``."""
    unknown = {*keep, *(cut or ())} - {*range(1, len(plan.cuts) + 1)}
    if unknown:
        raise UsageError(
            f"The plan has no cut {', '.join(map(str, sorted(unknown)[:5]))}: "
            f"it has {count(len(plan.cuts), 'cut')}. --dry-run shows their numbers."
        )
    chosen = tuple(
        each
        for number, each in enumerate(plan.cuts, 1)
        if number not in keep and (cut is None or number in cut)
    )
    if len(chosen) == len(plan.cuts):
        return plan
    left_out = count(len(plan.cuts) - len(chosen), "cut")
    return replace(
        plan,
        cuts=chosen,
        saved_tokens=int(sum(each.saved_chars for each in chosen) * plan.tokens_per_char),
        kept=(*plan.kept, f"{left_out} of the plan, as you chose"),
    )


def plan_as_list(plan: TrimPlan) -> str:
    """Return the plan as a list to tick, one line for each cut."""
    head = _HEAD.format(strategy=plan.strategy, session=short_id(plan.session_id))
    return head + "".join(f"{line}\n" for line in _list_lines(plan))


def _list_lines(plan: TrimPlan) -> Iterator[str]:
    width = len(str(len(plan.cuts)))
    for number, cut in enumerate(plan.cuts, 1):
        tokens = f"{int(cut.saved_chars * plan.tokens_per_char):,} tokens"
        yield f"[x] {number:{width}}  line {cut.place.line_idx + 1}  {what_is_cut(cut)}, {tokens}: {_on_one_line(why_cut(cut))}"


def what_is_cut(cut: Cut) -> str:
    """Return the name of a piece: ``Read result``."""
    return f"{cut.tool or ''} {cut.part}".strip()


def why_cut(cut: Cut) -> str:
    """Return why a piece is cut; a rule of smart-trim describes it with a sentence for the agent that says so already."""
    if not cut.description:
        return cut.rationale
    if cut.description.endswith("."):
        return (
            cut.description.removesuffix(".").removesuffix("; read it again").removesuffix("; search again")
        )
    size, is_by_size, _ = cut.rationale.partition(", more than ")  # the same for all of them
    return f"{size}: {cut.description}" if is_by_size else f"{cut.rationale}: {cut.description}"


def _on_one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)[:200]


def parse_list(text: str) -> frozenset[int]:
    """Return the numbers of the ticked lines."""
    marks = filter(None, map(_TICKED.match, text.split("\n")))
    return frozenset(int(found["number"]) for found in marks if found["mark"].strip())
