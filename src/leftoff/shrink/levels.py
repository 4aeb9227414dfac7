"""The levels of smart-trim: what each calls old, and what it risks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from leftoff.core.trim_plan import TrimLevel
from leftoff.shrink.steps import Reach


class Ages(NamedTuple):
    """After how many calls content is old, and how much of it stays around names that were mentioned. None: never old."""

    changed_file: int  # a look at a file that was changed since
    unchanged_file: int | None  # a look, in an earlier turn, at a file that was not
    written: int | None  # what an edit or a write put into a file
    report: int  # what a subagent or a server answered
    task: int | None  # what a subagent was asked
    near: Reach  # what stays of files: a rare name shows where the work is, and edits are near it


LEVELS: Mapping[TrimLevel, Ages] = {
    "careful": Ages(20, None, None, 20, None, Reach(30, 4)),
    "normal": Ages(20, 20, None, 8, 8, Reach(15, 4)),
    "strong": Ages(20, 20, 20, 4, 4, Reach(8, 2)),
}


# The share of the next edits that lacked their old text after a trim, in sessions that nothing was tuned on, of the agent with
# the larger share: docs/retention.md.
LOST_SUPPORT: Mapping[TrimLevel, float] = {"careful": 0.045, "normal": 0.060, "strong": 0.105}
