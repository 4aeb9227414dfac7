"""How the fast path reads one agent's events and transcript, as data.

The fast path (``leftoff.live.fast``) is a single file that imports nothing of this package and knows no agent. An adapter hands it
these rules (``leftoff.core.protocols.HasFastPath``); the full program writes them into the session's state file, and the fast path
interprets them from there. They must therefore survive JSON.

Paths are keys joined by dots: ``message.usage.input_tokens``. Every rule names in ``where`` the values that a line must have at
some paths, all of them exactly: ``{"type": "assistant"}``. Of several rules of one kind the first that fits applies.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

FastKind = Literal["prompt", "tools", "stop", "end"]
Match = dict[str, str | int | bool]


class LineRule(TypedDict):
    """Selects lines by values that they contain."""

    where: Match


class UsageRule(LineRule):
    """A line that says how many tokens were in the context window after a reply.

    ``add`` are the paths of the numbers whose sum that is. ``reply`` is the path of the reply's id, where a reply takes several lines:
    the largest sum among its lines counts. ``about`` are paths of a model's name or a window's size, the first that has a value
    counts. When it changes, the fast path starts the full program. ``text`` is the path of the reply's text, or of a list of objects
    with a ``text``, for agents that may report the end of a turn before its reply is in the transcript: the fast path waits for it.
    """

    add: list[str]
    reply: NotRequired[str]
    about: NotRequired[list[str]]
    text: NotRequired[str]


class CompactionRule(LineRule):
    """A line that marks a compaction. ``tokens`` is the path of what is left in the window; without it that is unknown."""

    tokens: NotRequired[str]


class ClearedRule(LineRule):
    """A line that says that old tool results were cleared. ``before`` and ``saved`` are paths of token counts."""

    before: str
    saved: str


class FastPathRules(TypedDict):
    """All rules of one agent.

    ``events`` maps the names of the agent's events that the fast path may handle alone to their kinds; every other event starts the
    full program. ``marks`` are texts: a line is parsed only if it contains one of them, which makes reading a long transcript fast.
    ``skip`` selects lines to ignore, such as those of subagents. ``summary`` selects lines after which the usage of an earlier reply
    is out of date although no compaction was marked. ``format`` is the name under which older installed fast paths know the same
    rules; a new adapter leaves it out.
    """

    events: dict[str, FastKind]
    usage: list[UsageRule]
    marks: NotRequired[list[str]]
    skip: NotRequired[list[LineRule]]
    compaction: NotRequired[list[CompactionRule]]
    summary: NotRequired[list[LineRule]]
    cleared: NotRequired[list[ClearedRule]]
    format: NotRequired[str]
