"""Split a resume log into items of Markdown, ordered by importance for when space is short.

Lists of what happened are in order of time and the newest matter most; next steps, rules and critical context have the best first.
What is rendered keeps the log's own order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from leftoff.core import markdown
from leftoff.core.markdown import is_superseded, utf16_length
from leftoff.core.resume_log import ResumeLog, render_decision

Profile = Literal["fresh", "after_compaction"]

_RULES = ("pins", "user_rules")
_LABELS = {"pins": ("Pinned", "pins"), "user_rules": ("Said", "rules")}
_MISSION_WEIGHT: Mapping[Profile, int] = {"fresh": 6, "after_compaction": 2}
# The shares of critical context when its entries do not all fit; any other entry has 1.
_CONTEXT_WEIGHTS = {"files": 4, "commands": 5, "names": 5, "ids_and_urls": 2, "environment_variables": 1}
# After a compaction exact text comes first, because a summary has paraphrased it.
_CONTEXT_ORDER: Mapping[Profile, tuple[str, ...]] = {
    "fresh": ("files", "commands", "names", "ids_and_urls", "environment_variables"),
    "after_compaction": ("names", "commands", "files", "ids_and_urls", "environment_variables"),
}


_NOTHING: Mapping[int, str] = {}
# A part of a list of names is better than nothing; other exact text is whole or left out.
_CAN_BE_CUT = ("names",)


class Part(NamedTuple):
    """Items that belong together. ``name`` is used to count those left out; ``by_priority`` are their numbers, best first."""

    name: str
    items: tuple[str, ...]
    by_priority: tuple[int, ...]
    weight: int
    label: str = ""  # a bold line above them, where a section has several parts
    can_be_cut: bool = False  # prose and lists of names

    @property
    def need_chars(self) -> int:
        """The characters that all items take, with line ends."""
        return utf16_length(self.render(range(len(self.items)))) + 1 if self.items else 0

    def render(self, numbers: Iterable[int], cut: Mapping[int, str] = _NOTHING) -> str:
        """Return these items in the log's order below the label; those in ``cut`` with that text instead."""
        lines = [cut.get(number, self.items[number]) for number in sorted(numbers)]
        return "\n".join(([f"**{self.label}:**"] if self.label else []) + lines)


class Section(NamedTuple):
    """A heading and its parts."""

    heading: str
    parts: tuple[Part, ...]

    @property
    def frame_chars(self) -> int:
        """The characters that the heading and the blank lines around it take."""
        return utf16_length(f"## {self.heading}\n\n") + 1


def mission(log: ResumeLog, profile: Profile) -> Section:
    """Return the mission: the first request is most important, then the latest. A compacted session needs it less."""
    paragraphs = [text for text in log.mission_summary.split("\n\n") if text.strip()]
    items = tuple(f"{markdown.escape_block(text)}\n" for text in paragraphs)
    priority = (0, *range(len(items) - 1, 0, -1)) if items else ()
    return _section(
        "Mission Summary",
        Part(
            name="mission",
            items=items,
            by_priority=priority,
            weight=_MISSION_WEIGHT[profile],
            can_be_cut=True,
        ),
    )


def rules(log: ResumeLog) -> Section:
    """Return the pins and the user's rules; superseded rules come last."""
    parts = []
    for key in _RULES:
        items = _bullets(_texts(log.critical_context.get(key)))
        in_force = [number for number, item in enumerate(items) if not is_superseded(item)]
        others = [number for number in range(len(items)) if number not in in_force]
        label, name = _LABELS[key]
        parts.append(Part(name=name, items=items, by_priority=(*in_force, *others), weight=1, label=label))
    return Section(heading="Rules of the User", parts=tuple(parts))


def next_steps(log: ResumeLog) -> Section:
    """Return the next steps in their order."""
    items = _bullets(log.next_steps)
    part = Part(
        name="next steps", items=items, by_priority=tuple(range(len(items))), weight=4, can_be_cut=True
    )
    return _section("Next Steps", part)


def past_sections(log: ResumeLog) -> tuple[Section, Section, Section]:
    """Return accomplishments, findings and decisions; the newest are most important."""
    return (
        _section("Accomplishments", _newest_first("accomplishments", _bullets(log.accomplishments), 3)),
        _section("Key Findings", _newest_first("findings", _bullets(log.key_findings), 4)),
        _section(
            "Decisions & Rationale", _newest_first("decisions", tuple(map(render_decision, log.decisions)), 3)
        ),
    )


def custom_sections(log: ResumeLog) -> tuple[Section, ...]:
    """Return the sections of plugins, each as one item."""
    return tuple(
        _section(
            markdown.escape_inline(own.name)[:100],
            Part(
                name=markdown.escape_inline(own.name)[:40],
                items=(text,),
                by_priority=(0,),
                weight=1,
                can_be_cut=True,
            ),
        )
        for own in log.custom_sections
        if (text := markdown.escape_block(own.content))
    )


def critical_context(log: ResumeLog, profile: Profile) -> Section:
    """Return critical context in the order of the profile; other entries follow."""
    order = _CONTEXT_ORDER[profile]
    keys = sorted(
        (key for key in log.critical_context if key not in _RULES),
        key=lambda key: order.index(key) if key in order else len(order),
    )
    parts = []
    for key in keys:
        items = _bullets(_texts(log.critical_context[key]))
        label = (
            key.replace("_", " ").title()
            if key.isidentifier() and key.islower()
            else markdown.escape_inline(key)
        )
        parts.append(
            Part(
                name=label.lower()[:40],
                items=items,
                by_priority=tuple(range(len(items))),
                weight=_CONTEXT_WEIGHTS.get(key, 1),
                label=label[:100],
                can_be_cut=key in _CAN_BE_CUT,
            )
        )
    return Section(heading="Critical Context", parts=tuple(parts))


def _section(heading: str, part: Part) -> Section:
    return Section(heading=heading, parts=(part,))


def _newest_first(name: str, items: tuple[str, ...], weight: int) -> Part:
    priority = tuple(range(len(items) - 1, -1, -1))
    return Part(name=name, items=items, by_priority=priority, weight=weight, can_be_cut=True)


def _bullets(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"- {markdown.escape_item(text)}" for text in texts if text.strip())


def _texts(value: Any) -> Sequence[str]:
    """Return the entries of a value of critical context as texts."""
    match value:
        case None:
            return ()
        case dict():
            return [f"{key}: {_words(inner)}" for key, inner in value.items()]
        case list():
            return [inner if isinstance(inner, str) else _words(inner) for inner in value]
        case _:
            return [_words(value)]


def _words(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{key}: {_words(inner)}" for key, inner in value.items())
        case list():
            return ", ".join(_words(inner) for inner in value)
        case None:
            return "unknown"
        case _:
            return markdown.escape_inline(str(value))
